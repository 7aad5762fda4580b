"""DB-API 2.0: the compliance suite, and what is ours beside it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from typing import Any

import pytest

import longshore

dbapi20 = pytest.importorskip("dbapi20")


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[name-defined,misc]
    """The suite of the package ``dbapi-compliance``, on a database in memory."""

    driver = longshore
    connect_kw_args = {"autocommit": False}

    def test_non_idempotent_close(self) -> None:
        """A second close does nothing, as of files."""
        connection = longshore.connect()
        connection.close()
        connection.close()

    def test_nextset(self) -> None:
        """A statement has one set of rows; there is no method for the next, as it is optional."""
        assert not hasattr(longshore.Cursor, "nextset")

    def test_setoutputsize(self) -> None:
        """It does nothing."""
        with longshore.connect() as db, db.cursor() as cursor:
            cursor.setoutputsize(10)


def test_rows_are_described(db: longshore.Connection) -> None:
    cursor = db.execute("SELECT 1::int8 AS a, 1.5::decimal(10,2) AS b, 'x'::varchar(5) AS c, now() AS d, ''::bytea AS e")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["a", "b", "c", "d", "e"]
    assert [column[1] for column in cursor.description] == [20, 1700, 1043, 1184, 17]
    kinds = [longshore.NUMBER, longshore.NUMBER, longshore.STRING, longshore.DATETIME, longshore.BINARY]
    assert all(column[1] == kind for column, kind in zip(cursor.description, kinds))
    assert cursor.description[1][4:6] == (10, 2)
    assert cursor.description[0][3] == 8


def test_many_rows_are_one_transaction(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT, day DATE)")
    day = datetime.date(2024, 1, 1)
    rows = [(n, f"word {n}", day) for n in range(100_000)]
    began = time.monotonic()
    assert db.executemany("INSERT INTO t VALUES (?, ?, ?)", rows).rowcount == 100_000
    took = time.monotonic() - began
    assert db.sql("SELECT count(*), max(word) FROM t").fetchall() == [(100_000, "word 99999")]
    with pytest.raises(longshore.UniqueViolation):
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [(200_000, "a", day), (7, "b", day)])
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(100_000,)]
    assert took < 20, took


def test_many_rows_may_have_names_and_values_of_several_types(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n NUMERIC, word TEXT)")
    db.executemany("INSERT INTO t VALUES ($n, $word)", [{"n": 1, "word": "a"}, {"n": 2.5, "word": None}, {"n": None, "word": "c"}])
    assert db.sql("SELECT * FROM t ORDER BY n").fetchall() == [(1, "a"), (2.5, None), (None, "c")]
    assert db.executemany("INSERT INTO t VALUES ($n, $word)", []).rowcount == 0


def test_changes_wait_for_a_commit(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER)")
    with db.another() as other:
        other.autocommit = False
        other.cursor().execute("INSERT INTO t VALUES (1)")
        assert other.in_transaction
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
        other.rollback()
        assert not other.in_transaction
        other.cursor().execute("INSERT INTO t VALUES (2)")
        other.commit()
        assert db.sql("SELECT n FROM t").fetchall() == [(2,)]
        other.cursor().execute("INSERT INTO t VALUES (3)")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_transactions_are_blocks(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    with pytest.raises(ZeroDivisionError), db.transaction():
        db.sql("INSERT INTO t VALUES (1)")
        1 / 0
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
    with db.transaction(isolation="serializable", read_only=False):
        db.sql("INSERT INTO t VALUES (1)")
        with pytest.raises(longshore.UniqueViolation), db.transaction():
            db.sql("INSERT INTO t VALUES (2)")
            db.sql("INSERT INTO t VALUES (1)")
        db.sql("INSERT INTO t VALUES (3)")
    assert db.sql("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (3,)]
    with pytest.raises(longshore.Error) as refused, db.transaction(read_only=True):
        db.sql("INSERT INTO t VALUES (4)")
    assert refused.value.sqlstate == "25006"
    with pytest.raises(ValueError, match="isolation"):
        db.transaction(isolation="chaos")
    assert not db.in_transaction


def test_conflicts_are_retried(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)")
    calls = 0

    def work(connection: longshore.Connection) -> str:
        nonlocal calls
        calls += 1
        [(n,)] = connection.sql("SELECT n FROM t").fetchall()
        if calls == 1:
            with connection.another() as other:
                other.sql("UPDATE t SET n = n + 10")
        connection.sql("UPDATE t SET n = $1", [n + 1])
        return "done"

    assert db.retry(work, isolation="serializable") == "done"
    assert calls == 2
    assert db.sql("SELECT n FROM t").fetchall() == [(11,)]


def test_a_closed_cursor_knows_what_it_changed(db: longshore.Connection) -> None:
    with db.cursor() as cursor:
        assert cursor.rowcount == -1
        cursor.execute("CREATE TABLE t AS SELECT n FROM generate_series(1, 3) AS t(n)")
        cursor.execute("DELETE FROM t WHERE n > 1")
    assert cursor.rowcount == 2


def test_what_cannot_be_retried_says_so(db: longshore.Connection) -> None:
    with db.transaction(), pytest.raises(longshore.ProgrammingError, match="open"):
        db.retry(lambda _: None)
    with pytest.raises(ValueError, match="attempts"):
        db.retry(lambda _: None, attempts=0)


def test_rows_come_from_generators(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    assert db.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(1000))).rowcount == 1000

    def broken() -> Iterator[tuple[int]]:
        yield (5000,)
        raise KeyError("it broke")

    with pytest.raises(KeyError):
        db.executemany("INSERT INTO t VALUES (?)", broken())
    with pytest.raises(TypeError, match="list"):
        db.executemany("INSERT INTO t VALUES (?)", [1, 2])  # type: ignore[list-item]
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(1000,)]


def test_rows_one_by_one_are_fast(db: longshore.Connection) -> None:
    began = time.monotonic()
    assert sum(n for (n,) in db.execute("SELECT n FROM generate_series(1, 300000) AS t(n)")) == sum(range(300_001))
    assert time.monotonic() - began < 20


def test_cursors_stream(db: longshore.Connection) -> None:
    cursor = db.execute("SELECT n FROM generate_series(1, 100000) AS t(n)")
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany(3) == [(2,), (3,), (4,)]
    assert cursor.rownumber == 4
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(5,), (6,)]
    assert sum(n for (n,) in cursor) == sum(range(7, 100_001))
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_pandas_reads_by_a_connection(db: longshore.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning):
        frame: Any = pandas.read_sql("SELECT 1 AS a, 'x' AS b", db)
    assert frame.to_dict("list") == {"a": [1], "b": ["x"]}


def test_polars_reads_by_a_connection(db: longshore.Connection) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_database("SELECT n FROM generate_series(1, 3) AS t(n)", db.cursor())
    assert frame["n"].to_list() == [1, 2, 3]
