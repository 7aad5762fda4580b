"""Variables of the caller as tables: names in FROM that stand for data frames."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ._longshore import Connection
from ._relation import Relation

_PACKAGE = os.path.dirname(__file__)


@contextlib.contextmanager
def known(session: Connection, sql: str) -> Iterator[None]:
    """While a statement is begun, lets the names in it that are no tables stand for variables of the caller."""
    registered = []
    try:
        for name in session.unknown_tables(sql) if _may_read(sql) else ():
            rows = _variable(name)
            if rows is not None:
                if isinstance(rows, Relation):
                    rows.num_rows
                session.register(name, rows)
                registered.append(name)
        yield
    finally:
        for name in registered:
            session.unregister(name)


def _may_read(sql: str) -> bool:
    folded = sql.lower()
    return any(word in folded for word in ("from", "join", "using", "table"))


def is_table(value: Any) -> bool:
    """Whether a value is what :meth:`Connection.register` takes."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _variable(name: str) -> Any:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return None
    for scope in (frame.f_locals, frame.f_globals):
        if name in scope and is_table(scope[name]):
            return scope[name]
    return None


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(_PACKAGE) or file == contextlib.__file__
