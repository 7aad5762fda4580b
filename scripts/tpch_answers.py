#!/usr/bin/env python3
"""Recreates tests/tpch/answers: the 22 TPC-H queries at scale factor 0.05, answered by DuckDB.

The text comes from the Python package of the generator that `longshore generate tpch` is built on, so both
engines see the same bytes. The header of an answer names column and DuckDB type; DOUBLE marks what DuckDB
computes in floating point (averages, quotients), which a test may compare with a tolerance only.

    python3 -m venv target/answers && target/answers/bin/pip install duckdb==2.0.0 tpchgen-cli==4.0.0
    target/answers/bin/python scripts/tpch_answers.py
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

import duckdb

SCALE = "0.05"
ROOT = pathlib.Path(__file__).resolve().parent.parent
TPCH = ROOT / "tests" / "tpch"


def generate(folder: pathlib.Path) -> None:
    tool = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([tool, "-s", SCALE, "--output-dir", folder], check=True)


def load(connection: duckdb.DuckDBPyConnection, folder: pathlib.Path) -> None:
    connection.execute((TPCH / "schema.sql").read_text())
    tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
    for table in tables:
        columns = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {table}").fetchall()}
        # A line of dbgen ends with a delimiter: one more column, which is empty.
        fields = ", ".join(f"'{name}': '{kind}'" for name, kind in {**columns, "_": "VARCHAR"}.items())
        connection.execute(
            f"INSERT INTO {table} SELECT {', '.join(columns)} FROM read_csv('{folder / (table + '.tbl')}', "
            f"delim='|', quote='', escape='', header=false, auto_detect=false, columns={{{fields}}})"
        )
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        print(f"{table}: {rows} rows")


def cell(value: object) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def answer(connection: duckdb.DuckDBPyConnection, query: pathlib.Path) -> int:
    result = connection.execute(query.read_text())
    header = [f"{name}:{kind}" for name, kind, *_ in result.description]
    rows = result.fetchall()
    with open(TPCH / "answers" / f"{query.stem}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([cell(value) for value in row] for row in rows)
    return len(rows)


def main() -> None:
    (TPCH / "answers").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        generate(pathlib.Path(folder))
        connection = duckdb.connect(":memory:")
        load(connection, pathlib.Path(folder))
    for query in sorted((TPCH / "queries").glob("q*.sql")):
        print(f"{query.stem}: {answer(connection, query)} rows")


if __name__ == "__main__":
    main()
