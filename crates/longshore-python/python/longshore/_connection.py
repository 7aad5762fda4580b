"""Connections: a database, and one session of it."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar, Union

from . import _longshore, _progress, _variables, errors
from ._cursor import Cursor, Parameters
from ._files import Files, named_files
from ._frames import rows_of
from ._notifications import Notification
from ._relation import Relation
from ._show import count

Result = TypeVar("Result")


def connect(directory: Union[str, os.PathLike[str], None] = None, *, autocommit: bool = True, **config: Any) -> Connection:
    """Opens the database in ``directory``, which is made if there is none; without one, an empty database in memory.

    ``config`` are what it may use of the machine (``threads``, ``memory_limit='4GB'``), how it is kept (``read_only``,
    ``max_wal_size``, ``checkpoint_timeout``), and settings of the session such as ``TimeZone='Europe/Berlin'``.
    With ``autocommit=False``, statements begin a transaction that :meth:`Connection.commit` ends, as DB-API 2.0 has it.

    Raises :class:`OperationalError` if the directory cannot be opened, for instance because another process has it open.

    >>> import longshore
    >>> with longshore.connect(threads=2) as db:
    ...     db.sql("SHOW TimeZone").fetchone()
    ('UTC',)
    """
    if directory == ":memory:":
        directory = None
    if directory is not None:
        directory = os.path.expanduser(os.fspath(directory))
    return Connection(_longshore.Connection(directory, **config), autocommit)


_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_TABLE = re.compile(rf"\s*{_NAME}(?:\s*\.\s*{_NAME})?\s*(?:\(.*\)\s*)?", re.DOTALL)


def _check_table(table: str) -> None:
    if not _TABLE.fullmatch(table):
        quoted = table.replace('"', '""')
        raise errors.ProgrammingError(
            f"table={table!r} is no name as SQL has it; a name of other characters is written table='\"{quoted}\"'"
        )


class Connection:
    """A database and one session of it.

    Threads may share a connection; their statements wait for each other. :meth:`another` opens a further session.
    """

    # DB-API's optional extension: the exceptions as attributes.
    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: _longshore.Connection, autocommit: bool) -> None:
        self._session = session
        #: Whether each statement outside of a block commits by itself.
        self.autocommit = autocommit
        #: Names of rows that are registered by two names, and the second ones.
        self._folded: dict[str, str] = {}

    # Statements.

    def sql(self, text: str, parameters: Parameters | None = None) -> Relation:
        """Executes a statement, or several of which the last one's rows are given.

        Parameters are ``?``, ``$1`` or ``$name``; their values are a sequence or a dict. The rows of a query are made while they
        are read: an error in one of them, such as a division by zero, is raised by what reads it.

        Raises :class:`ProgrammingError` for a statement that is wrong, with its ``position``; other classes of
        :mod:`longshore.errors` for what goes wrong while it works; and ``TypeError`` for values that SQL has no type for.

        >>> import longshore
        >>> longshore.connect().sql("SELECT $low + $high AS sum", {"low": 1, "high": 2}).fetchall()
        [(3,)]
        """
        return self._execute(text, parameters)

    async def sql_async(self, text: str, parameters: Parameters | None = None) -> Relation:
        """Does what :meth:`sql` does in a thread, while the event loop goes on; the rows are kept. A task that is cancelled cancels
        the statement. Variables are no tables there: register them.

        >>> import asyncio, longshore
        >>> asyncio.run(longshore.connect().sql_async("SELECT 1 AS one")).fetchall()
        [(1,)]
        """

        def execute() -> Relation:
            relation = Relation(self._session.execute(text, parameters))
            if relation.columns:
                relation.num_rows
            return relation

        self._begin_implicitly()
        work = asyncio.get_running_loop().run_in_executor(None, execute)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait([work])
            # Nobody else asks how it ended.
            work.exception()
            raise

    def execute(self, text: str, parameters: Parameters | None = None) -> Cursor:
        """Executes a statement with a new cursor."""
        return self.cursor().execute(text, parameters)

    def executemany(self, text: str, rows: Iterable[Parameters]) -> Cursor:
        """Executes a statement once for each set of parameters, all of them or none."""
        return self.cursor().executemany(text, rows)

    def cursor(self) -> Cursor:
        """A cursor of DB-API 2.0; it shares the session."""
        if self.closed:
            raise errors.InterfaceError("the connection is closed")
        return Cursor(self)

    def _execute(self, text: str, parameters: Parameters | None = None) -> Relation:
        self._begin_implicitly()
        with _variables.known(self._session, text):
            return Relation(self._session.execute(text, parameters))

    def _execute_many(self, text: str, rows: Iterable[Parameters]) -> Relation:
        self._begin_implicitly()
        return Relation(self._session.execute_many(text, rows))

    def _begin_implicitly(self) -> None:
        if not self.autocommit and not self.in_transaction:
            self._session.execute("BEGIN")

    # Files.

    def load(
        self,
        files: Files,
        table: str,
        *,
        rejects: str | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> LoadReport:
        """Loads files into a table, which is made with the columns of the files if there is none: all rows or nothing.

        ``table`` is written as in SQL (``schema.table``, ``"With Case"``). ``options`` are those of ``COPY``; the dialect is found
        out unless ``auto=False``. ``rejects`` names a table for bad records, which are left out then. A bar shows
        how far a longer load is, on terminals and in notebooks, or as ``progress`` says.

        Raises :class:`DataError` for a bad record, with ``file``, ``line``, ``column`` and ``value``, and
        :class:`IntegrityError` where a constraint is violated.

        >>> import longshore, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = path.write_text("id,name\\n1,Anna\\n2,Ben\\n")
        >>> db = longshore.connect()
        >>> db.load(path, table="people").rows
        2
        >>> db.sql("SELECT name FROM people WHERE id = 2").fetchone()
        ('Ben',)
        """
        _check_table(table)
        options.setdefault("auto", True)
        if rejects is not None:
            options["on_error"] = f"table {rejects}"
        self._begin_implicitly()
        with named_files(files) as paths, _progress.bar(self._session, progress):
            told = self._session.load(table, paths, options)
        return LoadReport(self, told, table, paths, rejects)

    def _sniffed(self, files: list[str], options: dict[str, Any]) -> Relation:
        return Relation(self._session.sniff(files, options))

    # Rows of other libraries.

    def append(self, table: str, rows: object) -> int:
        """Appends rows to a table, all or none: a table or data frame of pyarrow, polars, pandas or any library with Arrow's
        PyCapsule interface. Each column goes to the one of its name; columns that are left out take their defaults. Gives
        the number of rows.

        Raises :class:`UndefinedColumn` for a column that the table has not, :class:`DataError` for a value that its type has not,
        :class:`IntegrityError` where a constraint is violated, and ``TypeError`` for what is no table.

        >>> import longshore, pyarrow
        >>> db = longshore.connect()
        >>> _ = db.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT DEFAULT 'none')")
        >>> db.append("t", pyarrow.table({"id": [1, 2]}))
        2
        >>> db.sql("SELECT * FROM t").fetchall()
        [(1, 'none'), (2, 'none')]
        """
        _check_table(table)
        self._begin_implicitly()
        return Relation(self._session.append(table, rows_of(rows))).rowcount

    def register(self, name: str, rows: object) -> None:
        """Lets ``name`` stand for rows of another library in the queries of this connection; see :meth:`append` for what they
        may be. Columns whose types Longshore has are not copied. Variables need no such call: a name in FROM that is no
        table stands for the variable of the caller.

        >>> import longshore, pyarrow
        >>> db = longshore.connect()
        >>> db.register("numbers", pyarrow.table({"n": [1, 2, 3]}))
        >>> db.sql("SELECT max(n) FROM numbers").fetchall()
        [(3,)]
        >>> others = pyarrow.table({"n": [2, 3, 4]})
        >>> db.sql("SELECT n FROM numbers JOIN others USING (n) ORDER BY n").fetchall()
        [(2,), (3,)]
        """
        table = rows_of(rows)
        self._session.register(name, table)
        # SQL folds names that are not quoted.
        if (folded := name.lower()) != name and self._session.unknown_tables(f"TABLE {folded}"):
            self._session.register(folded, table)
            self._folded[name] = folded

    def unregister(self, name: str) -> None:
        """Forgets rows that were registered."""
        self._session.unregister(name)
        if name in self._folded:
            self._session.unregister(self._folded.pop(name))

    # Transactions.

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction block is open."""
        return self._session.transaction_state()[0]

    def begin(self) -> None:
        """Begins a transaction block."""
        self._session.execute("BEGIN")

    def commit(self) -> None:
        """Commits the open transaction, if there is one."""
        if self.in_transaction:
            self._session.execute("COMMIT")

    def rollback(self) -> None:
        """Rolls the open transaction back, if there is one."""
        if self.in_transaction:
            self._session.execute("ROLLBACK")

    def transaction(self, *, isolation: str | None = None, read_only: bool | None = None) -> Transaction:
        """A transaction as a block of ``with``: committed at its end, rolled back if it raises. Within another one it is a
        savepoint. ``isolation`` is ``'serializable'``, ``'repeatable read'`` or ``'read committed'``.

        Its end raises :class:`SerializationFailure` if another transaction was in its way; see :meth:`retry`.

        >>> import longshore
        >>> db = longshore.connect()
        >>> _ = db.sql("CREATE TABLE t (n INTEGER)")
        >>> with db.transaction(isolation="serializable"):
        ...     _ = db.sql("INSERT INTO t VALUES (1)")
        >>> db.sql("SELECT n FROM t").fetchall()
        [(1,)]
        """
        return Transaction(self, isolation, read_only)

    def retry(
        self,
        work: Callable[[Connection], Result],
        *,
        attempts: int = 10,
        isolation: str | None = None,
    ) -> Result:
        """Calls ``work`` with the connection in a transaction, again where another transaction was in its way (SQLSTATE 40001
        and 40P01), at most ``attempts`` times; gives what it returns. ``work`` must have no effects elsewhere.

        Raises what ``work`` raises, and the last conflict if all attempts met one.

        >>> import longshore
        >>> longshore.connect().retry(lambda db: db.sql("SELECT 1").fetchone())
        (1,)
        """
        if attempts < 1:
            raise ValueError("attempts must be at least 1")
        if self.in_transaction:
            raise errors.ProgrammingError("a transaction is open, of which a part cannot be done again; end it first")
        attempt = 0
        while True:
            attempt += 1
            try:
                with self.transaction(isolation=isolation):
                    return work(self)
            except (errors.SerializationFailure, errors.DeadlockDetected):
                if attempt == attempts:
                    raise
                time.sleep(random.random() * 0.001 * 2 ** min(attempt, 8))

    # The session.

    def another(self) -> Connection:
        """Another session of the same database, for another thread or an independent transaction."""
        return Connection(self._session.another(), self.autocommit)

    def cancel(self) -> None:
        """Cancels the statement that is executed, from another thread; it raises :class:`QueryCanceled`."""
        self._session.cancel()

    def progress(self) -> tuple[int, int, int] | None:
        """How far the statement of another thread is: bytes done, bytes in all (0 if unknown), rows."""
        return self._session.progress()

    def notifications(self, timeout: float | None = 0.0) -> list[Notification]:
        """What this connection was told by channels that it listens to, in the order of commits. Waits up to ``timeout`` seconds
        until there is something, and for ever with ``None``; other threads may use the connection meanwhile.

        >>> db = connect()
        >>> cursor = db.execute("LISTEN jobs")
        >>> cursor = db.another().execute("NOTIFY jobs, 'first'")
        >>> [(told.channel, told.payload) for told in db.notifications()]
        [('jobs', 'first')]
        """
        return [Notification(*told) for told in self._session.notifications(timeout)]

    def table_names(self) -> list[str]:
        """The names of all tables and views."""
        return self._session.table_names()

    @property
    def closed(self) -> bool:
        """Whether the connection was closed."""
        return self._session.closed

    def close(self) -> None:
        """Ends the session, which rolls an open transaction back. The last one closes the database."""
        self._session.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<longshore.Connection: closed>"
        return f"<longshore.Connection: {count(len(self.table_names()), 'table')}>"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.closed:
            if not self.autocommit and kind is None:
                self.commit()
            self.close()


class Transaction:
    """A transaction, or a savepoint within one, as a block of ``with``."""

    _ISOLATIONS = ("serializable", "repeatable read", "read committed", "read uncommitted")

    def __init__(self, connection: Connection, isolation: str | None, read_only: bool | None) -> None:
        self._connection = connection
        self._savepoint: str | None = None
        modes = []
        if isolation is not None:
            level = isolation.replace("_", " ").lower()
            if level not in self._ISOLATIONS:
                raise ValueError(f"isolation is one of {', '.join(self._ISOLATIONS)}, not {isolation!r}")
            modes.append(f"ISOLATION LEVEL {level.upper()}")
        if read_only is not None:
            modes.append("READ ONLY" if read_only else "READ WRITE")
        self._modes = modes

    def __enter__(self) -> Connection:
        session = self._connection._session
        if not self._connection.in_transaction:
            session.execute(f"BEGIN {', '.join(self._modes)}")
        elif self._modes:
            raise errors.ProgrammingError("a transaction is open; isolation and read_only are said when it begins")
        else:
            self._savepoint = f"longshore_{id(self)}"
            session.execute(f"SAVEPOINT {self._savepoint}")
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        session = self._connection._session
        if self._connection.closed or not self._connection.in_transaction:
            return
        if self._savepoint is not None:
            if kind is not None:
                session.execute(f"ROLLBACK TO SAVEPOINT {self._savepoint}")
            session.execute(f"RELEASE SAVEPOINT {self._savepoint}")
        else:
            session.execute("COMMIT" if kind is None else "ROLLBACK")


class LoadReport:
    """What a load did."""

    def __init__(
        self, connection: Connection, told: dict[str, Any], table: str, files: list[str], rejects: str | None
    ) -> None:
        self._connection = connection
        self._files = files
        #: The table.
        self.table = table
        #: Rows that it gained, bytes of text that were read, and wall-clock seconds.
        self.rows: int
        self.bytes: int
        self.seconds: float
        self.rows, self.bytes, _, self.seconds = told["report"]
        #: What is to be said of it: what was repaired, how many records were left out.
        self.notice: str | None = told["notice"]
        #: The statement that was executed.
        self.sql: str = told["sql"]
        self._rejects = rejects

    @property
    def rejects(self) -> Relation | None:
        """The records that were left out, as rows of their table, if one was named and made."""
        if self._rejects is None:
            return None
        try:
            return self._connection.sql(f"SELECT * FROM {self._rejects}")
        except errors.UndefinedTable:
            return None

    @property
    def found(self) -> Relation:
        """What the files are, with reasons, as :func:`longshore.sniff` says it; they are read again for that."""
        return self._connection._sniffed(self._files, {})

    @property
    def columns(self) -> Relation:
        """The columns of the table."""
        return self._connection.sql(f"DESCRIBE {self.table}")

    def __repr__(self) -> str:
        speed = f", {self.bytes / self.seconds / 1e9:.2f} GB/s" if self.seconds > 0 and self.bytes else ""
        told = f"\n{self.notice}" if self.notice else ""
        return f"{count(self.rows)} into {self.table} in {self.seconds:.3f} s{speed}{told}"
