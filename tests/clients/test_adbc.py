"""ADBC's driver: Arrow tables in by COPY and out in binary."""

import datetime as dt

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pytest

from conftest import URL


@pytest.fixture
def connection(server):
    with adbc.connect(f"postgresql://{URL}") as connection:
        yield connection


def test_a_query_gives_arrow(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT n::int4 AS n, 'row ' || n AS note, n / 4.0::float8 AS part FROM generate_series(1, 5000) AS n")
        table = cursor.fetch_arrow_table()
    assert table.num_rows == 5000
    assert table.schema.names == ["n", "note", "part"]
    assert table.column("n").type == pa.int32()
    assert table.column("note")[4999].as_py() == "row 5000"
    assert table.column("part")[1].as_py() == 0.5


def test_a_table_comes_and_goes(connection):
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "name": ["a", None, "naïve"],
            "price": pa.array([0.5, None, 2.25], pa.float64()),
            "day": pa.array([dt.date(2026, 1, 2), dt.date(1969, 7, 20), None]),
            "is_open": [True, False, None],
        }
    )
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("adbc_ingested", table, mode="create") == 3
        cursor.execute("SELECT * FROM adbc_ingested ORDER BY id")
        assert cursor.fetch_arrow_table().to_pydict() == table.to_pydict()
        assert cursor.adbc_ingest("adbc_ingested", table, mode="append") == 3
        cursor.execute("SELECT count(*) FROM adbc_ingested")
        assert cursor.fetchone() == (6,)
        cursor.execute("DROP TABLE adbc_ingested")
    connection.commit()


def test_metadata(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE adbc_described (id int PRIMARY KEY, name text)")
    connection.commit()
    schema = connection.adbc_get_table_schema("adbc_described")
    assert schema.names == ["id", "name"]
    objects = connection.adbc_get_objects(depth="tables", table_name_filter="adbc_described").read_all().to_pylist()
    schemas = [schema for catalog in objects for schema in catalog["catalog_db_schemas"]]
    assert ["adbc_described"] in [[table["table_name"] for table in schema["db_schema_tables"]] for schema in schemas]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE adbc_described")
    connection.commit()


def test_parameters_and_errors(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT $1::int + 1, $2::text", (41, "x"))
        assert cursor.fetchone() == (42, "x")
        with pytest.raises(adbc.ProgrammingError) as error:
            cursor.execute("SELECT * FROM missing")
            cursor.fetchall()
        assert error.value.sqlstate == "42P01"
    connection.rollback()
