"""One library for all versions of Python: it is imported by every one that is installed here."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

import longshore

SCRIPT = """
import datetime, decimal, sys, tempfile, pathlib, longshore
with longshore.connect() as db, db.cursor() as cursor:
    cursor.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT, price DECIMAL(10,2), day DATE, at TIMESTAMPTZ)")
    at = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    row = (1, "one", decimal.Decimal("1.50"), datetime.date(2024, 2, 29), at)
    cursor.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", (row for _ in range(1)))
    assert cursor.execute("SELECT * FROM t").fetchall() == [row]
    try:
        cursor.execute("INSERT INTO t (n) VALUES (1)")
    except longshore.UniqueViolation as error:
        assert error.constraint == "t_pkey"
    path = pathlib.Path(tempfile.mkdtemp()) / "f.csv"
    path.write_text("a,b\\n1,x\\n2,y\\n")
    assert longshore.read_csv(path).fetchall() == [(1, "x"), (2, "y")]
    assert repr(db.sql("SELECT 1 AS n")).startswith(" n")
print("%d.%d" % sys.version_info[:2])
"""


def interpreters() -> dict[str, str]:
    """The interpreters that are installed here, by version."""
    found = {}
    for minor in range(10, 16):
        version = f"3.{minor}"
        pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
        places = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
        for place in filter(None, map(str, filter(None, places))):
            tried = subprocess.run([place, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True)
            if tried.stdout.strip() == str(minor):
                found[version] = place
                break
    return found


@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(10, 16)])
def test_a_version_of_python_has_the_package(version: str) -> None:
    place = interpreters().get(version)
    if place is None:
        pytest.skip(f"Python {version} is not installed here")
    package = str(pathlib.Path(longshore.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([place, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split() == [version], done.stderr
