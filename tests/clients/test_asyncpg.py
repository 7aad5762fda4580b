"""asyncpg: binary only, its own descriptions of types, COPY, cursors."""

import asyncio
import datetime as dt
import decimal
import uuid

import asyncpg
import pytest

from conftest import ADDRESS


def run(work):
    async def connected():
        connection = await asyncpg.connect(**ADDRESS)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(connected())


VALUES = [
    ("boolean", False),
    ("smallint", 7),
    ("integer", -7),
    ("bigint", 1 << 40),
    ("real", 0.25),
    ("double precision", 1e-300),
    ("numeric", decimal.Decimal("0.000123")),
    ("text", "grüße"),
    ("varchar(20)", "x"),
    ("bytea", bytes(range(256))),
    ("date", dt.date(1, 1, 1)),
    ("time", dt.time(1, 2, 3, 4)),
    ("timestamp", dt.datetime(2030, 1, 2, 3, 4, 5, 6)),
    ("timestamptz", dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)),
    ("interval", dt.timedelta(days=400, seconds=1)),
    ("uuid", uuid.UUID(int=1)),
    ("jsonb", '{"a": 1}'),
    ("integer[]", [1, None, 3]),
    ("integer[][]", [[1, 2], [3, 4]]),
    ("text[]", ["", None, "x,y"]),
    ("boolean[]", [True, None]),
    ("smallint[]", [1, -1]),
    ("bigint[]", [1 << 40]),
    ("real[]", [0.25]),
    ("double precision[]", [1e-300]),
    ("numeric[]", [decimal.Decimal("1.50"), None]),
    ("varchar(20)[]", ["x y"]),
    ("bytea[]", [b"\x00\xff", b""]),
    ("date[]", [dt.date(2024, 1, 1)]),
    ("time[]", [dt.time(1, 2)]),
    ("timestamp[]", [dt.datetime(2030, 1, 2)]),
    ("timestamptz[]", [dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)]),
    ("interval[]", [dt.timedelta(days=1)]),
    ("uuid[]", [uuid.UUID(int=1), None]),
    ("jsonb[]", ['{"a": 1}']),
]


@pytest.mark.parametrize("type_name,value", VALUES)
def test_values_return_as_they_went(type_name, value):
    async def work(connection):
        await connection.execute(f"CREATE TEMP TABLE v (x {type_name})")
        await connection.execute("INSERT INTO v VALUES ($1)", value)
        stored = await connection.fetchval("SELECT x FROM v")
        cast = await connection.fetchval(f"SELECT $1::{type_name}", value)
        null = await connection.fetchval(f"SELECT $1::{type_name}", None)
        return stored, cast, null

    assert run(work) == (value, value, None)


@pytest.mark.parametrize(
    "type_name,value",
    [("oid", 4_000_000_000), ("name", "x"), ("regclass", None), ("xid", 7)],
)
def test_types_of_system_columns_have_arrays(type_name, value):
    async def work(connection):
        statement = await connection.prepare(f"SELECT $1::{type_name}[], $2::{type_name}")
        types = [parameter.name for parameter in statement.get_parameters()]
        row = await statement.fetchrow([value, None], None)
        return types, row[0]

    assert run(work) == ([f"{type_name}[]", type_name], [value, None])


def test_parameters_get_their_types_from_where_they_stand():
    async def work(connection):
        await connection.execute("CREATE TEMP TABLE t (k int PRIMARY KEY, u uuid, n numeric, s text, d date)")
        statement = await connection.prepare("UPDATE t SET u = $1, n = $2, s = $3, d = $4 WHERE k = $5")
        types = [parameter.name for parameter in statement.get_parameters()]
        insert = await connection.prepare("INSERT INTO t (k, d) VALUES ($1, $2) RETURNING k, u")
        columns = [(column.name, column.type.name) for column in insert.get_attributes()]
        await insert.fetch(1, dt.date(2024, 1, 1))
        await statement.fetch(uuid.UUID(int=5), decimal.Decimal("1.50"), "x", dt.date(2024, 2, 2), 1)
        row = await connection.fetchrow("SELECT * FROM t WHERE u = $1 AND d < $2", uuid.UUID(int=5), dt.date(2025, 1, 1))
        return types, columns, tuple(row)

    types, columns, row = run(work)
    assert types == ["uuid", "numeric", "text", "date", "int4"]
    assert columns == [("k", "int4"), ("u", "uuid")]
    assert row == (1, uuid.UUID(int=5), decimal.Decimal("1.50"), "x", dt.date(2024, 2, 2))


def test_transactions_and_cursors():
    async def work(connection):
        async with connection.transaction():
            cursor = await connection.cursor("SELECT i FROM generate_series(1, 1000) g(i)")
            first = await cursor.fetch(10)
            rest = await cursor.fetch(10_000)
            return len(first), len(rest), rest[0][0]

    assert run(work) == (10, 990, 11)


def test_many_rows_at_once():
    async def work(connection):
        await connection.execute("CREATE TEMP TABLE t (k int PRIMARY KEY, v text)")
        await connection.executemany("INSERT INTO t VALUES ($1, $2)", [(i, str(i)) for i in range(1000)])
        return await connection.fetchval("SELECT count(*) FROM t")

    assert run(work) == 1000


def test_copy_as_text():
    async def work(connection):
        await connection.execute("CREATE TEMP TABLE t (k int, v text)")
        import io

        status = await connection.copy_to_table("t", source=io.BytesIO(b"1\ta\n2\t\\N\n"), format="text")
        out = io.BytesIO()
        await connection.copy_from_query("SELECT * FROM t ORDER BY k", output=out, format="csv")
        return status, out.getvalue()

    assert run(work) == ("COPY 2", b"1,a\n2,\n")


def test_errors_keep_the_connection():
    async def work(connection):
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("SELECT * FROM nowhere")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.fetch("SELECT 1 / $1::int", 0)
        with pytest.raises(asyncio.TimeoutError):
            sql = "SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j) WHERE i + j = 3"
            await connection.fetch(sql, timeout=0.5)
        return await connection.fetchval("SELECT 1")

    assert run(work) == 1


def test_changes_are_described():
    async def work(connection):
        await connection.execute("CREATE TEMP TABLE t (k int PRIMARY KEY, u uuid, n numeric(8,2))")
        await connection.execute("CREATE TEMP TABLE log (k int, n numeric(8,2))")
        with_change = await connection.prepare(
            "WITH made AS (INSERT INTO t (k, u, n) VALUES ($1, $2, $3) RETURNING k, u, n),"
            " noted AS (INSERT INTO log SELECT k, n FROM made) SELECT u, n + 1 AS more, k FROM made"
        )
        types = [parameter.name for parameter in with_change.get_parameters()]
        columns = [(column.name, column.type.name) for column in with_change.get_attributes()]
        made = await with_change.fetchrow(1, uuid.UUID(int=7), decimal.Decimal("1.25"))
        before = await connection.fetch("WITH s AS (SELECT 2 AS k) INSERT INTO t SELECT k, NULL, $1 FROM s RETURNING k, n", decimal.Decimal(3))
        merged = await connection.fetch(
            "MERGE INTO t USING (VALUES (1, $1::numeric), (9, 0)) AS s (k, n) ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n)"
            " RETURNING merge_action(), t.k, t.n, s.n AS given",
            decimal.Decimal(5),
        )
        logged = await connection.fetchval("SELECT count(*) FROM log")
        return types, columns, tuple(made), [tuple(row) for row in before], sorted(tuple(row) for row in merged), logged

    number = decimal.Decimal
    assert run(work) == (
        ["int4", "uuid", "numeric"],
        [("u", "uuid"), ("more", "numeric"), ("k", "int4")],
        (uuid.UUID(int=7), number("2.25"), 1),
        [(2, number("3.00"))],
        [("INSERT", 9, number("0.00"), number(0)), ("UPDATE", 1, number("5.00"), number(5))],
        1,
    )


def test_settings_are_set_by_parameters():
    async def work(connection):
        told = await connection.fetchval("SELECT set_config($1, $2, $3)", "application_name", "by parameter", False)
        return told, await connection.fetchval("SHOW application_name")

    assert run(work) == ("by parameter", "by parameter")


def test_parameters_have_the_types_of_where_they_stand():
    async def work(connection):
        rows = await connection.fetch("SELECT g FROM generate_series($1, $2) AS g ORDER BY g LIMIT $3 OFFSET $4", 1, 9, 2, 1)
        assert [row[0] for row in rows] == [2, 3]
        cases = [
            ("SELECT left('abcdef', $1)", [2], "ab"),
            ("SELECT coalesce(NULL::int, $1)", [7], 7),
            ("SELECT CASE WHEN $1 THEN 1.5 ELSE $2 END", [False, decimal.Decimal("2.25")], decimal.Decimal("2.25")),
            ("SELECT 3 = ANY ($1)", [[1, 3]], None),
            ("SELECT array_append(ARRAY[1], $1)", [2], [1, 2]),
            ("SELECT timestamp '2020-01-01' + $1", [dt.timedelta(hours=5)], dt.datetime(2020, 1, 1, 5)),
            ("SELECT date '2020-01-03' - $1", [dt.date(2020, 1, 1)], 2),
            ("SELECT interval '1 day' * $1", [2.0], dt.timedelta(days=2)),
            ("SELECT sqrt($1)", [9.0], 3.0),
            ("SELECT make_date($1, $2, $3)", [2020, 2, 29], dt.date(2020, 2, 29)),
            ("SELECT jsonb '{\"a\": 1}' @> $1", ['{"a": 1}'], True),
            ("SELECT greatest(uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', $1)", [uuid.UUID(int=5)],
             uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ]
        for sql, given, expected in cases:
            found = await connection.fetchval(sql, *given)
            assert found == (True if expected is None else expected), sql

    run(work)


def test_a_pool_hands_connections_out_again_and_again():
    async def work():
        async with asyncpg.create_pool(**ADDRESS, min_size=1, max_size=2) as pool:
            for n in range(5):
                async with pool.acquire() as connection:
                    await connection.execute("SET work_mem = '8MB'")
                    assert await connection.fetchval("SELECT $1::int + 1", n) == n + 1
            return await pool.fetchval("SELECT count(*) FROM pg_listening_channels()")

    assert asyncio.run(work()) == 0


def test_listeners_are_told():
    async def work():
        hears, says = await asyncpg.connect(**ADDRESS), await asyncpg.connect(**ADDRESS)
        told = asyncio.Queue()
        await hears.add_listener("jobs", lambda connection, pid, channel, payload: told.put_nowait((pid, channel, payload)))
        async with says.transaction():
            await says.execute("SELECT pg_notify($1, $2)", "jobs", "grüße")
            assert told.empty()
        heard = await asyncio.wait_for(told.get(), 10)
        pid = says.get_server_pid()
        await says.close()
        await hears.close()
        return heard == (pid, "jobs", "grüße")

    assert asyncio.run(work())
