"""Rows as tables for people: in a terminal as the shell of Longshore shows them, and as HTML in notebooks."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

#: Rows that are shown of a longer result.
ROWS_SHOWN = 20
#: Characters of a value that are shown.
VALUE_WIDTH = 60

_NUMBERS = {"int2", "int4", "int8", "float4", "float8", "numeric", "oid"}

Cells = Sequence[Sequence["str | None"]]


def is_number(type_name: str) -> bool:
    """Whether values of a type stand on the right of their column."""
    return type_name in _NUMBERS


def count(number: int, what: str = "row") -> str:
    """``1 row``, ``2 rows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _cell(value: str | None) -> str:
    if value is None:
        return "NULL"
    line = value.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return line if len(line) <= VALUE_WIDTH else line[: VALUE_WIDTH - 1] + "…"


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def text(names: Sequence[str], types: Sequence[str], cells: Cells, rows: int) -> str:
    """A table with its number of rows below it; ``cells`` are the first rows."""
    shown = [[_cell(value) for value in row] for row in cells]
    right = [is_number(name) for name in types]
    widths = [max([_width(name), *(_width(row[at]) for row in shown)]) for at, name in enumerate(names)]
    centred = []
    for name, width in zip(names, widths):
        left = (width - _width(name)) // 2
        centred.append(_padded(" " * left + name, width, False))
    lines = ["|".join(f" {name} " for name in centred).rstrip(), "+".join("-" * (width + 2) for width in widths)]
    for row in shown:
        padded = [_padded(value, width, on_right) for value, width, on_right in zip(row, widths, right)]
        lines.append("|".join(f" {value} " for value in padded).rstrip())
    if rows > len(shown):
        lines.append(f"({count(rows)}, {len(shown)} shown)")
    else:
        lines.append(f"({count(rows)})")
    return "\n".join(lines)


def as_html(names: Sequence[str], types: Sequence[str], cells: Cells, rows: int) -> str:
    """The same as HTML, with the types below the names."""
    head = "".join(
        f"<th>{html.escape(name)}<br><small>{html.escape(of)}</small></th>" for name, of in zip(names, types)
    )
    body = []
    for row in cells:
        values = []
        for value, of in zip(row, types):
            align = ' style="text-align: right"' if is_number(of) else ' style="text-align: left"'
            shown = "<em>NULL</em>" if value is None else html.escape(_cell(value))
            values.append(f"<td{align}>{shown}</td>")
        body.append(f"<tr>{''.join(values)}</tr>")
    more = f", {len(cells):,} shown" if rows > len(cells) else ""
    return (
        f'<table class="longshore"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
        f"<p>{count(rows)}{more}</p>"
    )
