"""Longshore: a main-memory database that loads text at the speed of the hardware.

>>> import longshore
>>> db = longshore.connect()
>>> db.sql("SELECT 6 * 7 AS answer").fetchall()
[(42,)]

:func:`connect` opens a database, :func:`read_csv` reads files into Arrow without one, and :func:`sniff` says what a file is.
The module is one of DB-API 2.0 (PEP 249) as well.
"""

from __future__ import annotations

import datetime as _datetime
import time as _time

from ._connection import Connection, LoadReport, Transaction, connect
from ._cursor import BINARY, DATETIME, NUMBER, ROWID, STRING, Cursor
from ._files import TextTable, read_csv, read_json, sniff
from ._notifications import Notification
from ._relation import Relation
from .errors import (
    CheckViolation,
    DatabaseError,
    DataError,
    DeadlockDetected,
    Error,
    ForeignKeyViolation,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotNullViolation,
    NotSupportedError,
    OperationalError,
    OutOfMemory,
    ProgrammingError,
    QueryCanceled,
    SerializationFailure,
    UndefinedColumn,
    UndefinedTable,
    UniqueViolation,
    Warning,
)

__version__ = "0.1.0"

# DB-API 2.0.
apilevel = "2.0"
#: Threads may share the module and connections.
threadsafety = 2
#: ``?``; ``$1`` and ``$name`` are parameters, too.
paramstyle = "qmark"

Date = _datetime.date
Time = _datetime.time
Timestamp = _datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> _datetime.date:
    """The local date of a time in seconds since 1970."""
    return Date(*_time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> _datetime.time:
    """The local time of day of a time in seconds since 1970."""
    return Time(*_time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> _datetime.datetime:
    """The local time of a time in seconds since 1970."""
    return Timestamp(*_time.localtime(ticks)[:6])


__all__ = [
    "BINARY",
    "Binary",
    "CheckViolation",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "DeadlockDetected",
    "Error",
    "ForeignKeyViolation",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LoadReport",
    "NUMBER",
    "NotNullViolation",
    "NotSupportedError",
    "Notification",
    "OperationalError",
    "OutOfMemory",
    "ProgrammingError",
    "QueryCanceled",
    "ROWID",
    "Relation",
    "STRING",
    "SerializationFailure",
    "TextTable",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Transaction",
    "UndefinedColumn",
    "UndefinedTable",
    "UniqueViolation",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "read_csv",
    "read_json",
    "sniff",
    "threadsafety",
]
