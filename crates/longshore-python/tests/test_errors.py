"""Errors as exceptions, with what they are about."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import longshore


@pytest.mark.parametrize(
    ("sql", "kind", "sqlstate"),
    [
        ("SELECT * FROM nowhere", longshore.UndefinedTable, "42P01"),
        ("SELECT nothing", longshore.UndefinedColumn, "42703"),
        ("SELEC 1", longshore.ProgrammingError, "42601"),
        ("SELECT 1 / 0", longshore.DataError, "22012"),
        ("SELECT 'x'::int", longshore.DataError, "22P02"),
        ("ROLLBACK TO nothing", longshore.InternalError, "25P01"),
    ],
)
def test_classes_follow_sqlstates(db: longshore.Connection, sql: str, kind: type[Exception], sqlstate: str) -> None:
    with pytest.raises(kind) as caught:
        db.sql(sql).fetchall()
    assert caught.value.sqlstate == sqlstate  # type: ignore[attr-defined]
    assert isinstance(caught.value, longshore.DatabaseError)
    assert isinstance(caught.value, longshore.Error)


def test_constraints_are_named(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p INTEGER NOT NULL REFERENCES p, n INTEGER CHECK (n > 0))")
    db.sql("INSERT INTO p VALUES (1)")
    with pytest.raises(longshore.UniqueViolation) as caught:
        db.sql("INSERT INTO p VALUES (1)")
    assert (caught.value.table, caught.value.constraint) == ("p", "p_pkey")
    with pytest.raises(longshore.ForeignKeyViolation) as foreign:
        db.sql("INSERT INTO c VALUES (7, 1)")
    assert (foreign.value.table, foreign.value.constraint) == ("c", "c_p_fkey")
    with pytest.raises(longshore.NotNullViolation) as null:
        db.sql("INSERT INTO c VALUES (NULL, 1)")
    assert (null.value.table, null.value.column) == ("c", "p")
    with pytest.raises(longshore.CheckViolation) as check:
        db.sql("INSERT INTO c VALUES (1, 0)")
    assert check.value.constraint == "c_n_check"


def test_places_in_statements_are_told(db: longshore.Connection) -> None:
    with pytest.raises(longshore.UndefinedColumn) as caught:
        db.sql("SELECT 1; SELECT  nothing")
    assert caught.value.position == 9


def test_files_lines_and_columns_are_told(db: longshore.Connection, file: Callable[..., str]) -> None:
    path = file("id,price\n1,2.50\n2,much\n")
    db.sql("CREATE TABLE t (id INTEGER, price DECIMAL(10,2))")
    with pytest.raises(longshore.DataError) as caught:
        db.load(path, table="t")
    error = caught.value
    assert (error.file, error.line, error.column, error.value) == (path, 3, "price", "much")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
    with pytest.raises(longshore.DataError) as read:
        longshore.read_csv(path, types={"price": "DECIMAL(10,2)"})
    assert (read.value.line, read.value.column) == (3, "price")


def test_a_closed_connection_says_so(db: longshore.Connection) -> None:
    cursor = db.cursor()
    db.close()
    assert db.closed
    db.close()
    for use in (lambda: db.sql("SELECT 1"), lambda: cursor.execute("SELECT 1"), db.cursor, db.commit, db.rollback):
        with pytest.raises(longshore.InterfaceError, match="closed"):
            use()


def test_statements_without_rows_have_none(db: longshore.Connection) -> None:
    relation = db.sql("CREATE TABLE t (n INTEGER)")
    assert repr(relation) == "CREATE TABLE"
    assert relation.columns == []
    with pytest.raises(longshore.InterfaceError, match="no rows"):
        relation.fetchall()
    assert db.sql("INSERT INTO t VALUES (1), (2)").rowcount == 2
    assert repr(db.sql("")) == "(no statement)"
