"""Files of text without a database: :func:`read_csv`, :func:`read_json` and :func:`sniff`."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, Union

from . import _progress
from ._longshore import Reading, read_text
from ._relation import Relation

File = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", "IO[str]", "IO[bytes]"]
Files = Union[File, Iterable[File]]


@contextlib.contextmanager
def named_files(files: Files) -> Iterator[list[str]]:
    """The paths of files; what is no file but can be read is copied to one, which is there meanwhile."""
    several: list[Any] = [files] if isinstance(files, (str, bytes, os.PathLike)) or hasattr(files, "read") else list(files)
    if not several:
        raise ValueError("there are no files")
    with contextlib.ExitStack() as copies:
        yield [copies.enter_context(_copied(file)) if hasattr(file, "read") else _path(file) for file in several]


def _path(file: Any) -> str:
    path = os.fsdecode(file)
    return os.path.expanduser(path) if path.startswith("~") else path


@contextlib.contextmanager
def _copied(file: IO[Any]) -> Iterator[str]:
    first = file.read(1 << 20)
    options: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""} if isinstance(first, str) else {}
    with tempfile.NamedTemporaryFile(suffix=".txt", **options) as copy:
        copy.write(first)
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        yield copy.name


class TextTable(Relation):
    """The rows of files, in memory, as columns of Arrow; see :func:`read_csv`."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told)
        #: Bytes of text that were read.
        self.bytes: int = told["bytes"]
        #: Wall-clock seconds that it took.
        self.seconds: float = told["seconds"]
        #: Records that were left out.
        self.rejected: int = told["rejected"]
        #: These records as rows, if they were asked for.
        self.rejects: Relation | None = Relation({"rows": told["rejects"]}) if "rejects" in told else None

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def schema(self) -> Any:
        """Arrow's schema: that of pyarrow if it is installed, else names and types in pairs."""
        try:
            import pyarrow
        except ImportError:
            return list(zip(self.columns, self.types))
        return pyarrow.schema(self)


def read_csv(
    files: Files,
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    rejects: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> TextTable:
    """Reads files of text into Arrow with all processors, without a database.

    Dialect, header, names and types are found out over the whole of the files, so that no value is lost; what is given wins.
    ``files`` are a path, several, a pattern, a folder or an address, or open files; compressed files are read as they are. ``options`` are
    those of ``read_csv`` in SQL: ``delimiter='|'``, ``header=False``, ``types={'id': 'BIGINT'}`` for some columns,
    ``columns={'id': 'BIGINT', 'name': 'TEXT'}`` for all of them, ``null=['', 'NA']``, ``skip=2`` and more. With ``rejects=True``
    bad records are left out and listed in ``rejects``. The table has ``num_rows`` rows and ``num_columns`` columns.

    Raises :class:`DataError` for the first bad record, with ``file``, ``line``, ``column`` and ``value``,
    :class:`UndefinedTable` for a file that is not there, and :class:`OutOfMemory` where ``memory_limit`` (bytes, or a text such as ``'4GB'``) is
    reached.

    >>> import longshore, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = path.write_text("day;item;price\\n2024-05-01;nuts;1,50\\n2024-05-02;bolts;12,25\\n")
    >>> longshore.read_csv(path)
        day     | item  | price
    ------------+-------+-------
     2024-05-01 | nuts  |  1.50
     2024-05-02 | bolts | 12.25
    (2 rows)
    """
    reading = Reading()
    with named_files(files) as paths, _progress.bar(reading, progress):
        rows, told = read_text(reading, paths, options, threads, memory_limit, rejects)
    return TextTable({**told, "rows": rows})


def read_json(
    files: Files,
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    rejects: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> TextTable:
    """Reads files of JSON, as lines, as one array, or values one after the other: see :func:`read_csv`."""
    options.setdefault("format", "json")
    return read_csv(
        files, threads=threads, memory_limit=memory_limit, rejects=rejects, progress=progress, **options
    )


def sniff(files: Files, **options: Any) -> Relation:
    """What files are: each property of the dialect with why it was found so, each column, and a statement that reads them.

    >>> import longshore, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = path.write_text("day;price\\n2024-05-01;1,50\\n")
    >>> {row[0]: row[1] for row in longshore.sniff(path).fetchall()}["column day"]
    'DATE'
    """
    from ._connection import connect

    with connect() as db, named_files(files) as paths:
        found = db._sniffed(paths, options)
        found.num_rows
        return found
