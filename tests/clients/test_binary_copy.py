"""COPY in PostgreSQL's binary format: psycopg, asyncpg, and byte for byte what PostgreSQL itself writes, where one is there."""

import asyncio
import datetime as dt
import decimal
import io
import os
import random
import struct
import subprocess
import uuid

import asyncpg
import psycopg
import pytest
from psycopg import errors

from conftest import ADDRESS, DSN

COLUMNS = """b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric, n2 numeric(12,3),
    t text, v varchar(20), y bytea, d date, tm time, tz timetz, ts timestamp, tt timestamptz, iv interval, u uuid,
    j json, jb jsonb, ai int[], am int[][], at text[], an numeric[], ad date[], au uuid[], ay bytea[]"""
SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)


def rows(count, seed=7):
    """The text of each value, or None, which is what both databases are given."""
    pick = random.Random(seed)
    text = lambda: "".join(pick.choice("abc äöü\U0001f600'\"\\,{}") for _ in range(pick.randrange(12)))
    number = lambda: str(decimal.Decimal(pick.randrange(-(10**25), 10**25)).scaleb(-pick.randrange(0, 20)).normalize())
    day = lambda: pick.choice(["infinity", "-infinity", str(dt.date.fromordinal(pick.randrange(1, 3_000_000))), "0044-03-15 BC"])
    moment = lambda: str(dt.datetime(1, 1, 1) + dt.timedelta(microseconds=pick.randrange(10**17)))
    # Arrays go through their own quotes.
    array = lambda make: "{" + ",".join(pick.choice(["NULL", '"' + make().replace("\\", "\\\\").replace('"', '\\"') + '"']) for _ in range(pick.randrange(4))) + "}"
    makers = [
        lambda: pick.choice("tf"),
        lambda: str(pick.randrange(-(2**15), 2**15)),
        lambda: str(pick.randrange(-(2**31), 2**31)),
        lambda: str(pick.randrange(-(2**63), 2**63)),
        lambda: pick.choice(["NaN", "Infinity", "1.5", "-0", "1e-30"]),
        lambda: repr(pick.uniform(-1, 1) * 10 ** pick.randrange(-300, 300)),
        lambda: pick.choice([number(), "NaN", "0", "0.000", "1e100", "-1e-40", "10000", "99990000"]),
        lambda: pick.choice(["0", "-0.0005", "123456789.999", str(pick.randrange(10**11) / 1000)]),
        text,
        text,
        lambda: "\\x" + pick.randbytes(pick.randrange(20)).hex(),
        day,
        lambda: pick.choice(["00:00", "24:00", "12:34:56.789012"]),
        lambda: pick.choice(["00:00+00", "12:34:56.7-07:30", "23:59:59+15:59"]),
        moment,
        lambda: moment() + "+00",
        lambda: f"{pick.randrange(-99, 99)} months {pick.randrange(-99, 99)} days {pick.randrange(10**9)} milliseconds",
        lambda: str(uuid.UUID(int=pick.getrandbits(128))),
        lambda: '{"b" : 1,  "a": [1.50, null]}',
        lambda: '{"b" : 1,  "a": [1.50, null]}',
        lambda: pick.choice(["{}", "{NULL,-1}", "{" + str(pick.randrange(10**9)) + "}"]),
        lambda: pick.choice(["{}", "{{1,2},{3,NULL}}"]),
        lambda: array(text),
        lambda: array(number),
        lambda: array(day),
        lambda: array(lambda: str(uuid.UUID(int=pick.getrandbits(128)))),
        lambda: array(lambda: "\\x" + pick.randbytes(3).hex()),
    ]
    return [[None if pick.random() < 0.1 else make() for make in makers] for _ in range(count)]


def load(connection, table, values):
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in values:
            copy.write_row(row)


def out(connection, what, options):
    with connection.cursor() as cursor, cursor.copy(f"COPY {what} TO STDOUT ({options})") as copy:
        return b"".join(bytes(part) for part in copy)


def test_values_return_as_they_went(connection):
    connection.execute(f"CREATE TEMP TABLE a (k int, {COLUMNS})")
    connection.execute(f"CREATE TEMP TABLE b (k int, {COLUMNS})")
    load(connection, "a", [[str(k), *row] for k, row in enumerate(rows(3000))])
    data = out(connection, "a", "FORMAT binary")
    for piece in (1 << 20, 977, 13):
        connection.execute("TRUNCATE b")
        with connection.cursor() as cursor, cursor.copy("COPY b FROM STDIN WITH BINARY") as copy:
            for at in range(0, len(data), piece):
                copy.write(data[at : at + piece])
        assert out(connection, "b", "FORMAT csv") == out(connection, "a", "FORMAT csv")
    assert out(connection, "(SELECT * FROM b)", "FORMAT binary") == data


def test_the_bytes_are_those_of_postgresql(connection):
    witness = os.environ.get("WITNESS")
    if not witness:
        pytest.skip("WITNESS names no PostgreSQL to compare with")
    values = [[str(k), *row] for k, row in enumerate(rows(2000, seed=11))]
    # A load of arrays may change the order of rows.
    ordered = "(SELECT * FROM w ORDER BY k)"
    connection.execute(f"CREATE TEMP TABLE w (k int, {COLUMNS})")
    load(connection, "w", values)
    with psycopg.connect(witness, autocommit=True) as postgres:
        postgres.execute(f"CREATE TEMP TABLE w (k int, {COLUMNS})")
        load(postgres, "w", values)
        theirs = out(postgres, ordered, "FORMAT binary")
        assert out(connection, ordered, "FORMAT binary") == theirs
        # And what it has written is read.
        connection.execute("TRUNCATE w")
        with connection.cursor() as cursor, cursor.copy("COPY w FROM STDIN (FORMAT binary)") as copy:
            copy.write(theirs)
        assert out(connection, "w", "FORMAT binary") == theirs


def test_psycopg_writes_and_reads_rows(connection):
    connection.execute("CREATE TEMP TABLE p (k int, s text, n numeric(8,2), t timestamptz, a int[], PRIMARY KEY (k))")
    zone = dt.timezone.utc
    values = [(i, f"row {i}", decimal.Decimal(i) / 4, dt.datetime(2024, 1, 1, tzinfo=zone), [i, None]) for i in range(2000)]
    with connection.cursor() as cursor:
        with cursor.copy("COPY p FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "numeric", "timestamptz", "int4[]"])
            for row in values:
                copy.write_row(row)
        with cursor.copy("COPY (SELECT * FROM p ORDER BY k) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text", "numeric", "timestamptz", "int4[]"])
            assert list(copy.rows()) == values
        with cursor.copy("COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4"])
            assert list(copy.rows()) == []


def test_asyncpg_copies_records():
    async def work():
        connection = await asyncpg.connect(**ADDRESS)
        try:
            await connection.execute("CREATE TEMP TABLE r (k int PRIMARY KEY, s text DEFAULT 'none', n numeric, u uuid, d date)")
            records = [(i, f"r{i}", decimal.Decimal("1.50"), uuid.UUID(int=i), dt.date(2024, 1, 1)) for i in range(3000)]
            status = await connection.copy_records_to_table("r", records=records)
            part = await connection.copy_records_to_table("r", records=[(-1,), (-2,)], columns=["k"])
            back = await connection.fetch("SELECT * FROM r WHERE k >= 0 ORDER BY k")
            default = await connection.fetchval("SELECT s FROM r WHERE k = -1")
            data = io.BytesIO()
            await connection.copy_from_query("SELECT k, s FROM r WHERE k = $1", 7, output=data, format="binary")
            with pytest.raises(asyncpg.UniqueViolationError):
                await connection.copy_records_to_table("r", records=[(5000,), (7,)], columns=["k"])
            count = await connection.fetchval("SELECT count(*) FROM r")
            return status, part, [tuple(row) for row in back] == records, default, data.getvalue(), count
        finally:
            await connection.close()

    row = struct.pack(">hiiI2s", 2, 4, 7, 2, b"r7")
    assert asyncio.run(work()) == ("COPY 3000", "COPY 2", True, "none", SIGNATURE + row + b"\xff\xff", 3002)


@pytest.mark.parametrize(
    "data,state,message",
    [
        (b"1\tx\n", "22P04", "COPY file signature not recognized"),
        (SIGNATURE + b"\0\3", "22P04", "row field count is 3, expected 2"),
        (SIGNATURE + struct.pack(">hi", 2, -7), "22P04", "column k: invalid field size"),
        (SIGNATURE + struct.pack(">hi", 2, 1 << 29) + b"x", "22P04", "unexpected EOF in COPY data"),
        (SIGNATURE + struct.pack(">hi", 2, 3) + b"abc", "22P03", "row 1, column k: incorrect binary data format"),
        (SIGNATURE + struct.pack(">hiii", 2, 4, 1, 1) + b"\xff", "22021", "row 1, column s: invalid byte sequence"),
        (SIGNATURE + b"\xff\xff\xff", "22P04", "received copy data after EOF marker"),
    ],
)
def test_what_is_wrong_is_told(connection, data, state, message):
    connection.execute("CREATE TEMP TABLE e (k int, s text)")
    with pytest.raises(errors.Error) as caught:
        with connection.cursor() as cursor, cursor.copy("COPY e FROM STDIN (FORMAT binary)") as copy:
            copy.write(data)
    assert caught.value.sqlstate == state
    assert message in str(caught.value)
    assert connection.execute("SELECT count(*) FROM e").fetchone() == (0,)


def test_psql_copies_through_files(connection, tmp_path):
    psql = "/usr/bin/psql"
    if not os.path.exists(psql):
        pytest.skip("no psql")
    file = tmp_path / "t.bin"
    sql = f"""CREATE TEMP TABLE t AS SELECT i AS k, 'v' || i AS v FROM generate_series(1, 10000) g(i);
\\copy t TO '{file}' WITH (FORMAT binary)
CREATE TEMP TABLE u (k int, v text);
\\copy u FROM '{file}' WITH BINARY
SELECT count(*), sum(k), max(v) FROM u;"""
    done = subprocess.run([psql, "-qAtX", "-v", "ON_ERROR_STOP=1", DSN], input=sql, capture_output=True, text=True)
    assert (done.stdout.strip().splitlines()[-1], done.stderr) == ("10000|50005000|v9999", "")
