"""The package needs no other: what there is without pyarrow."""

from __future__ import annotations

import decimal
import subprocess
import sys

import pytest

SCRIPT = """
import sys
sys.modules["pyarrow"] = None
import longshore
db = longshore.connect()
relation = db.sql("SELECT n, n / 4::numeric AS part, 'x' AS word FROM generate_series(1, 2) AS t(n)")
print(relation.fetchall())
print([len(batch) for batch in relation])
print(repr(relation).splitlines()[-1])
try:
    relation.arrow()
except ImportError as error:
    print("relation itself" in str(error))
for library in sys.argv[1:]:
    if library == "numpy":
        print(relation.numpy()["n"].tolist())
    if library == "pandas":
        print(relation.pandas()["part"].tolist(), db.sql("SELECT 1 AS a WHERE false").pandas().columns.tolist())
    if library == "polars":
        print(relation.polars()["part"].to_list())
"""


def test_everything_but_tables_of_pyarrow_is_there() -> None:
    libraries = ["numpy", "pandas", "polars"]
    for library in libraries:
        pytest.importorskip(library)
    done = subprocess.run([sys.executable, "-c", SCRIPT, *libraries], capture_output=True, text=True, timeout=120)
    parts = [decimal.Decimal("0.25000000000000000000"), decimal.Decimal("0.50000000000000000000")]
    assert done.stdout.splitlines() == [
        str([(1, parts[0], "x"), (2, parts[1], "x")]),
        "[2]",
        "(2 rows)",
        "True",
        "[1, 2]",
        "[0.25, 0.5] ['a']",
        str(parts),
    ], done.stderr
