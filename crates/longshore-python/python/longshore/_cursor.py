"""Cursors as DB-API 2.0 has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from ._relation import Relation
from .errors import InterfaceError

if TYPE_CHECKING:
    from ._connection import Connection

Parameters = Union[Sequence[Any], Mapping[str, Any]]


class _TypeObject:
    """Equal to the type codes of its types, which are OIDs."""

    def __init__(self, *oids: int) -> None:
        self._oids = frozenset(oids)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _TypeObject):
            return self._oids == other._oids
        return other in self._oids

    def __hash__(self) -> int:
        return hash(self._oids)


STRING = _TypeObject(18, 19, 25, 114, 1042, 1043, 2950, 3802)
BINARY = _TypeObject(17)
NUMBER = _TypeObject(16, 20, 21, 23, 700, 701, 1700)
DATETIME = _TypeObject(1082, 1083, 1114, 1184, 1186, 1266)
ROWID = _TypeObject(26)

_NUMERIC = 1700


class Cursor:
    """Executes statements and gives their rows one after the other, in bounded memory.

    Cursors of a connection share its session.

    >>> import longshore
    >>> with longshore.connect() as db, db.cursor() as cursor:
    ...     _ = cursor.execute("SELECT ? + 1", [41])
    ...     cursor.fetchone()
    (42,)
    """

    #: Rows that :meth:`fetchmany` gives if nothing else is said.
    arraysize: int = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._relation: Relation | None = None
        self._results: list[Relation] = []
        self._closed = False
        self._position = 0
        #: What :attr:`rowcount` is when there is no relation (any more).
        self._changed = -1

    def _open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")

    def close(self) -> None:
        """Gives up what is not read; the cursor cannot be used any more."""
        self._changed = self.rowcount
        self._relation = None
        self._closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Executes a statement, with values for its parameters ``?``, ``$1`` or ``$name``."""
        self._open()
        self._results = []
        self._relation = None
        self._relation = self.connection._execute(operation, parameters)
        self._position = 0
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> Cursor:
        """Executes a statement once for each set of parameters: all of them or none, and as one transaction."""
        self._open()
        self._results = []
        self._relation = None
        self._relation = self.connection._execute_many(operation, seq_of_parameters)
        self._position = 0
        return self

    @property
    def description(self) -> list[tuple[str, int, None, int | None, int | None, int | None, None]] | None:
        """The columns: name, type (an OID), display size, bytes, precision, scale, and whether NULL may be there."""
        rows = None if self._relation is None else self._relation._rows
        if rows is None:
            return None
        described = []
        for name, (_, oid, length, modifier) in zip(rows.names, rows.types):
            precision = scale = None
            if oid == _NUMERIC and modifier >= 4:
                precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
            described.append((name, oid, None, length if length >= 0 else None, precision, scale, None))
        return described

    @property
    def rowcount(self) -> int:
        """Rows that the statement has changed; -1 for queries."""
        return self._changed if self._relation is None else self._relation.rowcount

    @property
    def rownumber(self) -> int | None:
        """The number of the next row, from 0."""
        return None if self._relation is None or self._relation._rows is None else self._position

    lastrowid: None = None

    def _given(self) -> Relation:
        self._open()
        if self._relation is None:
            raise InterfaceError("nothing was executed")
        self._relation._given()
        return self._relation

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or ``None``."""
        row = self._given().fetchone()
        self._position += row is not None
        return row

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows: ``size`` of them, or ``arraysize``."""
        rows = self._given().fetchmany(self.arraysize if size is None else size)
        self._position += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        relation = self._given()
        rows = list(itertools.chain.from_iterable(iter(lambda: relation.fetchmany(8192), [])))
        self._position += len(rows)
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: object) -> None:
        """Does nothing: values tell their sizes."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: values are never cut."""

    # What analysts want of the same rows.

    def arrow(self) -> Any:
        """The rows as a table of pyarrow."""
        return self._given().arrow()

    def pandas(self, *, exact_decimals: bool = False) -> Any:
        """The rows as a data frame of pandas; see :meth:`Relation.pandas`."""
        return self._given().pandas(exact_decimals=exact_decimals)

    def polars(self) -> Any:
        """The rows as a data frame of polars."""
        return self._given().polars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._given().__arrow_c_stream__(requested_schema)
