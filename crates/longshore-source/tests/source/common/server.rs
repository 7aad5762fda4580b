//! A small HTTP/1.1 server on the loopback, with the manners of good and bad ones, and as much of S3 as reading needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    /// Serves ranges.
    Ranges,
    /// Serves whole files only.
    Whole,
    /// Does not tell the length.
    Chunked,
    /// Breaks off every second answer in its middle.
    Breaking,
    /// Breaks off every answer.
    Broken,
    /// Sends a byte now and then.
    Slow,
    /// Sends everyone on to another address first.
    Redirecting,
    /// Sends everyone on for ever.
    Circling,
    /// Answers with this status.
    Refusing(u16),
}

pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<AtomicUsize>,
    files: Arc<Mutex<Arc<Files>>>,
}

/// Files by their paths.
type Files = BTreeMap<String, Vec<u8>>;

impl Server {
    /// Serves another file at a path from now on, to who connects anew.
    #[allow(dead_code, reason = "of several tests that share this file, one uses it")]
    pub(crate) fn replace(&self, path: &str, bytes: Vec<u8>) {
        Arc::make_mut(&mut self.files.lock().unwrap()).insert(path.to_owned(), bytes);
    }
}

/// What tells one content of a file from another.
fn tag(bytes: &[u8]) -> String {
    format!("{}-{}", bytes.len(), bytes.last().unwrap_or(&0))
}

/// Serves `files` by their paths (`/bucket/key` for S3) until the test ends.
pub(crate) fn serve(files: &[(&str, Vec<u8>)], manners: Manners) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let files: Files = files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.clone())).collect();
    let files = Arc::new(Mutex::new(Arc::new(files)));
    let served = Arc::clone(&files);
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (files, counter) = (Arc::clone(&served.lock().unwrap()), Arc::clone(&counter));
            // A client that goes away is no failure of the server.
            std::thread::spawn(move || drop(answer_all(&stream.unwrap(), &files, manners, &counter)));
        }
    });
    Server { address, requests, files }
}

fn answer_all(
    stream: &TcpStream,
    files: &BTreeMap<String, Vec<u8>>,
    manners: Manners,
    counter: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or("").to_owned(), words.next().unwrap_or("").to_owned());
        let mut range = None;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("range: bytes=") {
                let (start, end) = value.trim().split_once('-').unwrap();
                range = Some((start.parse::<usize>().unwrap(), end.parse::<usize>().unwrap()));
            }
        }
        let number = counter.fetch_add(1, Ordering::Relaxed);
        answer(stream, &method, &target, range, files, manners, number)?;
    }
}

fn answer(
    mut stream: &TcpStream,
    method: &str,
    target: &str,
    range: Option<(usize, usize)>,
    files: &BTreeMap<String, Vec<u8>>,
    manners: Manners,
    number: usize,
) -> std::io::Result<()> {
    let is_head = method == "HEAD";
    if let Manners::Refusing(status) = manners {
        return write!(stream, "HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if manners == Manners::Circling || manners == Manners::Redirecting && query != "moved" {
        return write!(stream, "HTTP/1.1 302 Found\r\nLocation: {path}?moved\r\nContent-Length: 0\r\n\r\n");
    }
    if query.contains("list-type=2") {
        let body = listing(path, query, files);
        return write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    }
    let Some(bytes) = files.get(&path.replace("%3D", "=")) else {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let dated = format!("ETag: \"{}\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n", tag(bytes));
    let mut body = &bytes[..];
    if manners == Manners::Chunked {
        write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        if is_head {
            return Ok(());
        }
        for chunk in body.chunks(10_000) {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(chunk)?;
            write!(stream, "\r\n")?;
        }
        return write!(stream, "0\r\n\r\n");
    }
    match range.filter(|_| manners != Manners::Whole) {
        Some((start, _)) if start >= bytes.len() => {
            return write!(stream, "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n");
        }
        Some((start, end)) => {
            let end = end.min(bytes.len() - 1);
            body = &bytes[start..=end];
            write!(stream, "HTTP/1.1 206 Partial\r\nContent-Range: bytes {start}-{end}/{}\r\n", bytes.len())?;
        }
        None => write!(stream, "HTTP/1.1 200 OK\r\n")?,
    }
    write!(stream, "{dated}Content-Length: {}\r\n\r\n", body.len())?;
    if is_head {
        return Ok(());
    }
    if manners == Manners::Broken || manners == Manners::Breaking && number % 2 == 1 {
        stream.write_all(&body[..body.len() / 2])?;
        stream.shutdown(std::net::Shutdown::Both)?;
        return Err(std::io::Error::other("broken off on purpose"));
    }
    if manners == Manners::Slow {
        for byte in body {
            stream.write_all(&[*byte])?;
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    stream.write_all(body)
}

/// S3's answer to `ListObjectsV2`.
fn listing(path: &str, query: &str, files: &BTreeMap<String, Vec<u8>>) -> String {
    let prefix = query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or("");
    let prefix = prefix.replace("%2F", "/").replace("%3D", "=");
    let bucket = path.trim_end_matches('/');
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult>");
    for (file, bytes) in files {
        let key = file.strip_prefix(bucket).and_then(|key| key.strip_prefix('/'));
        if let Some(key) = key.filter(|key| key.starts_with(&prefix)) {
            let (size, tag) = (bytes.len(), tag(bytes));
            write!(
                body,
                "<Contents><Key>{key}</Key><LastModified>2026-11-21T00:00:00.000Z</LastModified>\
                 <ETag>\"{tag}\"</ETag><Size>{size}</Size></Contents>"
            )
            .unwrap();
        }
    }
    body + "<IsTruncated>false</IsTruncated></ListBucketResult>"
}
