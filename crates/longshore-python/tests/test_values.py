"""Every type both ways: as parameters and columns, as Python's values and in Arrow."""

from __future__ import annotations

import collections
import datetime
import decimal
import math
import uuid
from typing import Any

import pytest

import longshore

UTC = datetime.timezone.utc
HOUR = datetime.timedelta(hours=1)

VALUES: list[tuple[str, Any]] = [
    ("BOOLEAN", True),
    ("BOOLEAN", False),
    ("SMALLINT", -32768),
    ("INTEGER", 2**31 - 1),
    ("BIGINT", -(2**63)),
    ("REAL", 1.5),
    ("DOUBLE PRECISION", 0.1),
    ("DOUBLE PRECISION", -1e300),
    ("DOUBLE PRECISION", math.inf),
    ("NUMERIC", decimal.Decimal("123456789012345678901234567890.12345678")),
    ("NUMERIC", decimal.Decimal("0.10")),
    ("NUMERIC", decimal.Decimal(10) ** 60),
    ("NUMERIC(38,0)", decimal.Decimal("9" * 38)),
    ("NUMERIC(38,38)", decimal.Decimal("0." + "9" * 38)),
    ("NUMERIC(12,2)", decimal.Decimal("-12345.67")),
    ("TEXT", ""),
    ("TEXT", "short"),
    ("TEXT", "a text of more than twelve bytes, with ä, 漢字 and 🚢"),
    ("VARCHAR(10)", "ten letter"),
    ("BYTEA", b""),
    ("BYTEA", bytes(range(256))),
    ("DATE", datetime.date(1, 1, 1)),
    ("DATE", datetime.date(1969, 12, 31)),
    ("DATE", datetime.date(9999, 12, 31)),
    ("TIME", datetime.time(23, 59, 59, 999999)),
    ("TIME WITH TIME ZONE", datetime.time(10, 30, tzinfo=datetime.timezone(2 * HOUR))),
    ("TIMESTAMP", datetime.datetime(1969, 12, 31, 23, 59, 59, 1)),
    ("TIMESTAMP", datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMPTZ", datetime.datetime(2024, 2, 29, 12, 0, tzinfo=UTC)),
    ("TIMESTAMPTZ", datetime.datetime(2024, 2, 29, 12, 0, tzinfo=datetime.timezone(5 * HOUR))),
    ("INTERVAL", datetime.timedelta(days=3, seconds=7, microseconds=9)),
    ("INTERVAL", -datetime.timedelta(days=3, seconds=7, microseconds=9)),
    ("UUID", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("JSONB", {"a": [1, 2.5, None, "x"], "b": {"c": True}}),
    ("JSON", {"b": 1, "a": []}),
    ("INTEGER[]", [1, None, 3]),
    ("INTEGER[][]", [[1, 2], [3, 4]]),
    ("TEXT[]", ["a", 'quo"te', "back\\slash", "", None, "NULL", "a,b"]),
    ("NUMERIC[]", [decimal.Decimal("1.50"), decimal.Decimal("2")]),
    ("DATE[]", [datetime.date(2024, 1, 1)]),
    ("BYTEA[]", [b"\x00\xff", b""]),
]


@pytest.mark.parametrize(("sql_type", "value"), VALUES, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(VALUES)])
def test_a_value_comes_back_as_it_went(db: longshore.Connection, sql_type: str, value: Any) -> None:
    db.sql(f"CREATE TABLE t (v {sql_type})")
    db.sql("INSERT INTO t VALUES (?)", [value])
    [(stored,)] = db.sql("SELECT v FROM t").fetchall()
    assert stored == value
    assert type(stored) is type(value)
    [(cast,)] = db.sql(f"SELECT $1::{sql_type}", [value]).fetchall()
    assert cast == value
    db.sql("INSERT INTO t VALUES (?)", [None])
    assert db.sql("SELECT count(*) FROM t WHERE v IS NULL").fetchall() == [(1,)]
    if sql_type != "JSON":
        # No index, no equality of JSON; and a float is looked up as it is.
        assert db.sql("SELECT count(*) FROM t WHERE v = $1", [value]).fetchall() == [(1,)]


def test_nan_comes_back(db: longshore.Connection) -> None:
    [(number, exact)] = db.sql("SELECT $1::float8, $2::numeric", [math.nan, decimal.Decimal("NaN")]).fetchall()
    assert math.isnan(number)
    assert exact.is_nan()


def test_a_text_means_what_the_statement_says(db: longshore.Connection) -> None:
    rows = db.sql("SELECT $1::date, $2::int + 1, $3", ["2024-01-31", "41", "x"]).fetchall()
    assert rows == [(datetime.date(2024, 1, 31), 42, "x")]


def test_integers_of_any_size_are_parameters(db: longshore.Connection) -> None:
    for number in (0, -1, 2**31, 2**63, -(10**30)):
        assert db.sql("SELECT $1 + 1", [number]).fetchall() == [(number + 1,)]


def test_columns_are_typed(db: longshore.Connection) -> None:
    relation = db.sql("SELECT 1 AS a, 'x' AS b, 1.5::numeric AS c, ARRAY[1] AS d, gen_random_uuid()::uuid AS e")
    assert relation.columns == ["a", "b", "c", "d", "e"]
    assert relation.types == ["int4", "text", "numeric", "int4[]", "uuid"]


def test_an_empty_result_has_columns(db: longshore.Connection) -> None:
    relation = db.sql("SELECT 1 AS a, 'x'::text AS b WHERE false")
    assert relation.fetchall() == []
    assert relation.columns == ["a", "b"]
    assert relation.num_rows == 0


def test_parameters_have_names_or_places(db: longshore.Connection) -> None:
    assert db.sql("SELECT $a + $b, $a", {"a": 1, "b": 2}).fetchall() == [(3, 1)]
    assert db.sql("SELECT ?, '?', ?", [1, 2]).fetchall() == [(1, "?", 2)]
    assert db.sql("SELECT '{\"a\": 1}'::jsonb ? $1", ["a"]).fetchall() == [(True,)]
    with pytest.raises(TypeError, match=r"\$b"):
        db.sql("SELECT $a + $b", {"a": 1})
    with pytest.raises(TypeError, match="names"):
        db.sql("SELECT $a", [1])
    with pytest.raises(TypeError, match="list"):
        db.sql("SELECT ?", {"a": 1})
    assert db.sql("SELECT $a + $b", collections.ChainMap({"a": 1}, {"b": 2})).fetchall() == [(3,)]
    assert db.sql("SELECT ? + ?", (n for n in (1, 2))).fetchall() == [(3,)]
    for wrong in ("x", b"x", 7):
        with pytest.raises(TypeError, match="list"):
            db.sql("SELECT ?", wrong)  # type: ignore[arg-type]
    for wrong_number in ([], [1], [1, 2, 3]):
        for sql in ("SELECT ?, ?", "SELECT $1, $2"):
            with pytest.raises(longshore.DataError, match=f"2 parameters, but {len(wrong_number)} values"):
                db.sql(sql, wrong_number)
    with pytest.raises(longshore.DataError, match="0 parameters, but 1 value"):
        db.sql("SELECT 1", [1])
    for sql in ("SELECT ?", "SELECT $1", "SELECT $name"):
        with pytest.raises(longshore.ProgrammingError, match="second argument"):
            db.sql(sql)
    with pytest.raises(TypeError, match="others have not"):
        db.sql("SELECT ?, $a", {"a": 1})


def test_values_without_a_type_are_refused(db: longshore.Connection) -> None:
    with pytest.raises(TypeError, match="object"):
        db.sql("SELECT $1", [object()])
    with pytest.raises(longshore.DataError, match="NUL"):
        db.sql("SELECT $1", ["a\0b"])


def test_what_python_has_no_date_for_is_an_error(db: longshore.Connection) -> None:
    for value in ("'infinity'::date", "'4000-01-01 BC'::date", "'infinity'::timestamp", "'20000-01-01'::timestamptz"):
        with pytest.raises(longshore.DataError, match="TEXT") as caught:
            db.sql(f"SELECT {value}").fetchall()
        assert caught.value.sqlstate == "22008"


def test_numpy_scalars_are_parameters(db: longshore.Connection) -> None:
    numpy = pytest.importorskip("numpy")
    rows = db.sql(
        "SELECT $1, $2, $3, $4, $5::timestamp",
        [numpy.int16(7), numpy.float64(0.5), numpy.bool_(True), numpy.str_("x"), numpy.datetime64("2024-01-02T03:04")],
    ).fetchall()
    assert rows == [(7, 0.5, True, "x", datetime.datetime(2024, 1, 2, 3, 4))]
