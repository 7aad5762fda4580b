//! Files behind HTTP and S3, from a server that the tests start.

#![allow(clippy::unwrap_used, reason = "tests end where anything fails")]

#[path = "source/common/mod.rs"]
mod common;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use longshore_source::{Cancellation, Location, MemoryPool, OpenOptions, SourceError, StoreOptions, expand, open};

use common::pool::{LimitReached, Limited};
use common::server::{Manners, Server, serve};
use common::{gzip, text, zstd_frame};

fn read(url: &str, options: &OpenOptions) -> Result<Vec<u8>, String> {
    let source = open(&Location::parse(url), options).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    source.into_reader().read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn plain() -> OpenOptions {
    OpenOptions { threads: 2, ..OpenOptions::default() }
}

#[test]
fn ranges_arrive_in_order() {
    for bytes in [0, 1, 4 << 20, (4 << 20) + 1, 30 << 20] {
        let right = text(bytes);
        let server = serve(&[("/a.csv", right.clone())], Manners::Ranges);
        let url = format!("{}/a.csv", server.address);
        assert!(read(&url, &plain()).unwrap() == right, "{bytes} bytes");
        assert!(server.requests.load(Ordering::Relaxed) >= bytes.div_ceil(4 << 20));
        let found = expand(std::slice::from_ref(&url), &StoreOptions::default()).unwrap();
        let [found] = found.as_slice() else { panic!("one file was asked for: {found:?}") };
        assert_eq!((&found.location, found.bytes), (&Location::Remote(url), Some(bytes as u64)));
    }
}

#[test]
fn servers_without_ranges_or_length_do() {
    let right = text(3_000_000);
    for manners in [Manners::Whole, Manners::Chunked, Manners::Breaking] {
        let server = serve(&[("/a.csv", right.clone()), ("/empty", Vec::new())], manners);
        assert!(read(&format!("{}/a.csv", server.address), &plain()).unwrap() == right, "{manners:?}");
        assert!(read(&format!("{}/empty", server.address), &plain()).unwrap().is_empty(), "{manners:?}");
    }
}

#[test]
fn remote_files_are_decompressed_and_decoded() {
    let right = text(3_000_000);
    let frames: Vec<u8> = right.chunks(500_000).flat_map(|piece| zstd_frame(piece, true)).collect();
    let utf_16: Vec<u8> = b"\xff\xfea\0\n\0".to_vec();
    let files = [("/a.gz", gzip(&right)), ("/a.zst", frames), ("/u", utf_16)];
    let Server { address, .. } = serve(&files, Manners::Ranges);
    assert!(read(&format!("{address}/a.gz"), &plain()).unwrap() == right);
    assert!(read(&format!("{address}/a.zst"), &plain()).unwrap() == right);
    assert_eq!(read(&format!("{address}/u"), &plain()).unwrap(), b"a\n");
}

#[test]
fn what_is_wrong_is_said() {
    let Server { address, .. } = serve(&[("/a", text(10_000_000))], Manners::Ranges);
    let missing = read(&format!("{address}/b"), &plain()).unwrap_err();
    assert!(missing.contains("no such file (404)"), "{missing}");
    let Err(error) = expand(&[format!("{address}/b")], &StoreOptions::default()) else {
        panic!("there is no such file")
    };
    assert!(error.to_string().ends_with("/b: cannot find it: the server has no such file (404)"), "{error}");
    let Err(error) = expand(&[format!("{address}/*.csv")], &StoreOptions::default()) else { panic!("no list") };
    assert!(error.to_string().contains("HTTP servers do not list their files"), "{error}");
    for (status, part) in [(403, "denies access (403)"), (401, "asks for credentials (401)")] {
        let Server { address, .. } = serve(&[], Manners::Refusing(status));
        let error = read(&format!("{address}/a"), &plain()).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let Server { address, .. } = serve(&[("/a", text(100_000))], Manners::Broken);
    assert!(read(&format!("{address}/a"), &plain()).is_err());
    // Nobody listens there: the port was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(read(&format!("http://{free}/a"), &plain()).is_err());
}

fn store(address: &str) -> StoreOptions {
    StoreOptions {
        endpoint: Some(address.to_owned()),
        region: Some("us-east-1".to_owned()),
        access_key_id: Some("id".to_owned()),
        secret_access_key: Some("secret".to_owned()),
        ..StoreOptions::default()
    }
}

const OBJECTS: [(&str, &[u8]); 5] = [
    ("/bucket/t/year=2024/0.csv", b"1,a\n"),
    ("/bucket/t/year=2024/_SUCCESS", b""),
    ("/bucket/t/year=2025/0.csv", b"2,b\n"),
    ("/bucket/t/year=2025/1.csv", b"3,c\n"),
    ("/bucket/other.csv", b"4,d\n"),
];

fn check_store(store: &StoreOptions) {
    let find = |name: &str| -> Vec<(String, Option<u64>)> {
        let found = expand(&[name.to_owned()], store).unwrap();
        found.into_iter().map(|file| (file.location.to_string(), file.bytes)).collect()
    };
    let parts = ["t/year=2024/0.csv", "t/year=2025/0.csv", "t/year=2025/1.csv"];
    let expected: Vec<_> = parts.iter().map(|key| (format!("s3://bucket/{key}"), Some(4))).collect();
    assert_eq!(find("s3://bucket/t/*/*.csv"), expected);
    assert_eq!(find("s3://bucket/t/"), expected);
    assert_eq!(find("s3://bucket/t/year=2025/[01].csv"), expected[1..]);
    assert_eq!(find("s3://bucket/other.csv"), [("s3://bucket/other.csv".to_owned(), Some(4))]);
    let options = OpenOptions { store: store.clone(), ..plain() };
    let files = expand(&["s3://bucket/**/*.csv".to_owned()], store).unwrap();
    let text: Vec<u8> = files.iter().flat_map(|file| read(&file.location.to_string(), &options).unwrap()).collect();
    assert_eq!(String::from_utf8(text).unwrap(), "4,d\n1,a\n2,b\n3,c\n");
    assert_eq!(files[1].partitions, [("year".to_owned(), Some("2024".to_owned()))]);
    let error = expand(&["s3://bucket/none/*".to_owned()], store).unwrap_err();
    assert!(error.to_string().contains("no file fits this pattern"));
    let error = expand(&["s3://bucket/none".to_owned()], store).unwrap_err();
    assert!(error.to_string().contains("no such file (404)"));
}

#[test]
fn objects_are_listed_and_read() {
    let objects: Vec<(&str, Vec<u8>)> = OBJECTS.iter().map(|(path, bytes)| (*path, bytes.to_vec())).collect();
    let Server { address, .. } = serve(&objects, Manners::Ranges);
    check_store(&store(&address));
}

/// The same against another server of S3, moto, where it is installed (`pip install 'moto[server,s3]'`).
#[test]
fn objects_are_listed_and_read_from_moto() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = std::process::Command::new("moto_server");
    command.args(["-p", &port.to_string()]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let Ok(mut server) = command.spawn() else {
        println!("skipped: there is no moto_server");
        return;
    };
    let address = format!("http://127.0.0.1:{port}");
    let patience = Instant::now() + Duration::from_mins(1);
    while !put(port, "/bucket", b"") {
        assert!(Instant::now() < patience, "moto_server does not answer");
        std::thread::sleep(Duration::from_millis(100));
    }
    for (path, bytes) in OBJECTS {
        assert!(put(port, path, bytes));
    }
    let result = std::panic::catch_unwind(|| check_store(&store(&address)));
    server.kill().unwrap();
    server.wait().unwrap();
    result.unwrap();
}

/// An unsigned PUT; moto does not check signatures.
fn put(port: u16, path: &str, bytes: &[u8]) -> bool {
    use std::io::Write;
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let head = format!(
        "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=id/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\
         Content-Length: {}\r\n\r\n",
        bytes.len()
    );
    let mut answer = Vec::new();
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(bytes));
    sent.and_then(|()| stream.read_to_end(&mut answer)).is_ok() && answer.starts_with(b"HTTP/1.1 200")
}

#[test]
fn a_slow_server_keeps_nobody_from_cancelling() {
    let Server { address, .. } = serve(&[("/a", text(100_000))], Manners::Slow);
    let cancellation = Arc::new(Cancellation::default());
    let canceller = std::thread::spawn({
        let cancellation = Arc::clone(&cancellation);
        move || {
            std::thread::sleep(Duration::from_millis(500));
            cancellation.cancel();
        }
    });
    let begin = Instant::now();
    let source = open(&Location::parse(&format!("{address}/a")), &plain()).unwrap();
    let result = source.with_head(1 << 20, &cancellation).map(drop);
    assert!(matches!(result, Err(SourceError::Cancelled)), "{result:?}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    canceller.join().unwrap();
}

#[test]
fn progress_is_told_in_the_bytes_that_are_fetched() {
    let right = text(5_000_000);
    let file = gzip(&right);
    let Server { address, .. } = serve(&[("/a.csv.gz", file.clone())], Manners::Ranges);
    let found = expand(&[format!("{address}/a.csv.gz")], &StoreOptions::default()).unwrap().remove(0);
    assert_eq!(found.bytes, Some(file.len() as u64));
    let source = open(&found.location, &plain()).unwrap();
    let counter = Arc::clone(source.counter().unwrap());
    let mut reader = source.into_reader();
    let mut head = vec![0; right.len() / 2];
    reader.read_exact(&mut head).unwrap();
    let first = counter.take();
    assert!(first > 0, "nothing was counted");
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!([head, rest].concat() == right);
    assert_eq!(first + counter.take(), file.len() as u64);
}

#[test]
fn what_waits_to_be_read_counts_against_the_memory_limit() {
    let right = text(6_000_000);
    for manners in [Manners::Ranges, Manners::Whole] {
        let Server { address, .. } = serve(&[("/a.csv", right.clone())], manners);
        let location = Location::parse(&format!("{address}/a.csv"));
        let (found, result, pool) = read_within(&location, usize::MAX);
        result.unwrap();
        assert!(found == right && pool.peak() > 0, "{manners:?}: {} bytes were counted", pool.peak());
        all_given_back(&pool);
        let (_, result, pool) = read_within(&location, 100_000);
        assert!(result.unwrap_err().get_ref().unwrap().is::<LimitReached>());
        all_given_back(&pool);
    }
}

/// Reads a file whose buffers may take so many bytes.
fn read_within(location: &Location, limit: usize) -> (Vec<u8>, std::io::Result<()>, Arc<Limited>) {
    let pool = Arc::new(Limited::new(limit));
    let mut source = open(location, &plain()).unwrap();
    source.count_against(&(Arc::clone(&pool) as Arc<dyn MemoryPool>));
    let mut found = Vec::new();
    let result = source.into_reader().read_to_end(&mut found).map(drop);
    (found, result, pool)
}

/// Requests that nobody waits for end soon.
fn all_given_back(pool: &Limited) {
    let patience = Instant::now() + Duration::from_secs(20);
    while pool.used() > 0 {
        assert!(Instant::now() < patience, "{} bytes are still counted", pool.used());
        std::thread::sleep(Duration::from_millis(2));
    }
}
