#!/usr/bin/env python3
"""Statements that applications send, prepared, one by one: the time of each at Longshore and at PostgreSQL.

    bench/server/statements.py --longshore target/release/longshore [--seconds 2] [--types]

With `--types`, an INSERT, an UPDATE and a SELECT that take a parameter of each type, instead.

Needs what `against_postgresql.py` needs. One client of pgbench sends each statement again and again, with other keys; tables are in
memory at both. Give the machine nothing else to do.
"""

import argparse
import pathlib
import re
import tempfile

from against_postgresql import start_longshore, start_postgresql

TABLES = """
CREATE TABLE t (k int PRIMARY KEY, v int, name text);
CREATE TABLE a (id int PRIMARY KEY, name text NOT NULL, created timestamptz DEFAULT now());
CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a, w int, note text);
INSERT INTO t SELECT g, g, 'name ' || g FROM generate_series(1, 100000) g;
INSERT INTO a SELECT g, 'name ' || g FROM generate_series(1, 20000) g;
INSERT INTO b SELECT g, 1 + g % 20000, g % 1000, 'note ' || g FROM generate_series(1, 100000) g;
CREATE INDEX b_a ON b (a_id);
ANALYZE;
"""

STATEMENTS = """
SELECT v, name FROM t WHERE k = :k
SELECT v + 1 AS n FROM t WHERE k = :k
SELECT k, v, name FROM t WHERE k = :k LIMIT 21
SELECT EXISTS (SELECT 1 FROM t WHERE k = :k)
SELECT 1 AS a FROM t WHERE k = :k LIMIT 1
SELECT id, w, note FROM b WHERE a_id = :k
SELECT id, w, note FROM b WHERE a_id = :k ORDER BY id DESC LIMIT 3
SELECT count(*) FROM b WHERE a_id = :k
SELECT sum(w) FROM b WHERE a_id = :k AND w > 10
SELECT w, count(*) FROM b WHERE a_id = :k GROUP BY w
SELECT DISTINCT w FROM b WHERE a_id = :k
SELECT a.name, b.id, b.w FROM a JOIN b ON b.a_id = a.id WHERE a.id = :k
SELECT b.id, b.note, a.name FROM b LEFT JOIN a ON a.id = b.a_id WHERE b.id = :k
SELECT b.id, a.name, t.name FROM b JOIN a ON a.id = b.a_id LEFT JOIN t ON t.k = b.w WHERE b.id = :k
SELECT a.id, a.name, (SELECT count(*) FROM b WHERE b.a_id = a.id) AS n FROM a WHERE a.id = :k
SELECT a.id, a.name FROM a WHERE a.id = :k AND EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.w > 10)
SELECT id, w FROM b WHERE a_id IN (SELECT id FROM a WHERE id = :k)
SELECT id, w FROM b WHERE a_id = :k ORDER BY id LIMIT 3 OFFSET 1
SELECT k, v FROM t WHERE k IN (:k, :k + 1, :k + 2)
SELECT k, v FROM t WHERE k BETWEEN :k AND :k + 10 ORDER BY k
SELECT k, v FROM t WHERE k > :k ORDER BY k LIMIT 20
SELECT coalesce(name, '') AS n, v * 2 AS w FROM t WHERE k = :k AND v > 0
SELECT name FROM a WHERE id = :k AND created <= now()
SELECT v FROM t WHERE k = :k FOR UPDATE
SELECT :k + 1 AS n
INSERT INTO t VALUES (:k, 1, 'x') ON CONFLICT (k) DO UPDATE SET v = t.v + excluded.v
INSERT INTO t VALUES (:k, 1, 'x') ON CONFLICT DO NOTHING
UPDATE t SET v = v + 1 WHERE k = :k RETURNING v
UPDATE b SET w = w + 1 WHERE a_id = :k AND w < 100000
DELETE FROM t WHERE k = :k + 100000
SELECT v, name FROM t WHERE k = :k AND v > -1 AND name IS NOT NULL
UPDATE t SET v = v + 1 WHERE k = :k AND v > -1
DELETE FROM b WHERE a_id = :k AND w > 1000000
"""

# A type, and a value of it in text.
TYPES = """
int|7
text|abc
varchar(10)|abc
numeric(10,2)|12.5
numeric|12.5
numeric(30,4)|12.5
timestamptz|2024-01-01 00:00:00+00
timestamp|2024-01-01 00:00:00
date|2024-01-01
time|10:00:00
interval|1 day
uuid|00000000-0000-0000-0000-000000000100
json|{"a":1}
jsonb|{"a":1}
bytea|\\x1234
boolean|t
double precision|1.5
real|1.5
text[]|{a,b}
int[]|{1,2}
"""

# Each with the keys that it takes.
TYPED_STATEMENTS = [
    ("INSERT INTO typed VALUES (:k, :v)", "2000, 2000000000000000"),
    ("UPDATE typed SET v = :v WHERE id = :k", "1, 1000"),
    ("SELECT id + 0 FROM typed WHERE v = :v AND id = :k", "1, 1000"),
]


class Statements:
    """Statements that pgbench sends to both servers, each by itself."""

    def __init__(self, servers, folder, seconds):
        self.servers, self.script, self.seconds = servers, folder / "statement.sql", seconds

    def compare(self, what, statement, keys, variables=()):
        """Prints a line of the table: the mean times of the statement in microseconds, and their ratio."""
        self.script.write_text(f"\\set k random({keys})\n{statement};\n")
        ours, theirs = (self.latency(server, variables) for server in self.servers)
        print(f"| {what} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} |", flush=True)

    def latency(self, server, variables):
        command = ["pgbench", "-n", "-M", "prepared", "-f", self.script, "-T", str(self.seconds)]
        said = server.run(command + [f"-D{variable}" for variable in variables])
        return 1000 * float(re.search(r"latency average = ([0-9.]+) ms", said)[1])


def compare_statements(statements):
    for server in statements.servers:
        server.sql(TABLES)
    for statement in STATEMENTS.strip().splitlines():
        statements.compare(f"`{statement}`", statement, "1, 20000")


def compare_types(statements):
    # The disk would take most of the time.
    for server in statements.servers:
        server.sql(f"ALTER DATABASE {server.database} SET synchronous_commit = off")
    for line in TYPES.strip().splitlines():
        of_type, value = line.split("|", 1)
        for statement, keys in TYPED_STATEMENTS:
            for server in statements.servers:
                server.sql("DROP TABLE IF EXISTS typed")
                server.sql(f"CREATE TABLE typed (id bigint PRIMARY KEY, v {of_type})")
                server.sql("INSERT INTO typed SELECT g, NULL FROM generate_series(1, 1000) g")
            # PostgreSQL has no equality of JSON.
            if of_type != "json" or not statement.startswith("SELECT"):
                statements.compare(f"{of_type}: {statement.split()[0]}", statement, keys, [f"v={value}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longshore", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--types", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        servers = [start_longshore(arguments.longshore.resolve(), folder), start_postgresql(folder)]
        try:
            statements = Statements(servers, folder, arguments.seconds)
            print("| statement | Longshore, µs | PostgreSQL, µs | ratio |\n|---|---|---|---|")
            if arguments.types:
                compare_types(statements)
            else:
                compare_statements(statements)
        finally:
            for server in servers:
                server.process.terminate()
                server.process.wait()


if __name__ == "__main__":
    main()
