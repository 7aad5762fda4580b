"""A server of its own for each run, in memory or in the directory that LONGSHORE_DIRECTORY names."""

import os
import socket
import subprocess
import time

import psycopg
import pytest

BINARY = os.environ["LONGSHORE"]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


PORT = int(os.environ.get("LONGSHORE_PORT") or _free_port())
os.environ["LONGSHORE_PORT"] = str(PORT)
DSN = f"host=127.0.0.1 port={PORT} user=longshore dbname=longshore"
URL = f"longshore@127.0.0.1:{PORT}/longshore"
ADDRESS = {"host": "127.0.0.1", "port": PORT, "user": "longshore", "database": "longshore"}


@pytest.fixture(scope="session", autouse=True)
def server():
    process = subprocess.Popen([BINARY, "serve", "--trust", "--listen", f"127.0.0.1:{PORT}"])
    try:
        for _ in range(200):
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", PORT), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0, "the server ends well"


@pytest.fixture
def connection(server):
    with psycopg.connect(DSN, autocommit=True) as connection:
        yield connection
