"""Programs of other languages: JDBC, pgx, node-postgres, tokio-postgres. One whose tools or packages are not there is skipped."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
#: Where packages are kept between runs.
PACKAGES = pathlib.Path(os.environ.get("LONGSHORE_CLIENT_PACKAGES", HERE.parents[1] / "target" / "client-packages"))
PGJDBC = "42.7.8"


def _prepare(command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")


def _copied(folder):
    """A copy of the sources, where packages may be installed."""
    copy = PACKAGES / folder
    shutil.copytree(HERE / folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    return copy


def _run(command, cwd, environment=None):
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def _needs(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def test_node_postgres():
    _needs("node", "npm")
    folder = _copied("node")
    _prepare(["npm", "install", "--no-audit", "--no-fund", "--silent"], folder)
    _run(["node", "--test", "--test-reporter=spec"], folder)


def test_pgx():
    _needs("go")
    folder = _copied("go")
    _prepare(["go", "mod", "download"], folder)
    _run(["go", "test", "-count=1", "./..."], folder)


def test_tokio_postgres():
    _needs("cargo")
    folder = _copied("rust")
    _prepare(["cargo", "fetch", "--locked"], folder)
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    _run(["cargo", "test", "--locked", "--quiet"], folder, environment)


def test_jdbc():
    _needs("java", "mvn")
    jar = pathlib.Path.home() / f".m2/repository/org/postgresql/postgresql/{PGJDBC}/postgresql-{PGJDBC}.jar"
    if not jar.exists():
        _prepare(["mvn", "-q", "dependency:get", f"-Dartifact=org.postgresql:postgresql:{PGJDBC}"], HERE)
    _run(["java", "-cp", str(jar), "JdbcTest.java"], HERE / "java")
