"""ADBC: databases of this process for tools that know it, such as pandas' ``to_sql`` and ``read_sql``, and polars' ``write_database``.

It needs the package ``adbc-driver-manager``, and pyarrow. The shared library of Longshore is the driver.

>>> import longshore.adbc, pandas
>>> with longshore.adbc.connect() as connection:
...     _ = pandas.DataFrame({"n": [1, 2], "word": ["one", "two"]}).to_sql("words", connection, index=False)
...     pandas.read_sql("SELECT word FROM words WHERE n = 2", connection)["word"].tolist()
['two']
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union

from . import _longshore
from ._connection import Connection
from ._connection import connect as _connect

if TYPE_CHECKING:
    import adbc_driver_manager.dbapi

#: The shared library that driver managers load, and the function that they look for in it.
DRIVER: str = str(_longshore.__file__)
ENTRYPOINT = "AdbcDriverInit"


def connect(
    database: Union[Connection, str, os.PathLike[str], None] = None, *, autocommit: bool = False, **config: Any
) -> adbc_driver_manager.dbapi.Connection:
    """Opens a connection of ADBC to the database in a directory, to an empty one in memory, or to that of a connection of Longshore.

    Its interface is DB-API 2.0 with methods for Arrow, such as ``fetch_arrow_table`` and ``adbc_ingest``. Statements begin a
    transaction that ``commit`` ends, unless ``autocommit=True``. ``config`` is that of :func:`longshore.connect`.

    Raises ``ImportError`` if the package ``adbc-driver-manager`` is not installed, and :class:`longshore.InterfaceError` if the
    connection is closed.

    >>> import longshore, longshore.adbc
    >>> db = longshore.connect()
    >>> _ = db.sql("CREATE TABLE t AS SELECT 7 AS n")
    >>> with longshore.adbc.connect(db) as connection, connection.cursor() as cursor:
    ...     _ = cursor.execute("SELECT n FROM t")
    ...     cursor.fetch_arrow_table().to_pylist()
    [{'n': 7}]
    """
    try:
        from adbc_driver_manager import dbapi
    except ImportError as error:
        raise ImportError("ADBC needs the package adbc-driver-manager, which is not installed") from error
    opened = database if isinstance(database, Connection) else _connect(database, **config)
    if opened is database and config:
        raise TypeError(f"the database is open already; {', '.join(config)} cannot be set any more")
    try:
        return dbapi.connect(
            driver=DRIVER,
            entrypoint=ENTRYPOINT,
            db_kwargs={"longshore.database": str(opened._session.share())},
            autocommit=autocommit,
        )
    finally:
        if opened is not database:
            # The connection of ADBC has the database open from now on.
            opened.close()
