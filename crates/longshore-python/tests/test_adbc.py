"""ADBC: the shared library as a driver, and what reaches Longshore by it."""

from __future__ import annotations

import datetime
import decimal
import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import longshore

pyarrow = pytest.importorskip("pyarrow")
dbapi = pytest.importorskip("adbc_driver_manager.dbapi")

import longshore.adbc  # noqa: E402

SLOW = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a::text < b::text"


@pytest.fixture
def adbc(db: longshore.Connection) -> Iterator[Any]:
    """A connection of ADBC to the database of `db`."""
    with longshore.adbc.connect(db) as connection:
        yield connection


def test_queries_give_arrow_and_rows(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("SELECT 1 AS n, 'one' AS word, 1.50 AS price, DATE '2024-01-31' AS day, NULL::int AS nothing")
        assert cursor.fetchall() == [(1, "one", decimal.Decimal("1.50"), datetime.date(2024, 1, 31), None)]
        assert [column[0] for column in cursor.description] == ["n", "word", "price", "day", "nothing"]
        cursor.execute("SELECT n FROM generate_series(1, 200000) AS t(n)")
        table = cursor.fetch_arrow_table()
        table.validate(full=True)
        assert (table.num_rows, table["n"][199_999].as_py()) == (200_000, 200_000)
        cursor.execute("SELECT 1 AS n WHERE false")
        assert cursor.fetch_arrow_table().schema.names == ["n"]


def test_parameters_are_bound(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        cursor.execute("SELECT $1 + 1, $2, $3::date", (41, "x", "2024-01-31"))
        assert cursor.fetchall() == [(42, "x", datetime.date(2024, 1, 31))]
        cursor.execute("CREATE TABLE t (n BIGINT, word TEXT, f FLOAT8, ok BOOLEAN, bytes BYTEA, day DATE, at TIMESTAMPTZ, d NUMERIC)")
        day, at = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
        rows = [(1, "one", 0.5, True, b"\x00", day, at, decimal.Decimal("1.50")), (None,) * 8]
        cursor.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        cursor.execute("SELECT * FROM t ORDER BY n")
        assert cursor.fetchall() == rows
        cursor.execute("SELECT word FROM t WHERE n = $n", pyarrow.record_batch({"n": [1]}))
        assert cursor.fetchone() == ("one",)


def test_transactions_end_by_commit(db: longshore.Connection, adbc: Any) -> None:
    db.sql("CREATE TABLE t (n INTEGER)")
    with adbc.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
        assert cursor.rowcount == 1
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
        adbc.rollback()
        cursor.execute("INSERT INTO t VALUES (2)")
        adbc.commit()
        assert db.sql("SELECT n FROM t").fetchall() == [(2,)]
        adbc.commit()
    with longshore.adbc.connect(db, autocommit=True) as other, other.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (3)")
        assert db.sql("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_rows_are_ingested(db: longshore.Connection, adbc: Any) -> None:
    table = pyarrow.table({"n": [1, 2], "With Case": ["x", None], "d": [decimal.Decimal("1.50"), None]})
    with adbc.cursor() as cursor:
        assert cursor.adbc_ingest("t", table, mode="create") == 2
        assert cursor.adbc_ingest("t", table.to_reader(), mode="append") == 2
        assert cursor.adbc_ingest("t", table.slice(1), mode="create_append") == 1
        with pytest.raises(dbapi.ProgrammingError, match="exists"):
            cursor.adbc_ingest("t", table, mode="create")
        adbc.rollback()
        cursor.adbc_ingest("t", table, mode="create")
        adbc.commit()
        assert db.sql('SELECT n, "With Case", d FROM t ORDER BY n').fetchall() == [
            (1, "x", decimal.Decimal("1.50")),
            (2, None, None),
        ]
        assert cursor.adbc_ingest("t", table.select(["n"]), mode="replace") == 2
        adbc.commit()
        assert db.sql("SELECT * FROM t ORDER BY n").columns == ["n"]
        db.sql("CREATE SCHEMA s")
        assert cursor.adbc_ingest("u", table, mode="create", db_schema_name="s") == 2
        assert cursor.adbc_ingest("v", table, mode="create", temporary=True) == 2
        with pytest.raises(dbapi.ProgrammingError, match="does not exist"):
            cursor.adbc_ingest("nowhere", table, mode="append")


def test_a_failed_ingest_leaves_no_table(db: longshore.Connection) -> None:
    def broken() -> Iterator[Any]:
        yield pyarrow.record_batch({"n": [1]})
        raise ValueError("it broke")

    rows = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("n", pyarrow.int64())]), broken())
    with longshore.adbc.connect(db, autocommit=True) as connection, connection.cursor() as cursor:
        with pytest.raises(dbapi.Error, match="it broke"):
            cursor.adbc_ingest("t", rows, mode="create")
    assert db.table_names() == []


def test_errors_have_classes_and_states(adbc: Any) -> None:
    cases = [
        ("SELECT * FROM nowhere", dbapi.ProgrammingError, "42P01"),
        ("SELEC 1", dbapi.ProgrammingError, "42601"),
        ("SELECT 1 / 0", dbapi.DataError, "22012"),
    ]
    for sql, kind, sqlstate in cases:
        with adbc.cursor() as cursor, pytest.raises(kind) as caught:
            cursor.execute(sql)
        assert caught.value.sqlstate == sqlstate
        adbc.rollback()
    with adbc.cursor() as cursor:
        cursor.execute("CREATE TABLE t (n INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
        with pytest.raises(dbapi.IntegrityError) as caught:
            cursor.execute("INSERT INTO t VALUES (1)")
        assert caught.value.sqlstate == "23505"


def test_errors_of_later_batches_have_classes_and_states(adbc: Any) -> None:
    for read in ("fetch_arrow_table", "fetchall", "fetch_df"):
        if read == "fetch_df":
            pytest.importorskip("pandas")
        with adbc.cursor() as cursor:
            cursor.execute("SELECT 10 / (n - 1500000) AS q FROM generate_series(1, 2000000) AS g (n)")
            with pytest.raises(dbapi.DataError, match="division by zero") as caught:
                getattr(cursor, read)()
            assert caught.value.sqlstate == "22012"
        adbc.rollback()


def test_what_there_is_is_told(db: longshore.Connection, adbc: Any) -> None:
    db.sql("CREATE TABLE p (id INTEGER PRIMARY KEY, word TEXT NOT NULL); CREATE TABLE c (p INTEGER REFERENCES p)")
    db.sql("CREATE VIEW v AS SELECT word FROM p")
    [catalog] = adbc.adbc_get_objects(db_schema_filter="public").read_all().to_pylist()
    [schema] = catalog["catalog_db_schemas"]
    tables = {table["table_name"]: table for table in schema["db_schema_tables"]}
    assert {name: table["table_type"] for name, table in tables.items()} == {"c": "BASE TABLE", "p": "BASE TABLE", "v": "VIEW"}
    columns = [(column["column_name"], column["xdbc_type_name"], column["xdbc_is_nullable"]) for column in tables["p"]["table_columns"]]
    assert columns == [("id", "integer", "NO"), ("word", "text", "NO")]
    [foreign] = [one for one in tables["c"]["table_constraints"] if one["constraint_type"] == "FOREIGN KEY"]
    assert foreign["constraint_column_names"] == ["p"]
    assert [(use["fk_table"], use["fk_column_name"]) for use in foreign["constraint_column_usage"]] == [("p", "id")]
    [primary] = [one for one in tables["p"]["table_constraints"] if one["constraint_type"] == "PRIMARY KEY"]
    assert (primary["constraint_column_names"], primary["constraint_column_usage"]) == (["id"], [])
    [catalog] = adbc.adbc_get_objects(depth="tables", db_schema_filter="pub%", table_name_filter="p").read_all().to_pylist()
    [schema] = catalog["catalog_db_schemas"]
    assert [(table["table_name"], table["table_columns"]) for table in schema["db_schema_tables"]] == [("p", None)]
    [catalog] = adbc.adbc_get_objects(depth="catalogs").read_all().to_pylist()
    assert catalog["catalog_db_schemas"] is None
    assert adbc.adbc_get_table_schema("p").names == ["id", "word"]
    with pytest.raises(dbapi.ProgrammingError):
        adbc.adbc_get_table_schema("nowhere")
    adbc.rollback()
    assert "VIEW" in adbc.adbc_get_table_types()
    info = adbc.adbc_get_info()
    assert info["vendor_name"] == "Longshore" and info["driver_version"] == longshore.__version__


def test_pandas_reads_and_writes(adbc: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2], "word": ["one", None], "day": pandas.to_datetime(["2024-01-01", None])})
    assert frame.to_sql("t", adbc, index=False) == 2
    with pytest.raises(ValueError, match="exists"):
        frame.to_sql("t", adbc, index=False)
    assert frame.to_sql("t", adbc, index=False, if_exists="append") == 2
    assert frame.to_sql("t", adbc, index=True, if_exists="replace") == 2
    back = pandas.read_sql("SELECT n, word, day FROM t ORDER BY n", adbc)
    assert back["n"].tolist() == [1, 2]
    assert back["word"].iloc[0] == "one" and pandas.isna(back["word"].iloc[1])
    assert back["day"].iloc[0] == pandas.Timestamp("2024-01-01")
    assert pandas.read_sql_table("t", adbc)["n"].sum() == 3


def test_polars_reads_and_writes(adbc: Any) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"n": [1, 2], "word": ["one", None]})
    assert frame.write_database("t", adbc, if_table_exists="replace", engine="adbc") == 2
    assert frame.write_database("t", adbc, if_table_exists="append", engine="adbc") == 2
    back = polars.read_database("SELECT word, sum(n) AS n FROM t GROUP BY word ORDER BY word", adbc)
    assert back.rows() == [("one", 2), (None, 4)]


def test_a_directory_is_opened_and_closed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "db"
    with longshore.adbc.connect(path) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t AS SELECT 7 AS n")
        connection.commit()
    with longshore.connect(path) as db:
        assert db.sql("SELECT n FROM t").fetchall() == [(7,)]
    arguments = {"driver": longshore.adbc.DRIVER, "entrypoint": longshore.adbc.ENTRYPOINT}
    with dbapi.connect(**arguments, db_kwargs={"uri": str(path)}) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n FROM t")
        assert cursor.fetchall() == [(7,)]
    with pytest.raises(dbapi.Error, match="option"):
        dbapi.connect(**arguments, db_kwargs={"no_such": "option"})
    db = longshore.connect()
    db.close()
    with pytest.raises(longshore.InterfaceError, match="closed"):
        longshore.adbc.connect(db)
    with longshore.connect() as db, pytest.raises(TypeError, match="threads"):
        longshore.adbc.connect(db, threads=1)


def test_control_c_ends_a_statement(adbc: Any) -> None:
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    began = time.monotonic()
    with adbc.cursor() as cursor, pytest.raises((KeyboardInterrupt, dbapi.Error)):
        timer.start()
        cursor.execute(SLOW)
    assert time.monotonic() - began < 10
    timer.join()
    adbc.rollback()


def test_another_thread_cancels(adbc: Any) -> None:
    with adbc.cursor() as cursor:
        timer = threading.Timer(0.3, cursor.adbc_cancel)
        timer.start()
        with pytest.raises(dbapi.OperationalError):
            cursor.execute(SLOW)
        timer.join()
