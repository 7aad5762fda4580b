"""Variables of the caller as tables: names in FROM that stand for data frames."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ._frames import is_table, rows_of
from ._longshore import Connection
from .errors import UndefinedTable

_PACKAGE = os.path.dirname(__file__)


@contextlib.contextmanager
def known(session: Connection, sql: str) -> Iterator[None]:
    """While a statement is begun, lets the names in it that are no tables stand for variables of the caller."""
    registered = []
    hints = []
    try:
        for name in session.unknown_tables(sql) if _may_read(sql) else ():
            found = _variable(name)
            if found is None:
                continue
            if is_table(found):
                session.register(name, rows_of(found))
                registered.append(name)
            else:
                hints.append(f"the variable {name} is no table, but a {type(found).__name__}")
        yield
    except UndefinedTable as error:
        if hints:
            error.args = ("; ".join((str(error), *hints)),)
        raise
    finally:
        for name in registered:
            session.unregister(name)


def _may_read(sql: str) -> bool:
    folded = sql.lower()
    return any(word in folded for word in ("from", "join", "using", "table"))


def _variable(name: str) -> Any:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    if frame is None:
        return None
    scopes = (frame.f_locals, frame.f_globals)
    for scope in scopes:
        if is_table(scope.get(name)):
            return scope[name]
    # SQL folds names that are not quoted.
    for scope in scopes:
        alike = [variable for variable in scope if variable.lower() == name and is_table(scope[variable])]
        if len(alike) == 1:
            return scope[alike[0]]
    return next((scope[name] for scope in scopes if scope.get(name) is not None), None)


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(_PACKAGE) or file == contextlib.__file__
