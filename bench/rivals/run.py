#!/usr/bin/env python3
"""Longshore and its rivals side by side: the same file, the same types, the same two threads, in one run.

    cargo build --release
    bench/rivals/run.py --longshore target/release/longshore

Rivals are installed from PyPI into target/rivals-venv, at the versions of requirements.txt. Every engine runs in a
process of its own with several loads, of which the best counts; the repetitions of all engines are interleaved, so
that a slow minute of the machine falls on all of them; facts (row count, sums, least and greatest dates, lengths) are
compared before a time counts. An engine that fails is reported and does not stop the others.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
THREADS = 2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longshore", metavar="PATH", help="the release binary; without it only rivals are measured")
    parser.add_argument("--scale", default="1", help="TPC-H scale factor (lineitem has 760 MB at 1, the default)")
    parser.add_argument("--runs", type=int, default=5, help="processes per engine and dialect (default 5)")
    parser.add_argument("--loads", type=int, default=3, help="loads per process; the best counts (default 3)")
    parser.add_argument("--dialect", choices=["plain", "quoted", "both", "jsonl"], default="both")
    parser.add_argument("--keyed", action="store_true", help="lineitem with its primary key, and without; quoted text")
    parser.add_argument("--durable", action="store_true", help="lineitem on disk, safe there, and in memory; quoted text")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this rival; may be repeated")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "target" / "bench-data", help="where the text lies")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "target" / "rivals-venv")
    parser.add_argument("--record", metavar="FILE", type=pathlib.Path, help="append the results to FILE as JSON lines")
    return parser.parse_args()


def inside_venv(folder: pathlib.Path) -> None:
    """Goes on under the Python of the environment that has the rivals, made if missing."""
    python = folder / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    requirements = HERE / "requirements.txt"
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        print(f"installing the rivals into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        # One by one: a rival that cannot be installed here is missing, and no more.
        for line in requirements.read_text().splitlines():
            if line and not line.startswith("#"):
                subprocess.run([python, "-m", "pip", "install", "--quiet", line], check=False)
        stamp.write_text(requirements.read_text())
    os.execv(python, [python, __file__, *sys.argv[1:]])


def load(engine: str, dialect: str, file: dict, loads: int, binary: str) -> float:
    """Seconds of the best of some loads in one process; raises where it fails or its facts are wrong."""
    command = [sys.executable, HERE / "worker.py", engine, file["path"], dialect, str(THREADS), str(loads), binary]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        raise RuntimeError(lines[-1][:300])
    said = json.loads(done.stdout.splitlines()[-1])
    if said["facts"] != file["facts"]:
        pairs = [f"{found} where {right} is right" for found, right in zip(said["facts"], file["facts"]) if found != right]
        raise RuntimeError(f"wrong answer: {pairs[0] if pairs else 'too few facts'}")
    return said["seconds"]


def measure(engines: list[str], dialect: str, file: dict, runs: int, loads: int, binary: str) -> tuple[dict, dict]:
    """Times and failures per engine, interleaved."""
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    failures: dict[str, str] = {}
    for run in range(runs):
        for engine in engines:
            if engine in failures:
                continue
            warm(file["path"])
            try:
                seconds = load(engine, dialect, file, loads, binary)
            except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
                failures[engine] = str(error)
                continue
            times[engine].append(seconds)
            print(f"  {dialect} {run + 1}/{runs} {engine}: {seconds:.3f} s", file=sys.stderr)
    return {engine: sorted(of) for engine, of in times.items() if of and engine not in failures}, failures


def warm(path: str) -> None:
    """Brings the text into the page cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def is_rival(name: str, engine: str) -> bool:
    """Whether an engine is a rival that keeps its table where another one does."""
    import text

    return not name.startswith("Longshore") and (text.ON_DISK in name) == (text.ON_DISK in engine)


def report(dialect: str, file: dict, times: dict, failures: dict) -> None:
    gigabytes = file["bytes"] / 1e9
    print(f"\n### lineitem, {dialect}: {gigabytes:.3f} GB of text, {THREADS} threads\n")
    print("| engine | best s | median s | GB/s | fastest rival's time over this |")
    print("|---|---:|---:|---:|---:|")
    for engine, of in sorted(times.items(), key=lambda item: item[1][0]):
        fastest = min((of[0] for name, of in times.items() if is_rival(name, engine)), default=None)
        ratio = f"{fastest / of[0]:.2f}" if fastest else ""
        print(f"| {engine} | {of[0]:.3f} | {statistics.median(of):.3f} | {gigabytes / of[0]:.2f} | {ratio} |")
    for engine, reason in failures.items():
        print(f"| {engine} | failed: {reason.replace('|', '/')} | | | |")


def report_more(times: dict, more: str) -> None:
    """What a key, or the disk, costs each engine."""
    for engine, of in times.items():
        if engine + more in times:
            print(f"\n{engine}: {times[engine + more][0] / of[0]:.2f} times as long{more}")


def record(path: pathlib.Path, dialect: str, scale: str, file: dict, times: dict) -> None:
    with open(path, "a", encoding="utf-8") as target:
        for engine, of in times.items():
            entry = {"workload": "rivals", "dialect": dialect, "scale": scale, "engine": engine, "threads": THREADS}
            entry |= {"bytes": file["bytes"], "best_s": of[0], "median_s": statistics.median(of), "runs": len(of)}
            target.write(json.dumps(entry) + "\n")


def main() -> int:
    chosen = arguments()
    inside_venv(chosen.venv)
    import engines
    import text

    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > THREADS:
        # Some engines start a thread per core whatever they are told.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    if chosen.keyed or chosen.durable:
        names = chosen.only or engines.KEYED_RIVALS
    else:
        names = chosen.only or [name for name in engines.RIVALS if name not in engines.KEYED_ONLY]
    binary = str(pathlib.Path(chosen.longshore).resolve()) if chosen.longshore else ""
    if binary:
        names = ["Longshore", *names]
    files = text.prepare(chosen.data, chosen.scale)
    failed = False
    dialects = ["plain", "quoted"] if chosen.dialect == "both" else [chosen.dialect]
    if chosen.keyed or chosen.durable:
        dialects = ["quoted"]
        names = [name + disk for name in names for disk in (("", text.ON_DISK) if chosen.durable else ("",))]
        names = [name + key for name in names for key in (("", text.WITH_KEY) if chosen.keyed else ("",))]
    for dialect in dialects:
        able = [name for name in names if dialect != "jsonl" or name in ["Longshore", *engines.JSON_RIVALS]]
        times, failures = measure(able, dialect, files[dialect], chosen.runs, chosen.loads, binary)
        report(dialect, files[dialect], times, failures)
        report_more(times, text.WITH_KEY)
        report_more(times, text.ON_DISK)
        failed |= "Longshore" in failures
        if chosen.record:
            record(chosen.record, dialect, chosen.scale, files[dialect], times)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
