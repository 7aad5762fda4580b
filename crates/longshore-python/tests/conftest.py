"""What the tests share: a database in memory, and files."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

import longshore


@pytest.fixture
def db() -> Iterator[longshore.Connection]:
    """An empty database in memory."""
    with longshore.connect() as connection:
        yield connection


@pytest.fixture
def file(tmp_path: pathlib.Path) -> Callable[..., str]:
    """Writes a text to a file; gives its path."""

    def write(text: str | bytes, name: str = "file.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return write
