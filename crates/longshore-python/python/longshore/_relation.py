"""Relations: the rows of a statement, and what they become."""

from __future__ import annotations

import decimal
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _show
from ._longshore import Batch, Rows
from .errors import InterfaceError

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow


class Relation:
    """The rows of a statement, or what it did if it gives none.

    The rows of a query are made while they are read. Whatever needs all of them (:meth:`arrow`, :meth:`fetchall`, showing
    them) keeps them, and can be called again; iteration, :meth:`fetchone` and Arrow's stream read them once, in bounded memory,
    if they are not kept.

    >>> import longshore
    >>> relation = longshore.connect().sql("SELECT 1 AS n, 'one' AS word UNION ALL SELECT 2, 'two' ORDER BY n")
    >>> relation
     n | word
    ---+------
     1 | one
     2 | two
    (2 rows)
    >>> relation.columns, relation.types
    (['n', 'word'], ['int4', 'text'])
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self._rows: Rows | None = told.get("rows")
        self._tag: str = told.get("tag", "")
        self._notice: str | None = told.get("notice")
        self._changed: int | None = told.get("changed")
        self._report: tuple[int, int, int, float] | None = told.get("report")
        #: Rows of the batch that is read, and how many of them were given.
        self._waiting: list[tuple[Any, ...]] = []
        self._taken = 0

    # What it is.

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._rows.names if self._rows else []

    @property
    def types(self) -> list[str]:
        """The types of the columns, by their names in ``pg_type``."""
        return [name for name, *_ in self._rows.types] if self._rows else []

    @property
    def tag(self) -> str:
        """What the statement did, as PostgreSQL says it: ``INSERT 0 3``, ``CREATE TABLE``, ``SELECT``."""
        return self._tag

    @property
    def notice(self) -> str | None:
        """What else is to be said, such as which records of a file were repaired."""
        return self._notice

    @property
    def rowcount(self) -> int:
        """Rows that the statement has changed; of a query, the number of its rows if they are kept, else -1."""
        if self._rows is None:
            return -1 if self._changed is None else self._changed
        return self._rows.keep() if self._rows.is_kept else -1

    @property
    def num_rows(self) -> int:
        """The number of rows, which are kept."""
        return self._given().keep()

    def __bool__(self) -> bool:
        # Not whether there are rows, which may not be made yet.
        return True

    def __len__(self) -> int:
        return self.num_rows

    def _given(self) -> Rows:
        if self._rows is None:
            raise InterfaceError(f"the statement gives no rows: {self._tag or 'it is empty'}")
        return self._rows

    def _kept_batches(self) -> Iterator[Batch]:
        rows = self._given()
        return (rows.kept_batch(at) for at in range(rows.batch_count()))

    # Python's values.

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples of Python's values; they are kept.

        >>> import longshore
        >>> longshore.connect().sql("SELECT 1.50 AS price, DATE '2024-05-01' AS day").fetchall()
        [(Decimal('1.50'), datetime.date(2024, 5, 1))]
        """
        return [row for batch in self._kept_batches() for row in batch.rows()]

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or ``None`` behind the last one."""
        while self._taken == len(self._waiting):
            if not self._read_on():
                return None
        row = self._waiting[self._taken]
        self._taken += 1
        return row

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows, at most ``size``."""
        rows: list[tuple[Any, ...]] = []
        while len(rows) < size:
            if self._taken == len(self._waiting) and not self._read_on():
                break
            more = self._waiting[self._taken : self._taken + size - len(rows)]
            self._taken += len(more)
            rows += more
        return rows

    def _read_on(self) -> bool:
        """Reads the next batch, if there is one."""
        batch = self._next_batch()
        self._waiting, self._taken = ([] if batch is None else batch.rows()), 0
        return batch is not None

    def _next_batch(self) -> Batch | None:
        rows = self._given()
        if not rows.is_kept:
            return rows.next_batch()
        if not hasattr(self, "_kept"):
            self._kept = self._kept_batches()
        return next(self._kept, None)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the record batches, of pyarrow if that is installed."""
        rows = self._given()
        kept = self._kept_batches() if rows.is_kept else iter(rows.next_batch, None)
        try:
            import pyarrow
        except ImportError:
            yield from kept
        else:
            for batch in kept:
                yield pyarrow.record_batch(batch)

    # Columns.

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule stream: what polars, pandas, DuckDB and others read without a copy."""
        return self._given().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Arrow's PyCapsule schema."""
        return self._given().__arrow_c_schema__()

    def arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow, without a copy; they are kept. Texts are string views.

        >>> import longshore
        >>> longshore.connect().sql("SELECT 1 AS n").arrow().num_rows
        1
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError(
                "pyarrow is not installed; other libraries with Arrow's PyCapsule interface take the relation itself"
            ) from error
        self._given().keep()
        return pyarrow.table(self)

    def polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars, without a copy where polars has the type; they are kept."""
        import polars

        self._given().keep()
        return polars.DataFrame(self)

    def pandas(self, *, exact_decimals: bool = False) -> pandas.DataFrame:
        """The rows as a data frame of pandas; they are kept. Columns of decimals are floats, the nearest ones, or with
        ``exact_decimals=True`` objects of :class:`decimal.Decimal`. Without pyarrow, the columns are made of Python's values.

        >>> import longshore
        >>> longshore.connect().sql("SELECT 1.50 AS price").pandas()["price"].tolist()
        [1.5]
        """
        import pandas

        try:
            import pyarrow  # noqa: F401
        except ImportError:
            columns = [list(values) for values in self._columns(exact_decimals)]
            return pandas.DataFrame(dict(enumerate(columns))).set_axis(self.columns, axis=1)
        return _plain_texts(self._table(exact_decimals)).to_pandas()

    df = pandas

    def numpy(self, *, exact_decimals: bool = False) -> dict[str, numpy.ndarray]:
        """The columns as arrays of NumPy by their names; they are kept. A column of numbers without NULL is not copied if its
        rows lie in one piece; one with NULL becomes floats or objects, as in pandas. Decimals are as in :meth:`pandas`.

        >>> import longshore
        >>> longshore.connect().sql("SELECT n FROM generate_series(1, 3) AS t(n)").numpy()["n"].tolist()
        [1, 2, 3]
        """
        import numpy

        for name in self.columns:
            if self.columns.count(name) > 1:
                raise ValueError(f"several columns are named {name}; give them names of their own with AS")
        try:
            table = _plain_texts(self._table(exact_decimals))
        except ImportError:
            return {name: numpy.array(values) for name, values in zip(self.columns, self._columns(exact_decimals))}
        return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns)}

    def _table(self, exact_decimals: bool) -> pyarrow.Table:
        """The rows as a table of pyarrow, for arrays of NumPy."""
        if exact_decimals:
            return self.arrow()
        import pyarrow

        return pyarrow.table(_WithDoubles(self._given()))

    def _columns(self, exact_decimals: bool) -> list[tuple[Any, ...]]:
        """The columns as Python's values, for arrays of NumPy."""
        columns: list[tuple[Any, ...]] = list(zip(*self.fetchall())) or [()] * len(self.columns)
        if exact_decimals:
            return columns
        return [
            tuple(float(value) if isinstance(value, decimal.Decimal) else value for value in values) for values in columns
        ]

    # Files.

    def to_csv(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes the rows to a file of CSV with all processors; gives their number. ``options`` are those of ``COPY TO``, such
        as ``delimiter=';'`` or ``compression='gzip'``; there is a header unless ``header=False``."""
        return self._written(path, {"format": "csv", "header": True, **options})

    def to_parquet(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes the rows to a file of Parquet; gives their number. ``options`` are those of ``COPY TO``."""
        return self._written(path, {"format": "parquet", **options})

    def _written(self, path: str | os.PathLike[str], options: dict[str, Any]) -> int:
        from ._connection import connect

        with connect() as db:
            db.register("rows to be written", self)
            told = db._session.write('SELECT * FROM "rows to be written"', os.fspath(path), options)
            return Relation(told).rowcount

    # For people.

    def _cells(self, limit: int) -> list[list[str | None]]:
        cells: list[list[str | None]] = []
        for batch in self._kept_batches():
            if len(cells) >= limit:
                break
            cells += batch.texts(limit - len(cells))
        return cells

    def __repr__(self) -> str:
        if self._rows is None:
            return self._tag or "(no statement)"
        rows = self._rows.keep()
        return _show.text(self.columns, self.types, self._cells(_show.ROWS_SHOWN), rows)

    def _repr_html_(self) -> str:
        if self._rows is None:
            return f"<p>{self._tag or 'no statement'}</p>"
        rows = self._rows.keep()
        return _show.as_html(self.columns, self.types, self._cells(_show.ROWS_SHOWN), rows)

    def show(self, rows: int = _show.ROWS_SHOWN) -> None:
        """Prints the first rows."""
        if self._rows is None:
            print(repr(self))
        else:
            print(_show.text(self.columns, self.types, self._cells(rows), self._rows.keep()))


class _WithDoubles:
    """Arrow's stream of rows with decimals as doubles."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._rows.stream_with_doubles()


def _plain_texts(table: pyarrow.Table) -> pyarrow.Table:
    """The same table with string and binary columns instead of views, which not every version of pyarrow converts."""
    import pyarrow

    plain = {pyarrow.string_view(): pyarrow.large_string(), pyarrow.binary_view(): pyarrow.large_binary()}
    if not any(field.type in plain for field in table.schema):
        return table
    fields = [field.with_type(plain.get(field.type, field.type)) for field in table.schema]
    return table.cast(pyarrow.schema(fields))
