"""Rows as Arrow, for the libraries that read it."""

from __future__ import annotations

import decimal
from typing import Any

import pytest

import longshore

pyarrow = pytest.importorskip("pyarrow")

EVERYTHING = """
    SELECT n::smallint AS small, n AS integer, n::bigint AS big, n::real AS single, n::float8 AS double,
           (n::numeric / 4)::decimal(10, 2) AS price, n::numeric / 8 AS exact, n % 2 = 0 AS even,
           'text ' || n AS short, repeat('long ', n) AS long, ('\\x' || lpad(n::text, 2, '0'))::bytea AS bytes,
           DATE '2024-01-01' + n AS day, TIME '10:00' AS clock, TIMESTAMP '2024-01-01 10:00' AS moment,
           TIMESTAMPTZ '2024-01-01 10:00+00' AS zoned, gen_random_uuid() AS id, ARRAY[n, NULL] AS list,
           NULLIF(n, 3) AS sometimes, INTERVAL '1 day' * n AS span, json_build_object('n', n) AS doc
    FROM generate_series(1, 10) AS t(n)
"""


def test_a_table_of_every_type_is_sound(db: longshore.Connection) -> None:
    table = db.sql(EVERYTHING).arrow()
    table.validate(full=True)
    assert table.num_rows == 10
    assert table["integer"].to_pylist() == list(range(1, 11))
    assert table["exact"].to_pylist()[0] == decimal.Decimal("0.125")
    assert table["price"].to_pylist()[:3] == [decimal.Decimal("0.25"), decimal.Decimal("0.50"), decimal.Decimal("0.75")]
    assert table["long"].to_pylist()[3] == "long long long long "
    assert table["sometimes"].null_count == 1
    assert table["list"].to_pylist()[1] == [2, None]
    assert table["bytes"].to_pylist()[8] == b"\x09"
    assert table["zoned"].type == pyarrow.timestamp("us", tz="UTC")


def test_rows_are_kept_once_they_are_arrow(db: longshore.Connection) -> None:
    relation = db.sql("SELECT n FROM generate_series(1, 3) AS t(n)")
    assert relation.arrow().num_rows == relation.arrow().num_rows == 3
    assert relation.fetchall() == [(1,), (2,), (3,)]
    assert len(relation) == 3


def test_a_stream_is_read_once(db: longshore.Connection) -> None:
    relation = db.sql("SELECT n FROM generate_series(1, 100000) AS t(n)")
    assert pyarrow.table(relation).num_rows == 100_000
    with pytest.raises(longshore.InterfaceError, match="again"):
        pyarrow.table(relation)
    with pytest.raises(longshore.InterfaceError, match="again"):
        relation.fetchall()


def test_batches_are_iterated(db: longshore.Connection) -> None:
    batches = list(db.sql("SELECT n FROM generate_series(1, 100000) AS t(n)"))
    assert sum(batch.num_rows for batch in batches) == 100_000
    assert all(isinstance(batch, pyarrow.RecordBatch) for batch in batches)


def test_numbers_without_a_scale_are_decimals_where_they_fit(db: longshore.Connection) -> None:
    table = pyarrow.table(db.sql("SELECT avg(n) AS a, 10::numeric ^ 50 AS b FROM generate_series(1, 4) AS t(n)"))
    assert pyarrow.types.is_decimal(table.schema.field("a").type)
    assert table["a"].to_pylist() == [decimal.Decimal("2.5")]
    assert table["b"].to_pylist()[0].startswith("1" + "0" * 50)


def test_an_error_in_the_middle_of_a_stream_is_told(db: longshore.Connection) -> None:
    relation = db.sql("SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS t(n)")
    with pytest.raises(Exception, match="division by zero"):
        pyarrow.table(relation)
    relation = db.sql("SELECT 1 / (50000 - n) FROM generate_series(1, 100000) AS t(n)")
    with pytest.raises(longshore.DataError, match="division by zero") as caught:
        relation.arrow()
    assert caught.value.sqlstate == "22012"


def test_schemas_are_told_without_rows(db: longshore.Connection) -> None:
    schema = pyarrow.schema(db.sql("SELECT 1 AS a, 'x' AS b"))
    assert schema.names == ["a", "b"]
    assert schema.field("a").type == pyarrow.int32()


def test_pandas(db: longshore.Connection) -> None:
    pandas = pytest.importorskip("pandas")
    frame = db.sql(EVERYTHING).pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["integer"].sum() == 55
    assert frame["short"].iloc[0] == "text 1"
    assert frame["moment"].dtype.kind == "M"


DECIMALS = "SELECT 0.1 * n AS tenths, CASE WHEN n < 3 THEN n / 3::numeric(38, 20) END AS thirds FROM generate_series(1, 3) AS t(n)"


def test_decimals_are_the_nearest_floats_or_exact(db: longshore.Connection) -> None:
    pytest.importorskip("pandas")
    relation = db.sql(DECIMALS)
    exact = [row[0] for row in relation.fetchall()], [row[1] for row in relation.fetchall()]
    for columns in (relation.pandas(), relation.numpy()):
        assert columns["tenths"].dtype == "float64"
        assert columns["tenths"].tolist() == [float(value) for value in exact[0]] == [0.1, 0.2, 0.3]
        assert columns["thirds"].tolist()[:2] == [float(value) for value in exact[1][:2]]
        assert columns["thirds"].tolist()[2] != columns["thirds"].tolist()[2]
    for columns in (relation.pandas(exact_decimals=True), relation.numpy(exact_decimals=True)):
        assert columns["tenths"].tolist() == exact[0]
    assert relation.arrow()["tenths"].to_pylist() == exact[0], "Arrow has decimals"


def test_polars(db: longshore.Connection) -> None:
    polars = pytest.importorskip("polars")
    frame = db.sql(EVERYTHING).polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame["integer"].sum() == 55
    assert frame["long"].to_list()[1] == "long long "
    assert frame["exact"].to_list()[0] == decimal.Decimal("0.125")


def test_duckdb_reads_our_stream(db: longshore.Connection) -> None:
    duckdb = pytest.importorskip("duckdb")
    ours: Any = pyarrow.RecordBatchReader.from_stream(db.sql("SELECT n FROM generate_series(1, 1000) AS t(n)"))
    assert duckdb.sql("SELECT sum(n) FROM ours").fetchall() == [(500_500,)]


def test_numpy(db: longshore.Connection) -> None:
    pytest.importorskip("numpy")
    columns = db.sql("SELECT n, n::float8 / 2 AS half, 'x' AS text FROM generate_series(1, 4) AS t(n)").numpy()
    assert columns["n"].tolist() == [1, 2, 3, 4]
    assert columns["half"].dtype == "float64"
    assert columns["text"].tolist() == ["x"] * 4


def test_no_rows_have_columns(db: longshore.Connection) -> None:
    table = db.sql("SELECT 1 AS a, 'x' AS b, 1.5::numeric AS c WHERE false").arrow()
    table.validate(full=True)
    assert table.num_rows == 0
    assert table.column_names == ["a", "b", "c"]


def test_narwhals_reads_our_stream(db: longshore.Connection) -> None:
    narwhals = pytest.importorskip("narwhals")
    relation = db.sql("SELECT n, n * 2 AS twice FROM generate_series(1, 10) AS t(n)")
    frame = narwhals.from_arrow(relation, backend="pyarrow")
    assert frame.filter(narwhals.col("n") > 8)["twice"].to_list() == [18, 20]
