"""dbt: seeds, models (views, tables, incremental ones), tests, snapshots, docs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("dbt.adapters.postgres", reason="dbt is not installed")


@pytest.fixture
def project(tmp_path, connection):
    shutil.copytree(pathlib.Path(__file__).parent / "dbt", tmp_path / "shop")
    yield tmp_path / "shop"
    connection.execute("DROP SCHEMA IF EXISTS dbt CASCADE")


def dbt(project, *arguments):
    command = [pathlib.Path(sys.executable).parent / "dbt", *arguments, "--project-dir", ".", "--profiles-dir", "."]
    environment = dict(os.environ, DBT_SEND_ANONYMOUS_USAGE_STATS="false")
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_project(project, connection):
    dbt(project, "build")
    customers = connection.execute("SELECT customer, orders, total FROM dbt.customers ORDER BY customer").fetchall()
    assert [(name, orders, float(total)) for name, orders, total in customers] == [("Anna", 2, 19.75), ("Bert", 1, 3.0)]
    with open(project / "seeds/raw_orders.csv", "a") as seeds:
        seeds.write("4,Bert,2026-03-01,1.00\n")
    dbt(project, "build")
    assert connection.execute("SELECT count(*) FROM dbt.orders_so_far").fetchone() == (4,)
    history = connection.execute("SELECT customer, orders, dbt_valid_to IS NULL FROM dbt.customers_snapshot ORDER BY 1, 2")
    assert history.fetchall() == [("Anna", 2, True), ("Bert", 1, False), ("Bert", 2, True)]
    dbt(project, "docs", "generate")
    catalog = json.loads((project / "target/catalog.json").read_text())
    columns = catalog["nodes"]["model.shop.customers"]["columns"]
    assert list(columns) == ["customer", "orders", "total", "last"] and columns["last"]["type"] == "date"
