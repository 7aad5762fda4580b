//! zip archives with one file in them, read from front to back.
//!
//! Folders and what macOS adds (`__MACOSX/`) are passed over. Archives with several files are refused: which of them
//! is the table, nobody has said.

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Output, Sink};

use super::deflate::inflate;

pub(super) const SIGNATURE: &[u8] = b"PK\x03\x04";
/// The end of an archive without any file.
pub(super) const SIGNATURE_EMPTY: &[u8] = b"PK\x05\x06";
const FORMAT: &str = "zip";
const DIRECTORY: &[u8] = b"PK\x01\x02";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
const HEADER_BYTES: usize = 30;
const FLAG_ENCRYPTED: u16 = 1;
const FLAG_DESCRIPTOR: u16 = 8;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// A size of 32 bits that says that the true one stands elsewhere, in 64 bits.
const SIZE_ELSEWHERE: u32 = u32::MAX;

struct Entry {
    name: String,
    flags: u16,
    method: u16,
    sum: u32,
    bytes: u32,
    header_bytes: usize,
}

/// Decompresses the only file of an archive.
pub(super) fn cut(feed: &mut Feed, output: &Output) -> Result<(), Stop> {
    let mut sink = output.sink();
    let mut found: Option<String> = None;
    loop {
        let offset = feed.offset();
        let window = feed.need(4)?;
        if window.starts_with(DIRECTORY) || window.starts_with(SIGNATURE_EMPTY) {
            break;
        }
        if !window.starts_with(SIGNATURE) {
            return Err(if window.len() < 4 {
                truncated(FORMAT, offset, "the archive")
            } else {
                damaged(FORMAT, offset, "neither a file nor the archive's directory begins here")
            });
        }
        let entry = entry(feed)?;
        if entry.name.ends_with('/') || entry.name.starts_with("__MACOSX/") {
            pass_over(feed, &entry)?;
            continue;
        }
        if let Some(first) = &found {
            let problem = format!(
                "the archive holds several files, {first:?} and {:?} among them: unpack it and load them by name",
                entry.name
            );
            return Err(damaged(FORMAT, offset, problem));
        }
        decompress(feed, &entry, &mut sink)?;
        found = Some(entry.name);
    }
    if found.is_none() {
        return Err(damaged(FORMAT, feed.offset(), "the archive holds no file"));
    }
    sink.finish();
    // The directory repeats what was read.
    while !feed.is_at_end()? {
        feed.take_rest();
    }
    Ok(())
}

/// Reads the header at the front of `feed`, which is not consumed.
fn entry(feed: &mut Feed) -> Result<Entry, Stop> {
    let offset = feed.offset();
    let cut_short = || truncated(FORMAT, offset, "a file's header");
    let window = feed.need(HEADER_BYTES)?;
    let &fixed = window.first_chunk::<HEADER_BYTES>().ok_or_else(cut_short)?;
    let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
    let long = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let (name_bytes, extra_bytes) = (usize::from(short(26)), usize::from(short(28)));
    let header_bytes = HEADER_BYTES + name_bytes + extra_bytes;
    let window = feed.need(header_bytes)?;
    let name = window.get(HEADER_BYTES..HEADER_BYTES + name_bytes).ok_or_else(cut_short)?;
    if window.len() < header_bytes {
        return Err(cut_short());
    }
    let name = String::from_utf8_lossy(name).into_owned();
    Ok(Entry { name, flags: short(6), method: short(8), sum: long(14), bytes: long(18), header_bytes })
}

fn decompress(feed: &mut Feed, entry: &Entry, sink: &mut Sink) -> Result<(), Stop> {
    let offset = feed.offset();
    let refuse = |problem: String| Err(damaged(FORMAT, offset, problem));
    let name = &entry.name;
    if entry.flags & FLAG_ENCRYPTED != 0 {
        return refuse(format!("{name:?} is encrypted; unpack it first"));
    }
    feed.consume(entry.header_bytes);
    let has_descriptor = entry.flags & FLAG_DESCRIPTOR != 0;
    let crc = match entry.method {
        DEFLATED => inflate(FORMAT, feed, sink)?,
        STORED if !has_descriptor && entry.bytes != SIZE_ELSEWHERE => copy(feed, entry.bytes as usize, sink)?,
        STORED => return refuse(format!("{name:?} is stored without its size; unpack it first")),
        other => return refuse(format!("{name:?} is compressed by method {other}; only 8 (deflate) is read")),
    };
    let mut sum = entry.sum;
    if has_descriptor {
        sum = descriptor(feed, crc.amount())?;
    }
    if sum != crc.sum() {
        let problem = format!("the checksum of {name:?} is {:08x}, not {sum:08x} as stored", crc.sum());
        return Err(damaged(FORMAT, feed.offset(), problem));
    }
    Ok(())
}

/// Takes what follows a file whose header did not know its sizes: a checksum, and sizes of 32 or 64 bits.
fn descriptor(feed: &mut Feed, content_bytes: u32) -> Result<u32, Stop> {
    let offset = feed.offset();
    if feed.need(4)?.starts_with(DESCRIPTOR) {
        feed.consume(4);
    }
    // With the signature of what follows, which tells the two widths apart.
    let window = feed.need(24)?;
    let number =
        |at: usize| window.get(at..at + 4).and_then(<[u8]>::first_chunk).map(|&bytes| u32::from_le_bytes(bytes));
    let follows = |at: usize| window.get(at..at + 2) == Some(b"PK");
    let bytes = match (number(8), number(12)) {
        (Some(content), _) if follows(12) && content == content_bytes => 12,
        (_, Some(content)) if follows(20) && content == content_bytes => 20,
        _ if window.len() < 16 => return Err(truncated(FORMAT, offset, "a file's descriptor")),
        _ => return Err(damaged(FORMAT, offset, "the descriptor of a file is damaged")),
    };
    let Some(sum) = number(0) else { return Err(truncated(FORMAT, offset, "a file's descriptor")) };
    feed.consume(bytes);
    Ok(sum)
}

fn copy(feed: &mut Feed, bytes: usize, sink: &mut Sink) -> Result<flate2::Crc, Stop> {
    let mut crc = flate2::Crc::new();
    let mut left = bytes;
    while left > 0 {
        let offset = feed.offset();
        let window = feed.need(1)?;
        let room = sink.free()?;
        let count = left.min(window.len()).min(room.len());
        if count == 0 {
            return Err(truncated(FORMAT, offset, "a file"));
        }
        room[..count].copy_from_slice(&window[..count]);
        crc.update(&room[..count]);
        sink.advance(count);
        feed.consume(count);
        left -= count;
    }
    Ok(crc)
}

fn pass_over(feed: &mut Feed, entry: &Entry) -> Result<(), Stop> {
    let offset = feed.offset();
    if entry.flags & FLAG_DESCRIPTOR != 0 && !entry.name.ends_with('/') || entry.bytes == SIZE_ELSEWHERE {
        let problem = format!("the size of {:?} is not in its header; unpack the archive", entry.name);
        return Err(damaged(FORMAT, offset, problem));
    }
    let bytes = entry.header_bytes + entry.bytes as usize;
    if feed.need(bytes)?.len() < bytes {
        return Err(truncated(FORMAT, offset, "a file"));
    }
    feed.consume(bytes);
    Ok(())
}
