"""The book's pages about Python show what happens."""

from __future__ import annotations

import doctest
import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).parents[3] / "docs/src/guide"
NEEDS = {"python.md": ["pyarrow", "pandas", "sqlalchemy"], "python-tour.md": ["pyarrow", "pandas", "polars", "matplotlib", "altair"]}


@pytest.mark.parametrize("name", NEEDS)
def test_the_examples_of_the_book_work(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in NEEDS[name]:
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    page = GUIDE / name
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    text = "\n".join(blocks)
    example = doctest.DocTestParser().get_doctest(text, {"__name__": "page"}, name, str(page), 0)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    output: list[str] = []
    result = runner.run(example, out=output.append)
    assert result.failed == 0, "".join(output)
    if name == "python-tour.md":
        assert pathlib.Path("sales.svg").stat().st_size > 1000
