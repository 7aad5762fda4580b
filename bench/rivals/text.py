"""The text that all engines read, and what a right load of it finds.

One generator makes the text, none of the engines'. The facts are computed from the text in plain Python, digit by
digit, and kept beside it: number of rows, sum of every number, least and greatest date, summed length of every string.
"""

import json
import pathlib
import subprocess
import sys

COLUMNS = [
    ("l_orderkey", "BIGINT"),
    ("l_partkey", "INTEGER"),
    ("l_suppkey", "INTEGER"),
    ("l_linenumber", "INTEGER"),
    ("l_quantity", "DECIMAL(15,2)"),
    ("l_extendedprice", "DECIMAL(15,2)"),
    ("l_discount", "DECIMAL(15,2)"),
    ("l_tax", "DECIMAL(15,2)"),
    ("l_returnflag", "TEXT"),
    ("l_linestatus", "TEXT"),
    ("l_shipdate", "DATE"),
    ("l_commitdate", "DATE"),
    ("l_receiptdate", "DATE"),
    ("l_shipinstruct", "TEXT"),
    ("l_shipmode", "TEXT"),
    ("l_comment", "TEXT"),
]

# Behind the name of an engine that loads a table with a primary key.
WITH_KEY = ", with its key"

# What follows the name of an engine whose table is to be on disk, and safe there.
ON_DISK = ", on disk"

DELIMITER = {"plain": "|", "quoted": ","}


def facts_sql(length: str = "length") -> str:
    """The select list of the facts, one value a column; dates give their least and greatest."""
    parts = ["count(*)"]
    for name, kind in COLUMNS:
        if kind == "TEXT":
            parts.append(f"sum({length}({name}))")
        elif kind == "DATE":
            parts += [f"min({name})", f"max({name})"]
        else:
            parts.append(f"sum({name})")
    return ", ".join(parts)


def normal(values) -> list[str]:
    """Facts as text without the ways in which engines spell the same value."""
    normal = []
    for value in values:
        text = str(value)[:10] if "-" in str(value)[1:] else str(value)
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        normal.append(text)
    return normal


def prepare(folder: pathlib.Path, scale: str) -> dict[str, dict]:
    """The dialects of lineitem: path, bytes and facts of each."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = folder / f"lineitem-rivals-sf{scale}.tbl"
    quoted = folder / f"lineitem-rivals-sf{scale}-quoted.csv"
    lines = folder / f"lineitem-rivals-sf{scale}.jsonl"
    facts = folder / f"lineitem-rivals-sf{scale}.json"
    if not facts.exists():
        print(f"generating {plain} and {quoted.name}", file=sys.stderr)
        tool = pathlib.Path(sys.executable).parent / "tpchgen-cli"
        made = folder / "lineitem.tbl"
        made.unlink(missing_ok=True)
        subprocess.run([tool, "-s", scale, "--tables=lineitem", "--output-dir", folder], check=True)
        made.rename(plain)
        # The facts come last: text without them is text whose making was cut short.
        facts.write_text(json.dumps(convert(plain, quoted)))
    if not lines.exists():
        print(f"generating {lines}", file=sys.stderr)
        part = lines.with_suffix(".part")
        to_json_lines(plain, part)
        part.rename(lines)
    known = json.loads(facts.read_text())
    return {
        "plain": {"path": str(plain), "bytes": plain.stat().st_size, "facts": known},
        "quoted": {"path": str(quoted), "bytes": quoted.stat().st_size, "facts": known},
        "jsonl": {"path": str(lines), "bytes": lines.stat().st_size, "facts": known},
    }


def to_json_lines(plain: pathlib.Path, lines: pathlib.Path) -> None:
    """Writes the text again as JSON lines: an object a row, numbers as numbers, all else as strings."""
    numbers = [kind.split("(")[0] in ("BIGINT", "INTEGER", "DECIMAL") for _, kind in COLUMNS]
    parts = [f'"{name}":' + ("%s" if number else '"%s"') for (name, _), number in zip(COLUMNS, numbers)]
    form = "{" + ",".join(parts) + "}\n"
    with open(plain, encoding="utf-8") as source, open(lines, "w", encoding="utf-8") as target:
        for line in source:
            # dbgen's words hold neither quotes nor backslashes.
            target.write(form % tuple(line.split("|")[: len(COLUMNS)]))


def convert(plain: pathlib.Path, quoted: pathlib.Path) -> list[str]:
    """Writes the text again with commas and every string in quotes; returns the facts."""
    kinds = [kind for _, kind in COLUMNS]
    rows = 0
    sums = [0] * len(COLUMNS)
    least = ["9999-99-99"] * len(COLUMNS)
    greatest = [""] * len(COLUMNS)
    with open(plain, encoding="utf-8") as source, open(quoted, "w", encoding="utf-8") as target:
        for line in source:
            fields = line.split("|")[: len(COLUMNS)]
            rows += 1
            for index, (field, kind) in enumerate(zip(fields, kinds)):
                if kind == "TEXT":
                    sums[index] += len(field)
                    fields[index] = f'"{field}"'
                elif kind == "DATE":
                    least[index] = min(least[index], field)
                    greatest[index] = max(greatest[index], field)
                elif kind.startswith("DECIMAL"):
                    whole, _, cents = field.partition(".")
                    sums[index] += int(whole) * 100 + int(cents or 0)
                else:
                    sums[index] += int(field)
            target.write(",".join(fields))
            target.write("\n")
    facts = [rows]
    for index, kind in enumerate(kinds):
        if kind == "DATE":
            facts += [least[index], greatest[index]]
        elif kind.startswith("DECIMAL"):
            facts.append(f"{sums[index] // 100}.{sums[index] % 100:02}")
        else:
            facts.append(sums[index])
    return normal(facts)
