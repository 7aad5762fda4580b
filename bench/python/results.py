#!/usr/bin/env python3
"""Results of queries as Arrow, and rows that a program inserts, with Longshore and with DuckDB in turn.

    python bench/python/results.py [--rows N] [--inserted N] [--runs N]

A table of TPC-H's lineitem's kind has `--rows` rows, made in each of the two by its own generate_series; its rows become one Arrow table
by `.arrow()`. `executemany` inserts `--inserted` rows of three values. Each is done as often as `--runs` says, in turn; the median, the least
and the most are printed. Answers are compared. Install the package in release mode first (`maturin develop --release`).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import duckdb
import longshore
import pyarrow
import pyarrow.compute

MADE = """CREATE TABLE lines AS SELECT i AS orderkey, i % 200000 AS partkey, CAST(i % 50 AS INTEGER) AS quantity,
    CAST(i % 9000000 AS DECIMAL(15, 2)) AS price, CAST(i AS DOUBLE PRECISION) / 3 AS share,
    DATE '1992-01-01' + CAST(i % 2500 AS INTEGER) AS shipdate, CASE i % 3 WHEN 0 THEN 'N' WHEN 1 THEN 'R' ELSE 'A' END AS flag,
    'carefully final deposits detect ' || (i % 1000) AS comment FROM generate_series(1, {rows}) AS g (i)"""


def timed(of: Callable[[], Any]) -> tuple[float, Any]:
    """How long it takes, and what comes of it."""
    began = time.perf_counter()
    result = of()
    return time.perf_counter() - began, result


def shown(name: str, times: list[float]) -> None:
    """Prints the times of one side."""
    print(f"  {name:10} {statistics.median(times):7.3f} s ({min(times):.3f} to {max(times):.3f})", flush=True)


def main() -> None:
    """Measures both cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--inserted", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    ours, theirs = longshore.connect(), duckdb.connect()
    ours.sql(MADE.format(rows=arguments.rows))
    theirs.sql(MADE.format(rows=arguments.rows))
    query = "SELECT * FROM lines"
    sides: dict[str, Callable[[], Any]] = {
        "longshore": lambda: pyarrow.table(ours.sql(query).arrow()),
        "duckdb": lambda: theirs.sql(query).to_arrow_table(),
    }
    print(f"{arguments.rows:,} rows as Arrow")
    times: dict[str, list[float]] = {name: [] for name in sides}
    totals = set()
    for _ in range(arguments.runs):
        for name, of in sides.items():
            took, table = timed(of)
            times[name].append(took)
            totals.add((table.num_rows, pyarrow.compute.sum(table["orderkey"]).as_py(), str(pyarrow.compute.sum(table["price"]).as_py())))
            del table
    assert len(totals) == 1, totals
    for name in sides:
        shown(name, times[name])
    rows = [(n, f"name {n}", n / 7) for n in range(arguments.inserted)]
    print(f"{len(rows):,} rows by executemany")
    times = {name: [] for name in sides}
    for _ in range(arguments.runs):
        for name, connection in (("longshore", ours), ("duckdb", theirs)):
            cursor = connection.cursor()
            cursor.execute("CREATE TABLE inserted (id BIGINT, name TEXT, share DOUBLE PRECISION)")
            if name == "duckdb" and len(rows) > 20_000:
                # Each row is a statement there; a part of them tells enough.
                took, _ = timed(lambda: cursor.executemany("INSERT INTO inserted VALUES (?, ?, ?)", rows[:5000]))
                times[name].append(took * len(rows) / 5000)
            else:
                took, _ = timed(lambda: cursor.executemany("INSERT INTO inserted VALUES (?, ?, ?)", rows))
                cursor.execute("SELECT count(*), sum(id) FROM inserted")
                counted = tuple(int(value) for value in cursor.fetchone())
                assert counted == (len(rows), sum(row[0] for row in rows)), counted
                times[name].append(took)
            cursor.execute("DROP TABLE inserted")
    for name in sides:
        shown(name, times[name])


if __name__ == "__main__":
    main()
