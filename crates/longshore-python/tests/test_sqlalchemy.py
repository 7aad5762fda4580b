"""SQLAlchemy over a database of this process, and what reaches Longshore by it."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import longshore

sqlalchemy = pytest.importorskip("sqlalchemy")

from sqlalchemy import orm  # noqa: E402
from sqlalchemy.dialects import postgresql  # noqa: E402


@pytest.fixture
def engine() -> Iterator[Any]:
    """An engine over an empty database in memory."""
    made = sqlalchemy.create_engine("longshore://")
    yield made
    made.dispose()


def test_every_type_comes_back(engine: Any) -> None:
    columns: dict[str, tuple[Any, Any]] = {
        "flag": (sqlalchemy.Boolean, True),
        "small": (sqlalchemy.SmallInteger, -1),
        "big": (sqlalchemy.BigInteger, 2**62),
        "real": (sqlalchemy.Float, 0.5),
        "price": (sqlalchemy.Numeric(12, 2), decimal.Decimal("1.50")),
        "plain": (sqlalchemy.Numeric(asdecimal=False), 1.5),
        "word": (sqlalchemy.String(20), "wörd"),
        "text": (sqlalchemy.Text, "it's"),
        "bytes": (sqlalchemy.LargeBinary, b"\x00\xff"),
        "day": (sqlalchemy.Date, datetime.date(2024, 2, 29)),
        "clock": (sqlalchemy.Time, datetime.time(10, 30)),
        "moment": (sqlalchemy.DateTime, datetime.datetime(2024, 2, 29, 10, 30)),
        "zoned": (sqlalchemy.DateTime(timezone=True), datetime.datetime(2024, 2, 29, 10, tzinfo=datetime.timezone.utc)),
        "span": (sqlalchemy.Interval, datetime.timedelta(days=1, seconds=2)),
        "id": (sqlalchemy.Uuid, uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        "doc": (sqlalchemy.JSON, {"a": [1, None]}),
        "docb": (postgresql.JSONB, {"b": "x"}),
        "list": (postgresql.ARRAY(sqlalchemy.Integer), [1, None, 3]),
    }
    made = [sqlalchemy.Column(name, of) for name, (of, _) in columns.items()]
    table = sqlalchemy.Table("t", sqlalchemy.MetaData(), sqlalchemy.Column("n", sqlalchemy.Integer, primary_key=True), *made)
    table.metadata.create_all(engine)
    values = {name: value for name, (_, value) in columns.items()}
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"n": 1, **values}, {"n": 2, **dict.fromkeys(values)}])
        rows = connection.execute(table.select().order_by(table.c.n)).mappings().all()
        assert dict(rows[0]) == {"n": 1, **values}
        for name, value in values.items():
            if name in ("doc", "docb"):
                continue
            assert rows[1][name] is None
            found = connection.execute(sqlalchemy.select(table.c.n).where(table.c[name] == value)).scalar()
            assert found == 1, name


def test_the_orm_works(engine: Any) -> None:
    class Base(orm.DeclarativeBase):
        pass

    class Shop(Base):
        __tablename__ = "shops"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        name: orm.Mapped[str]
        sales: orm.Mapped[list[Sale]] = orm.relationship(back_populates="shop")

    class Sale(Base):
        __tablename__ = "sales"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        shop_id: orm.Mapped[int] = orm.mapped_column(sqlalchemy.ForeignKey("shops.id"))
        amount: orm.Mapped[int]
        shop: orm.Mapped[Shop] = orm.relationship(back_populates="sales")

    Base.registry._class_registry.update(Sale=Sale, Shop=Shop)
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Shop(name="Ulm", sales=[Sale(amount=n) for n in range(50)]))
        session.commit()
    with orm.Session(engine) as session:
        shop = session.scalars(sqlalchemy.select(Shop)).one()
        assert (shop.name, len(shop.sales), sum(sale.amount for sale in shop.sales)) == ("Ulm", 50, sum(range(50)))
        session.add(Sale(shop_id=99, amount=1))
        with pytest.raises(sqlalchemy.exc.IntegrityError):
            session.commit()


def test_what_there_is_is_reflected(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE p (id INTEGER PRIMARY KEY, word VARCHAR(10) NOT NULL)"))
        connection.execute(sqlalchemy.text("CREATE TABLE c (p INTEGER REFERENCES p, price DECIMAL(10,2))"))
        connection.execute(sqlalchemy.text("CREATE INDEX words ON p (word)"))
    found = sqlalchemy.inspect(engine)
    assert sorted(found.get_table_names()) == ["c", "p"]
    assert [str(column["type"]) for column in found.get_columns("c")] == ["INTEGER", "NUMERIC(10, 2)"]
    assert found.get_pk_constraint("p")["constrained_columns"] == ["id"]
    [key] = found.get_foreign_keys("c")
    assert (key["referred_table"], key["referred_columns"]) == ("p", ["id"])
    assert [index["name"] for index in found.get_indexes("p")] == ["words"]
    assert found.has_table("c") and not found.has_table("nowhere")


def test_inserts_do_something_on_conflicts(engine: Any) -> None:
    table = sqlalchemy.Table(
        "t",
        sqlalchemy.MetaData(),
        sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("n", sqlalchemy.Integer),
    )
    table.metadata.create_all(engine)
    with engine.begin() as connection:
        insert = postgresql.insert(table).returning(table.c.id)
        assert sorted(connection.execute(insert, [{"n": n} for n in range(20)]).scalars()) == list(range(1, 21))
        insert = postgresql.insert(table).values(id=1, n=7)
        connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_={"n": insert.excluded.n}))
        assert connection.execute(sqlalchemy.select(table.c.n).where(table.c.id == 1)).scalar() == 7
        assert connection.execute(table.update().where(table.c.id > 10).values(n=0)).rowcount == 10


def test_transactions_have_levels(engine: Any) -> None:
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE t (n INTEGER)"))
    with engine.connect() as one, engine.connect() as other:
        one.execute(sqlalchemy.text("INSERT INTO t VALUES (1)"))
        assert other.execute(sqlalchemy.text("SELECT count(*) FROM t")).scalar() == 0
        one.rollback()
    with engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sqlalchemy.text("INSERT INTO t VALUES (2)"))
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT n FROM t")).scalars().all() == [2]
        assert connection.get_isolation_level() == "SERIALIZABLE"


def test_an_engine_has_one_database(tmp_path: pathlib.Path) -> None:
    engine = sqlalchemy.create_engine(f"longshore:///{tmp_path}/db?threads=1")
    with engine.begin() as one, engine.begin() as other:
        one.execute(sqlalchemy.text("SELECT 1"))
        other.execute(sqlalchemy.text("CREATE TABLE t AS SELECT 1 AS n"))
    engine.dispose()
    with longshore.connect(tmp_path / "db") as db:
        assert db.table_names() == ["t"]
    with engine.connect() as again:
        assert again.execute(sqlalchemy.text("SELECT n FROM t")).scalar() == 1
    engine.dispose()
    with pytest.raises(longshore.InterfaceError, match="host"):
        sqlalchemy.create_engine("longshore://data/db").connect()


def test_pandas_reads_and_writes(engine: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"n": [1, 2], "word": ["one", None], "f": [0.5, None], "day": pandas.to_datetime(["2024-01-01", None])},
        index=pandas.Index(["a", "b"], name="key"),
    )
    assert frame.to_sql("t", engine) == 2
    with pytest.raises(ValueError, match="exists"):
        frame.to_sql("t", engine)
    assert frame.to_sql("t", engine, if_exists="append", chunksize=1, method="multi") == 2
    back = pandas.read_sql(sqlalchemy.text("SELECT * FROM t WHERE n = :n"), engine, params={"n": 1})
    assert back["key"].tolist() == ["a", "a"] and back["f"].tolist() == [0.5, 0.5]
    assert back["day"].iloc[0] == pandas.Timestamp("2024-01-01")
    assert len(pandas.read_sql_table("t", engine, index_col="key")) == 4
    assert sum(len(chunk) for chunk in pandas.read_sql("t", engine, chunksize=3)) == 4
    polars = pytest.importorskip("polars")
    assert polars.read_database("SELECT sum(n) AS n FROM t", engine)["n"].to_list() == [6]
