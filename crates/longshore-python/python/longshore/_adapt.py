"""Values of Python's modules as texts of SQL, and back, where the extension knows them by their class alone."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import re
import uuid
from typing import Any


def adapt(value: Any) -> tuple[str | None, Any] | None:
    """The name of a type and a text of it; a plainer value without a type; or None for values that SQL has no type for."""
    if isinstance(value, decimal.Decimal):
        return "numeric", str(value)
    if isinstance(value, datetime.datetime):
        if value != value:  # pandas.NaT
            return None, None
        return ("timestamp" if value.tzinfo is None else "timestamptz"), value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return "date", value.isoformat()
    if isinstance(value, datetime.time):
        return ("time" if value.tzinfo is None else "timetz"), value.isoformat()
    if isinstance(value, datetime.timedelta):
        # Its three parts have signs of their own.
        return "interval", f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
    if isinstance(value, uuid.UUID):
        return "uuid", str(value)
    if isinstance(value, str):
        return None, str.__str__(value)
    if isinstance(value, pathlib.PurePath):
        return None, str(value)
    return _of_libraries(value)


def _of_libraries(value: Any) -> tuple[str | None, Any] | None:
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        name = type(value).__name__
        if name == "datetime64":
            return (None, None) if str(value) == "NaT" else ("timestamp", str(value))
        if name == "timedelta64":
            microseconds = value.astype("timedelta64[us]").item()
            return None, microseconds
        if hasattr(value, "tolist"):
            return None, value.tolist()
    if module == "pandas" and type(value).__name__ in ("NAType", "NaTType"):
        return None, None
    if module == "ipaddress":
        return None, str(value)
    return None


_INTERVAL_PART = re.compile(r"([+-]?\d+) (year|mon|day)s?")
_INTERVAL_TIME = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")


def interval(text: str) -> datetime.timedelta:
    """An interval as PostgreSQL writes it; a month is 30 days and a year 365, as psycopg has it."""
    days = 0
    for number, unit in _INTERVAL_PART.findall(text):
        days += int(number) * {"year": 365, "mon": 30, "day": 1}[unit]
    seconds = microseconds = 0
    if match := _INTERVAL_TIME.search(text):
        sign, hours, minutes, rest, fraction = match.groups()
        seconds = int(hours) * 3600 + int(minutes) * 60 + int(rest)
        microseconds = int((fraction or "0").ljust(6, "0"))
        if sign == "-":
            seconds, microseconds = -seconds, -microseconds
    return datetime.timedelta(days=days, seconds=seconds, microseconds=microseconds)


_ZONE = re.compile(r"([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$")


def timetz(text: str) -> datetime.time:
    """A time of day with a zone as PostgreSQL writes it: `10:00:00+02`."""
    match = _ZONE.search(text)
    if match is None:
        return datetime.time.fromisoformat(text)
    sign, hours, minutes, seconds = match.groups()
    offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
    zone = datetime.timezone(-offset if sign == "-" else offset)
    clock, _, fraction = text[: match.start()].partition(".")
    time = datetime.time.fromisoformat(clock)
    return time.replace(microsecond=int((fraction or "0").ljust(6, "0")), tzinfo=zone)
