"""The exceptions of the package: those of DB-API 2.0, and below them some that programs act on.

Each exception of a statement has the attributes ``sqlstate`` (PostgreSQL's code) and ``file``, ``line``, ``byte``,
``table``, ``column``, ``constraint``, ``data_type``, ``position`` and ``value``, which are ``None`` where nothing is known.

>>> import longshore
>>> try:
...     longshore.connect().sql("SELECT * FROM nowhere")
... except longshore.UndefinedTable as error:
...     print(error.sqlstate, error.position)
42P01 15
"""

from __future__ import annotations


class Warning(Exception):  # noqa: A001 (the name is that of DB-API)
    """Something important, such as a notice of a statement; never raised."""


class Error(Exception):
    """Any error of the package."""

    sqlstate: str | None = None
    file: str | None = None
    line: int | None = None
    byte: int | None = None
    table: str | None = None
    column: str | None = None
    constraint: str | None = None
    data_type: str | None = None
    position: int | None = None
    value: str | None = None


class InterfaceError(Error):
    """The package is used wrongly, such as a closed connection."""


class DatabaseError(Error):
    """Any error of a statement."""


class DataError(DatabaseError):
    """A value that cannot be taken, in a statement or in a file (class 22)."""


class OperationalError(DatabaseError):
    """What the statement is not to blame for: conflicts, limits, disks, cancellations."""


class IntegrityError(DatabaseError):
    """A constraint is violated (class 23)."""


class InternalError(DatabaseError):
    """A transaction that has failed, or a bug of Longshore."""


class ProgrammingError(DatabaseError):
    """The statement is wrong (class 42)."""


class NotSupportedError(DatabaseError):
    """What Longshore does not do (class 0A)."""


class QueryCanceled(OperationalError):
    """The statement was cancelled (57014)."""


class SerializationFailure(OperationalError):
    """Another transaction is in the way; the same works when it is tried again (40001)."""


class DeadlockDetected(OperationalError):
    """Transactions wait for each other; the same works when it is tried again (40P01)."""


class OutOfMemory(OperationalError):
    """The memory limit is reached (53200)."""


class UniqueViolation(IntegrityError):
    """A key is there already (23505)."""


class ForeignKeyViolation(IntegrityError):
    """A key that is referred to is not there, or is still referred to (23503)."""


class NotNullViolation(IntegrityError):
    """NULL where there must be a value (23502)."""


class CheckViolation(IntegrityError):
    """A value that a CHECK refuses (23514)."""


class UndefinedTable(ProgrammingError):
    """There is no such table, view or file (42P01)."""


class UndefinedColumn(ProgrammingError):
    """There is no such column (42703)."""


_BY_CODE: dict[str, type[DatabaseError]] = {
    "57014": QueryCanceled,
    "40001": SerializationFailure,
    "40P01": DeadlockDetected,
    "53200": OutOfMemory,
    "23505": UniqueViolation,
    "23503": ForeignKeyViolation,
    "23502": NotNullViolation,
    "23514": CheckViolation,
    "42P01": UndefinedTable,
    "42703": UndefinedColumn,
}

_BY_CLASS: dict[str, type[DatabaseError]] = {
    "0A": NotSupportedError,
    "20": ProgrammingError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": InternalError,
    "25": InternalError,
    "2B": InternalError,
    "2D": InternalError,
    "2F": InternalError,
    "3B": InternalError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "42": ProgrammingError,
    "44": IntegrityError,
    "XX": InternalError,
}


def of_sqlstate(sqlstate: str, message: str, **details: object) -> DatabaseError:
    """The exception for an error of the engine."""
    kind = _BY_CODE.get(sqlstate) or _BY_CLASS.get(sqlstate[:2], OperationalError)
    error = kind(message)
    error.sqlstate = sqlstate
    for name, value in details.items():
        setattr(error, name, value)
    return error
