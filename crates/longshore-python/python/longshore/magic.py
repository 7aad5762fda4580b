"""``%%longshore`` and ``%longshore`` in notebooks: ``%load_ext longshore.magic``.

A cell below ``%%longshore`` is SQL, and shows its rows. Variables of the notebook are tables in it, and ``{name}`` is not replaced: write
``$name``, whose value is that of the variable. ``%%longshore result`` keeps the relation in a variable instead of showing it,
``%longshore_connect path`` opens another database than the first one, which is in memory.
"""

from __future__ import annotations

from typing import Any

from ._connection import Connection, connect
from ._frames import is_table
from ._longshore import named_parameters


class _Magics:
    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | None = None

    def _database(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect()
        return self._connection

    def connect(self, line: str) -> None:
        """``%longshore_connect [path]``"""
        if self._connection is not None:
            self._connection.close()
        self._connection = connect(line.strip() or None)

    def run(self, line: str, cell: str | None = None) -> Any:
        """``%longshore SELECT ...`` and ``%%longshore [name]``"""
        sql, result = (line, None) if cell is None else (cell, line.strip() or None)
        database, variables = self._database(), self._shell.user_ns
        values = {name: variables[name] for name in named_parameters(sql) if name in variables}
        session = database._session
        tables = [name for name in session.unknown_tables(sql) if is_table(variables.get(name))]
        for name in tables:
            database.register(name, variables[name])
        try:
            relation = database.sql(sql, values or None)
        finally:
            for name in tables:
                database.unregister(name)
        if result is None:
            return relation
        variables[result] = relation
        return None


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext longshore.magic``."""
    magics = _Magics(shell)
    shell.register_magic_function(magics.run, "line_cell", "longshore")
    shell.register_magic_function(magics.connect, "line", "longshore_connect")
