"""The book's page about Python shows what happens."""

from __future__ import annotations

import doctest
import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs/src/guide/python.md"


def test_the_examples_of_the_book_work(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("pyarrow", "pandas"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    text = "\n".join(blocks)
    example = doctest.DocTestParser().get_doctest(text, {"__name__": "page"}, PAGE.name, str(PAGE), 0)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    output: list[str] = []
    result = runner.run(example, out=output.append)
    assert result.failed == 0, "".join(output)
