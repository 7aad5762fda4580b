#!/usr/bin/env python3
"""Reads files into memory with Longshore and with the other readers of Python, and compares times and answers.

    python bench/python/read_csv.py [--rows N] [--runs N] [--folder DIR] [--json FILE]

Three files are made: `lineitem` (a table of numbers, dates and short texts, with bars), `wide` (50 columns of numbers) and `quoted`
(long texts in quotes, with line breaks). Each is read without types and with all types given, where decimals are to be `double` for
every reader. Each reader reads in a process of its own, in turn, as often as `--runs` says: once with the fresh memory of that process, and
three times more. The medians of the first reads and of the best later ones are printed. Answers are compared: rows, and the sum of a
column. `longshore, Arrow` hands the table to pyarrow as well, for which decimals become values of 16 bytes. Install the package in release
mode first (`maturin develop --release`), and give the machine nothing else to do.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

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


# The types of all columns: "int", "float", "date" or "text".
LINEITEM = {
    **{name: "int" for name in ("orderkey", "partkey", "quantity")},
    **{name: "float" for name in ("price", "discount")},
    **{"flag": "text", "shipdate": "date", "comment": "text"},
}
WIDE = {"total": "int", **{f"c{at}": "float" for at in range(49)}}
QUOTED = {"id": "int", "title": "text", "body": "text"}

# How a file is made, its delimiter, the column that is summed, its types, and its share of the rows.
Made = tuple[Callable[[pathlib.Path, int], None], str, str, "dict[str, str]", float]
FILES: dict[str, Made] = {
    "lineitem": (write_lineitem, "|", "orderkey", LINEITEM, 1.0),
    "wide": (write_wide, ",", "total", WIDE, 0.1),
    "quoted": (write_quoted, ",", "id", QUOTED, 0.2),
}

# A reader: of a path, a delimiter and types, or no types; what it gives, and how to sum a column of that.
Types = "dict[str, str] | None"


def ours(path: str, delimiter: str, types: Types) -> tuple[Any, Callable[[str], int]]:
    import longshore

    names = {"int": "BIGINT", "float": "DOUBLE PRECISION", "date": "DATE", "text": "TEXT"}
    given = {"columns": {name: names[kind] for name, kind in types.items()}} if types else {}
    table = longshore.read_csv(path, delimiter=delimiter, header=True, progress=False, **given)
    return table, lambda column: int(table.numpy()[column].sum())


def ours_as_arrow(path: str, delimiter: str, types: Types) -> tuple[Any, Callable[[str], int]]:
    table = ours(path, delimiter, types)[0].arrow()
    return table, lambda column: int(table[column].to_numpy().sum())


def of_polars(path: str, delimiter: str, types: Types) -> tuple[Any, Callable[[str], int]]:
    import polars

    names = {"int": polars.Int64, "float": polars.Float64, "date": polars.Date, "text": polars.String}
    given = {"schema": {name: names[kind] for name, kind in types.items()}} if types else {}
    frame = polars.read_csv(path, separator=delimiter, try_parse_dates=True, **given)
    return frame, lambda column: int(frame[column].sum())


def of_pyarrow(path: str, delimiter: str, types: Types) -> tuple[Any, Callable[[str], int]]:
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv

    names = {"int": pyarrow.int64(), "float": pyarrow.float64(), "date": pyarrow.date32(), "text": pyarrow.string()}
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(column_types={name: names[kind] for name, kind in (types or {}).items()})
    table = pyarrow.csv.read_csv(path, parse_options=parse, convert_options=convert)
    return table, lambda column: pyarrow.compute.sum(table[column]).as_py()


def of_pandas(path: str, delimiter: str, types: Types, **engine: Any) -> tuple[Any, Callable[[str], int]]:
    import pandas

    names = {"int": "int64", "float": "float64", "text": "str"}
    given: dict[str, Any] = {}
    if types:
        given["dtype"] = {name: names[kind] for name, kind in types.items() if kind != "date"}
        given["parse_dates"] = [name for name, kind in types.items() if kind == "date"]
    frame = pandas.read_csv(path, sep=delimiter, **given, **engine)
    return frame, lambda column: int(frame[column].sum())


def of_duckdb(path: str, delimiter: str, types: Types) -> tuple[Any, Callable[[str], int]]:
    import duckdb

    names = {"int": "BIGINT", "float": "DOUBLE", "date": "DATE", "text": "VARCHAR"}
    given = {"columns": {name: names[kind] for name, kind in types.items()}} if types else {}
    table = duckdb.read_csv(path, delimiter=delimiter, header=True, **given).to_arrow_table()
    return table, lambda column: sum(table[column].to_pylist())


READERS: dict[str, Callable[..., tuple[Any, Callable[[str], int]]]] = {
    "longshore": ours,
    "longshore, Arrow": ours_as_arrow,
    "polars": of_polars,
    "pyarrow": of_pyarrow,
    "pandas (C)": lambda *arguments: of_pandas(*arguments, engine="c"),
    "pandas (pyarrow)": lambda *arguments: of_pandas(*arguments, engine="pyarrow", dtype_backend="pyarrow"),
    "duckdb": of_duckdb,
}

# What each imports: that takes time, but no part of reading.
MODULES = {
    "longshore": ["longshore", "numpy"],
    "longshore, Arrow": ["longshore", "pyarrow"],
    "polars": ["polars"],
    "pyarrow": ["pyarrow", "pyarrow.compute", "pyarrow.csv"],
    "pandas (C)": ["pandas"],
    "pandas (pyarrow)": ["pandas", "pyarrow", "pyarrow.csv"],
    "duckdb": ["duckdb", "pyarrow"],
}


def read_here(reader: str, name: str, path: str, is_typed: bool) -> dict[str, Any]:
    """Reads a file in this process: the first time, the best of three more, and the sum of a column."""
    _, delimiter, column, types, _ = FILES[name]
    for module in MODULES[reader]:
        importlib.import_module(module)
    times = []
    found = None
    for _ in range(4):
        began = time.perf_counter()
        table, total = READERS[reader](path, delimiter, types if is_typed else None)
        times.append(time.perf_counter() - began)
        found = total(column) if found is None else found
        del table, total
    return {"first": times[0], "later": min(times[1:]), "sum": found}


def read_in_process(reader: str, name: str, path: pathlib.Path, is_typed: bool) -> dict[str, Any] | str:
    """The same in a process of its own; a text says why it did not."""
    command = [sys.executable, __file__, "--read", reader, name, str(path), "typed" if is_typed else "untyped"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:100]
    return json.loads(done.stdout)


def main() -> None:
    """Makes the files, reads them, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000_000, help="rows of lineitem; the others have a share of them")
    parser.add_argument("--runs", type=int, default=3, help="processes for each reader and file")
    parser.add_argument("--folder", type=pathlib.Path, help="where the files are kept")
    parser.add_argument("--json", type=pathlib.Path, help="where the measurements are written to, too")
    parser.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        reader, name, path, typed = arguments.read
        print(json.dumps(read_here(reader, name, path, typed == "typed")))
        return
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    measured = []
    for name, (write, _, _, _, share) in FILES.items():
        rows = max(1, int(arguments.rows * share))
        path = folder / f"{name}-{rows}.csv"
        if not path.exists():
            write(path, rows)
        gigabytes = path.stat().st_size / 1e9
        expected = sum(n // 4 for n in range(rows)) if name == "lineitem" else rows * (rows - 1) // 2
        for is_typed in (False, True):
            print(f"{name}, {'types given' if is_typed else 'types found out'}: {rows:,} rows, {gigabytes:.3f} GB", flush=True)
            times: dict[str, list[dict[str, Any]]] = {}
            for run in range(arguments.runs):
                # Each begins once: memory that nobody had for a while comes more slowly.
                readers = list(READERS)
                for reader in readers[run % len(readers) :] + readers[: run % len(readers)]:
                    one = read_in_process(reader, name, path, is_typed)
                    if isinstance(one, str):
                        print(f"  {reader:20} {one}") if run == 0 else None
                        continue
                    assert one["sum"] == expected, f"{reader}: the sum is {one['sum']}, not {expected}"
                    times.setdefault(reader, []).append(one)
            median = {
                reader: {key: statistics.median(one[key] for one in runs) for key in ("first", "later")}
                for reader, runs in times.items()
            }
            for reader, took in sorted(median.items(), key=lambda item: item[1]["first"]):
                ratios = [took[key] / median["longshore"][key] for key in ("first", "later")]
                print(
                    f"  {reader:20} first {took['first']:7.3f} s ({ratios[0]:5.2f} times ours), "
                    f"later {took['later']:7.3f} s ({ratios[1]:5.2f} times ours)",
                    flush=True,
                )
                measured.append({"file": name, "rows": rows, "typed": is_typed, "reader": reader, "runs": times[reader]})
    if arguments.json:
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        arguments.json.write_text(json.dumps({**machine, "measured": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
