"""Random values through every door: as parameters, in bulk, as Arrow into a table, and back as Python's values and Arrow."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest

import longshore

hypothesis = pytest.importorskip("hypothesis")
pyarrow = pytest.importorskip("pyarrow")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402

TEXTS = some.text(some.characters(exclude_characters="\0", exclude_categories=["Cs"]))
TIMES = some.datetimes(min_value=datetime.datetime(1, 1, 1), max_value=datetime.datetime(9999, 12, 31))
DECIMALS = some.decimals(min_value=-(10**15), max_value=10**15, places=4)
KINDS: list[tuple[str, Any, Any]] = [
    ("BOOLEAN", some.booleans(), pyarrow.bool_()),
    ("INTEGER", some.integers(-(2**31), 2**31 - 1), pyarrow.int32()),
    ("BIGINT", some.integers(-(2**63), 2**63 - 1), pyarrow.int64()),
    ("DOUBLE PRECISION", some.floats(allow_nan=False), pyarrow.float64()),
    ("NUMERIC(30,4)", DECIMALS, pyarrow.decimal128(30, 4)),
    ("TEXT", TEXTS, pyarrow.string()),
    ("BYTEA", some.binary(), pyarrow.binary()),
    ("DATE", some.dates(), pyarrow.date32()),
    ("TIME", some.times(), pyarrow.time64("us")),
    ("TIMESTAMP", TIMES, pyarrow.timestamp("us")),
    ("TIMESTAMPTZ", TIMES.map(lambda time: time.replace(tzinfo=datetime.timezone.utc)), pyarrow.timestamp("us", tz="UTC")),
    ("TEXT[]", some.lists(some.none() | TEXTS), pyarrow.list_(pyarrow.string())),
]


@pytest.fixture(scope="module")
def shared() -> Any:
    """A database for all examples, as each takes a moment to open."""
    with longshore.connect(threads=1) as connection:
        yield connection


@pytest.mark.parametrize(("sql_type", "values", "arrow"), KINDS, ids=[kind for kind, *_ in KINDS])
def test_values_come_back(shared: longshore.Connection, sql_type: str, values: Any, arrow: Any) -> None:
    @settings(max_examples=25, deadline=None)
    @given(some.lists(some.none() | values, min_size=1, max_size=20))
    def check(column: list[Any]) -> None:
        db = shared
        db.sql(f"DROP TABLE IF EXISTS t; CREATE TABLE t (door TEXT, at INTEGER, v {sql_type})")
        for at, value in enumerate(column):
            db.sql("INSERT INTO t VALUES ('one', ?, ?)", [at, value])
        db.executemany("INSERT INTO t VALUES ('many', ?, ?)", list(enumerate(column)))
        places = list(range(len(column)))
        doors = ["arrow"] * len(column)
        table = pyarrow.table({"door": doors, "at": places, "v": pyarrow.array(column, arrow)})
        assert db.append("t", table) == len(column)
        for door in ("one", "many", "arrow"):
            relation = db.sql("SELECT v FROM t WHERE door = ? ORDER BY at", [door])
            assert [value for (value,) in relation.fetchall()] == column, door
            back = relation.arrow()
            back.validate(full=True)
            assert back["v"].to_pylist() == column, door
        assert db.sql(f"SELECT $1::{sql_type}", [column[0]]).fetchall() == [(column[0],)]

    check()


@settings(max_examples=30, deadline=None)
@given(some.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number.adjusted()) < 100), some.uuids())
def test_numbers_of_any_scale_and_uuids_come_back(number: decimal.Decimal, identifier: uuid.UUID) -> None:
    with longshore.connect(threads=1) as db:
        rows = db.sql("SELECT $1::numeric, $2::uuid::text", [number, identifier]).fetchall()
        assert rows == [(number, str(identifier))]


@settings(max_examples=50, deadline=None)
@given(some.lists(some.tuples(some.integers(-(2**31), 2**31 - 1), TEXTS.filter(lambda text: text.strip() == text != "")), min_size=1))
def test_files_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]]) -> None:
    path = tmp_path_factory.mktemp("files") / "f.csv"
    longshore_rows = pyarrow.table({"n": [n for n, _ in rows], "text": [text for _, text in rows]})
    with longshore.connect(threads=1) as db:
        assert db.sql("SELECT * FROM longshore_rows").to_csv(path, force_quote=["text"]) == len(rows)
    back = longshore.read_csv(path, delimiter=",", quote='"', header=True, strict=True, types={"text": "TEXT"})
    assert back.fetchall() == rows
