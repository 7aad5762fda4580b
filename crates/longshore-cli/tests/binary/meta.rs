//! Meta-commands in scripts.

use std::fs;
use std::path::Path;

use crate::run::{Run, longshore_in};

/// Runs a script on standard input that must succeed.
fn script_in(directory: &Path, args: &[&str], script: &str) -> Run {
    let run = longshore_in(directory, args, script);
    assert_eq!(run.status, 0, "{script}\n{}", run.err);
    run
}

fn script(args: &[&str], text: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    script_in(directory.path(), args, text).out
}

#[test]
fn variables_stand_in_statements() {
    let out = script(
        &["--format", "csv", "-v", "limit=2", "--set", "name=a'b"],
        "\\set table t\nCREATE TABLE :table (a INTEGER);\nINSERT INTO :\"table\" VALUES (1), (2), (3);\n\
         SELECT a, :'name' AS n FROM :table LIMIT :limit;\n\\echo :limit :missing ':limit' :'name'\n\\unset limit\n\\echo :limit\n",
    );
    assert_eq!(out, "a,n\n1,a'b\n2,a'b\n2 :missing :limit 'a''b'\n:limit\n");
}

#[test]
fn results_become_variables_and_statements() {
    let out = script(
        &["--format", "csv", "-q"],
        "SELECT 1 AS one, NULL AS two, 'x' AS three \\gset p_\n\\echo :p_one :p_two :p_three\n\
         SELECT 'SELECT ' || value || ' AS v' FROM generate_series(1, 2) AS g(value) \\gexec\n\
         SELECT 5 AS five\n\\g\n\\p\n\\g\n",
    );
    assert_eq!(out, "1 :p_two x\nv\n1\nv\n2\nfive\n5\nSELECT 5 AS five\nfive\n5\n");
    let run = longshore_in(Path::new("."), &[], "SELECT 1 AS a WHERE false \\gset\n");
    assert_eq!(run.err, "error: standard input:1: no rows returned for \\gset\n");
}

#[test]
fn conditions_choose_what_runs() {
    let out = script(
        &["--format", "csv"],
        "\\set a 1\n\\if :a\nSELECT 1 AS one;\n\\else\nSELECT nonsense;\n\\endif\n\
         \\if :{?b}\n\\echo no\n\\elif false\n\\echo no\n\\else\n\\if on\n\\echo inner\n\\endif\n\\endif\n",
    );
    assert_eq!(out, "one\n1\ninner\n");
    for (text, said) in [
        ("\\if true\n", "\\endif is missing"),
        ("\\endif\n", "no matching \\if"),
        ("\\if perhaps\n\\endif\n", "neither true nor false"),
    ] {
        let run = longshore_in(Path::new("."), &[], text);
        assert_eq!(run.status, 1, "{text}");
        assert!(run.err.contains(said), "{}", run.err);
    }
}

#[test]
fn formats_change_while_a_script_runs() {
    let out = script(
        &["-q"],
        "\\pset format csv\nSELECT 1 AS a, NULL AS b;\n\\pset null -\n\\t\nSELECT 1 AS a, NULL AS b;\n\\t\n\\pset null\n\
         .mode jsonl\nSELECT 1 AS a, NULL AS b;\n\\pset format aligned\n\\a\n\\f ;\nSELECT 1 AS a, NULL AS b;\n\
         \\pset format tsv\nSELECT 1 AS a, 'x\ty' AS b;\n\\pset format table\n\\C Title\n\\pset footer off\nSELECT 1 AS a \\gx\n",
    );
    assert_eq!(
        out,
        "a,b\n1,\n1,-\n{\"a\":1,\"b\":null}\na;b\n1;\n(1 row)\na\tb\n1\t\"x\ty\"\n\
         -[ RECORD 1 ]----------------------------\na | 1\n\n"
    );
    let run = longshore_in(Path::new("."), &[], "\\pset format html\n");
    assert!(run.err.contains("the formats are table, unaligned"), "{}", run.err);
    let run = longshore_in(Path::new("."), &[], "\\pset border 2\n");
    assert!(run.err.contains("border is not known"), "{}", run.err);
}

#[test]
fn results_go_to_files_and_programs() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let run = script_in(
        path,
        &["--format", "csv", "-q"],
        "\\o out.csv\nSELECT 1 AS a;\nCOPY (SELECT 7) TO STDOUT;\n\\qecho there\n\\echo here\n\\o\nSELECT 2 AS b;\n\
         SELECT 3 AS c \\g one.csv\nSELECT 4 AS d \\g | tr d e\n\\o | cat > piped.csv\nSELECT 5 AS f;\n\\o\n\
         SELECT 6 AS g\n\\w statement.sql\n\\r\n\\! echo done\n\\cd ..\n",
    );
    assert_eq!(run.out, "here\nb\n2\ne\n4\ndone\n");
    let read = |name| fs::read_to_string(path.join(name)).expect(name);
    assert_eq!(read("out.csv"), "a\n1\n7\nthere\n");
    assert_eq!(read("one.csv"), "c\n3\n");
    assert_eq!(read("piped.csv"), "f\n5\n");
    assert_eq!(read("statement.sql"), "SELECT 6 AS g\n");
}

#[test]
fn copy_takes_files_programs_and_the_lines_that_follow() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    fs::write(path.join("a b.csv"), "1\n2\n").expect("a file");
    let run = script_in(
        path,
        &["--format", "csv", "-q"],
        "CREATE TABLE t (a INTEGER);\n\\copy t from 'a b.csv'\n\\copy t from stdin (format csv)\n3\n4\n\\.\n\
         \\copy t (a) from program 'echo 5'\n\\copy (SELECT sum(a) FROM t) to sum.csv\n\\copy t to program 'sort -r > r.csv'\n\
         \\copy (SELECT count(*) FROM t) to stdout\n",
    );
    assert_eq!(run.out, "5\n");
    assert_eq!(fs::read_to_string(path.join("sum.csv")).expect("a file"), "15\n");
    assert_eq!(fs::read_to_string(path.join("r.csv")).expect("a file"), "5\n4\n3\n2\n1\n");
}

#[test]
fn data_follow_copy_in_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    fs::create_dir(path.join("sub")).expect("a directory");
    fs::write(
        path.join("sub/load.sql"),
        "CREATE TABLE t (a INTEGER, b TEXT);\nCOPY t FROM stdin WITH (FORMAT text);\n1\tone\n2\t\\N\n\\.\n\n\
         SELECT count(b) AS n FROM t;\n\\ir inner.sql\nSELECT nonsense;\n",
    )
    .expect("a file");
    fs::write(path.join("sub/inner.sql"), "SELECT 7 AS seven;\n\\q\nSELECT nonsense;\n").expect("a file");
    let run = longshore_in(path, &["--format", "csv", "-f", "sub/load.sql"], "");
    assert_eq!(run.out, "n\n1\nseven\n7\n");
    // Lines of data count.
    assert!(run.err.contains("error: sub/load.sql:9: "), "{}", run.err);
}

#[test]
fn errors_are_remembered_and_may_be_passed_over() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = longshore_in(
        directory.path(),
        &["--format", "csv", "-q"],
        "\\set ON_ERROR_STOP off\nSELECT 1 / 0;\n\\echo :SQLSTATE :ERROR\n\\errverbose\nSELECT 1 AS a;\n\\echo :SQLSTATE :ROW_COUNT\n\
         CREATE TABLE t (a INTEGER PRIMARY KEY);\nINSERT INTO t VALUES (1), (1);\n\\errverbose\n",
    );
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.starts_with("22012 true\nERROR:  22012: "), "{}", run.out);
    assert!(run.out.contains("\na\n1\n00000 1\nERROR:  23505: "), "{}", run.out);
    assert!(run.out.contains("\nCONSTRAINT:  t_pkey\n"), "{}", run.out);
    let run = longshore_in(directory.path(), &[], "\\set AUTOCOMMIT off\n");
    assert!(run.err.contains("AUTOCOMMIT: it is always on here"), "{}", run.err);
}

#[test]
fn what_there_is_can_be_listed() {
    let out = script(
        &["-q", "--format", "csv"],
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, day DATE);\nCREATE TABLE \"Odd\" (a INTEGER);\n\
         CREATE VIEW recent AS SELECT * FROM orders;\nCREATE SEQUENCE numbers;\nCREATE INDEX ON orders (day);\n\
         \\dt ord*\n\\dv\n\\di\n\\ds\n\\df array_len*\n\\l\n\\conninfo\n\\encoding\n",
    );
    for part in [
        "orders,table,",
        "recent,view,",
        "orders_pkey,orders,",
        "name\nnumbers\n",
        "array_length,scalar\n",
        "longshore,in memory\n",
        "The database is in memory; the program is Longshore ",
        "UTF8\n",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    assert!(!out.contains("Odd"), "{out}");
}

#[test]
fn a_statement_is_watched_as_often_as_is_said() {
    assert_eq!(script(&["--format", "csv"], "SELECT 1 AS a \\watch i=0.01 c=3\n"), "a\n1\na\n1\na\n1\n");
}

#[test]
fn an_editor_changes_the_statement() {
    let directory = tempfile::tempdir().expect("a directory");
    let editor = directory.path().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/one/two/; s/$/;/' \"$1\"\n").expect("a file");
    let script = "SELECT 2 AS one\n\\e\n";
    let mut command = crate::run::command(directory.path());
    command.env("LONGSHORE_EDITOR", format!("sh {}", editor.display())).args(["--format", "csv", "-f", "s.sql"]);
    fs::write(directory.path().join("s.sql"), script).expect("a file");
    let output = command.output().expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "two\n2\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn dumps_are_in_text_format_and_restricted() {
    let directory = tempfile::tempdir().expect("a directory");
    let dump = "--\n-- PostgreSQL database dump\n--\n\\restrict key\nCREATE TABLE t (a integer, b text);\n\
        COPY t (a, b) FROM stdin;\n1\tone, \\N\n2\t\\N\n\\.\n\n\\unrestrict key\nSELECT count(b) AS n FROM t;\n";
    let run = script_in(directory.path(), &["--format", "csv"], dump);
    assert_eq!(run.out, "n\n1\n");
    let run = longshore_in(directory.path(), &[], "\\restrict key\n\\! echo no\n");
    assert!(run.err.contains("is refused between") && run.out.is_empty(), "{}", run.err);
}
