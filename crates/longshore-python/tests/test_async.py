"""Statements in an event loop."""

from __future__ import annotations

import asyncio
import time

import pytest

import longshore

SLOW = "SELECT count(*) FROM generate_series(1, {0}) a, generate_series(1, {0}) b WHERE a::text < b::text"


def test_the_event_loop_goes_on(db: longshore.Connection) -> None:
    async def work() -> tuple[list[tuple[int]], int]:
        ticks = 0
        task = asyncio.ensure_future(db.sql_async(SLOW.format(5000)))
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.01)
        return (await task).fetchall(), ticks

    rows, ticks = asyncio.run(work())
    assert len(rows) == 1
    assert ticks > 10


def test_a_cancelled_task_cancels_its_statement(db: longshore.Connection) -> None:
    async def work() -> None:
        await asyncio.wait_for(db.sql_async(SLOW.format(1_000_000)), 0.2)

    began = time.monotonic()
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(work())
    assert time.monotonic() - began < 5
    assert db.sql("SELECT 1").fetchall() == [(1,)]
