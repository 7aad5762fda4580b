#!/usr/bin/env python3
"""Longshore and PostgreSQL behind the same clients on one machine, in turn; prints how many times as fast Longshore is.

    bench/server/against_postgresql.py --longshore target/release/longshore [--seconds 10] [--rounds 2] [--scale 0.5]

Needs pgbench and psql, and PostgreSQL's server programs (Debian's package `postgresql`); what it makes is in a temporary
directory. Both keep their data on disk, both have their defaults but for what is named here: PostgreSQL has 2 GB of
shared_buffers. As root, PostgreSQL's programs run as `nobody`.

The cases: point selects by prepared statements (`pgbench -S -M prepared`) with one client and with 16, and the CPU time of the
servers for each; TPC-B at READ COMMITTED with 8 clients, with safe commits and with `synchronous_commit = off`; `\\copy` of
TPC-H's lineitem by psql, COPY FROM STDIN from a client that only sends, COPY TO STDOUT to one that only reads, and all its rows
fetched as binary values; the 99th percentile of the times of point selects, alone and beside TPC-H's query 1.
"""

import argparse
import glob
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

LINEITEM = """CREATE TABLE lineitem (l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int,
    l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2),
    l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date,
    l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44))"""


QUERY_1 = """SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
    FROM lineitem WHERE l_shipdate <= date '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2"""


class Server:
    """A server under test."""

    def __init__(self, name, port, user, database):
        self.name, self.port, self.user, self.database = name, port, user, database
        self.process = None

    def environment(self):
        return dict(os.environ, PGHOST="127.0.0.1", PGPORT=str(self.port), PGUSER=self.user, PGDATABASE=self.database,
                    PGOPTIONS="-c default_transaction_isolation=read\\ committed")

    def run(self, command, **options):
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, **options)
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(map(str, command))}: {done.stderr[-2000:]}")
        return done.stdout

    def sql(self, sql):
        return self.run(["psql", "-qAtX", "-c", sql])

    def cpu(self):
        """Seconds of CPU time of all its processes."""
        total = 0.0
        for pid in self.pids():
            try:
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # With those of children that have ended.
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return total

    def pids(self):
        pids = {self.process.pid}
        for stat in glob.glob("/proc/[0-9]*/stat"):
            try:
                fields = pathlib.Path(stat).read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) in pids:
                pids.add(int(stat.split("/")[2]))
        return pids

    def wait(self):
        for _ in range(600):
            try:
                self.sql("SELECT 1")
                return
            except SystemExit:
                time.sleep(0.1)
        raise SystemExit(f"{self.name} does not come up")


def start_longshore(binary, folder):
    server = Server("longshore", 55611, "longshore", "longshore")
    command = [binary, "serve", folder / "longshore", "--trust", "--listen", f"127.0.0.1:{server.port}", "--log-level", "error"]
    server.process = subprocess.Popen(command)
    server.wait()
    return server


def start_postgresql(folder):
    programs = pathlib.Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
    data = folder / "postgresql"
    data.mkdir()
    as_user = []
    if os.getuid() == 0:
        shutil.chown(data, "nobody")
        folder.chmod(0o755)
        as_user = ["setpriv", "--reuid=nobody", "--clear-groups"]
    subprocess.run([*as_user, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], check=True, capture_output=True)
    server = Server("postgresql", 55612, "postgres", "postgres")
    settings = {"port": server.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "2GB",
                "logging_collector": "off", "max_wal_size": "8GB"}
    command = [*as_user, programs / "postgres", "-D", data]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    server.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    server.wait()
    return server


class Raw:
    """A client that only sends or reads: messages of the protocol without a library."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        parameters = f"user\0{server.user}\0database\0{server.database}\0\0".encode()
        self.socket.sendall(struct.pack("!ii", len(parameters) + 8, 196608) + parameters)
        self.until(b"Z")

    def message(self):
        head = self.exactly(5)
        kind, length = head[:1], struct.unpack("!i", head[1:])[0]
        body = self.exactly(length - 4)
        if kind == b"E":
            raise SystemExit(body.decode(errors="replace"))
        return kind

    def exactly(self, count):
        parts = []
        while count:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise SystemExit("the server has closed the connection")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def until(self, kind):
        while self.message() != kind:
            pass

    def query(self, sql):
        body = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)

    def copy_in(self, table, path):
        self.query(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)")
        self.until(b"G")
        with open(path, "rb") as file:
            while piece := file.read(1 << 18):
                self.socket.sendall(b"d" + struct.pack("!i", len(piece) + 4))
                self.socket.sendall(piece)
        self.socket.sendall(b"c" + struct.pack("!i", 4))
        self.until(b"Z")

    def copy_out(self, table):
        self.query(f"COPY {table} TO STDOUT (FORMAT csv)")
        self.skip()

    def fetch_binary(self, table):
        """All rows by the extended protocol, values as bytes."""
        parse = b"\0" + f"SELECT * FROM {table}".encode() + b"\0" + struct.pack("!h", 0)
        bind = b"\0\0" + struct.pack("!hhhh", 0, 0, 1, 1)
        execute = b"\0" + struct.pack("!i", 0)
        messages = ((b"P", parse), (b"B", bind), (b"E", execute), (b"S", b""))
        self.socket.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in messages))
        self.skip()

    def skip(self):
        """The number of bytes that come until the server is ready; they are not looked at."""
        buffer, total, tail = bytearray(1 << 20), 0, b""
        view = memoryview(buffer)
        while True:
            count = self.socket.recv_into(view)
            if not count:
                raise SystemExit("the server has closed the connection")
            total += count
            tail = (tail + bytes(view[max(0, count - 6):count]))[-6:]
            # ReadyForQuery is the last message.
            if tail[:5] == b"Z\0\0\0\5":
                return total


def pgbench(server, seconds, *arguments):
    began = server.cpu()
    out = server.run(["pgbench", "-n", "-T", str(seconds), *arguments])
    rate = float(re.search(r"tps = ([0-9.]+)", out)[1])
    done = int(re.search(r"transactions actually processed: ([0-9]+)", out)[1])
    return rate, (server.cpu() - began) / done * 1e6


def latencies(server, seconds, folder):
    """The 99th percentile of the times of point selects of one client, in microseconds."""
    with tempfile.TemporaryDirectory(dir=folder) as log:
        server.run(["pgbench", "-n", "-S", "-M", "prepared", "-T", str(seconds), "-l", "--log-prefix", f"{log}/times"])
        lines = [line for file in pathlib.Path(log).iterdir() for line in file.read_text().splitlines()]
    times = sorted(int(line.split()[2]) for line in lines)
    return times[len(times) * 99 // 100]


class Beside:
    """A query that runs again and again."""

    def __init__(self, server, sql):
        self.server, self.sql, self.runs, self.is_over = server, sql, 0, False
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.is_over:
            self.server.sql(self.sql)
            self.runs += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def timed(act):
    began = time.monotonic()
    act()
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longshore", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--scale", type=float, default=0.5, help="of TPC-H's lineitem")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        generated = [options.longshore, "generate", "tpch", "--out", folder / "tpch", "--format", "csv", "--scale",
                     str(options.scale)]
        subprocess.run(generated, check=True, capture_output=True)
        lineitem = next((folder / "tpch").glob("lineitem*"))
        servers = [start_longshore(options.longshore, folder), start_postgresql(folder)]
        try:
            measure(servers, lineitem, folder, options)
        finally:
            for server in servers:
                server.process.terminate()
                server.process.wait()


def measure(servers, lineitem, folder, options):
    found = {}

    def note(case, server, value):
        found.setdefault(case, {}).setdefault(server.name, []).append(value)
        print(f"  {case}: {server.name} {value:.4g}", flush=True)

    for server in servers:
        server.run(["pgbench", "-i", "-q", "-s", "10"])
    size = lineitem.stat().st_size
    for _ in range(options.rounds):
        for server in servers:
            for clients in (1, 16):
                rate, cpu = pgbench(server, options.seconds, "-S", "-M", "prepared", "-c", str(clients), "-j", "1")
                note(f"point selects, {clients} clients, 1/s", server, rate)
                note(f"point selects, {clients} clients, server's CPU, µs", server, cpu)
        for server in servers:
            for name, setting in (("safe", "on"), ("synchronous_commit off", "off")):
                server.sql(f"ALTER ROLE {server.user} SET synchronous_commit = {setting}")
                rate, _ = pgbench(server, options.seconds, "-M", "prepared", "-c", "8", "-j", "1")
                note(f"TPC-B, 8 clients, {name}, 1/s", server, rate)
            server.sql(f"ALTER ROLE {server.user} RESET synchronous_commit")
        for server in servers:
            for name, load in (
                ("\\copy by psql", lambda: server.run(
                    ["psql", "-qX", "-c", f"\\copy lineitem FROM '{lineitem}' (FORMAT csv, HEADER)"])),
                ("COPY FROM STDIN", lambda: Raw(server).copy_in("lineitem", lineitem)),
            ):
                server.sql("DROP TABLE IF EXISTS lineitem")
                server.sql(LINEITEM)
                note(f"{name}, MB/s", server, size / timed(load) / 1e6)
            note("COPY TO STDOUT, MB/s", server, size / timed(lambda: Raw(server).copy_out("lineitem")) / 1e6)
            note("rows fetched as binary values, s", server, timed(lambda: Raw(server).fetch_binary("lineitem")))
        for server in servers:
            alone = latencies(server, options.seconds, folder)
            with Beside(server, QUERY_1) as query:
                beside = latencies(server, options.seconds, folder)
            note("point selects, 99th percentile alone, µs", server, alone)
            note("point selects, 99th percentile beside query 1, µs", server, beside)
            note("query 1 beside point selects, s", server, options.seconds / max(query.runs, 1))
    print("\nBest runs:")
    for case, of in found.items():
        best = min if case.endswith(("µs", ", s")) else max
        one, other = best(of["longshore"]), best(of["postgresql"])
        print(f"{case:50} {one:12.4g} {other:12.4g} {one / other:7.2f}")


if __name__ == "__main__":
    main()
