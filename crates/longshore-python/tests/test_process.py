"""Threads, forks, interrupts, memory: what a process may do to the package."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import longshore

SLOW = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a::text < b::text"


def run(script: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a script in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def test_the_interpreter_is_free_while_a_statement_works(db: longshore.Connection) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    while time.monotonic() - began < 0.5:
        db.sql("SELECT count(*) FROM generate_series(1, 2000) a, generate_series(1, 2000) b WHERE a::text < b::text").fetchall()
    done.set()
    thread.join()
    assert ticks > 20


def test_threads_share_a_connection(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (thread INTEGER, n INTEGER)")
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(50):
                db.sql("INSERT INTO t VALUES (?, ?)", [number, n])
                assert db.sql("SELECT count(*) FROM t WHERE thread = ?", [number]).fetchall() == [(n + 1,)]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(400,)]


def test_threads_read_one_relation(db: longshore.Connection) -> None:
    relation = db.sql("SELECT n FROM generate_series(1, 200000) AS t(n)")
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(len(relation.fetchall()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [200_000] * 4


def test_sessions_are_isolated(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER)")
    with db.another() as other:
        with db.transaction():
            db.sql("INSERT INTO t VALUES (1)")
            assert other.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
        assert other.sql("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_another_thread_cancels(db: longshore.Connection) -> None:
    timer = threading.Timer(0.3, db.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(longshore.QueryCanceled):
        db.sql(SLOW).fetchall()
    assert time.monotonic() - began < 5
    timer.join()
    assert db.sql("SELECT 1").fetchall() == [(1,)]


def test_control_c_ends_a_statement_at_once() -> None:
    done = run(
        """
        import os, signal, sys, threading, time, longshore
        db = longshore.connect()
        for what in (lambda: db.sql(sys.argv[1]).fetchall(), lambda: db.sql(sys.argv[1]).arrow(),
                     lambda: db.execute(sys.argv[1]).fetchone(), lambda: next(iter(db.sql(sys.argv[1])))):
            threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
            began = time.monotonic()
            try:
                what()
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - began < 2)
            print(db.sql("SELECT 1").fetchall())
        """,
        SLOW,
    )
    assert done.stdout.splitlines() == ["interrupted True", "[(1,)]"] * 4, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_refuses_what_its_parent_opened(tmp_path: pathlib.Path) -> None:
    done = run(
        """
        import os, sys, longshore
        db = longshore.connect(sys.argv[1])
        db.sql("CREATE TABLE t (n INTEGER)")
        relation = db.sql("SELECT 1")
        child = os.fork()
        if child == 0:
            for use in (lambda: db.sql("SELECT 1"), lambda: relation.fetchall(), db.close):
                try:
                    use()
                except longshore.InterfaceError as error:
                    print("forked" in str(error))
            with longshore.connect() as own:
                print(own.sql("SELECT 2").fetchall())
            sys.stdout.flush()
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        db.sql("INSERT INTO t VALUES (1)")
        db.close()
        with longshore.connect(sys.argv[1]) as db:
            print(status, db.sql("SELECT n FROM t").fetchall())
        """,
        str(tmp_path / "db"),
    )
    assert done.stdout.splitlines() == ["True", "True", "True", "[(2,)]", "0 [(1,)]"], done.stderr


def test_large_results_pass_in_bounded_memory() -> None:
    pytest.importorskip("pyarrow")
    done = run(
        """
        import resource, longshore
        db = longshore.connect()
        db.sql("SELECT 1").fetchall()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = 0
        for batch in db.sql("SELECT n, repeat('x', 100) AS t FROM generate_series(1, 5000000) AS t(n)"):
            rows += batch.num_rows
        print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000)
        """
    )
    assert done.stdout.split() == ["5000000", "True"], done.stderr


def test_the_memory_limit_holds() -> None:
    with longshore.connect(memory_limit="64MB") as db, pytest.raises(longshore.OutOfMemory) as caught:
        db.sql("CREATE TABLE t AS SELECT n, repeat(md5(n::text), 4) AS a FROM generate_series(1, 2000000) AS t(n)")
    assert caught.value.sqlstate == "53200"


def test_what_was_committed_is_there_again(tmp_path: pathlib.Path) -> None:
    with longshore.connect(tmp_path / "db") as db:
        db.sql("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2)")
    with longshore.connect(str(tmp_path / "db"), read_only=True) as db:
        assert db.sql("SELECT sum(n) FROM t").fetchall() == [(3,)]
        with pytest.raises(longshore.Error):
            db.sql("INSERT INTO t VALUES (3)")


def test_settings_are_keywords() -> None:
    with longshore.connect(threads=2, TimeZone="Europe/Berlin") as db:
        assert db.sql("SHOW TimeZone").fetchall() == [("Europe/Berlin",)]
    with pytest.raises(longshore.Error):
        longshore.connect(no_such_setting=1)
    with pytest.raises(longshore.DataError, match="max_wal_size"):
        longshore.connect(max_wal_size="much")
    for name, value in (("threads", -1), ("threads", "two"), ("memory_limit", 1.5), ("read_only", "yes")):
        with pytest.raises(TypeError, match=name):
            longshore.connect(**{name: value})
