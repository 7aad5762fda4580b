"""LISTEN and NOTIFY between the connections of a process."""

import threading
import time

import longshore
import pytest


def test_notifications_come_when_their_transaction_commits() -> None:
    hears = longshore.connect()
    says = hears.another()
    hears.execute("LISTEN jobs")
    assert hears.notifications() == []
    with says.transaction():
        says.execute("SELECT pg_notify(?, ?)", ("jobs", "grüße"))
        assert hears.notifications(0.05) == []
    (pid,) = says.sql("SELECT pg_backend_pid()").fetchall()[0]
    assert hears.notifications() == [longshore.Notification("jobs", "grüße", pid)]
    assert says.notifications() == []


def test_who_waits_is_woken_and_others_go_on() -> None:
    db = longshore.connect()
    db.execute("LISTEN jobs")
    told: list[longshore.Notification] = []
    waits = threading.Thread(target=lambda: told.extend(db.notifications(None)))
    waits.start()
    time.sleep(0.1)
    assert db.sql("SELECT 1").fetchall() == [(1,)]
    db.execute("NOTIFY jobs, 'own'")
    waits.join(10)
    assert [one.payload for one in told] == ["own"]
    began = time.monotonic()
    assert db.notifications(0.2) == []
    assert 0.1 < time.monotonic() - began < 5


def test_bad_times_are_refused() -> None:
    db = longshore.connect()
    with pytest.raises(longshore.InterfaceError):
        db.notifications(float("inf"))
    assert db.notifications(-1) == []
    db.close()
    with pytest.raises(longshore.InterfaceError):
        db.notifications()
