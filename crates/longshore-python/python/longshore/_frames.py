"""Rows of other libraries: what has Arrow's PyCapsule interface, and what is easily brought to it."""

from __future__ import annotations

from typing import Any

from ._relation import Relation


def _kind(value: Any) -> tuple[str, str]:
    return type(value).__module__.partition(".")[0], type(value).__name__


def is_table(value: Any) -> bool:
    """Whether a variable stands for rows."""
    if isinstance(value, type):
        return False
    has_arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return has_arrow or _kind(value) == ("polars", "LazyFrame")


def rows_of(value: Any) -> Any:
    """The same rows as an object with Arrow's PyCapsule interface that can be read more than once, where the value can.

    Of a frame of pandas, levels of the index that have names are columns, and others are left out.
    """
    if isinstance(value, Relation):
        # They are there for others afterwards, too.
        value.num_rows
        return value
    kind = _kind(value)
    if kind == ("polars", "LazyFrame"):
        return value.collect()
    if kind == ("polars", "Series"):
        return value.to_frame(value.name or "value")
    if kind == ("polars", "DataFrame"):
        for name, dtype in value.schema.items():
            if str(dtype).startswith("Object"):
                raise TypeError(f"column {name} of the data frame has objects of Python, which no other library can read")
    if kind == ("pandas", "Series"):
        value, kind = value.to_frame("value" if value.name is None else value.name), ("pandas", "DataFrame")
    if kind == ("pandas", "DataFrame"):
        return _of_pandas(value)
    return value


def _of_pandas(frame: Any) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("the rows of a data frame of pandas are read by pyarrow, which is not installed") from error
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named:
        frame = frame.reset_index(level=named)
    return pyarrow.Table.from_pandas(frame, preserve_index=False)
