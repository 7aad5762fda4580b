"""What a server tells of itself: the log as JSON, metrics and health over HTTP, sessions and statements in tables."""

import json
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import psycopg
import pytest
from psycopg import errors

from conftest import BINARY, _free_port


class Watched:
    """A server of its own, whose log is kept."""

    def __init__(self, *options):
        self.port, self.monitor = _free_port(), _free_port()
        self.process = subprocess.Popen(
            [BINARY, "serve", "--trust", "--listen", f"127.0.0.1:{self.port}", "--monitor", f"127.0.0.1:{self.monitor}"]
            + ["--log-format", "json", *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.events = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        until(lambda: self.get("/health/ready") == (200, "ready\n"))

    def _read(self):
        for line in self.process.stderr:
            self.events.append(json.loads(line))

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return None, ""

    def connect(self, user="longshore"):
        return psycopg.connect(f"host=127.0.0.1 port={self.port} user={user} dbname=longshore", autocommit=True)

    def told(self, event, **fields):
        """The events of this name with these fields."""
        found = [known for known in self.events if known["event"] == event]
        return [known for known in found if all(known.get(name) == value for name, value in fields.items())]

    def end(self):
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0
        self.reader.join(timeout=10)


def until(condition, seconds=30):
    for _ in range(seconds * 50):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


@pytest.fixture
def watched():
    watched = Watched()
    yield watched
    if watched.process.poll() is None:
        watched.end()


def sample(metrics, name):
    values = [line.rsplit(" ", 1)[1] for line in metrics.splitlines() if line.rsplit(" ", 1)[0] == name]
    assert len(values) == 1, name
    return float(values[0])


def test_the_log_tells_of_connections_slow_statements_and_errors(watched):
    with watched.connect() as client:
        pid = client.info.backend_pid
        client.execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        client.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 1000) g(i)")
        client.execute("SET log_min_duration_statement = 0")
        client.execute("SELECT sum(v) FROM t WHERE v > %s", (123456789,))
        client.execute("ALTER ROLE longshore PASSWORD 'never shown'")
        with pytest.raises(errors.DivisionByZero):
            client.execute("SELECT 1 / 0")
    watched.end()
    assert watched.told("connection opened", pid=pid, user="longshore")
    assert watched.told("connection closed", pid=pid)
    slow = watched.told("slow statement", statement="SELECT sum(v) FROM t WHERE v > $1")
    assert len(slow) == 1 and slow[0]["rows"] == 1 and slow[0]["duration_ms"] > 0 and "table=t" in slow[0]["plan"]
    failed = watched.told("statement failed", sqlstate="22012")
    assert len(failed) == 1 and failed[0]["level"] == "warn" and failed[0]["error"] == "division by zero"
    assert "never shown" not in json.dumps(watched.events)


def test_waits_and_deadlocks_are_logged(watched):
    with watched.connect() as boss, watched.connect() as holder, watched.connect() as waiter:
        boss.execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2)")
        for client in (holder, waiter):
            client.execute("SET default_transaction_isolation = 'read committed'")
            client.execute("SET log_lock_waits = on; SET deadlock_timeout = '100ms'")
        holder.execute("BEGIN; UPDATE t SET v = 3 WHERE k = 1")
        waiter.execute("BEGIN; UPDATE t SET v = 4 WHERE k = 2")
        thread = threading.Thread(target=lambda: waiter.execute("UPDATE t SET v = 5 WHERE k = 1"))
        thread.start()
        pids = {"pid": waiter.info.backend_pid, "holder": holder.info.backend_pid}
        until(lambda: watched.told("still waiting for a lock", **pids))
        waits = "SELECT wait_event_type, pg_blocking_pids(pid) FROM pg_stat_activity WHERE pid = %s"
        assert boss.execute(waits, (pids["pid"],)).fetchone() == ("Lock", [pids["holder"]])
        with pytest.raises(errors.DeadlockDetected):
            holder.execute("UPDATE t SET v = 6 WHERE k = 2")
        holder.execute("ROLLBACK")
        thread.join()
        until(lambda: watched.told("the wait for a lock is over", pid=pids["pid"]))
        assert watched.told("deadlock detected", pid=pids["holder"])
        metrics = watched.get("/metrics")[1]
        assert sample(metrics, "longshore_deadlocks_total") == 1
        assert sample(metrics, 'longshore_errors_total{class="40"}') == 1
        assert sample(metrics, 'longshore_sessions{state="idle in transaction"}') == 1


def test_sessions_are_ended_and_statements_measured(watched):
    with watched.connect() as boss:
        other = watched.connect()
        for number in range(10):
            other.execute("SELECT %s::int + 1", (number,), prepare=True)
        measured = "SELECT calls, rows FROM pg_stat_statements WHERE query = 'SELECT $1::int + $2'"
        assert boss.execute(measured).fetchone() == (10, 10)
        assert boss.execute("SELECT pg_terminate_backend(%s)", (other.info.backend_pid,)).fetchone() == (True,)
        with pytest.raises(errors.AdminShutdown):
            other.execute("SELECT 1")
        until(lambda: boss.execute("SELECT count(*) FROM pg_stat_activity").fetchone() == (1,))


def test_a_server_that_ends_is_not_ready(watched):
    client = watched.connect()
    client.execute("BEGIN")
    client.execute("SELECT 1")
    watched.process.terminate()
    until(lambda: watched.get("/health/ready") == (503, "shutting down\n"))
    assert watched.get("/health/live") == (200, "live\n")
    client.execute("COMMIT")
    assert watched.process.wait(timeout=60) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", watched.monitor), timeout=1)
