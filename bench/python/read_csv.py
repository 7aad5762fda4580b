"""Reads files into memory with Longshore and with the other readers of Python, and compares times and answers.

    python bench/python/read_csv.py [--rows N] [--runs N] [--folder DIR] [--json FILE]

Three files are made: `lineitem` (a table of numbers, dates and short texts, with bars), `wide` (50 columns of numbers) and `quoted`
(long texts in quotes, with line breaks). Each reader reads each file a few times; the best time counts. Where a reader is told the types,
that is a case of its own. Answers are compared: rows, and the sum of a column. Install the package in release mode first
(`maturin develop --release`), and give the machine nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

Reader = Callable[[str, str, "list[str]"], Any]


def write_lineitem(path: pathlib.Path, rows: int) -> None:
    random_ = random.Random(1)
    with path.open("w") as file:
        file.write("orderkey|partkey|quantity|price|discount|flag|shipdate|comment\n")
        for n in range(rows):
            file.write(
                f"{n // 4}|{random_.randrange(200_000)}|{random_.randrange(1, 51)}|{random_.randrange(90_000, 10_000_000) / 100:.2f}|"
                f"0.0{random_.randrange(10)}|{random_.choice('NRA')}|199{random_.randrange(2, 9)}-0{random_.randrange(1, 10)}-1{random_.randrange(10)}|"
                f"{'carefully final deposits detect slyly agai'[: random_.randrange(10, 42)]}\n"
            )


def write_wide(path: pathlib.Path, rows: int) -> None:
    random_ = random.Random(2)
    with path.open("w") as file:
        file.write(",".join(["total", *(f"c{at}" for at in range(49))]) + "\n")
        for n in range(rows):
            file.write(",".join([str(n), *(f"{random_.random() * 1000:.4f}" for _ in range(49))]) + "\n")


def write_quoted(path: pathlib.Path, rows: int) -> None:
    random_ = random.Random(3)
    words = ["ship", "said, \"\"ahoy\"\"", "line\nbreak", "harbour", "longshore", "cargo"]
    with path.open("w") as file:
        file.write("id,title,body\n")
        for n in range(rows):
            body = " ".join(random_.choice(words) for _ in range(30))
            file.write(f'{n},"title {n}","{body}"\n')


FILES: dict[str, tuple[Callable[[pathlib.Path, int], None], str, str, float]] = {
    # How it is made, its delimiter, the column that is summed, and its share of the rows.
    "lineitem": (write_lineitem, "|", "orderkey", 1.0),
    "wide": (write_wide, ",", "total", 0.1),
    "quoted": (write_quoted, ",", "id", 0.2),
}


def readers() -> dict[str, Reader]:
    """The readers that are installed: each gives the number of rows, and the sum of a column."""
    found: dict[str, Reader] = {}
    import longshore

    def ours(path: str, delimiter: str, columns: list[str]) -> Any:
        table = longshore.read_csv(path, delimiter=delimiter)
        return table, lambda column: int(table.numpy()[column].sum())

    found["longshore"] = ours
    try:
        import polars

        def polars_(path: str, delimiter: str, columns: list[str]) -> Any:
            frame = polars.read_csv(path, separator=delimiter, try_parse_dates=True)
            return frame, lambda column: int(frame[column].sum())

        found["polars"] = polars_
    except ImportError:
        pass
    try:
        import pyarrow.compute
        import pyarrow.csv

        def pyarrow_(path: str, delimiter: str, columns: list[str]) -> Any:
            parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
            table = pyarrow.csv.read_csv(path, parse_options=parse)
            return table, lambda column: pyarrow.compute.sum(table[column]).as_py()

        found["pyarrow"] = pyarrow_
    except ImportError:
        pass
    try:
        import pandas

        def pandas_c(path: str, delimiter: str, columns: list[str]) -> Any:
            frame = pandas.read_csv(path, sep=delimiter, engine="c")
            return frame, lambda column: int(frame[column].sum())

        def pandas_pyarrow(path: str, delimiter: str, columns: list[str]) -> Any:
            frame = pandas.read_csv(path, sep=delimiter, engine="pyarrow", dtype_backend="pyarrow")
            return frame, lambda column: int(frame[column].sum())

        found["pandas (C)"] = pandas_c
        found["pandas (pyarrow)"] = pandas_pyarrow
    except ImportError:
        pass
    try:
        import duckdb

        def duckdb_(path: str, delimiter: str, columns: list[str]) -> Any:
            table = duckdb.read_csv(path, delimiter=delimiter, header=True).to_arrow_table()
            return table, lambda column: sum(table[column].to_pylist())

        found["duckdb"] = duckdb_
    except ImportError:
        pass
    return found


def main() -> None:
    """Makes the files, reads them, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of lineitem; the others have a share of them")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, help="where the files are kept")
    parser.add_argument("--json", type=pathlib.Path, help="where the measurements are written to, too")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    measured = []
    for name, (write, delimiter, column, share) in FILES.items():
        rows = max(1, int(arguments.rows * share))
        path = folder / f"{name}-{rows}.csv"
        if not path.exists():
            write(path, rows)
        gigabytes = path.stat().st_size / 1e9
        expected = sum(n // 4 for n in range(rows)) if name == "lineitem" else rows * (rows - 1) // 2
        print(f"{name}: {rows:,} rows, {gigabytes:.3f} GB")
        best: dict[str, float] = {}
        for run in range(arguments.runs):
            for reader, read in readers().items():
                began = time.perf_counter()
                try:
                    table, total = read(str(path), delimiter, [])
                except Exception as error:  # a reader may refuse a file
                    print(f"  {reader:20} {type(error).__name__}: {str(error)[:80]}") if run == 0 else None
                    continue
                took = time.perf_counter() - began
                best[reader] = min(took, best.get(reader, took))
                if run == 0:
                    found = total(column)
                    assert found == expected, f"{reader}: the sum of {column} is {found}, not {expected}"
                del table, total
        ours = best["longshore"]
        for reader, took in sorted(best.items(), key=lambda item: item[1]):
            print(f"  {reader:20} {took:8.3f} s  {gigabytes / took:6.2f} GB/s  {took / ours:6.2f} times ours")
            measured.append({"file": name, "rows": rows, "bytes": path.stat().st_size, "reader": reader, "seconds": took})
    if arguments.json:
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        arguments.json.write_text(json.dumps({**machine, "measured": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
