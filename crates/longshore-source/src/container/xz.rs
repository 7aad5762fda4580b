//! xz: streams one after the other, decompressed by liblzma, in parallel where the blocks' headers tell their sizes
//! (`xz -T`, `pixz`).

use std::io;

use liblzma::stream::{Action, Error, MtStreamBuilder, Status, Stream};

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Output, Sink};

pub(super) const SIGNATURE: &[u8] = b"\xfd7zXZ\0";
const FORMAT: &str = "xz";
/// Memory per thread that blocks may be decompressed in parallel with: three blocks of `xz -6`.
const THREAD_MEMORY_BYTES: u64 = 96 << 20;
/// The part of the memory that is left, one in so many, that the decompressor may take where there is a limit.
const MEMORY_SHARE: u64 = 8;
/// Memory that the largest dictionary may take.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// The kinds of checksums that are known: none, CRC-32, CRC-64, SHA-256.
const CHECKS: [u8; 4] = [0, 1, 4, 10];

/// Decompresses a file.
pub(super) fn cut(feed: &mut Feed, output: &Output) -> Result<(), Stop> {
    let mut sink = output.sink();
    let mut is_first = true;
    while is_first || next_stream(feed)? {
        is_first = false;
        stream(feed, output, &mut sink)?;
    }
    sink.finish();
    Ok(())
}

/// Moves over the padding behind a stream, zeros in fours; whether there is a further stream.
fn next_stream(feed: &mut Feed) -> Result<bool, Stop> {
    let begin = feed.offset();
    loop {
        let window = feed.need(1)?;
        let zeros = window.iter().take_while(|&&byte| byte == 0).count();
        let is_over = zeros < window.len() || zeros == 0;
        let is_stream = zeros < window.len();
        feed.consume(zeros);
        if is_over {
            if !(feed.offset() - begin).is_multiple_of(4) {
                return Err(damaged(FORMAT, begin, "the padding behind a stream is not a multiple of four bytes"));
            }
            return Ok(is_stream);
        }
    }
}

fn stream(feed: &mut Feed, output: &Output, sink: &mut Sink) -> Result<(), Stop> {
    let begin = feed.offset();
    let header = feed.need(SIGNATURE.len() + 2)?;
    if !header.starts_with(SIGNATURE) && !SIGNATURE.starts_with(header) {
        let problem = if begin == 0 {
            "the file does not begin as xz does (fd 37 7a 58 5a 00)"
        } else {
            "what follows the last stream is not a stream"
        };
        return Err(damaged(FORMAT, begin, problem));
    }
    if let Some(check) = header.get(SIGNATURE.len() + 1).filter(|check| !CHECKS.contains(check)) {
        return Err(damaged(FORMAT, begin, format!("the stream uses checksums of kind {check}, which is unknown")));
    }
    let threads = output.threads();
    let memory_bytes = output
        .budget()
        .room()
        .map(|room| THREAD_MEMORY_BYTES.saturating_mul(threads as u64).min(room as u64 / MEMORY_SHARE));
    let _counted = sink.reserve(memory_bytes.unwrap_or(0) as usize)?;
    let mut stream = decoder(threads, memory_bytes)
        .map_err(|error| Stop::Failed(io::Error::other(format!("the xz decompressor cannot start ({error})"))))?;
    loop {
        let offset = feed.offset();
        let input = feed.need(1)?;
        let at_end = input.is_empty();
        let action = if at_end { Action::Finish } else { Action::Run };
        let (read_before, written_before) = (stream.total_in(), stream.total_out());
        let status = stream.process(input, sink.free()?, action).map_err(|error| {
            let problem = match error {
                Error::MemLimit => match memory_bytes {
                    None => format!("the dictionary needs more than {} MiB", MEMORY_BYTES_MAX >> 20),
                    Some(bytes) => format!(
                        "the dictionary needs more than {} MiB, a part of what is left; raise --memory-limit",
                        bytes >> 20
                    ),
                },
                Error::Options => String::from("the stream uses a filter or an option that is not supported"),
                other => format!("the stream is damaged at or before this byte ({other})"),
            };
            damaged(FORMAT, offset, problem)
        })?;
        let read = (stream.total_in() - read_before) as usize;
        let written = (stream.total_out() - written_before) as usize;
        sink.advance(written);
        feed.consume(read);
        if status == Status::StreamEnd {
            return Ok(());
        }
        if at_end && status == Status::MemNeeded && written == 0 {
            return Err(truncated(FORMAT, offset, "a stream"));
        }
    }
}

/// A decoder; where memory is limited it takes no more than `memory_bytes`.
fn decoder(threads: usize, memory_bytes: Option<u64>) -> Result<Stream, Error> {
    let memory_bytes_max = memory_bytes.unwrap_or(MEMORY_BYTES_MAX);
    if threads == 1 {
        return Stream::new_stream_decoder(memory_bytes_max, 0);
    }
    MtStreamBuilder::new()
        .threads(threads as u32)
        .memlimit_threading(memory_bytes.unwrap_or(THREAD_MEMORY_BYTES * threads as u64))
        .memlimit_stop(memory_bytes_max)
        .decoder()
}
