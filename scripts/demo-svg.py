#!/usr/bin/env python3
"""Draws terminal output as an SVG picture; Python's standard library is all it needs.

    target/release/longshore demo | scripts/demo-svg.py --command "longshore demo" --without Checksums > docs/demo.svg

The text comes from standard input. A paragraph of more lines than fit keeps its first and its last ones, with a dimmed
`...` between them; nothing else of the text is changed. Lines that are `...` already, with blanks around them, are
dimmed as well. Record the machine and the date of the run where the picture is shown.
"""

import argparse
import re
import sys
from xml.sax.saxutils import escape

# In pixels.
FONT_SIZE = 14
CHARACTER_WIDTH = 8.43
LINE_HEIGHT = 20
MARGIN = 20
BAR_HEIGHT = 36

BACKGROUND, BAR, TEXT, TITLE, DIM, PROMPT = "#11151c", "#1d232d", "#d7dde6", "#7fb7ff", "#6b7685", "#7ed9a0"
DOTS = ("#ff5f57", "#febc2e", "#28c840")

ESCAPE_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
OMITTED = "  ..."


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", metavar="TEXT", help="the command, shown behind a prompt in the first line")
    parser.add_argument("--without", metavar="START", action="append", default=[],
                        help="leave out paragraphs that begin so; may be repeated")
    parser.add_argument("--lines", type=int, default=10, help="lines that a paragraph may have (default 10)")
    parser.add_argument("--first", type=int, default=4, help="lines that a longer one keeps of its start (default 4)")
    parser.add_argument("--last", type=int, default=2, help="and of its end (default 2)")
    return parser.parse_args()


def paragraphs(text: str) -> list[list[str]]:
    """The lines between empty lines, without escape sequences and trailing blanks."""
    found: list[list[str]] = [[]]
    for line in ESCAPE_SEQUENCES.sub("", text).expandtabs().splitlines():
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [lines for lines in found if lines]


def shortened(lines: list[str], asked: argparse.Namespace) -> list[str]:
    if len(lines) <= asked.lines:
        return lines
    return [*lines[:asked.first], OMITTED, *lines[len(lines) - asked.last:]]


def colour(line: str) -> str:
    if line.startswith("$ "):
        return PROMPT
    if line.strip() == OMITTED.strip():
        return DIM
    return TEXT if line.startswith(" ") else TITLE


def svg(lines: list[str]) -> str:
    """The picture: `textLength` keeps columns aligned whatever monospaced font the reader has."""
    width = round(2 * MARGIN + CHARACTER_WIDTH * max(map(len, lines)))
    height = BAR_HEIGHT + 2 * MARGIN + LINE_HEIGHT * (len(lines) - 1) + FONT_SIZE // 2
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img">',
        f"<title>{escape(lines[0])}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        f'<path d="M0 {BAR_HEIGHT}V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V{BAR_HEIGHT}z" fill="{BAR}"/>',
    ]
    for index, dot in enumerate(DOTS):
        drawn.append(f'<circle cx="{MARGIN + 20 * index}" cy="{BAR_HEIGHT // 2}" r="6" fill="{dot}"/>')
    drawn.append(f'<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace"'
                 f' font-size="{FONT_SIZE}" xml:space="preserve">')
    for number, line in enumerate(lines):
        if not line:
            continue
        indent = len(line) - len(line.lstrip())
        x, y = MARGIN + CHARACTER_WIDTH * indent, BAR_HEIGHT + MARGIN + LINE_HEIGHT * number
        length = CHARACTER_WIDTH * (len(line) - indent)
        # No-break spaces, since browsers that follow SVG 2 join ordinary ones.
        text = escape(line.lstrip()).replace(" ", "\u00a0")
        drawn.append(f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" fill="{colour(line)}">{text}</text>')
    drawn += ["</g>", "</svg>", ""]
    return "\n".join(drawn)


def main() -> None:
    asked = arguments()
    lines = [f"$ {asked.command}"] if asked.command else []
    for paragraph in paragraphs(sys.stdin.read()):
        if any(paragraph[0].startswith(start) for start in asked.without):
            continue
        if lines:
            lines.append("")
        lines += shortened(paragraph, asked)
    if not lines:
        sys.exit("there is no text on standard input")
    sys.stdout.write(svg(lines))


if __name__ == "__main__":
    main()
