"""pg_dump and pg_restore: what one writes, the other, psql's databases and the shell take."""

import os
import shutil
import subprocess

import pytest

from conftest import BINARY, PORT
from test_psql import psql

CONNECTION = ["-h", "127.0.0.1", "-p", str(PORT), "-U", "longshore"]

SCHEMA = """
CREATE SCHEMA dumped;
CREATE TYPE dumped.mood AS ENUM ('sad', 'ok');
CREATE DOMAIN dumped.positive AS integer CHECK (VALUE > 0);
CREATE TABLE dumped.customers (
    id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, state dumped.mood DEFAULT 'ok', tags text[],
    score numeric, grade int CHECK (grade IN (1, 2)), mode dumped.mood DEFAULT 'sad'::dumped.mood,
    CONSTRAINT long CHECK (length(name) > 1)
);
CREATE TABLE dumped.orders (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int REFERENCES dumped.customers ON DELETE CASCADE,
    n dumped.positive, twice int GENERATED ALWAYS AS (n * 2) STORED, at timestamptz, doc jsonb, raw bytea
);
CREATE INDEX by_customer ON dumped.orders (customer, at);
CREATE VIEW dumped.totals AS SELECT c.name, sum(o.n) AS total FROM dumped.customers c
    JOIN dumped.orders o ON o.customer = c.id GROUP BY c.name;
COMMENT ON TABLE dumped.customers IS 'who buys';
COMMENT ON COLUMN dumped.customers.name IS 'as they say it';
INSERT INTO dumped.customers (name, tags, score) VALUES ('Ann', '{a,"b c"}', 1.50), (E'tab\\there', NULL, NULL),
    (E'back\\\\slash, "quotes"', '{NULL}', 'NaN');
INSERT INTO dumped.orders (customer, n, at, doc, raw) VALUES (1, 3, '2024-01-02 03:04:05+00', '{"a": [1]}', '\\x00ff'),
    (2, 7, NULL, NULL, NULL);
"""

ROWS = (
    "SELECT * FROM dumped.customers ORDER BY id; SELECT * FROM dumped.orders ORDER BY id;"
    "SELECT * FROM dumped.totals ORDER BY 1; SELECT nextval('dumped.customers_id_seq');"
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'dumped'::regnamespace ORDER BY conname;"
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'dumped' ORDER BY 1;"
    "SELECT obj_description('dumped.customers'::regclass), col_description('dumped.customers'::regclass, 2);"
)

pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("pg_dump", "pg_restore", "psql")),
    reason="pg_dump, pg_restore or psql is not installed",
)


def run(program, *options):
    done = subprocess.run([program, *CONNECTION, *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def rows():
    psql("DROP SCHEMA IF EXISTS dumped CASCADE")
    psql(SCHEMA, "-v", "ON_ERROR_STOP=1")
    yield psql(ROWS).stdout
    psql("DROP SCHEMA IF EXISTS dumped CASCADE")


def test_a_dump_is_restored(rows, tmp_path):
    archive = str(tmp_path / "dumped")
    run("pg_dump", "-Fc", "-n", "dumped", "-f", archive, "longshore")
    psql("DROP SCHEMA dumped CASCADE")
    run("pg_restore", "--exit-on-error", "-d", "longshore", archive)
    # The number that was taken to look at the sequence is not part of the dump.
    assert psql(ROWS).stdout.replace("\n5\n", "\n4\n") == rows.replace("\n5\n", "\n4\n")


def test_a_dump_is_a_script_of_the_shell(rows, tmp_path):
    script = tmp_path / "dump.sql"
    script.write_text(run("pg_dump", "-n", "dumped", "longshore"))
    assert "COPY dumped.customers" in script.read_text() and "\\N" in script.read_text()
    command = [BINARY, "-f", str(script), "-c", "SELECT name, total FROM dumped.totals ORDER BY 1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    assert "Ann" in done.stdout and "3" in done.stdout


def test_a_dump_of_one_table_has_its_rows_as_statements(rows):
    out = run("pg_dump", "--inserts", "-t", "dumped.orders", "longshore")
    assert "INSERT INTO dumped.orders OVERRIDING SYSTEM VALUE VALUES (1, 1, 3, DEFAULT, " in out
    assert "CREATE TABLE dumped.customers" not in out
