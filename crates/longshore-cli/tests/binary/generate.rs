//! The generator of TPC-H text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::run::longshore_in;

/// Generates into `directory`; returns the files by name.
fn generate(directory: &Path, out: &str, more: &[&str]) -> BTreeMap<String, String> {
    let mut args = vec!["generate", "tpch", "--out", out];
    args.extend(more);
    let run = longshore_in(directory, &args, "");
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.is_empty());
    fs::read_dir(directory.join(out))
        .expect("the directory")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read_to_string(entry.path()).expect("a text"))
        })
        .collect()
}

#[test]
fn tables_are_those_of_dbgen_for_any_number_of_threads() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = generate(directory.path(), "one", &["--scale", "0.01", "--threads", "1"]);
    let rows: Vec<(&str, usize)> = files.iter().map(|(name, text)| (name.as_str(), text.lines().count())).collect();
    // The row counts of dbgen at this scale.
    assert_eq!(
        rows,
        [
            ("customer.tbl", 1500),
            ("lineitem.tbl", 60_175),
            ("nation.tbl", 25),
            ("orders.tbl", 15_000),
            ("part.tbl", 2000),
            ("partsupp.tbl", 8000),
            ("region.tbl", 5),
            ("supplier.tbl", 100),
        ]
    );
    assert!(
        files["lineitem.tbl"].starts_with(
            "1|1552|93|1|17|24710.35|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|"
        ),
        "{}",
        &files["lineitem.tbl"][..100]
    );
    assert!(files.values().all(|text| text.lines().all(|line| line.ends_with('|'))));
    let again = generate(directory.path(), "three", &["--scale", "0.01", "--threads", "3"]);
    assert!(files == again, "the text depends on the number of threads");
}

#[test]
fn csv_has_headers_and_quotes() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = generate(directory.path(), "out", &["--scale", "0.001", "--format", "csv"]);
    assert_eq!(files.len(), 8);
    let region = &files["region.csv"];
    assert!(region.starts_with("r_regionkey,r_name,r_comment\n0,AFRICA,\""), "{region}");
    assert_eq!(region.lines().count(), 6);
    assert_eq!(files["orders.csv"].lines().count(), 1501);
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("file"), "").expect("a file");
    let run = longshore_in(directory.path(), &["generate", "tpch", "--scale", "0.001", "--out", "file"], "");
    assert_eq!(run.status, 1);
    assert!(run.err.starts_with("error: file: "), "{}", run.err);
    let run = longshore_in(directory.path(), &["generate", "tpch", "--scale", "0.00001", "--out", "x"], "");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("from 0.001 to 10000"), "{}", run.err);
}
