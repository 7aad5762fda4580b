"""Alembic: migrations up and down, changes found by comparing the models with the database."""

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

from conftest import URL


@pytest.fixture
def engine(server):
    engine = sa.create_engine(f"postgresql+psycopg://{URL}", connect_args={"options": "-c search_path=alembic"})
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA alembic"))
    yield engine
    with engine.begin() as connection:
        connection.execute(sa.text("DROP SCHEMA alembic CASCADE"))
    engine.dispose()


def migrate(engine, change):
    """As Alembic runs one: all of it in a transaction."""
    with engine.begin() as connection:
        change(Operations(MigrationContext.configure(connection)))


def test_migrations(engine):
    def first(op):
        op.create_table(
            "account",
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("name", sa.String(50), nullable=False),
            sa.Column("balance", sa.Numeric(12, 2), server_default="0"),
        )
        op.bulk_insert(
            sa.table("account", sa.column("id", sa.Integer), sa.column("name", sa.String)),
            [{"id": 1, "name": "Anna"}, {"id": 2, "name": "Bert"}],
        )

    def second(op):
        op.create_table(
            "entry",
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", name="entry_account")),
            sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now()),
        )
        op.create_index("entry_at", "entry", ["at"])
        op.create_unique_constraint("account_name", "entry", ["account_id", "at"])

    migrate(engine, first)
    migrate(engine, second)
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names(schema="alembic")) == {"account", "entry"}
    migrate(engine, lambda op: op.add_column("account", sa.Column("email", sa.Text)))
    migrate(engine, lambda op: op.alter_column("account", "name", new_column_name="holder"))
    migrate(engine, lambda op: op.alter_column("account", "balance", nullable=False))
    migrate(engine, lambda op: op.drop_index("entry_at"))
    migrate(engine, lambda op: op.drop_constraint("entry_account", "entry"))
    migrate(engine, lambda op: op.rename_table("entry", "posting"))
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, holder, balance, email FROM account ORDER BY id")).all()
        assert [tuple(row) for row in rows] == [(1, "Anna", 0, None), (2, "Bert", 0, None)]
    migrate(engine, lambda op: op.drop_column("account", "email"))
    migrate(engine, lambda op: op.drop_table("posting"))
    assert sa.inspect(engine).get_table_names(schema="alembic") == ["account"]


def test_one_that_fails_leaves_nothing(engine):
    def fails(op):
        op.create_table("half", sa.Column("id", sa.Integer, primary_key=True))
        op.execute("INSERT INTO half VALUES (1), (1)")

    with pytest.raises(sa.exc.IntegrityError):
        migrate(engine, fails)
    assert sa.inspect(engine).get_table_names(schema="alembic") == []


def test_comparison_finds_what_has_changed(engine):
    metadata = sa.MetaData()
    sa.Table(
        "thing",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(20), nullable=False, index=True),
        sa.Column("price", sa.Numeric(8, 2)),
    )
    metadata.create_all(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        metadata.tables["thing"].append_column(sa.Column("note", sa.Text))
        sa.Table("other", metadata, sa.Column("id", sa.BigInteger, primary_key=True))
        kinds = {change[0] for change in compare_metadata(context, metadata)}
        assert kinds == {"add_table", "add_column"}
