"""Data frames of pandas and polars as they come: with indexes, nullable types, categories, lazily made."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any

import pytest

import longshore

pyarrow = pytest.importorskip("pyarrow")


def test_an_index_is_columns_where_it_has_names(db: longshore.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2, 3], "kind": ["a", "b", "a"]})
    some = frame[frame["n"] > 1]
    assert db.sql("SELECT * FROM some").columns == ["n", "kind"]
    db.sql("CREATE TABLE t (n INTEGER, kind TEXT)")
    assert db.append("t", some) == 2
    sums = frame.groupby("kind").sum()
    assert db.sql("SELECT * FROM sums ORDER BY kind").fetchall() == [("a", 4), ("b", 2)]
    several = frame.groupby(["kind", "n"]).size().to_frame("rows")
    assert db.sql("SELECT * FROM several").columns == ["kind", "n", "rows"]
    numbers = frame["n"]
    assert db.sql("SELECT sum(n) FROM numbers").fetchall() == [(6,)]
    nameless = pandas.Series([1.5, 2.5])
    assert db.sql("SELECT sum(value) FROM nameless").fetchall() == [(4.0,)]
    db.register("counts", frame["kind"].value_counts())
    assert db.sql("SELECT * FROM counts ORDER BY kind").fetchall() == [("a", 2), ("b", 1)]


def test_types_of_pandas(db: longshore.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "int": pandas.array([1, None], dtype="Int64"),
            "flag": pandas.array([True, None], dtype="boolean"),
            "float": pandas.array([0.5, None], dtype="Float64"),
            "string": pandas.array(["x", None], dtype="string"),
            "arrow": pandas.array(["y", None], dtype=pandas.ArrowDtype(pyarrow.string())),
            "kind": pandas.Categorical(["a", None], categories=["b", "a"]),
            "zoned": pandas.to_datetime(["2024-01-01 12:00", None]).tz_localize("Europe/Berlin"),
            "day": [datetime.date(2024, 1, 1), None],
            "price": [decimal.Decimal("1.50"), None],
            "bytes": [b"x", None],
            "list": [[1, 2], None],
            "span": pandas.to_timedelta(["1 day 2 seconds", None]),
            "nan": [float("nan"), 1.0],
        }
    )
    first, second = db.sql("SELECT * FROM frame").fetchall()
    zoned = datetime.datetime(2024, 1, 1, 11, tzinfo=datetime.timezone.utc)
    span = datetime.timedelta(days=1, seconds=2)
    assert first[:-1] == (
        1, True, 0.5, "x", "y", "a", zoned, datetime.date(2024, 1, 1), decimal.Decimal("1.50"), b"x", [1, 2], span,
    )
    assert second[:-1] == (None,) * 12 and second[-1] == 1.0
    db.sql("CREATE TABLE kept AS SELECT * FROM frame")
    assert db.append("kept", frame) == 2
    empty = frame.iloc[:0]
    assert db.sql("SELECT * FROM empty").fetchall() == []
    assert db.append("kept", empty) == 0
    nothing = pandas.DataFrame()
    with pytest.raises(longshore.Error):
        db.append("kept", nothing)
    mixed = pandas.DataFrame({"a": [1, "x"]})
    with pytest.raises(pyarrow.ArrowException, match="column a"):
        db.sql("SELECT * FROM mixed")
    numbered = pandas.DataFrame([[1, 2]])
    assert db.sql('SELECT "0", "1" FROM numbered').fetchall() == [(1, 2)]


def test_types_of_polars(db: longshore.Connection) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "kind": polars.Series(["a", None], dtype=polars.Enum(["b", "a"])),
            "category": polars.Series(["x", None], dtype=polars.Categorical),
            "struct": [{"a": 1, "b": "x"}, None],
            "list": [["p"], None],
            "array": polars.Series([[1, 2], None], dtype=polars.Array(polars.Int16, 2)),
            "price": polars.Series([decimal.Decimal("1.50"), None]),
            "span": [datetime.timedelta(hours=25), None],
            "clock": [datetime.time(10, 30), None],
            "moment": polars.Series([datetime.datetime(2024, 1, 1), None], dtype=polars.Datetime("ns")),
            "u64": polars.Series([2**64 - 1, None], dtype=polars.UInt64),
            "bytes": [b"x", None],
            "null": [None, None],
        }
    )
    first, second = db.sql("SELECT * FROM frame").fetchall()
    assert first == (
        "a", "x", {"a": 1, "b": "x"}, ["p"], [1, 2], decimal.Decimal("1.50"), datetime.timedelta(hours=25),
        datetime.time(10, 30), datetime.datetime(2024, 1, 1), 2**64 - 1, b"x", None,
    )
    assert second == (None,) * 12
    lazy = frame.lazy().select("kind").drop_nulls()
    assert db.sql("SELECT kind FROM lazy").fetchall() == [("a",)]
    db.sql("CREATE TABLE t (kind TEXT)")
    assert db.append("t", lazy) == 1
    objects = polars.DataFrame({"thing": [object()]})
    with pytest.raises(TypeError, match="thing"):
        db.sql("SELECT * FROM objects")
    series = frame["kind"]
    assert db.sql("SELECT count(kind) FROM series").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (lambda: pyarrow.array([decimal.Decimal("1.5")], pyarrow.decimal256(30, 2)), decimal.Decimal("1.50")),
        (lambda: pyarrow.array([90], pyarrow.duration("s")), datetime.timedelta(seconds=90)),
        (lambda: pyarrow.array([[1, None]], pyarrow.large_list(pyarrow.int8())), [1, None]),
        (lambda: pyarrow.array([[1, 2]], pyarrow.list_(pyarrow.int32(), 2)), [1, 2]),
        (lambda: pyarrow.array(["x"]).dictionary_encode(), "x"),
        (lambda: pyarrow.array([1.5], pyarrow.float16()), 1.5),
        (lambda: pyarrow.array([datetime.datetime(2024, 1, 1)], pyarrow.date64()), datetime.datetime(2024, 1, 1)),
        (lambda: pyarrow.array([1], pyarrow.time32("s")), datetime.time(0, 0, 1)),
        (lambda: pyarrow.array([1_500], pyarrow.time64("ns")), datetime.time(0, 0, 0, 1)),
        (lambda: pyarrow.array([b"x"], pyarrow.binary_view()), b"x"),
        (lambda: pyarrow.array([uuid.UUID(int=7).bytes], pyarrow.uuid()), uuid.UUID(int=7)),
        (lambda: pyarrow.array([uuid.UUID(int=7).bytes], pyarrow.binary(16)), uuid.UUID(int=7).bytes),
    ],
)
def test_types_of_arrow(db: longshore.Connection, array: Any, expected: Any) -> None:
    rows = pyarrow.table({"v": array()})
    assert db.sql("SELECT v FROM rows").fetchall() == [(expected,)]
    db.sql("CREATE TABLE kept AS SELECT v FROM rows")
    assert db.append("kept", rows) == 1
    assert db.sql("SELECT v FROM kept").fetchall() == [(expected,)] * 2


def test_metadata_of_columns_is_read(db: longshore.Connection) -> None:
    identifier = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
    fields = [
        pyarrow.field("plain", pyarrow.int32(), metadata={"": "", "unit": "m" * 1000}),
        pyarrow.field("id", pyarrow.uuid(), metadata={"a": "b"}),
    ]
    rows = pyarrow.table([[1, 2], [identifier.bytes, None]], schema=pyarrow.schema(fields))
    db.sql("CREATE TABLE kept (plain INTEGER, id UUID PRIMARY KEY)")
    assert db.append("kept", rows.slice(0, 1)) == 1
    assert db.sql("SELECT plain, id, pg_typeof(id) FROM rows ORDER BY 1").fetchall() == [
        (1, identifier, "uuid"),
        (2, None, "uuid"),
    ]
    assert db.sql("SELECT kept.id FROM kept JOIN rows USING (id)").fetchall() == [(identifier,)]
    with longshore.adbc.connect(db, autocommit=True) as adbc, adbc.cursor() as cursor:
        cursor.adbc_ingest("ingested", rows, mode="create")
    assert db.sql("SELECT id, pg_typeof(id) FROM ingested ORDER BY plain LIMIT 1").fetchall() == [(identifier, "uuid")]


def test_types_that_are_not_known_are_refused_by_name(db: longshore.Connection) -> None:
    compute = pytest.importorskip("pyarrow.compute")
    runs = pyarrow.table({"a": compute.run_end_encode(pyarrow.array([1, 1, 2]))})
    with pytest.raises(longshore.Error, match=r"\+r"):
        db.sql("SELECT * FROM runs")
    wide = pyarrow.table({"a": pyarrow.array([decimal.Decimal(1)], pyarrow.decimal256(60, 2))})
    with pytest.raises(longshore.NotSupportedError, match="column a"):
        db.sql("SELECT * FROM wide")
    structs = pyarrow.table({"a": pyarrow.array([{"x": 1}])})
    with pytest.raises(longshore.NotSupportedError, match="column a"):
        db.sql("CREATE TABLE kept AS SELECT a FROM structs")
    column = pyarrow.chunked_array([[1, 2]])
    with pytest.raises(longshore.Error, match="table"):
        db.register("c", column)


def test_names_are_found_as_sql_folds_them(db: longshore.Connection) -> None:
    MyFrame = pyarrow.table({"n": [1]})
    assert db.sql("SELECT n FROM MyFrame").fetchall() == [(1,)]
    assert db.sql('SELECT n FROM "MyFrame"').fetchall() == [(1,)]
    del MyFrame
    db.register("Others", pyarrow.table({"n": [2]}))
    assert db.sql('SELECT a.n FROM Others a JOIN "Others" b USING (n)').fetchall() == [(2,)]
    db.unregister("Others")
    for name in ("Others", '"Others"'):
        with pytest.raises(longshore.UndefinedTable):
            db.sql(f"SELECT * FROM {name}")


def test_what_is_no_table_is_told(db: longshore.Connection) -> None:
    config = {"a": [1]}
    with pytest.raises(longshore.UndefinedTable, match="the variable config is no table, but a dict"):
        db.sql("SELECT * FROM config")
    assert config
    for table in ("two words", "t; DROP TABLE t", "", "1t"):
        with pytest.raises(longshore.ProgrammingError, match="name"):
            db.append(table, pyarrow.table({"n": [1]}))
        with pytest.raises(longshore.ProgrammingError, match="name"):
            db.load("nothing.csv", table=table)
    with pytest.raises(ValueError, match="named a"):
        db.sql("SELECT 1 AS a, 2 AS a").numpy()
