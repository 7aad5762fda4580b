"""A notebook, executed: relations show themselves, and cells are SQL."""

from __future__ import annotations

from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("pyarrow")

CELLS = [
    "import longshore\n%load_ext longshore.magic\nstock = longshore.connect().sql(\"SELECT 1 AS n, '<b>' AS word\")\nstock",
    "%%longshore\nSELECT n + 1 AS more FROM stock",
    "low = 40\n",
    "%%longshore kept\nCREATE TABLE t AS SELECT 41 AS n;\nSELECT n FROM t",
    "%longshore SELECT n + 1 AS answer FROM t WHERE n > $low",
    "kept.fetchall()",
    "%longshore SELECT nothing",
]


def test_a_notebook_shows_tables() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    try:
        client.execute()
    except Exception as error:
        pytest.skip(f"no kernel of IPython can be started here: {error}")
    outputs: list[Any] = [cell.outputs for cell in notebook.cells]
    shown = outputs[0][-1].data
    assert "&lt;b&gt;" in shown["text/html"] and "1 row" in shown["text/html"]
    assert shown["text/plain"].splitlines()[0] == " n | word"
    assert "<td style=\"text-align: right\">2</td>" in outputs[1][-1].data["text/html"]
    assert outputs[3] == []
    assert "42" in outputs[4][-1].data["text/plain"]
    assert outputs[5][-1].data["text/plain"] == "[(41,)]"
    assert outputs[6][-1].ename == "UndefinedColumn"
