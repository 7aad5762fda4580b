"""Files: read into Arrow, loaded into tables, looked at."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import pathlib
from collections.abc import Callable

import pytest

import longshore

TEXT = "day;item;price\n2024-05-01;nuts;1,50\n2024-05-02;bolts and a longer text;12,25\n;;\n"
ROWS = [
    (datetime.date(2024, 5, 1), "nuts", decimal.Decimal("1.50")),
    (datetime.date(2024, 5, 2), "bolts and a longer text", decimal.Decimal("12.25")),
    (None, None, None),
]


def test_a_file_becomes_a_table_of_arrow(file: Callable[..., str]) -> None:
    table = longshore.read_csv(file(TEXT))
    assert table.columns == ["day", "item", "price"]
    assert table.types == ["date", "text", "numeric"]
    assert (table.num_rows, table.num_columns, table.rejected) == (3, 3, 0)
    assert table.fetchall() == ROWS
    assert table.bytes == len(TEXT) and table.seconds > 0


def test_the_table_is_read_by_others(file: Callable[..., str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = longshore.read_csv(file(TEXT))
    for _ in range(2):
        arrow = pyarrow.table(table)
        arrow.validate(full=True)
        assert arrow["item"].to_pylist() == [row[1] for row in ROWS]
    assert table.schema.names == ["day", "item", "price"]
    assert table.pandas()["item"].iloc[0] == "nuts"


def test_polars_reads_the_table(file: Callable[..., str]) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(longshore.read_csv(file(TEXT)))
    assert frame["item"].to_list() == [row[1] for row in ROWS]


def test_options_are_those_of_sql(file: Callable[..., str]) -> None:
    path = file("1|x|NA\n2|y|3\n")
    table = longshore.read_csv(path, delimiter="|", header=False, types={"column1": "BIGINT"}, null=["NA"])
    assert table.types == ["int8", "text", "int4"]
    assert table.fetchall() == [(1, "x", None), (2, "y", 3)]
    with pytest.raises(longshore.DataError, match="NO_SUCH"):
        longshore.read_csv(path, no_such=1)
    with pytest.raises(TypeError, match="delimiter"):
        longshore.read_csv(path, delimiter=object())
    with pytest.raises(TypeError, match="threads"):
        longshore.read_csv(path, threads=-1)
    with pytest.raises(longshore.DataError, match="^option SKIP: a number"):
        longshore.read_csv(path, skip=-1)


def test_all_columns_may_be_given(file: Callable[..., str]) -> None:
    path = file("1,01\n2,02\n")
    table = longshore.read_csv(path, header=False, columns={"a": "SMALLINT", "b": "TEXT"})
    assert table.types == ["int2", "text"]
    assert table.fetchall() == [(1, "01"), (2, "02")]


def test_bad_records_are_rows(file: Callable[..., str]) -> None:
    path = file("a,b\n1,2\nx,3\n4,5\n")
    with pytest.raises(longshore.DataError):
        longshore.read_csv(path, types={"a": "INTEGER"})
    table = longshore.read_csv(path, types={"a": "INTEGER"}, rejects=True)
    assert table.fetchall() == [(1, 2), (4, 5)]
    assert table.rejected == 1
    assert table.rejects is not None
    [reject] = table.rejects.fetchall()
    assert dict(zip(table.rejects.columns, reject))["line"] == 3
    assert longshore.read_csv(path, types={"a": "INTEGER"}, on_error="ignore").num_rows == 2


def test_several_compressed_and_other_files(file: Callable[..., str], tmp_path: pathlib.Path) -> None:
    first = file("a,b\n1,x\n", "1.csv")
    second = file(gzip.compress(b"a,b\n2,y\n"), "2.csv.gz")
    assert longshore.read_csv([first, pathlib.Path(second)]).fetchall() == [(1, "x"), (2, "y")]
    assert longshore.read_csv(str(tmp_path / "*.csv*")).num_rows == 2
    assert longshore.read_json(file('{"a": 1, "b": "x"}\n{"a": 2}\n', "3.json")).fetchall() == [(1, "x"), (2, None)]
    with pytest.raises(longshore.UndefinedTable, match="does not exist"):
        longshore.read_csv(tmp_path / "nothing.csv")


def test_open_files_and_other_paths_are_read(
    db: longshore.Connection, file: Callable[..., str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [(1, "ä\nb"), (2, "y")]
    text = 'a,b\n1,"ä\nb"\n2,y\n'
    path = file(text)
    assert longshore.read_csv(io.StringIO(text)).fetchall() == expected
    assert longshore.read_csv(io.BytesIO(gzip.compress(text.encode()))).fetchall() == expected
    with open(path, encoding="utf-8") as opened:
        assert longshore.read_csv(opened).fetchall() == expected
    with open(path, "rb") as opened:
        assert db.load(opened, table="t").rows == 2
        opened.seek(0)
        assert longshore.sniff(opened).num_rows > 3
    assert longshore.read_csv([path, io.StringIO(text)]).num_rows == 4
    assert longshore.read_csv(path.encode()).fetchall() == expected
    monkeypatch.setenv("HOME", str(tmp_path))
    assert longshore.read_csv("~/file.csv").fetchall() == expected
    with longshore.connect("~/db") as kept:
        kept.sql("CREATE TABLE t (n INTEGER)")
    assert (tmp_path / "db").is_dir()
    with pytest.raises(ValueError, match="no files"):
        longshore.read_csv([])
    with pytest.raises(TypeError, match="int"):
        longshore.read_csv(7)  # type: ignore[arg-type]


def test_quotes_and_line_breaks_are_exact(file: Callable[..., str]) -> None:
    rows = [(n, f'line\n"{n}",', "x" * (n % 30)) for n in range(20_000)]
    lines = (f'{n},"{text.replace(chr(34), chr(34) * 2)}",{last}\n' for n, text, last in rows)
    table = longshore.read_csv(file("n,text,last\n" + "".join(lines)))
    expected = [(n, text, last or None) for n, text, last in rows]
    assert table.fetchall() == expected


def test_an_empty_file_has_no_rows(file: Callable[..., str]) -> None:
    assert longshore.read_csv(file("")).num_rows == 0
    assert longshore.read_csv(file("a,b\n")).columns == ["a", "b"]


def test_a_load_makes_its_table(db: longshore.Connection, file: Callable[..., str]) -> None:
    report = db.load(file(TEXT), table="prices")
    assert (report.rows, report.table, report.rejects) == (3, "prices", None)
    assert report.bytes == len(TEXT) and report.seconds > 0
    assert db.sql("SELECT * FROM prices").fetchall() == ROWS
    assert db.table_names() == ["prices"]
    assert repr(report).startswith("3 rows into prices in ")
    again = db.load([file(TEXT)], table="prices")
    assert again.rows == 3
    assert db.sql("SELECT count(*) FROM prices").fetchall() == [(6,)]
    assert [row[0] for row in report.columns.fetchall()] == ["day", "item", "price"]


def test_a_load_keeps_rejects_in_a_table(db: longshore.Connection, file: Callable[..., str]) -> None:
    db.sql("CREATE TABLE t (a INTEGER, b INTEGER)")
    report = db.load(file("a,b\n1,2\nx,3\n"), table="t", rejects="bad", header=True)
    assert report.rows == 1
    assert report.rejects is not None and report.rejects.num_rows == 1
    assert report.notice is not None and "1 record" in report.notice


def test_sniff_says_what_a_file_is(file: Callable[..., str]) -> None:
    found = {row[0].lower(): row[1] for row in longshore.sniff(file(TEXT)).fetchall()}
    assert found["delimiter"] == "';'"
    assert found["column price"].startswith("DECIMAL")
    given = longshore.sniff(file(TEXT), types={"item": "VARCHAR(30)"})
    assert any("VARCHAR(30)" in row[1] for row in given.fetchall())


def test_the_memory_limit_holds_for_files(file: Callable[..., str]) -> None:
    path = file("a,b\n" + "".join(f"{n},a text of some length {n}\n" for n in range(200_000)))
    with pytest.raises(longshore.OutOfMemory):
        longshore.read_csv(path, memory_limit=1 << 20)
    assert longshore.read_csv(path, memory_limit="1GB").num_rows == 200_000
    with pytest.raises(longshore.DataError, match="memory_limit"):
        longshore.read_csv(path, memory_limit="much")
