"""psycopg 3: text and binary, all types both ways, transactions, pipelines, COPY, cancellation, async."""

import asyncio
import datetime as dt
import decimal
import threading
import time
import uuid

import psycopg
import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from conftest import DSN

VALUES = [
    ("boolean", True),
    ("smallint", -32768),
    ("integer", 2147483647),
    ("bigint", -9223372036854775808),
    ("real", 1.5),
    ("double precision", -1e300),
    ("numeric", decimal.Decimal("12345678901234567890.123456789")),
    ("numeric(10,2)", decimal.Decimal("-99999999.99")),
    ("numeric", decimal.Decimal("NaN")),
    ("text", "äöü \U0001f600 'quoted' \\ back"),
    ("text", ""),
    ("varchar(10)", "ten chars!"),
    ("bytea", b"\x00\xff\\x"),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(1999, 12, 31, 23, 59, 59, 123456)),
    ("timestamptz", dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.timezone.utc)),
    ("interval", dt.timedelta(days=3, seconds=4, microseconds=5)),
    ("uuid", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("jsonb", {"a": [1, 2.5, None, "x"]}),
    ("json", [1, {"b": False}]),
    ("integer[]", [1, None, 3]),
    ("text[]", ["a b", 'q"uote', "NULL", None]),
    ("numeric", None),
    ("boolean[]", [True, None]),
    ("smallint[]", [1, -1]),
    ("bigint[]", [1 << 40]),
    ("double precision[]", [0.1]),
    ("numeric[]", [decimal.Decimal("1.50"), None]),
    ("bytea[]", [b"\x00\xff", b""]),
    ("date[]", [dt.date(2024, 1, 1)]),
    ("timestamptz[]", [dt.datetime(2024, 7, 1, 12, 0, tzinfo=dt.timezone.utc)]),
    ("interval[]", [dt.timedelta(days=1)]),
    ("uuid[]", [uuid.UUID(int=1), None]),
    ("integer[][]", [[1, 2], [3, 4]]),
]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("type_name,value", VALUES)
def test_values_return_as_they_went(connection, type_name, value, binary):
    sent = Jsonb(value) if type_name in ("json", "jsonb") else value
    with connection.cursor(binary=binary) as cursor:
        cursor.execute(f"CREATE TEMP TABLE v (x {type_name})")
        cursor.execute("INSERT INTO v VALUES (%b)" if binary and sent is not None else "INSERT INTO v VALUES (%s)", [sent])
        (got,) = cursor.execute("SELECT x FROM v").fetchone()
        if isinstance(value, decimal.Decimal) and value.is_nan():
            assert got.is_nan()
        else:
            assert got == value and type(got) is type(value)
        cursor.execute("DROP TABLE v")


def test_statements_are_prepared_and_described(connection):
    connection.execute("CREATE TEMP TABLE t (k int PRIMARY KEY, v text)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(i, f"row {i}") for i in range(100)])
        assert cursor.rowcount == 100
        for key in range(20):
            row = cursor.execute("SELECT v, k + 1 AS next FROM t WHERE k = %s", [key], prepare=True).fetchone()
            assert row == (f"row {key}", key + 1)
        assert [column.name for column in cursor.description] == ["v", "next"]
        assert [column.type_code for column in cursor.description] == [25, 23]


def test_transactions(connection):
    connection.execute("CREATE TABLE psy_tx (k int PRIMARY KEY)")
    try:
        with pytest.raises(errors.UniqueViolation) as caught:
            with connection.transaction():
                connection.execute("INSERT INTO psy_tx VALUES (1)")
                with connection.transaction():
                    connection.execute("INSERT INTO psy_tx VALUES (2)")
                connection.execute("INSERT INTO psy_tx VALUES (1)")
        assert caught.value.diag.constraint_name == "psy_tx_pkey"
        assert caught.value.diag.table_name == "psy_tx"
        assert connection.execute("SELECT count(*) FROM psy_tx").fetchone() == (0,)
        with connection.transaction():
            connection.execute("INSERT INTO psy_tx VALUES (3)")
            with pytest.raises(errors.DivisionByZero):
                with connection.transaction():
                    connection.execute("INSERT INTO psy_tx VALUES (4)")
                    connection.execute("SELECT 1 / 0")
        assert connection.execute("SELECT k FROM psy_tx").fetchall() == [(3,)]
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    finally:
        connection.execute("DROP TABLE psy_tx")


def test_pipeline(connection):
    connection.execute("CREATE TABLE psy_pipe (k int PRIMARY KEY)")
    try:
        with connection.pipeline():
            for i in range(10):
                connection.execute("INSERT INTO psy_pipe VALUES (%s)", [i])
            cursor = connection.execute("SELECT sum(k) FROM psy_pipe")
            assert cursor.fetchone() == (45,)
        # What stands between two syncs is one transaction.
        with pytest.raises(errors.UniqueViolation):
            with connection.pipeline():
                connection.execute("INSERT INTO psy_pipe VALUES (100)")
                connection.execute("INSERT INTO psy_pipe VALUES (1)")
        assert connection.execute("SELECT count(*) FROM psy_pipe").fetchone() == (10,)
    finally:
        connection.execute("DROP TABLE psy_pipe")


def test_copy_both_ways(connection):
    connection.execute("CREATE TEMP TABLE c (k int, s text, d numeric(8,2))")
    rows = [(i, None if i % 7 == 0 else f"a\tb\\{i}\n", decimal.Decimal(i) / 4) for i in range(10_000)]
    with connection.cursor() as cursor:
        with cursor.copy("COPY c FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        assert cursor.rowcount == len(rows)
        with cursor.copy("COPY c TO STDOUT") as copy:
            copy.set_types(["int4", "text", "numeric"])
            assert list(copy.rows()) == rows
        with cursor.copy("COPY (SELECT k FROM c ORDER BY k LIMIT 2) TO STDOUT (FORMAT csv, HEADER)") as copy:
            assert b"".join(copy) == b"k\n0\n1\n"
        with pytest.raises(ZeroDivisionError):
            with cursor.copy("COPY c FROM STDIN") as copy:
                copy.write_row(rows[0])
                raise ZeroDivisionError
    assert connection.execute("SELECT count(*) FROM c").fetchone() == (len(rows),)
    with pytest.raises(psycopg.DataError):
        with connection.cursor().copy("COPY c FROM STDIN") as copy:
            copy.write("1\tx\t2.5\nnonsense\ty\t1\n")
    assert connection.execute("SELECT count(*) FROM c").fetchone() == (len(rows),)


def test_cancellation(connection):
    cancel = threading.Timer(0.3, connection.cancel)
    cancel.start()
    began = time.monotonic()
    with pytest.raises(errors.QueryCanceled):
        connection.execute(
            "SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j) WHERE i + j = 3"
        )
    assert time.monotonic() - began < 20
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_rows_in_parts(connection):
    with connection.cursor() as cursor:
        count = 0
        for (value,) in cursor.stream("SELECT i FROM generate_series(1, 100000) g(i)"):
            count += value == count + 1
        assert count == 100_000


def test_several_statements_are_one_transaction(connection):
    with pytest.raises(errors.DivisionByZero):
        connection.execute("CREATE TABLE psy_multi (i int); INSERT INTO psy_multi VALUES (1); SELECT 1 / 0")
    with pytest.raises(errors.UndefinedTable):
        connection.execute("SELECT * FROM psy_multi")


def test_errors_have_codes(connection):
    for sql, error in [
        ("SELEC 1", errors.SyntaxError),
        ("SELECT * FROM nowhere", errors.UndefinedTable),
        ("SELECT nothing FROM (SELECT 1 AS x) t", errors.UndefinedColumn),
        ("SELECT 'x'::int", errors.InvalidTextRepresentation),
        ("SELECT nofunction(1)", errors.UndefinedFunction),
    ]:
        with pytest.raises(error):
            connection.execute(sql)
    with pytest.raises(errors.InvalidTextRepresentation):
        connection.execute("SELECT %s::int", ["x"])


def test_async():
    async def work():
        async with await psycopg.AsyncConnection.connect(DSN, autocommit=True) as connection:
            cursor = await connection.execute("SELECT %s::text || 'b'", ["a"])
            return await cursor.fetchone()

    assert asyncio.run(work()) == ("ab",)


@pytest.mark.parametrize(
    "sql,position",
    [
        ("SELECT FROM WHERE", 13),
        ("SELECT 'x', nothing FROM pg_class", 13),
        ("SELECT 1 FROM nowhere", 15),
        ("SELECT nosuch(1)", 8),
        ("SELECT 1 +", 11),
    ],
)
def test_errors_tell_their_place(connection, sql, position):
    for prepare in (False, True):
        with pytest.raises(errors.Error) as caught:
            connection.execute(sql, prepare=prepare)
        assert caught.value.diag.statement_position == str(position)


def test_errors_tell_what_is_violated(connection):
    connection.execute("CREATE TABLE psy_p (k int PRIMARY KEY)")
    connection.execute("CREATE DOMAIN psy_d AS int CONSTRAINT positive CHECK (value > 0)")
    connection.execute(
        "CREATE TABLE psy_v (k int PRIMARY KEY, n int NOT NULL, c int CONSTRAINT small CHECK (c < 10),"
        " r int CONSTRAINT refers REFERENCES psy_p, d psy_d)"
    )
    try:
        connection.execute("INSERT INTO psy_v VALUES (1, 1, 1, NULL, 1)")
        for values, fields in [
            ("(1, 1, 1, NULL, 1)", ("23505", "public", "psy_v", None, "psy_v_pkey", None)),
            ("(2, NULL, 1, NULL, 1)", ("23502", "public", "psy_v", "n", None, None)),
            ("(2, 1, 10, NULL, 1)", ("23514", "public", "psy_v", None, "small", None)),
            ("(2, 1, 1, 7, 1)", ("23503", "public", "psy_v", None, "refers", None)),
        ]:
            with pytest.raises(errors.IntegrityError) as caught:
                connection.execute(f"INSERT INTO psy_v VALUES {values}")
            diag = caught.value.diag
            told = (diag.sqlstate, diag.schema_name, diag.table_name, diag.column_name, diag.constraint_name, diag.datatype_name)
            assert told == fields
        with pytest.raises(errors.CheckViolation) as caught:
            connection.execute("SELECT 0::psy_d")
        assert (caught.value.diag.datatype_name, caught.value.diag.constraint_name) == ("psy_d", "positive")
    finally:
        connection.execute("DROP TABLE psy_v")
        connection.execute("DROP TABLE psy_p")
        connection.execute("DROP DOMAIN psy_d")


@pytest.mark.parametrize(
    "line,state",
    [
        ("x\ta\t2024-01-01\t1.5", "22P02"),
        ("1\ta\tsoon\t1.5", "22007"),
        ("1\ta\t2024-13-01\t1.5", "22008"),
        ("99999999999\ta\t2024-01-01\t1.5", "22003"),
        ("1\ttoolong\t2024-01-01\t1.5", "22001"),
        ("1\ta\t2024-01-01", "22P04"),
        ("1\ta\t2024-01-01\t1.5\tx", "22P04"),
        ("1\ta\t2024-01-01\tone", "22P02"),
        ("\\N\ta\t2024-01-01\t1.5", "23502"),
    ],
)
def test_bad_records_have_the_codes_of_postgresql(connection, line, state):
    connection.execute("CREATE TEMP TABLE l (k int NOT NULL, s varchar(3), d date, n numeric(5,2))")
    with pytest.raises(errors.Error) as caught:
        with connection.cursor() as cursor, cursor.copy("COPY l FROM STDIN") as copy:
            copy.write(line + "\n")
    assert caught.value.sqlstate == state


def test_columns_tell_their_tables(connection):
    connection.execute("CREATE TABLE psy_c (k int PRIMARY KEY, v text)")
    connection.execute("CREATE VIEW psy_w AS SELECT v, k FROM psy_c")
    try:
        (table,), (view,) = connection.execute("SELECT oid FROM pg_class WHERE relname IN ('psy_c', 'psy_w') ORDER BY relname").fetchall()
        for sql, expected in [
            ("SELECT v, k, k + 1 FROM psy_c", [(table, 2), (table, 1), (0, 0)]),
            ("SELECT k FROM psy_c WHERE k = 1", [(table, 1)]),
            ("SELECT x.v FROM (SELECT v FROM psy_c) x JOIN psy_c y ON x.v = y.v", [(table, 2)]),
            ("SELECT k, v FROM psy_w", [(view, 2), (view, 1)]),
            ("SELECT v, count(*) FROM psy_c GROUP BY v", [(table, 2), (0, 0)]),
        ]:
            result = connection.execute(sql).pgresult
            told = [(result.ftable(column), result.ftablecol(column)) for column in range(result.nfields)]
            assert told == expected, sql
    finally:
        connection.execute("DROP VIEW psy_w")
        connection.execute("DROP TABLE psy_c")


def test_named_cursors(connection):
    with psycopg.connect(DSN) as own:
        with own.cursor(name="forward") as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT i, 'r' || i FROM generate_series(1, %s) g(i)", [1000])
            assert [column.type_code for column in cursor.description] == [23, 25]
            assert sum(row[0] for row in cursor) == 500_500
        with own.cursor(name="scrolls", scrollable=True) as cursor:
            cursor.execute("SELECT i FROM generate_series(1, 10) g(i)")
            assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
            cursor.scroll(-2)
            assert cursor.fetchone() == (2,)
            cursor.scroll(9, mode="absolute")
            assert cursor.fetchall() == [(10,)]
        own.rollback()
        with own.cursor(name="holds", withhold=True, binary=True) as cursor:
            cursor.execute("SELECT i FROM generate_series(1, 5) g(i) WHERE i > %s", [2])
            own.commit()
            assert cursor.fetchall() == [(3,), (4,), (5,)]
            assert own.execute("SELECT name, is_holdable FROM pg_cursors").fetchall() == [("holds", True)]
        with pytest.raises(errors.InvalidCursorName):
            own.execute("FETCH holds")


def test_notifications(connection):
    with psycopg.connect(DSN, autocommit=True) as hears:
        hears.execute("LISTEN jobs")
        with connection.transaction():
            connection.execute("NOTIFY jobs, 'one'")
            connection.execute("SELECT pg_notify('jobs', %s)", ["two"])
            assert list(hears.notifies(timeout=0.2)) == []
        told = list(hears.notifies(timeout=10, stop_after=2))
        assert [(one.channel, one.payload, one.pid) for one in told] == [
            ("jobs", "one", connection.info.backend_pid),
            ("jobs", "two", connection.info.backend_pid),
        ]
        hears.execute("UNLISTEN *")
        connection.execute("NOTIFY jobs")
        assert list(hears.notifies(timeout=0.2)) == []
