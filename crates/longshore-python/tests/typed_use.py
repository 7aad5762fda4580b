"""What type checkers make of a program that uses the package: it is checked by them (`cargo xtask ci python`), not run."""

from __future__ import annotations

import pathlib
from typing import Any, Optional

from typing_extensions import assert_type

import longshore


def files() -> None:
    """Files without a database."""
    table = longshore.read_csv(pathlib.Path("f.csv"), delimiter=";", types={"a": "INTEGER"}, rejects=True)
    assert_type(table, longshore.TextTable)
    assert_type(table.num_rows, int)
    assert_type(table.columns, list[str])
    assert_type(table.fetchall(), list[tuple[Any, ...]])
    with open("f.csv", "rb") as opened:
        assert_type(longshore.sniff([opened, "g.csv"]), longshore.Relation)


def statements() -> None:
    """Statements, their rows, and what they become."""
    with longshore.connect("db", threads=2) as db:
        assert_type(db, longshore.Connection)
        relation = db.sql("SELECT $a", {"a": 1})
        assert_type(relation, longshore.Relation)
        assert_type(relation.fetchone(), Optional[tuple[Any, ...]])
        assert_type(relation.to_csv("f.csv", delimiter=";"), int)
        assert_type(db.load("f.csv", table="t", rejects="bad"), longshore.LoadReport)
        assert_type(db.append("t", relation), int)
        cursor = db.cursor()
        assert_type(cursor.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(3))), longshore.Cursor)
        for row in cursor:
            assert_type(row, tuple[Any, ...])
        with db.transaction(isolation="serializable") as same:
            assert_type(same, longshore.Connection)
        assert_type(db.retry(lambda again: len(again.table_names())), int)


async def asynchronous(db: longshore.Connection) -> None:
    """Statements of an event loop."""
    assert_type(await db.sql_async("SELECT 1"), longshore.Relation)


def errors(db: longshore.Connection) -> None:
    """Exceptions know what they are about."""
    try:
        db.sql("SELECT 1")
    except longshore.UniqueViolation as error:
        assert_type(error.constraint, Optional[str])
    except longshore.Error as error:
        assert_type(error.line, Optional[int])
