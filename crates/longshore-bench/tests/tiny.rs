//! Every workload, tiny: a benchmark that nobody runs has stopped working.

use std::process::Command;

/// Runs a workload on a few thousand rows and returns what it prints.
fn tiny(workload: &str, more: &[&str]) -> String {
    let data = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_longshore-bench"))
        .args([workload, "--scale", "0.001", "--runs", "1", "--threads", "2"])
        .arg("--data")
        .arg(data.path())
        .args(more)
        .output()
        .expect("the binary starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{workload} failed:\n{said}\n{errors}");
    said.into_owned()
}

#[test]
fn scan() {
    assert!(tiny("scan", &[]).contains("scan quoted portable L2"));
}

#[test]
fn decode() {
    assert!(tiny("decode", &[]).contains("fast"));
}

#[test]
fn formats() {
    assert!(tiny("formats", &[]).contains("rows two-byte delimiter"));
}

#[test]
fn load() {
    let said = tiny("load", &[]);
    for table in ["Table 1", "Figure 13", "decimal width", "scan kernel"] {
        assert!(said.contains(table), "{table} is missing:\n{said}");
    }
}

#[test]
fn rejects() {
    let said = tiny("rejects", &[]);
    assert!(said.contains("1 % misshapen, table, 2 threads"), "{said}");
}

#[test]
fn keyed() {
    assert!(tiny("keyed", &[]).contains("tree, keep the last of two loads, 2 threads"));
}

#[test]
fn json() {
    let said = tiny("json", &[]);
    assert!(said.contains("json-lines, 2 threads") && said.contains("rewrite json-array"), "{said}");
}

#[test]
fn infer() {
    let said = tiny("infer", &[]);
    assert!(said.contains("lineitem, types found, loaded, 2 threads") && said.contains("last line"), "{said}");
}

#[test]
fn sources() {
    let said = tiny("sources", &[]);
    for case in ["gzip, gzip -dc", "zstd frames, load, 2 threads", "xz blocks, library alone", "utf-16, accents"] {
        assert!(said.contains(case), "{case} is missing:\n{said}");
    }
}

#[test]
fn in_situ() {
    assert!(tiny("in-situ", &[]).contains("quoted, 2 threads"));
}

#[test]
fn unload() {
    assert!(tiny("unload", &[]).contains("native file"));
}

#[test]
fn reload() {
    assert!(tiny("reload", &[]).contains("x as fast as the CSV load"));
}

#[test]
fn memory() {
    let told = tiny("memory", &[]);
    assert!(told.contains("x relation") && told.contains(" bytes per byte of text, frozen "), "{told}");
}

#[test]
fn pack() {
    let told = tiny("pack", &[]);
    assert!(told.contains("| pack l_linenumber, ") && told.contains("[Offset(1)]: 1.00 bytes a row, plain 4.00"));
    assert!(told.contains("| decompress l_comment ") && told.contains("[Fsst]: "), "{told}");
}

#[test]
fn scan_packed() {
    let told = tiny("scan-packed", &[]);
    assert!(told.contains("| l_discount packed, Offset(1) ") && told.contains("LIKE '%express%', fsst "), "{told}");
}

#[test]
fn point() {
    let said = tiny("point", &[]);
    assert!(said.contains("| packed many, Texts ") && said.contains("x plain"), "{said}");
    assert!(said.contains("| frozen many, Fsst "), "{said}");
}

#[test]
fn tpcc_durable() {
    let said = tiny("tpcc-durable", &["--warehouses", "2"]);
    for case in [
        "64 terminals on 4 threads, safe",
        "a thread each, not awaited",
        "beside checkpoints by 1 thread",
        "opened behind",
    ] {
        assert!(said.contains(case), "{case} is missing:\n{said}");
    }
}

#[test]
fn tpcc_kills() {
    let said = tiny("tpcc-kills", &["--kills", "8"]);
    assert!(said.contains("8 kills; ") && said.contains("all were there"), "{said}");
}

#[test]
fn freeze() {
    assert!(tiny("freeze", &[]).contains("| all columns changed "));
}

#[test]
fn wide() {
    assert!(tiny("wide", &[]).contains("15781 columns, 2 threads"));
}

#[test]
fn tpcc() {
    let said = tiny("tpcc", &["--warehouses", "2"]);
    assert!(said.contains("serializable, 2 threads") && said.contains("rolled back as asked"), "{said}");
}

#[test]
fn replay() {
    let said = tiny("replay", &["--warehouses", "2"]);
    assert!(said.contains("| replay, 2 threads") && said.contains(" of its after-images"), "{said}");
}

#[test]
#[cfg(feature = "queries")]
fn tpcc_prepared() {
    let said = tiny("tpcc-prepared", &[]);
    assert!(said.contains("serializable, 2 threads") && said.contains("rolled back as asked"), "{said}");
}

#[test]
fn tatp() {
    assert!(tiny("tatp", &[]).contains("1000 subscribers, snapshot, 2 threads"));
}

#[test]
fn durable() {
    let said = tiny("durable", &[]);
    for case in
        ["log, 1 thread, segments written over", "beyond the sync; 1.200 bytes", "records of 1 MB, segments new"]
    {
        assert!(said.contains(case), "{case} is missing:\n{said}");
    }
}

#[test]
fn recover() {
    let said = tiny("recover", &[]);
    for case in ["COPY in memory", "COPY, safe on disk", "of the text on disk", "opened after a kill behind COPY"] {
        assert!(said.contains(case), "{case} is missing:\n{said}");
    }
}

#[test]
fn churn() {
    let said = tiny("churn", &[]);
    assert!(said.contains("delete and insert, beside an old reader") && said.contains("x the first"), "{said}");
}

#[test]
fn versions() {
    let said = tiny("versions", &[]);
    assert!(said.contains("delete and insert, 1 a transaction") && said.contains("dirty, oldest"), "{said}");
}

#[test]
fn index() {
    let said = tiny("index", &[]);
    assert!(said.contains("tree, dense keys: built, 2 threads") && said.contains("random keys: looked up"), "{said}");
}

#[test]
#[cfg(feature = "queries")]
fn prepared() {
    assert!(tiny("prepared", &[]).contains("update by key"));
}

#[test]
#[cfg(feature = "queries")]
fn queries() {
    let said = tiny("queries", &[]);
    assert!(said.contains("q22 plain") && said.contains("x plain by geometric mean"), "{said}");
}

#[test]
fn results_are_recorded_only_when_asked() {
    let records = tempfile::tempdir().expect("a temporary folder");
    let folder = records.path().to_str().expect("a path of text");
    tiny("in-situ", &["--only", "plain, 1"]);
    assert_eq!(std::fs::read_dir(folder).expect("it is there").count(), 0);
    tiny("in-situ", &["--only", "plain, 1", "--record", folder]);
    let files: Vec<_> = std::fs::read_dir(folder).expect("it is there").collect();
    let record = std::fs::read_to_string(files[0].as_ref().expect("it is there").path()).expect("it is text");
    assert_eq!(record.lines().count(), 1);
    assert!(record.contains("\"workload\":\"in-situ\""), "{record}");
}
