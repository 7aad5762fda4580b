//! Files behind HTTP and S3 in SQL, from a server that the tests start.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::ipc::writer::{FileWriter, StreamWriter};

use crate::run::{Run, command, longshore_in};
use crate::server::{Manners, serve};

/// More than one range of text, and the sum of its first column.
fn numbers() -> (Vec<u8>, u64) {
    let rows = 0..600_000_u64;
    let text = rows.clone().flat_map(|row| format!("{row},name {}\n", row % 77).into_bytes());
    (text.collect(), rows.sum())
}

/// Runs `sql` with CSV on standard output.
fn run(sql: &str) -> Run {
    longshore_in(Path::new("."), &["--format", "csv", "-c", sql], "")
}

fn output(sql: &str) -> String {
    let run = run(sql);
    assert_eq!(run.status, 0, "{sql}: {}", run.err);
    run.out
}

/// The message of a statement that must fail.
fn refused(sql: &str) -> String {
    let run = run(sql);
    assert_eq!(run.status, 1, "{sql}: {}", run.out);
    assert!(!run.err.contains("panicked"), "{sql}: {}", run.err);
    run.err
}

#[test]
fn servers_of_all_manners_are_read_in_every_way() {
    let (text, sum) = numbers();
    for manners in [Manners::Ranges, Manners::Whole, Manners::Chunked, Manners::Redirecting] {
        let url = format!("{}/data.csv", serve(&[("/data.csv", text.clone())], manners).address);
        let columns = "columns => {'a': 'BIGINT', 'b': 'TEXT'}";
        let queried = output(&format!("SELECT sum(a) AS s FROM read_csv('{url}', {columns})"));
        assert_eq!(queried, format!("s\n{sum}\n"), "{manners:?}");
        let found = output(&format!("SELECT sum(column1) AS s, count(DISTINCT column2) AS n FROM '{url}'"));
        assert_eq!(found, format!("s,n\n{sum},77\n"), "{manners:?}");
        let loaded = output(&format!(
            "CREATE TABLE t AS FROM '{url}'; COPY t FROM '{url}'; SELECT sum(column1) / 2 AS s, count(*) AS n FROM t"
        ));
        assert_eq!(loaded, format!("s,n\n{sum},1200000\n"), "{manners:?}");
    }
}

#[test]
fn remote_files_are_loaded_once() {
    let files = [("/a.csv", b"1,x\n2,y\n".to_vec()), ("/bucket/t/0.csv", b"3,z\n".to_vec())];
    let server = serve(&files, Manners::Ranges);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let shop = |sql: &str| longshore_in(directory.path(), &["shop", "--format", "csv", "-c", sql], "");
    assert_eq!(shop("CREATE TABLE t (a INTEGER, b TEXT)").status, 0);
    let address = &server.address;
    let stored = format!(
        "COPY t FROM 's3://bucket/t/*.csv' (ONCE, ENDPOINT '{address}', REGION 'here', ACCESS_KEY_ID 'me', \
         SECRET_ACCESS_KEY 'sesame')"
    );
    let secret = address.replace("http://", "http://me:sesame@");
    for (sql, expected) in [
        (format!("COPY t FROM '{address}/a.csv' (ONCE)"), "COPY 2\n"),
        (format!("COPY t FROM '{address}/a.csv' (ONCE)"), "COPY 0\n"),
        (stored.clone(), "COPY 1\n"),
        (stored.clone(), "COPY 0\n"),
        (format!("COPY t FROM '{secret}/a.csv' (ONCE)"), "COPY 0\n"),
    ] {
        let run = shop(&sql);
        assert!(run.status == 0 && run.err.ends_with(expected), "{sql}: {}", run.err);
    }
    // Its size is the same, and so is its time.
    server.replace("/a.csv", b"1,x\n2,yz".to_vec());
    server.replace("/bucket/t/1.csv", b"4,z\n".to_vec());
    let changed = shop(&format!("COPY t FROM '{address}/a.csv' (ONCE)"));
    assert!(changed.err.contains("/a.csv: it was loaded into t by load 1 at"), "{}", changed.err);
    assert!(changed.err.contains("has changed since: its version (ETag) is another one; ON_CHANGE"), "{}", changed.err);
    let continued = shop(&format!("COPY t FROM '{address}/a.csv' (ONCE, ON_CHANGE continue)"));
    assert!(continued.err.contains("it is not known to begin with what was loaded"), "{}", continued.err);
    for (sql, expected) in [
        (format!("COPY t FROM '{address}/a.csv' (ONCE, ON_CHANGE ignore)"), "COPY 0\n"),
        (format!("COPY t FROM '{address}/a.csv' (ONCE, ON_CHANGE append)"), "COPY 2\n"),
        (stored, "COPY 1\n"),
    ] {
        let run = shop(&sql);
        assert!(run.status == 0 && run.err.ends_with(expected), "{sql}: {}", run.err);
    }
    let noted =
        shop("SELECT file, rows, size, version, hash FROM longshore_loads WHERE status = 'loaded' ORDER BY load").out;
    let expected = format!(
        "file,rows,size,version,hash\n{address}/a.csv,2,8,\"\"\"8-10\"\"\",\ns3://bucket/t/0.csv,1,4,\"\"\"4-10\"\"\",\n\
         {address}/a.csv,2,8,\"\"\"8-122\"\"\",\ns3://bucket/t/1.csv,1,4,\"\"\"4-10\"\"\",\n"
    );
    assert_eq!(noted, expected);
    let all = shop("SELECT * FROM longshore_loads").out;
    assert!(!all.contains("sesame"), "{all}");
    // A server that tells nothing of its files.
    let silent = serve(&[("/a.csv", b"1,x\n".to_vec())], Manners::Chunked).address;
    let refused = shop(&format!("COPY t FROM '{silent}/a.csv' (ONCE)"));
    assert!(refused.err.contains("option ONCE: its server tells neither a version (ETag) nor when"), "{}", refused.err);
}

#[test]
fn remote_json_and_compressed_text_need_no_option() {
    let files: [(&str, Vec<u8>); 4] = [
        ("/array.json", b" [{\"a\": 1, \"b\": \"x\"},\n {\"a\": 2}]".to_vec()),
        ("/lines", b"{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2}\n".to_vec()),
        ("/semicolons", b"a;b\n1;1,5\n2;2,25\n".to_vec()),
        ("/odd.csv", GZIP.to_vec()),
    ];
    let address = serve(&files, Manners::Ranges).address;
    for name in ["array.json", "lines", "odd.csv"] {
        assert_eq!(output(&format!("SELECT * FROM '{address}/{name}'")), "a,b\n1,x\n2,\n", "{name}");
        let create = format!("CREATE TABLE t AS FROM '{address}/{name}'; SELECT * FROM t");
        assert_eq!(output(&create), "a,b\n1,x\n2,\n", "{name}");
    }
    for name in ["array.json", "lines"] {
        let columns = "columns => {'a': 'INTEGER', 'b': 'TEXT'}";
        let query = format!("SELECT * FROM read_json('{address}/{name}', {columns})");
        assert_eq!(output(&query), "a,b\n1,x\n2,\n", "{name}");
    }
    assert_eq!(output(&format!("SELECT sum(b) AS s FROM '{address}/semicolons'")), "s\n3.75\n");
    let described = output(&format!("DESCRIBE '{address}/semicolons'"));
    assert!(described.contains("b,"), "{described}");
    let list = format!(
        "SELECT count(*) AS n, max(filename) AS f FROM read_csv(['{address}/odd.csv', '{address}/odd.csv'], filename => true)"
    );
    assert_eq!(output(&list), format!("n,f\n4,{address}/odd.csv\n"));
}

/// `printf 'a,b\n1,x\n2,\n' | gzip`
const GZIP: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 75, 212, 73, 226, 50, 212, 169, 224, 50, 210, 225, 2, 0, 47, 61, 135, 106, 11,
    0, 0, 0,
];

#[test]
fn what_is_wrong_is_said_with_the_address() {
    let (text, _) = numbers();
    let address = serve(&[("/a.csv", text.clone()), ("/b.csv", b"1,x\n2,3,4\n".to_vec())], Manners::Ranges).address;
    let table = "CREATE TABLE t (a BIGINT, b TEXT)";
    for (sql, part) in [
        (
            format!("{table}; COPY t FROM '{address}/none.csv'"),
            "/none.csv: cannot find it: the server has no such file (404)",
        ),
        (format!("SELECT * FROM '{address}/none.csv'"), "/none.csv: cannot"),
        (format!("CREATE TABLE u AS FROM '{address}/none.csv'"), "no such file (404)"),
        (format!("{table}; COPY t FROM '{address}/*.csv'"), "HTTP servers do not list their files"),
        (format!("{table}; COPY t FROM '{address}/b.csv'"), "/b.csv: line 2, byte 4"),
        (format!("{table}; COPY t FROM '{address}/a.csv' (COMPRESSION gzip)"), "/a.csv"),
    ] {
        let message = refused(&sql);
        assert!(message.contains(part), "{sql}: {message}");
    }
    for (manners, part) in [
        (Manners::Broken, "/a.csv"),
        (Manners::Circling, "redirect"),
        (Manners::Refusing(403), "denies access (403)"),
        (Manners::Refusing(401), "asks for credentials (401)"),
        (Manners::Refusing(500), "500"),
    ] {
        let address = serve(&[("/a.csv", text.clone())], manners).address;
        let message = refused(&format!("{table}; COPY t FROM '{address}/a.csv'"));
        assert!(message.contains(part) && message.contains(&address), "{manners:?}: {message}");
    }
}

#[test]
fn objects_of_a_store_are_patterns_folders_and_lists() {
    let objects: [(&str, Vec<u8>); 4] = [
        ("/bucket/t/0.csv", b"1,a\n".to_vec()),
        ("/bucket/t/1.csv", b"2,b\n".to_vec()),
        ("/bucket/t/2.csv", GZIPPED_ROW.to_vec()),
        ("/bucket/other.csv", b"4,d\n".to_vec()),
    ];
    let address = serve(&objects, Manners::Ranges).address;
    let run = |sql: &str| {
        let output = command(Path::new("."))
            .args(["--format", "csv", "-c", "CREATE TABLE t (a INTEGER, b TEXT)", "-c", sql])
            .env("AWS_ENDPOINT_URL", &address)
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "id")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .output()
            .expect("the binary runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (from, rows) in [
        ("'s3://bucket/t/*.csv'", "1,a\n2,b\n3,c\n"),
        ("'s3://bucket/t/'", "1,a\n2,b\n3,c\n"),
        ("'s3://bucket/other.csv'", "4,d\n"),
        ("('s3://bucket/other.csv', 's3://bucket/t/[01].csv')", "4,d\n1,a\n2,b\n"),
    ] {
        let (out, err) = run(&format!("COPY t FROM {from}; SELECT * FROM t"));
        assert_eq!(out, format!("a,b\n{rows}"), "{from}: {err}");
    }
    let (out, err) = run(
        "SELECT filename, sum(column1) AS s FROM read_csv('s3://bucket/t/*', filename => true) GROUP BY 1 ORDER BY 1",
    );
    assert_eq!(out, "filename,s\ns3://bucket/t/0.csv,1\ns3://bucket/t/1.csv,2\ns3://bucket/t/2.csv,3\n", "{err}");
    for (from, part) in
        [("'s3://bucket/none/*.csv'", "no file fits this pattern"), ("'s3://bucket/none.csv'", "no such file (404)")]
    {
        let (_, err) = run(&format!("COPY t FROM {from}"));
        assert!(err.contains(part) && err.contains("s3://bucket/none"), "{from}: {err}");
    }
}

/// Of Parquet, no more than the footer and some columns is asked for.
#[test]
fn parquet_is_read_from_servers_and_stores() {
    let directory = tempfile::tempdir().expect("a directory");
    let make = "CREATE TABLE p AS SELECT value AS a, 'text ' || value AS b FROM generate_series(1, 20000) AS s(value); \
                EXPORT DATABASE 'out' (FORMAT parquet)";
    let made = longshore_in(directory.path(), &["-c", make], "");
    assert_eq!(made.status, 0, "{}", made.err);
    let bytes = std::fs::read(directory.path().join("out/p.parquet")).expect("the file");
    let objects = [
        ("/bucket/p/1.parquet", bytes.clone()),
        ("/bucket/p/2.parquet", bytes.clone()),
        ("/plain", bytes.clone()),
        ("/cut.parquet", bytes[..bytes.len() / 2].to_vec()),
        ("/text.csv", b"a,b\n1,x\n".to_vec()),
    ];
    let address = serve(&objects, Manners::Ranges).address;
    let sum = "a,n\n200010000,20000\n";
    let sum_of = |from: &str| format!("SELECT sum(a) AS a, count(b) AS n FROM {from}");
    assert_eq!(output(&sum_of(&format!("'{address}/bucket/p/1.parquet'"))), sum);
    assert_eq!(output(&sum_of(&format!("read_parquet('{address}/plain')"))), sum);
    let create = format!("CREATE TABLE t AS FROM '{address}/plain' (FORMAT parquet)");
    assert_eq!(output(&format!("{create}; {}", sum_of("t"))), sum);
    let some = format!("SELECT b FROM '{address}/bucket/p/2.parquet' WHERE a = 7");
    assert_eq!(output(&some), "b\ntext 7\n");
    let store = format!("ENDPOINT '{address}', ANONYMOUS");
    let all = "a,n\n400020000,40000\n";
    let create = format!("CREATE TABLE t AS FROM 's3://bucket/p/*.parquet' ({store})");
    assert_eq!(output(&format!("{create}; {}", sum_of("t"))), all);
    let copy = format!("CREATE TABLE t (b TEXT, a BIGINT); COPY t FROM 's3://bucket/p/' (FORMAT parquet, {store})");
    assert_eq!(output(&format!("{copy}; {}", sum_of("t"))), all);
    let query = sum_of(&format!("read_parquet('s3://bucket/p/', endpoint => '{address}', anonymous => true)"));
    assert_eq!(output(&query), all);
    for (sql, part) in [
        (
            format!("SELECT * FROM '{address}/none.parquet'"),
            "/none.parquet: cannot find it: the server has no such file",
        ),
        (format!("SELECT * FROM '{address}/cut.parquet'"), "/cut.parquet: not a sound Parquet file"),
        (
            format!("SELECT * FROM read_parquet('{address}/text.csv')"),
            "/text.csv is neither a Parquet nor an Arrow file",
        ),
        (format!("SELECT * FROM '{address}/plain'"), "/plain: cannot read it: this is a Parquet file"),
        (
            format!("SELECT * FROM read_parquet(['{address}/plain', '{}/out/p.parquet'])", directory.path().display()),
            "read them apart",
        ),
    ] {
        let message = refused(&sql);
        assert!(message.contains(part), "{sql}: {message}");
    }
    // A server that gives whole files only, or breaks off, is told of.
    for manners in [Manners::Broken, Manners::Refusing(403)] {
        let address = serve(&objects, manners).address;
        let message = refused(&format!("SELECT sum(a) FROM '{address}/bucket/p/1.parquet'"));
        assert!(message.contains("1.parquet"), "{manners:?}: {message}");
    }
}

#[test]
fn arrow_is_read_from_servers() {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..10_000));
    let texts: StringArray = (0..10_000).map(|row| (row % 2 == 0).then_some("x")).collect();
    let texts: ArrayRef = Arc::new(texts);
    let batch = RecordBatch::try_from_iter([("a", numbers), ("b", texts)]).expect("a batch");
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    file.write(&batch).expect("a batch that fits");
    let file = file.into_inner().expect("an Arrow file");
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).expect("a writer");
    stream.write(&batch).expect("a batch that fits");
    let stream = stream.into_inner().expect("an Arrow stream");
    let cut = file[..file.len() / 2].to_vec();
    let objects = [
        ("/bucket/f.arrow", file.clone()),
        ("/bucket/s.arrows", stream),
        ("/odd", file),
        ("/cut.feather", cut),
        ("/text.arrow", b"a,b\n1,x\n".to_vec()),
    ];
    let address = serve(&objects, Manners::Ranges).address;
    let sum_of = |from: &str| format!("SELECT sum(a) AS a, count(b) AS n FROM {from}");
    for from in [
        format!("'{address}/bucket/f.arrow'"),
        format!("'{address}/bucket/s.arrows'"),
        format!("read_arrow('{address}/odd')"),
        format!("read_arrow('s3://bucket/*.arrow', endpoint => '{address}', anonymous => true)"),
    ] {
        assert_eq!(output(&sum_of(&from)), "a,n\n49995000,5000\n", "{from}");
    }
    let load =
        format!("CREATE TABLE t AS FROM '{address}/bucket/s.arrows'; COPY t FROM '{address}/odd' (FORMAT arrow)");
    assert_eq!(output(&format!("{load}; {}", sum_of("t"))), "a,n\n99990000,10000\n");
    for (name, part) in [
        ("cut.feather", "/cut.feather: not a sound Arrow file"),
        ("text.arrow", "/text.arrow is neither a Parquet nor an Arrow file"),
        ("none.arrow", "/none.arrow: cannot find it"),
    ] {
        let message = refused(&format!("SELECT * FROM '{address}/{name}'"));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_is_fetched_counts_against_the_memory_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let make = "CREATE TABLE p AS SELECT value AS a, md5(CAST(value AS TEXT)) AS b FROM generate_series(1, 200000) AS s(value); \
                EXPORT DATABASE 'out' (FORMAT parquet)";
    let made = longshore_in(directory.path(), &["-c", make], "");
    assert_eq!(made.status, 0, "{}", made.err);
    let bytes = std::fs::read(directory.path().join("out/p.parquet")).expect("the file");
    let address = serve(&[("/p.parquet", bytes)], Manners::Ranges).address;
    let sql = format!("SELECT count(b) AS n FROM '{address}/p.parquet' WHERE b > ''");
    let with =
        |limit: &str| longshore_in(directory.path(), &["--format", "csv", "--memory-limit", limit, "-c", &sql], "");
    let enough = with("256MB");
    assert_eq!((enough.status, enough.out.as_str()), (0, "n\n200000\n"), "{}", enough.err);
    let scarce = with("1MB");
    assert_eq!(scarce.status, 1, "{}", scarce.out);
    assert!(scarce.err.contains("--memory-limit") && scarce.err.contains("bytes more are needed"), "{}", scarce.err);
}

/// What the environment does not say, the statement says; it wins over the environment.
#[test]
fn a_store_is_named_by_options() {
    let objects = [("/bucket/t/0.csv", b"1,a\n".to_vec()), ("/bucket/t/1.csv", b"2,b\n".to_vec())];
    let address = serve(&objects, Manners::Ranges).address;
    let run = |sql: &str, environment: &[(&str, &str)]| {
        let output = command(Path::new("."))
            .args(["--format", "csv", "-c", "CREATE TABLE t (a INTEGER, b TEXT)", "-c", sql])
            .env_remove("AWS_REGION")
            .envs(environment.iter().copied())
            .output()
            .expect("the binary runs");
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let nowhere = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_REGION", "mars")];
    let rows = "a,b\n1,a\n2,b\n";
    for options in [
        "ACCESS_KEY_ID 'id', SECRET_ACCESS_KEY 'secret', SESSION_TOKEN 'token', REGION 'eu-central-1'",
        "ANONYMOUS",
        "ANONYMOUS true, REGION 'eu-central-1', PATH_STYLE true",
        "ANONYMOUS false, PATH_STYLE on, ACCESS_KEY_ID 'id', SECRET_ACCESS_KEY 'secret'",
    ] {
        for environment in [&[][..], &nowhere] {
            let from = format!("'s3://bucket/t/*.csv' (ENDPOINT '{address}', {options})");
            let (out, err) = run(&format!("COPY t FROM {from}; SELECT * FROM t"), environment);
            assert_eq!(out, rows, "{options}: {err}");
            let create = format!("CREATE TABLE u AS FROM {from}; SELECT column1 AS a, column2 AS b FROM u");
            let (out, err) = run(&create, environment);
            assert_eq!(out, rows, "{options}: {err}");
        }
    }
    let query = format!(
        "SELECT * FROM read_csv('s3://bucket/t/', endpoint => '{address}', region => 'r', access_key_id => 'id', \
         secret_access_key => 'secret', session_token => 'token', path_style => true, anonymous => false, table => t)"
    );
    let (out, err) = run(&query, &[]);
    assert_eq!(out, rows, "{err}");
    // The bucket becomes a part of the name of the server.
    let (_, err) =
        run(&format!("COPY t FROM 's3://bucket/t/' (ENDPOINT '{address}', ANONYMOUS, PATH_STYLE false)"), &[]);
    assert!(err.contains("s3://bucket/t") && err.contains("error"), "{err}");
    let (_, err) = run("COPY t FROM 's3://bucket/t/0.csv' (ENDPOINT 'nowhere', SECRET_ACCESS_KEY 'my secret')", &[]);
    assert!(err.contains("error") && !err.contains("my secret"), "{err}");
}

/// `printf '3,c\n' | gzip`
const GZIPPED_ROW: &[u8] = &[31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 51, 214, 73, 230, 2, 0, 173, 230, 136, 92, 4, 0, 0, 0];

/// A server that sends a byte now and then keeps nobody from leaving.
#[test]
fn an_interrupt_ends_a_remote_load_at_once() {
    let (text, _) = numbers();
    let address = serve(&[("/a.csv", text)], Manners::Slow).address;
    for sql in [format!("CREATE TABLE t AS FROM '{address}/a.csv'"), format!("SELECT * FROM '{address}/a.csv'")] {
        let child = command(Path::new("."))
            .args(["-c", &sql])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        std::thread::sleep(Duration::from_secs(2));
        let begin = Instant::now();
        let pid = libc::pid_t::try_from(child.id()).expect("a process id");
        // SAFETY: the process is our child and not waited for yet, so its id is its own.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
        let output = child.wait_with_output().expect("the binary ends");
        assert!(begin.elapsed() < Duration::from_secs(20), "{sql} took {:?}", begin.elapsed());
        assert_eq!(output.status.code(), Some(130), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
