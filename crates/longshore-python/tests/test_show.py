"""Relations as tables, in a terminal and in a notebook; and the examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import longshore


def test_a_relation_shows_itself_as_in_the_shell(db: longshore.Connection) -> None:
    relation = db.sql("SELECT 1 AS n, 'one' AS word, NULL::text AS nothing UNION ALL SELECT 20, '漢字', 'a\nb' ORDER BY n")
    assert repr(relation) == (
        " n  | word | nothing\n"
        "----+------+---------\n"
        "  1 | one  | NULL\n"
        " 20 | 漢字 | a\\nb\n"
        "(2 rows)"
    )


def test_long_results_are_cut(db: longshore.Connection, capsys: pytest.CaptureFixture[str]) -> None:
    relation = db.sql("SELECT n FROM generate_series(1, 1000) AS t(n)")
    assert repr(relation).endswith("\n(1,000 rows, 20 shown)")
    relation.show(2)
    assert capsys.readouterr().out == " n\n---\n 1\n 2\n(1,000 rows, 2 shown)\n"


def test_html_is_escaped(db: longshore.Connection) -> None:
    shown = db.sql("SELECT '<b>&' AS \"<i>\", 1 AS n, NULL AS nothing")._repr_html_()
    assert "&lt;b&gt;&amp;" in shown and "&lt;i&gt;" in shown
    assert "<small>int4</small>" in shown
    assert "<em>NULL</em>" in shown
    assert "1 row" in shown


def test_connections_and_cursors_show_what_they_are(db: longshore.Connection) -> None:
    db.sql("CREATE TABLE t (n INTEGER)")
    assert repr(db) == "<longshore.Connection: 1 table>"
    db.close()
    assert repr(db) == "<longshore.Connection: closed>"


def test_a_bar_is_drawn_while_files_are_read(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longshore import _progress

    monkeypatch.setattr(_progress, "_PATIENCE", 0.001)
    monkeypatch.setattr(_progress, "_STEP", 0.001)
    path = tmp_path / "f.csv"
    path.write_text("n,word\n" + "".join(f"{n},a word of some length {n}\n" for n in range(300_000)))
    assert longshore.read_csv(path, progress=True).num_rows == 300_000
    shown = capsys.readouterr().err
    assert "GB/s" in shown and shown.endswith("\r")
    assert longshore.read_csv(path, progress=False).num_rows == 300_000
    assert capsys.readouterr().err == ""


def test_a_bar_says_how_far_a_load_is(capsys: pytest.CaptureFixture[str]) -> None:
    from longshore import _progress

    assert _progress.line(500_000_000, 1_000_000_000, 1000, 2.0) == (
        " 50%|██████████          | 0.50 GB, 1,000 rows, 0.25 GB/s [00:02<00:02]"
    )
    assert _progress.line(500_000_000, 0, 7, 1.0) == "0.50 GB, 7 rows, 0.50 GB/s [00:01]"
    assert _progress.line(1, 1, 1, 0.0).startswith("100%|████████████████████|")


@pytest.mark.parametrize("module", ["longshore", *(f"longshore.{m.name}" for m in pkgutil.iter_modules(longshore.__path__))])
def test_the_examples_of_docstrings_work(module: str) -> None:
    if module == "longshore._longshore":
        pytest.skip("it has no examples")
    needs = {"longshore.adbc": ["adbc_driver_manager", "pandas"], "longshore.sqlalchemy": ["sqlalchemy"]}
    for needed in ("pyarrow", "numpy", *needs.get(module, [])):
        pytest.importorskip(needed)
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
