"""SQLAlchemy 2 over psycopg: tables made, reflected, worked on by its ORM; pandas over it."""

import datetime as dt
import decimal

import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from conftest import URL


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), unique=True)
    since: Mapped[dt.datetime] = mapped_column(server_default=sa.func.now())
    orders: Mapped[list["Order"]] = relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = (sa.CheckConstraint("price > 0", name="price_is_positive"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customer.id", ondelete="CASCADE"), index=True)
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    note: Mapped[str | None]
    customer: Mapped[Customer] = relationship(back_populates="orders")


@pytest.fixture(scope="module")
def engine(server):
    engine = sa.create_engine(f"postgresql+psycopg://{URL}")
    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    engine.dispose()


def test_the_orm(engine):
    with Session(engine) as session:
        anna = Customer(name="Anna", orders=[Order(price=decimal.Decimal("12.50")), Order(price=decimal.Decimal("3"))])
        session.add_all([anna, Customer(name="Bert")])
        session.commit()
        assert anna.id == 1 and anna.since.year >= 2020
        query = sa.select(Customer.name, sa.func.sum(Order.price)).join(Customer.orders).group_by(Customer.name)
        assert session.execute(query).all() == [("Anna", decimal.Decimal("15.50"))]
        anna.orders.pop()
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Order)) == 1
        session.add(Customer(name="Anna"))
        with pytest.raises(sa.exc.IntegrityError):
            session.commit()
        session.rollback()
        session.delete(anna)
        session.commit()
        assert session.scalars(sa.select(Customer.name)).all() == ["Bert"]


def test_reflection(engine):
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names()) >= {"customer", "orders"}
    columns = {column["name"]: column for column in inspector.get_columns("orders")}
    assert isinstance(columns["price"]["type"], sa.Numeric) and columns["price"]["type"].scale == 2
    assert not columns["price"]["nullable"] and columns["note"]["nullable"]
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id"]
    (foreign,) = inspector.get_foreign_keys("orders")
    assert (foreign["referred_table"], foreign["options"]) == ("customer", {"ondelete": "CASCADE"})
    assert [unique["column_names"] for unique in inspector.get_unique_constraints("customer")] == [["name"]]
    assert [check["name"] for check in inspector.get_check_constraints("orders")] == ["price_is_positive"]
    assert "ix_orders_customer_id" in [index["name"] for index in inspector.get_indexes("orders")]
    reflected = sa.MetaData()
    reflected.reflect(engine)
    assert {"customer", "orders"} <= set(reflected.tables)


def test_pandas(engine):
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, 1.5, float("nan")]})
    frame.to_sql("frame", engine, index=False, if_exists="replace")
    back = pandas.read_sql("SELECT * FROM frame ORDER BY a", engine)
    assert back["a"].tolist() == [1, 2, 3]
    assert back["b"].isna().tolist() == [False, True, False]
    assert back["c"].isna().tolist() == [False, False, True]
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE frame"))
