"""Rows of other libraries in queries and tables."""

from __future__ import annotations

import datetime
import decimal
import pathlib
from typing import Any

import pytest

import longshore

pyarrow = pytest.importorskip("pyarrow")

WORDS = pyarrow.table({"n": [1, 2, 3], "word": ["one", None, "a text of more than twelve bytes"]})


def test_registered_rows_are_a_table(db: longshore.Connection) -> None:
    db.register("given", WORDS)
    assert db.sql("SELECT word FROM given WHERE n = ?", [1]).fetchall() == [("one",)]
    db.sql("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (3), (4)")
    joined = db.sql("SELECT given.n FROM given JOIN t ON t.n = given.n").fetchall()
    assert joined == [(3,)]
    assert db.sql("SELECT count(*) FROM (SELECT * FROM given UNION ALL SELECT * FROM given) AS w").fetchall() == [(6,)]
    db.unregister("given")
    with pytest.raises(longshore.UndefinedTable):
        db.sql("SELECT * FROM given")
    with pytest.raises(longshore.Error, match="already"):
        db.register("t", WORDS)
    with pytest.raises(TypeError, match="int"):
        db.register("x", 1)


def test_variables_are_tables(db: longshore.Connection) -> None:
    local = WORDS
    assert db.sql("SELECT count(*), count(word) FROM local").fetchall() == [(3, 2)]
    assert db.execute("SELECT l.n FROM local AS l WHERE l.n > $1 ORDER BY 1", [1]).fetchall() == [(2,), (3,)]
    db.sql("CREATE TABLE kept AS SELECT * FROM local")
    assert db.sql("SELECT count(*) FROM kept").fetchall() == [(3,)]
    with pytest.raises(longshore.UndefinedTable):
        db.sql("SELECT * FROM no_such_variable")
    other = db.sql("SELECT 7 AS n")
    assert db.sql("SELECT n FROM other").fetchall() == [(7,)]
    assert other.fetchall() == [(7,)], "it is kept"
    db.sql("CREATE TABLE local (n INTEGER)")
    assert db.sql("SELECT count(*) FROM local").fetchall() == [(0,)], "a table wins"


def test_pandas_and_polars_are_tables(db: longshore.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "n": pandas.array([1, None], dtype="Int8"),
            "f": [0.5, 1.5],
            "day": pandas.to_datetime(["2024-01-01", None]),
            "kind": pandas.Categorical(["a", "b"]),
            "text": ["x", None],
        }
    )
    rows = db.sql("SELECT * FROM frame ORDER BY f").fetchall()
    assert rows == [(1, 0.5, datetime.datetime(2024, 1, 1), "a", "x"), (None, 1.5, None, "b", None)]
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({"n": [1, 2], "list": [[1, 2], None]})
    assert db.sql("SELECT n, list FROM other ORDER BY n").fetchall() == [(1, [1, 2]), (2, None)]


def test_every_type_of_arrow_is_read(db: longshore.Connection) -> None:
    columns: dict[str, tuple[Any, Any]] = {
        "i8": (pyarrow.array([-128, None], pyarrow.int8()), [-128, None]),
        "u8": (pyarrow.array([255, None], pyarrow.uint8()), [255, None]),
        "u16": (pyarrow.array([2**16 - 1, 0], pyarrow.uint16()), [2**16 - 1, 0]),
        "u32": (pyarrow.array([2**32 - 1, 0], pyarrow.uint32()), [2**32 - 1, 0]),
        "u64": (pyarrow.array([2**64 - 1, 0], pyarrow.uint64()), [2**64 - 1, 0]),
        "f32": (pyarrow.array([0.5, None], pyarrow.float32()), [0.5, None]),
        "b": (pyarrow.array([True, None]), [True, None]),
        "s": (pyarrow.array(["x" * 20, None]), ["x" * 20, None]),
        "ls": (pyarrow.array(["y", ""], pyarrow.large_string()), ["y", ""]),
        "sv": (pyarrow.array(["z" * 50, ""], pyarrow.string_view()), ["z" * 50, ""]),
        "bin": (pyarrow.array([b"\x00", None]), [b"\x00", None]),
        "lbin": (pyarrow.array([b"", b"abc"], pyarrow.large_binary()), [b"", b"abc"]),
        "fixed": (pyarrow.array([b"ab", None], pyarrow.binary(2)), [b"ab", None]),
        "dec": (pyarrow.array([decimal.Decimal("1.50"), None]), [decimal.Decimal("1.50"), None]),
        "d32": (pyarrow.array([datetime.date(2024, 1, 1), None]), [datetime.date(2024, 1, 1), None]),
        "ts": (pyarrow.array([1, None], pyarrow.timestamp("s")), [datetime.datetime(1970, 1, 1, 0, 0, 1), None]),
        "tz": (
            pyarrow.array([1000, None], pyarrow.timestamp("ms", tz="Europe/Berlin")),
            [datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc), None],
        ),
        "t": (pyarrow.array([datetime.time(1, 2, 3), None]), [datetime.time(1, 2, 3), None]),
        "list": (pyarrow.array([["a", None], None]), [["a", None], None]),
        "dict": (pyarrow.array(["p", "q"]).dictionary_encode(), ["p", "q"]),
        "none": (pyarrow.nulls(2), [None, None]),
    }
    table = pyarrow.table({name: array for name, (array, _) in columns.items()})
    db.register("everything", table)
    for name, (_, expected) in columns.items():
        assert [value for (value,) in db.sql(f'SELECT "{name}" FROM everything').fetchall()] == expected, name
    sliced = table.slice(1)
    assert db.sql("SELECT ls, dict, fixed, b FROM sliced").fetchall() == [("", "q", None, None)]


def test_rows_are_appended(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (id INTEGER GENERATED ALWAYS AS IDENTITY, word TEXT, n BIGINT PRIMARY KEY, doc JSONB)")
    assert db.append("t", WORDS) == 3
    assert db.append("public.t", pyarrow.record_batch({"n": [7], "doc": ['{"a": 1}']})) == 1
    assert db.sql("SELECT n, word, doc FROM t ORDER BY n").fetchall()[-1] == (7, None, {"a": 1})
    with pytest.raises(longshore.UniqueViolation):
        db.append("t", pyarrow.table({"n": [100, 2]}))
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(4,)]
    with pytest.raises(longshore.Error, match="nothing"):
        db.append("t", pyarrow.table({"nothing": [1]}))
    with pytest.raises(longshore.UndefinedTable):
        db.append("nowhere", WORDS)


def test_many_batches_are_appended(db: longshore.Connection) -> None:
    batches = [pyarrow.record_batch({"n": list(range(at, at + 1000))}) for at in range(0, 100_000, 1000)]
    db.sql("CREATE TABLE t (n INTEGER)")
    assert db.append("t", pyarrow.Table.from_batches(batches)) == 100_000
    reader = pyarrow.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    assert db.append("t", reader) == 100_000
    assert db.sql("SELECT count(*), sum(n) FROM t").fetchall() == [(200_000, 2 * sum(range(100_000)))]
    with db.transaction():
        db.append("t", WORDS.select(["n"]))
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(200_003,)]


def test_relations_become_files(db: longshore.Connection, tmp_path: pathlib.Path) -> None:
    relation = db.sql("SELECT n, n / 4.0 AS part, 'w,' || n AS word FROM generate_series(1, 3) AS t(n)")
    assert relation.to_csv(tmp_path / "f.csv") == 3
    assert (tmp_path / "f.csv").read_text().splitlines()[:2] == ["n,part,word", '1,0.25000000000000000000,"w,1"']
    assert relation.to_parquet(tmp_path / "f.parquet") == 3
    assert db.sql(f"SELECT word FROM '{tmp_path}/f.parquet'").fetchall() == [("w,1",), ("w,2",), ("w,3",)]
    assert longshore.read_csv(tmp_path / "f.csv").to_csv(tmp_path / "g.csv", delimiter=";", header=False) == 3
    assert (tmp_path / "g.csv").read_text().startswith("1;0.25")


def test_other_rows_of_a_name_are_read_the_next_time(db: longshore.Connection) -> None:
    for n in (1, 2, 3):
        frame = pyarrow.table({"n": [n]})
        assert db.sql("SELECT n FROM frame WHERE n < ?", [10]).fetchall() == [(n,)]
        assert frame.num_rows == 1
    db.sql("CREATE SCHEMA s; CREATE TABLE t AS SELECT 1 AS n; CREATE TABLE s.t AS SELECT 2 AS n")
    sql = "SELECT n FROM t WHERE n < ?"
    assert db.sql(sql, [10]).fetchall() == [(1,)]
    db.sql("SET search_path = s")
    assert db.sql(sql, [10]).fetchall() == [(2,)]
    db.sql("SELECT set_config('search_path', 'public', false)").fetchall()
    assert db.sql(sql, [10]).fetchall() == [(1,)]
    with db.another() as other:
        other.sql("DROP TABLE t")
        with pytest.raises(longshore.UndefinedTable):
            db.sql(sql, [10])
        other.sql("CREATE TABLE t AS SELECT 'x' AS word, 7 AS n")
    assert db.sql(sql, [10]).fetchall() == [(7,)]
