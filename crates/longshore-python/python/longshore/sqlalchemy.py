"""SQLAlchemy: databases of this process by ``create_engine("longshore:///directory")``, or ``longshore://`` for one in memory.

It needs the package ``sqlalchemy``, 2.0 or later. The dialect is SQLAlchemy's for PostgreSQL, with its types, its ``insert`` with
``on_conflict_do_update``, and its reflection. All connections of an engine are sessions of one database.

>>> import sqlalchemy
>>> engine = sqlalchemy.create_engine("longshore://")
>>> with engine.begin() as connection:
...     _ = connection.execute(sqlalchemy.text("CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT)"))
...     _ = connection.execute(sqlalchemy.text("INSERT INTO t VALUES (:n, :word)"), [{"n": 1, "word": "one"}])
>>> with engine.connect() as connection:
...     connection.execute(sqlalchemy.text("SELECT word FROM t")).all()
[('one',)]
>>> [column["name"] for column in sqlalchemy.inspect(engine).get_columns("t")]
['n', 'word']
"""

from __future__ import annotations

import decimal
import threading
import weakref
from typing import Any

from sqlalchemy import types
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.postgresql.pg_catalog import INT2VECTOR, OIDVECTOR, _SpaceVector
from sqlalchemy.engine import URL

from ._connection import Connection
from ._connection import connect as _connect
from .errors import InterfaceError


def _decimals(value: Any) -> Any:
    return decimal.Decimal(str(value)) if isinstance(value, (float, int)) else value


def _floats(value: Any) -> Any:
    return None if value is None else float(value)


class _Numeric(types.Numeric[Any]):
    """Numbers: those of Longshore are decimals or floats already."""

    def bind_processor(self, dialect: Any) -> Any:
        return None

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        return _decimals if self.asdecimal else _floats


class _Float(types.Float[Any]):
    """Floats: as above."""

    def bind_processor(self, dialect: Any) -> Any:
        return None

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        return _decimals if self.asdecimal else _floats


class _Int2Vector(_SpaceVector, INT2VECTOR):
    """Numbers with blanks between them, in the catalogs."""


class _OidVector(_SpaceVector, OIDVECTOR):
    """The same."""


class _Json(postgresql.JSON):
    """JSON: values are read from it already."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        return None


class _Jsonb(postgresql.JSONB):
    """JSONB: as above."""

    def result_processor(self, dialect: Any, coltype: object) -> Any:
        return None


class Dialect(PGDialect):
    """PostgreSQL's dialect over databases of this process."""

    driver = "longshore"
    supports_statement_cache = True
    colspecs = {
        **PGDialect.colspecs,
        types.Numeric: _Numeric,
        types.Float: _Float,
        types.JSON: _Json,
        postgresql.JSON: _Json,
        postgresql.JSONB: _Jsonb,
        INT2VECTOR: _Int2Vector,
        OIDVECTOR: _OidVector,
    }

    def __init__(self, **options: Any) -> None:
        options.setdefault("paramstyle", "numeric_dollar")
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._sessions: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._memory: Connection | None = None
        self._lock = threading.Lock()

    @classmethod
    def import_dbapi(cls) -> Any:
        """The module of DB-API 2.0."""
        import longshore

        return longshore

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of :func:`longshore.connect` for an address."""
        if url.host:
            raise InterfaceError(f"a database of this process has no host: longshore:///{url.host}/... names a directory")
        words = {"true": True, "false": False}
        settings = {name: str(value) for name, value in url.query.items()}
        typed = {name: int(value) if value.isdigit() else words.get(value, value) for name, value in settings.items()}
        return [url.database or None], typed

    def connect(self, *arguments: Any, **config: Any) -> Any:
        """A session of the engine's database, which the first one opens."""
        with self._lock:
            opened = self._memory or next((one for one in self._sessions if not one.closed), None)
            if opened is None:
                made = _connect(*arguments, autocommit=False, **config)
                if arguments[0] in (None, ":memory:"):
                    # A database in memory lives as long as the engine.
                    self._memory = made.another()
            else:
                made = opened.another()
            self._sessions.add(made)
            return made

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        """The levels of transactions."""
        return ["AUTOCOMMIT", "SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"]

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        """Sets the level of transactions to come."""
        dbapi_connection.rollback()
        dbapi_connection.autocommit = True
        if level != "AUTOCOMMIT":
            dbapi_connection.sql(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")
            dbapi_connection.autocommit = False

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Whether a connection is of no use any more."""
        return isinstance(e, InterfaceError) and connection is not None and bool(connection.closed)
