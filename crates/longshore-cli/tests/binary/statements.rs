//! Statements from the command line, from files and from standard input.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::run::{Run, command, longshore_in};

fn longshore(args: &[&str]) -> Run {
    longshore_in(Path::new("."), args, "")
}

/// Runs statements that must succeed; returns standard output.
fn output(args: &[&str]) -> String {
    let run = longshore(args);
    assert_eq!(run.status, 0, "{}", run.err);
    run.out
}

const SAMPLE: &str = "CREATE TABLE t (id INTEGER, name TEXT, price DECIMAL(8,2), ok BOOLEAN, day DATE); \
    INSERT INTO t VALUES (1, 'a,\"b\"', 1.50, true, DATE '1995-03-15'), (-20, '', -0.05, false, NULL), \
    (NULL, NULL, NULL, NULL, DATE '2000-02-29')";

#[test]
fn commands_run_in_order_with_tags_on_standard_error() {
    let run = longshore(&["-c", SAMPLE, "-c", "SELECT count(*) AS n FROM t; SELECT 1 AS one"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out, " n\n---\n 3\n(1 row)\n\n one\n-----\n   1\n(1 row)\n\n");
    assert_eq!(run.err, "CREATE TABLE\nINSERT 0 3\n");
}

#[test]
fn every_format_is_as_documented() {
    let query = "SELECT * FROM t";
    let print = |format| output(&["--format", format, "-c", SAMPLE, "-c", query]);
    assert_eq!(
        print("table"),
        concat!(
            "  id  | name  | price |  ok   |    day\n",
            "------+-------+-------+-------+------------\n",
            "    1 | a,\"b\" |  1.50 | true  | 1995-03-15\n",
            "  -20 |       | -0.05 | false | NULL\n",
            " NULL | NULL  |  NULL | NULL  | 2000-02-29\n",
            "(3 rows)\n\n",
        )
    );
    assert_eq!(
        print("csv"),
        "id,name,price,ok,day\n1,\"a,\"\"b\"\"\",1.50,true,1995-03-15\n-20,\"\",-0.05,false,\n,,,,2000-02-29\n"
    );
    assert_eq!(
        print("json"),
        concat!(
            "[{\"id\":1,\"name\":\"a,\\\"b\\\"\",\"price\":1.50,\"ok\":true,\"day\":\"1995-03-15\"},\n",
            " {\"id\":-20,\"name\":\"\",\"price\":-0.05,\"ok\":false,\"day\":null},\n",
            " {\"id\":null,\"name\":null,\"price\":null,\"ok\":null,\"day\":\"2000-02-29\"}]\n",
        )
    );
    assert_eq!(
        print("markdown"),
        concat!(
            "|   id | name  | price | ok    | day        |\n",
            "| ---: | ----- | ----: | ----- | ---------- |\n",
            "|    1 | a,\"b\" |  1.50 | true  | 1995-03-15 |\n",
            "|  -20 |       | -0.05 | false | NULL       |\n",
            "| NULL | NULL  |  NULL | NULL  | 2000-02-29 |\n",
        )
    );
    assert!(
        print("vertical").starts_with(concat!(
            "-[ RECORD 1 ]--------------------------------\n",
            "id    | 1\n",
            "name  | a,\"b\"\n",
        )),
        "{}",
        print("vertical")
    );
}

#[test]
fn an_empty_result_has_its_header() {
    let print = |format| output(&["--format", format, "-c", "SELECT 1 AS a WHERE false"]);
    assert_eq!(print("table"), " a\n---\n(0 rows)\n\n");
    assert_eq!(print("csv"), "a\n");
    assert_eq!(print("json"), "[]\n");
}

#[test]
fn many_rows_stream_through() {
    let csv = output(&["--format", "csv", "-c", "SELECT value FROM generate_series(1, 200000) AS s(value)"]);
    assert_eq!(csv.lines().count(), 200_001);
    assert!(csv.ends_with("\n200000\n"));
}

#[test]
fn the_first_error_ends_the_run() {
    let run = longshore(&["-c", "SELECT 1 AS a; SELECT * FROM missing; SELECT 2 AS b", "-c", "SELECT 3 AS c"]);
    assert_eq!(run.status, 1);
    assert_eq!(run.out, " a\n---\n 1\n(1 row)\n\n");
    assert!(run.err.starts_with("error: "), "{}", run.err);
    assert!(run.err.contains("missing"), "{}", run.err);
}

#[test]
fn files_name_the_line_of_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("a.sql"), "-- first\nSELECT 1 AS a;\n\n\\i inner.sql\nSELECT 2 AS b;\n")
        .expect("a file");
    fs::write(directory.path().join("inner.sql"), "SELECT 5 AS five;\n\n-- a comment\nSELECT *\nFROM missing;\n")
        .expect("a file");
    let run = longshore_in(directory.path(), &["--format", "csv", "-f", "a.sql"], "");
    assert_eq!(run.status, 1);
    assert_eq!(run.out, "a\n1\nfive\n5\n");
    assert!(run.err.starts_with("error: inner.sql:4: "), "{}", run.err);
    let run = longshore_in(directory.path(), &["-f", "none.sql"], "");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("none.sql: "), "{}", run.err);
}

#[test]
fn files_and_commands_mix_in_order() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("b.sql"), "\u{feff}SELECT 2 AS x").expect("a file");
    let run = longshore_in(
        directory.path(),
        &["--format", "csv", "-c", "SELECT 1 AS x", "-f", "b.sql", "-f", "-", "-c", "SELECT 4 AS x"],
        "SELECT 3 AS x;",
    );
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out, "x\n1\nx\n2\nx\n3\nx\n4\n");
}

#[test]
fn standard_input_runs_statements_and_meta_commands() {
    let directory = tempfile::tempdir().expect("a directory");
    let run =
        longshore_in(directory.path(), &[], "\\timing on\nSELECT\n 1 AS one;\n\\x\nSELECT 2 AS two;\n\\q\nSELECT 3;\n");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.starts_with(" one\n"), "{}", run.out);
    assert!(run.out.contains("\ntwo | 2\n"), "{}", run.out);
    assert!(!run.out.contains('3'), "{}", run.out);
    assert!(run.err.contains("Timing is on.\nTime: "), "{}", run.err);
}

#[test]
fn copy_reads_inline_data_and_standard_input() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = longshore_in(
        directory.path(),
        &["--format", "csv"],
        "CREATE TABLE t (a INTEGER, b TEXT);\nCOPY t FROM STDIN;\n1,one\n2,two\n\\.\nSELECT sum(a) AS s FROM t;\n",
    );
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out, "s\n3\n");
    assert_eq!(run.err, "CREATE TABLE\nCOPY 2\n");
    let run = longshore_in(
        directory.path(),
        &["-c", "CREATE TABLE t (a INTEGER)", "-c", "COPY t FROM STDIN", "-c", "COPY t TO STDOUT"],
        "7\n8\n",
    );
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(run.out, "7\n8\n");
}

#[test]
fn a_bad_field_is_told_with_its_place() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("t.csv"), "1,2\n3,x\n").expect("a file");
    let run = longshore_in(
        directory.path(),
        &["-c", "CREATE TABLE t (a INTEGER, b INTEGER)", "-c", "COPY t FROM 't.csv'"],
        "",
    );
    assert_eq!(run.status, 1);
    for part in ["t.csv", "line 2", "column b", "\"x\""] {
        assert!(run.err.contains(part), "{part} in {}", run.err);
    }
}

#[test]
fn what_a_table_is_and_how_it_is_stored() {
    let script = "CREATE TABLE \"Odd\" (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'none');\n\
        INSERT INTO \"Odd\" SELECT value, 'some' FROM generate_series(1, 10000) AS numbers(value);\n\
        CREATE VIEW names AS SELECT name FROM \"Odd\";\n\
        \\d+ \"Odd\"\n\\d+ names\n\\d+\n\\d+ nowhere\n";
    let run = longshore_in(Path::new("."), &[], script);
    assert_eq!(run.status, 1);
    let table = concat!(
        " column_name | data_type | nullable | default | encoding  | bytes | bytes_if_plain\n",
        "-------------+-----------+----------+---------+-----------+-------+----------------\n",
        " id          | INTEGER   | false    | NULL    | offset(2) | 20000 |          40000\n",
        " name        | TEXT      | true     | 'none'  | constant  |     0 |         160000\n",
        "(2 rows)\n\n",
        "Indexes:\n    \"Odd_pkey\" PRIMARY KEY, art (\"id\")\n",
    );
    assert!(run.out.starts_with(table), "{}", run.out);
    let rest = &run.out[table.len()..];
    assert!(rest.starts_with(" column_name | data_type | nullable | default\n"), "{rest}");
    assert!(rest.contains(" names      | view  |"), "{rest}");
    assert!(run.err.ends_with("error: standard input:7: table nowhere does not exist\n"), "{}", run.err);
}

#[test]
fn stats_are_json_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("t.csv"), "1\n2\n3\n").expect("a file");
    let run = longshore_in(
        directory.path(),
        &[
            "--stats",
            "stats.json",
            "--threads",
            "2",
            "-c",
            "CREATE TABLE t (a INTEGER); COPY t FROM 't.csv'; COPY t TO 'u.csv'; SELECT * FROM t; SELECT * FROM u",
        ],
        "",
    );
    assert_eq!(run.status, 1);
    let text = fs::read_to_string(directory.path().join("stats.json")).expect("the file of --stats");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[1]["statement"], "COPY t FROM 't.csv'");
    assert_eq!(lines[1]["rows"], 3);
    assert_eq!(lines[1]["bytes_read"], 6);
    assert_eq!(lines[1]["threads"], 2);
    assert!(lines[1]["seconds"].as_f64().expect("a number") > 0.0);
    assert!(lines[1]["peak_memory"].as_u64().expect("a number") > 0);
    assert!(lines[1]["peak_database_memory"].as_u64().expect("a number") > 0);
    assert_eq!((&lines[0]["table_bytes"], &lines[0]["table_bytes_if_plain"]), (&0.into(), &0.into()));
    assert_eq!((&lines[1]["table_bytes"], &lines[1]["table_bytes_if_plain"]), (&12.into(), &12.into()));
    assert_eq!(lines[2]["bytes_written"], 6);
    assert_eq!(lines[3]["rows"], 3);
    assert!(lines[3].get("error").is_none());
    assert!(lines[4]["error"].as_str().expect("a text").contains('u'));
}

#[test]
fn mistakes_on_the_command_line_end_with_status_2() {
    for args in [&["--colour"][..], &["--threads", "none"], &["-c"]] {
        let run = longshore(args);
        assert_eq!(run.status, 2, "{args:?}");
        assert!(run.err.contains("--help"), "{}", run.err);
        assert!(run.out.is_empty());
    }
    let help = output(&["--help"]);
    for part in ["Examples:", "--memory-limit", "generate", "demo", "LONGSHORE_KERNEL"] {
        assert!(help.contains(part), "{part}");
    }
}

#[test]
fn a_wrong_kernel_is_refused_with_those_there_are() {
    let output = command(Path::new("."))
        .env("LONGSHORE_KERNEL", "mmx")
        .args(["-c", "SELECT 1"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("'mmx'") && message.contains("portable"), "{message}");
    let output = command(Path::new("."))
        .env("LONGSHORE_KERNEL", "portable")
        .args(["-c", "SELECT 1"])
        .output()
        .expect("the binary runs");
    assert!(output.status.success());
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    for query in [
        "SELECT value FROM generate_series(1, 3000000) AS s(value)",
        "COPY (SELECT value FROM generate_series(1, 3000000) AS s(value)) TO STDOUT",
    ] {
        let mut child = command(Path::new("."))
            .args(["--format", "csv", "-c", query])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the binary ends");
        assert_eq!(output.status.code(), Some(141), "{query}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{query}");
    }
}

#[test]
fn columns_that_values_become_are_called_by_them() {
    let cities = "CREATE TABLE cities (country TEXT, year INTEGER, population INTEGER); \
        INSERT INTO cities VALUES ('NL', 2000, 1005), ('US', 2000, 564), ('US', 2010, 608)";
    let print = |query| output(&["--format", "csv", "-c", cities, "-c", query]);
    assert_eq!(
        print("PIVOT cities ON year USING sum(population) ORDER BY country"),
        "country,2000,2010\nNL,1005,\nUS,564,608\n"
    );
    assert_eq!(
        print("PIVOT cities ON year IN (2000) USING sum(population) AS total, count(*) GROUP BY country ORDER BY 1"),
        "country,2000_total,2000_count(*)\nNL,1005,1\nUS,564,1\n"
    );
    assert_eq!(
        print(
            "SELECT min(COLUMNS('^y|^p')), COLUMNS('(y)ear') + 1 AS \"\\1\" FROM cities GROUP BY year ORDER BY 1 LIMIT 1"
        ),
        "year,population,y\n2000,564,2001\n"
    );
    assert_eq!(print("SELECT * RENAME (year AS \"Y\") FROM cities LIMIT 1"), "country,Y,population\nNL,2000,1005\n");
}
