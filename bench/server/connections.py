#!/usr/bin/env python3
"""Thousands of connections to `longshore serve`: what an idle one takes of memory, and whether others are served beside them.

    bench/server/connections.py target/release/longshore --connections 10000 [--tls]

It starts a server of its own. Each connection signs in, is silent, asks one query, and is silent again; between, one client asks
for rows by their keys. In the end all ask at once. Only the standard library is used, so the client costs little itself; both
processes need as many open files (`ulimit -n`) as there are connections.
"""

import argparse
import json
import resource
import socket
import ssl
import struct
import subprocess
import sys
import time

ROWS = 100_000
POINTS = 5_000
# What 1,000 idle connections may take.
KIB_PER_CONNECTION_MAX = 50


class Client:
    def __init__(self, port, tls):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket.sendall(struct.pack("!II", 8, 80877103))
            assert self.socket.recv(1) == b"S"
            self.socket = tls.wrap_socket(self.socket)
        body = b"\0\x03\0\0user\0longshore\0database\0longshore\0\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        self.answer()

    def ask(self, sql):
        body = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)

    def answer(self):
        answer = b""
        while answer[-6:-1] != b"Z\0\0\0\5":
            part = self.socket.recv(65536)
            if not part:
                raise RuntimeError(f"the server has closed a connection: {answer!r}")
            answer += part
        return answer

    def query(self, sql):
        self.ask(sql)
        answer = self.answer()
        assert answer[:1] != b"E", answer
        return answer


def resident_kib(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def latencies(client):
    """Median and 99th percentile of queries by key, in microseconds."""
    times = []
    for number in range(POINTS):
        key = number * 7919 % ROWS
        begun = time.perf_counter()
        answer = client.query(f"SELECT v FROM t WHERE k = {key}")
        times.append((time.perf_counter() - begun) * 1e6)
        assert f"row {key}\0".encode()[:-1] in answer
    times.sort()
    return round(times[POINTS // 2]), round(times[POINTS * 99 // 100])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--connections", type=int, default=1000)
    arguments.add_argument("--port", type=int, default=15433)
    arguments.add_argument("--tls", action="store_true")
    arguments = arguments.parse_args()
    count = arguments.connections
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    options = ["--trust", "--listen", f"127.0.0.1:{arguments.port}", "--max-connections", str(count + 10)]
    tls = None
    if arguments.tls:
        options.append("--tls-self-signed")
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    process = subprocess.Popen([arguments.binary, "serve", *options], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                first = Client(arguments.port, tls)
                break
            except OSError:
                time.sleep(0.1)
        first.query("CREATE TABLE t (k int PRIMARY KEY, v text)")
        first.query(f"INSERT INTO t SELECT i, 'row ' || i FROM generate_series(0, {ROWS - 1}) g(i)")
        alone = latencies(first)
        time.sleep(1)
        before = resident_kib(process)

        begun = time.perf_counter()
        clients = [Client(arguments.port, tls) for _ in range(count)]
        connected = time.perf_counter() - begun
        time.sleep(1)
        idle = resident_kib(process) - before
        beside = latencies(first)
        for client in clients:
            client.query("SELECT v FROM t WHERE k = 5")
        time.sleep(1)
        used = resident_kib(process) - before

        begun = time.perf_counter()
        for client in clients:
            client.ask("SELECT v FROM t WHERE k = 7")
        for client in clients:
            assert b"row 7" in client.answer()
        at_once = time.perf_counter() - begun
    finally:
        process.kill()
        process.wait()
    print(json.dumps({
        "connections": count,
        "tls": arguments.tls,
        "server_before_mib": round(before / 1024, 1),
        "idle_kib_each": round(idle / count, 1),
        "idle_after_a_query_kib_each": round(used / count, 1),
        "connects_per_s": round(count / connected),
        "point_us_alone_p50_p99": alone,
        "point_us_beside_p50_p99": beside,
        "all_at_once_s": round(at_once, 3),
    }))
    if used / count > KIB_PER_CONNECTION_MAX:
        sys.exit(f"a connection takes more than {KIB_PER_CONNECTION_MAX} KiB")


if __name__ == "__main__":
    main()
