//! One remote file as a reader.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectStore};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::store::{RETRIES_MAX, Remote, explain, runtime};
use crate::budget::{Budget, Reserved};
use crate::options::StoreOptions;
use crate::parallel_reader::PATIENCE;

/// Bytes of a range, unless memory is short.
const RANGE_BYTES_MAX: u64 = 4 << 20;
/// Ranges that are asked for at a time.
const RANGES_IN_FLIGHT: usize = 6;
/// Parts that wait to be read, or are on their way.
const PARTS_MAX: usize = RANGES_IN_FLIGHT + 2;
/// Bytes that parts of a stream without ranges are gathered to.
const PART_BYTES_MIN: usize = 256 << 10;
/// A server that sends nothing for this long is given up.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// The part of the memory that is left, one in so many, that one range may take; no less than this many bytes.
const RANGE_SHARE: usize = 64;
const RANGE_BYTES_MIN: usize = 64 << 10;

/// Bytes, and what they count.
type Part = io::Result<(Vec<u8>, Reserved)>;

/// Opens the file at `url`; what waits to be read counts against `budget`.
///
/// # Errors
/// When it is no address, the settings of the store contradict each other, or the runtime cannot be started.
pub(crate) fn open(url: &str, options: &StoreOptions, budget: Budget) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(RemoteReader::new(Remote::new(url, options)?, budget)?))
}

/// Reads a remote file from front to back. Requests begin when the memory is told that they count against, or at the
/// first read; they end when it is dropped.
struct RemoteReader {
    parts: Receiver<Part>,
    slots: Arc<Semaphore>,
    part: (Vec<u8>, Reserved),
    position: usize,
    at_end: bool,
    failed: Option<(io::ErrorKind, String)>,
    task: AbortHandle,
    budget: Budget,
}

impl RemoteReader {
    /// Begins to fetch `remote`.
    ///
    /// # Errors
    /// When the runtime cannot be started.
    fn new(remote: Remote, budget: Budget) -> io::Result<Self> {
        let (sender, parts) = channel();
        let slots = Arc::new(Semaphore::new(PARTS_MAX));
        let fetch = Fetch { remote, sender, slots: Arc::clone(&slots), budget: budget.clone() };
        let task = runtime()?.spawn(fetch.run()).abort_handle();
        let part = (Vec::new(), Reserved::default());
        Ok(Self { parts, slots, part, position: 0, at_end: false, failed: None, task, budget })
    }
}

impl Drop for RemoteReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Read for RemoteReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some((kind, message)) = &self.failed {
            return Err(io::Error::new(*kind, message.clone()));
        }
        self.budget.fix();
        while self.position == self.part.0.len() && !self.at_end {
            match self.parts.recv_timeout(PATIENCE) {
                // An empty part is the end; without one the task was lost.
                Ok(Ok(part)) => {
                    self.at_end = part.0.is_empty();
                    self.slots.add_permits(1);
                    (self.part, self.position) = (part, 0);
                }
                Ok(Err(error)) => {
                    self.failed = Some((error.kind(), error.to_string()));
                    return Err(error);
                }
                Err(RecvTimeoutError::Timeout) => return Err(io::Error::from(io::ErrorKind::WouldBlock)),
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the transfer ended without an end; this is a bug";
                    self.failed = Some((io::ErrorKind::Other, message.to_owned()));
                    return Err(io::Error::other(message));
                }
            }
        }
        let read = (&self.part.0[self.position..]).read(into)?;
        self.position += read;
        Ok(read)
    }
}

/// The side that sends requests.
struct Fetch {
    remote: Remote,
    sender: Sender<Part>,
    slots: Arc<Semaphore>,
    budget: Budget,
}

impl Fetch {
    async fn run(self) {
        self.budget.fixed().await;
        let last = match self.fetch().await {
            Ok(()) => Ok((Vec::new(), Reserved::default())),
            Err(error) => Err(error),
        };
        // Nobody reads any more: then nobody misses it.
        let _ = self.sender.send(last);
    }

    async fn fetch(&self) -> io::Result<()> {
        let range_bytes = self.budget.share(RANGE_SHARE, RANGE_BYTES_MIN, RANGE_BYTES_MAX as usize) as u64;
        let first = self.get(Some(0..range_bytes), None).await;
        match first {
            Ok(first) => self.ranges(first, range_bytes).await,
            Err(error @ (Error::NotFound { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. })) => {
                Err(explain(error))
            }
            // No ranges, or nothing that a range could have: all in one.
            Err(_) => match self.get(None, None).await {
                Ok(all) => {
                    let bytes = all.meta.size;
                    self.stream(chunks(all), Some(bytes)).await
                }
                Err(error) => self.plain(error).await,
            },
        }
    }

    async fn get(&self, range: Option<Range<u64>>, tag: Option<String>) -> object_store::Result<GetResult> {
        let options = GetOptions { range: range.map(GetRange::Bounded), if_match: tag, ..GetOptions::default() };
        self.remote.store.get_opts(&self.remote.path, options).await
    }

    /// The rest in ranges, after the first came.
    async fn ranges(&self, first: GetResult, range_bytes: u64) -> io::Result<()> {
        let (total, first_range, tag) = (first.meta.size, first.range.clone(), first.meta.e_tag.clone());
        // A weak tag cannot be asked for.
        let tag = tag.filter(|tag| !tag.starts_with("W/"));
        let slot = self.slots.acquire().await.map_err(io::Error::other)?;
        slot.forget();
        let counted = self.budget.reserve((first_range.end - first_range.start) as usize)?;
        let begin = match collect(first, &first_range).await {
            Ok(bytes) => bytes,
            Err(_) => self.range(first_range.clone(), tag.clone()).await?,
        };
        self.send(begin, counted)?;
        let starts = (first_range.end..total).step_by(range_bytes as usize);
        let tasks = starts.map(|start| {
            let (range, tag) = (start..total.min(start + range_bytes), tag.clone());
            async move {
                let slot = self.slots.acquire().await.map_err(io::Error::other)?;
                // Given back by the reader.
                slot.forget();
                let counted = self.budget.reserve((range.end - range.start) as usize)?;
                Ok::<_, io::Error>((self.range(range, tag).await?, counted))
            }
        });
        let mut parts = stream::iter(tasks).buffered(RANGES_IN_FLIGHT);
        while let Some(part) = parts.next().await {
            let (part, counted) = part?;
            self.send(part, counted)?;
        }
        Ok(())
    }

    /// Fetches a range, again and again if the connection breaks.
    async fn range(&self, range: Range<u64>, tag: Option<String>) -> io::Result<Vec<u8>> {
        let mut tries = 0;
        loop {
            let result = match self.get(Some(range.clone()), tag.clone()).await {
                Ok(result) => collect(result, &range).await,
                // These were tried again by the store.
                Err(error) => return Err(explain(error)),
            };
            tries += 1;
            match result {
                Err(_) if tries <= RETRIES_MAX => tokio::time::sleep(Duration::from_millis(100 << tries)).await,
                other => return other,
            }
        }
    }

    /// A stream whose length may be known.
    async fn stream(&self, mut chunks: BoxStream<'static, io::Result<Vec<u8>>>, bytes: Option<u64>) -> io::Result<()> {
        let mut part = Vec::new();
        let mut received = 0;
        while let Some(chunk) = patiently(chunks.next()).await? {
            let chunk = chunk?;
            received += chunk.len() as u64;
            part.extend_from_slice(&chunk);
            if part.len() >= PART_BYTES_MIN {
                self.hand_out(std::mem::take(&mut part)).await?;
            }
        }
        if let Some(bytes) = bytes.filter(|&bytes| bytes != received) {
            return Err(cut_off(received, bytes));
        }
        self.hand_out(part).await
    }

    /// A server that does not even tell the length: `object_store` knows no such thing.
    async fn plain(&self, error: Error) -> io::Result<()> {
        let Some(address) = self.remote.address.as_ref().filter(|_| error_says_no_length(&error)) else {
            return Err(explain(error));
        };
        let response = patiently(reqwest::get(address)).await?.and_then(reqwest::Response::error_for_status);
        let response = response.map_err(io::Error::other)?;
        let chunks = response.bytes_stream().map_ok(|chunk| chunk.to_vec()).map_err(io::Error::other);
        self.stream(chunks.boxed(), None).await
    }

    /// Sends a part when the reader is near.
    async fn hand_out(&self, part: Vec<u8>) -> io::Result<()> {
        let slot = self.slots.acquire().await.map_err(io::Error::other)?;
        slot.forget();
        let counted = self.budget.reserve(part.len())?;
        self.send(part, counted)
    }

    fn send(&self, part: Vec<u8>, counted: Reserved) -> io::Result<()> {
        if part.is_empty() {
            self.slots.add_permits(1);
            return Ok(());
        }
        self.sender.send(Ok((part, counted))).map_err(|_| io::Error::other("nobody reads any more"))
    }
}

fn error_says_no_length(error: &Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("Content-Length") {
            return true;
        }
        source = error.source();
    }
    false
}

fn chunks(result: GetResult) -> BoxStream<'static, io::Result<Vec<u8>>> {
    result.into_stream().map_ok(|chunk| chunk.to_vec()).map_err(explain).boxed()
}

/// The body of an answer, which must be as long as the range.
async fn collect(result: GetResult, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let wanted = range.end - range.start;
    let mut bytes = Vec::with_capacity(wanted as usize);
    let mut chunks = chunks(result);
    while let Some(chunk) = patiently(chunks.next()).await? {
        bytes.extend_from_slice(&chunk?);
    }
    if bytes.len() as u64 == wanted { Ok(bytes) } else { Err(cut_off(bytes.len() as u64, wanted)) }
}

fn cut_off(received: u64, wanted: u64) -> io::Error {
    let message = format!("the connection ended after {received} of {wanted} bytes");
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

async fn patiently<T>(future: impl Future<Output = T>) -> io::Result<T> {
    tokio::time::timeout(SILENCE_MAX, future).await.map_err(|_| {
        let message = format!("the server sent nothing for {} seconds", SILENCE_MAX.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, message)
    })
}
