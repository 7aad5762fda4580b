//! Zstandard (RFC 8878): frames one after the other.
//!
//! Where a frame ends is found without decompressing, by walking over the headers of its blocks; whole frames are
//! decompressed in parallel. A frame that is larger than a unit is decompressed by the cutter as it is read.

use zstd::zstd_safe::{self, DCtx, InBuffer, OutBuffer};

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Output, Sink, UNIT_BYTES_MIN};

use super::skip_frame;

pub(super) const SIGNATURE: &[u8] = b"\x28\xb5\x2f\xfd";
const FORMAT: &str = "zstd";
const HEADER_BYTES_MAX: usize = 18;
/// Frames that say that they are no larger are decompressed in one piece, which saves a copy.
const WHOLE_BYTES_MAX: u64 = 4 << 20;

/// The largest window that the decompressor takes.
const WINDOW_BYTES_MAX: u64 = 128 << 20;

/// What a frame's first bytes say.
struct Frame {
    header_bytes: usize,
    content_bytes: Option<u64>,
    /// How far back it refers, which the decompressor keeps.
    window_bytes: u64,
    has_checksum: bool,
}

/// Cuts a file into frames.
pub(super) fn cut(feed: &mut Feed, output: &Output) -> Result<(), Stop> {
    let mut serial: Option<Sink> = None;
    let mut batch = Batch::default();
    while !feed.is_at_end()? {
        if skip_frame(FORMAT, feed)? {
            continue;
        }
        let frame = frame(feed)?;
        let size = if output.is_parallel() { frame_bytes(feed, &frame, output.unit_bytes_max())? } else { None };
        if let Some(bytes) = size {
            if let Some(sink) = serial.take() {
                sink.finish();
            }
            batch.add(feed, bytes, &frame);
            if batch.bytes.len() >= UNIT_BYTES_MIN || batch.content_bytes >= WHOLE_BYTES_MAX {
                batch.submit(output)?;
            }
        } else {
            batch.submit(output)?;
            decompress(feed, &frame, serial.get_or_insert_with(|| output.sink()))?;
        }
    }
    batch.submit(output)
}

/// Frames that make up a unit.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    offset: u64,
    content_bytes: u64,
    frames: Vec<(usize, Option<u64>)>,
}

impl Batch {
    fn add(&mut self, feed: &mut Feed, bytes: usize, frame: &Frame) {
        if self.frames.is_empty() {
            self.offset = feed.offset();
        }
        self.bytes.append(&mut feed.take(bytes));
        self.content_bytes += frame.content_bytes.unwrap_or(WHOLE_BYTES_MAX / 4);
        self.frames.push((bytes, frame.content_bytes));
    }

    fn submit(&mut self, output: &Output) -> Result<(), Stop> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let Self { bytes, offset, frames, .. } = std::mem::take(self);
        output.submit(bytes.len(), move |sink| {
            let mut context = DCtx::create();
            let mut feed = Feed::of(bytes, offset);
            for (bytes, content_bytes) in frames {
                match content_bytes {
                    Some(content_bytes) if content_bytes <= WHOLE_BYTES_MAX => {
                        whole(&mut context, &mut feed, bytes, content_bytes as usize, sink)?;
                    }
                    _ => {
                        let frame = frame(&mut feed)?;
                        decompress(&mut feed, &frame, sink)?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// Decompresses a frame whose size and content size are known.
fn whole(
    context: &mut DCtx<'_>,
    feed: &mut Feed,
    bytes: usize,
    content_bytes: usize,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let offset = feed.offset();
    // Room for one byte more, so that a frame without content has a block as well.
    let room = &mut sink.free_for(content_bytes + 1)?[..content_bytes];
    let input = &feed.need(bytes)?[..bytes];
    let written = context.decompress(room, input).map_err(|code| failed(offset, code))?;
    sink.advance(written);
    feed.consume(bytes);
    Ok(())
}

/// Decompresses the frame at the front of `feed` as it is read.
fn decompress(feed: &mut Feed, frame: &Frame, sink: &mut Sink) -> Result<(), Stop> {
    let _counted = sink.reserve(frame.window_bytes as usize)?;
    let mut context = DCtx::create();
    loop {
        let offset = feed.offset();
        let window = feed.need(1)?;
        let at_end = window.is_empty();
        let mut input = InBuffer::around(window);
        let mut room = OutBuffer::around(sink.free()?);
        let left = context.decompress_stream(&mut room, &mut input).map_err(|code| failed(offset, code))?;
        let (read, written) = (input.pos(), room.pos());
        sink.advance(written);
        feed.consume(read);
        if left == 0 {
            return Ok(());
        }
        if at_end && written == 0 {
            return Err(truncated(FORMAT, offset, "a frame"));
        }
    }
}

fn failed(offset: u64, code: usize) -> Stop {
    let name = zstd_safe::get_error_name(code);
    let remedy = if name.contains("too much memory") {
        "; it was compressed with a window over 128 MiB: compress it again without --long or --ultra"
    } else {
        ""
    };
    damaged(FORMAT, offset, format!("the frame at or before this byte is damaged or unsupported ({name}){remedy}"))
}

/// Reads the header of the frame at the front of `feed`, which is not consumed.
fn frame(feed: &mut Feed) -> Result<Frame, Stop> {
    let offset = feed.offset();
    let window = feed.need(HEADER_BYTES_MAX)?;
    let signature = &window[..window.len().min(SIGNATURE.len())];
    if signature != &SIGNATURE[..signature.len()] {
        let problem = if offset == 0 {
            "the file does not begin as zstd does (28 b5 2f fd)"
        } else {
            "what follows the last frame is not a frame"
        };
        return Err(damaged(FORMAT, offset, problem));
    }
    let cut_short = || truncated(FORMAT, offset, "a frame's header");
    let &descriptor = window.get(4).ok_or_else(cut_short)?;
    let is_single_segment = descriptor & 0x20 != 0;
    let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size_bytes = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        power => 1 << power,
    };
    let dictionary_at = 5 + usize::from(!is_single_segment);
    let size_at = dictionary_at + dictionary_bytes;
    let header_bytes = size_at + size_bytes;
    if window.len() < header_bytes {
        return Err(cut_short());
    }
    if descriptor & 8 != 0 {
        return Err(damaged(FORMAT, offset, "the frame's header has a reserved bit set"));
    }
    let dictionary = little_endian(&window[dictionary_at..size_at]);
    if dictionary != 0 {
        let problem = format!("the frame needs dictionary {dictionary}, and dictionaries are not supported");
        return Err(damaged(FORMAT, offset, problem));
    }
    let content_bytes = (size_bytes > 0).then(|| {
        let size = little_endian(&window[size_at..header_bytes]);
        if size_bytes == 2 { size + 256 } else { size }
    });
    let window_bytes = match content_bytes {
        Some(bytes) if is_single_segment => bytes,
        _ => {
            let (exponent, mantissa) = (window[5] >> 3, u64::from(window[5] & 7));
            (1 << (10 + exponent)) / 8 * (8 + mantissa)
        }
    };
    // Larger ones are refused.
    let window_bytes = window_bytes.min(WINDOW_BYTES_MAX);
    Ok(Frame { header_bytes, content_bytes, window_bytes, has_checksum: descriptor & 4 != 0 })
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Bytes of the frame at the front of `feed`, found by its blocks' headers; `None` if it is larger than a unit, or
/// ends too early, which the decompressor will say.
fn frame_bytes(feed: &mut Feed, frame: &Frame, bytes_max: usize) -> Result<Option<usize>, Stop> {
    let mut bytes = frame.header_bytes;
    loop {
        let window = feed.need(bytes + 3)?;
        let Some(&[low, middle, high]) = window.get(bytes..bytes + 3) else { return Ok(None) };
        let block = little_endian(&[low, middle, high]);
        let is_last = block & 1 != 0;
        let is_repeated_byte = block >> 1 & 3 == 1;
        bytes += 3 + if is_repeated_byte { 1 } else { (block >> 3) as usize };
        if is_last {
            break;
        }
        if bytes > bytes_max {
            return Ok(None);
        }
    }
    bytes += if frame.has_checksum { 4 } else { 0 };
    let found = feed.need(bytes)?.len();
    Ok((found >= bytes && bytes <= bytes_max).then_some(bytes))
}
