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
    ("integer[]", [[1, 2], [3, 4]]),
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
