//! LZ4 frames: blocks of a size limit that the frame states, with checksums where the writer wished them.
//!
//! Independent blocks are decompressed in parallel; blocks that refer to the one before them (`lz4 -BD`) by the cutter.
//! The checksum of the whole content is taken by the reader, which sees it in order.

use xxhash_rust::xxh32::xxh32;

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Expected, Output, Sink, UNIT_BYTES_MIN};

use super::skip_frame;

pub(super) const SIGNATURE: &[u8] = b"\x04\x22\x4d\x18";
const FORMAT: &str = "lz4";
pub(super) const LEGACY: u32 = 0x184c_2102;
const HEADER_BYTES_MAX: usize = 19;
/// How far back a block may refer.
const WINDOW_BYTES: usize = 64 << 10;
/// In a block's size: its bytes are not compressed.
const STORED: u32 = 1 << 31;

#[derive(Clone, Copy)]
struct Frame {
    block_bytes_max: usize,
    is_linked: bool,
    has_block_sums: bool,
    has_content_sum: bool,
    content_bytes: Option<u64>,
}

/// A block as it lies in the file.
struct Block {
    offset: u64,
    is_stored: bool,
    bytes: Vec<u8>,
    sum: Option<u32>,
}

/// Cuts a file into frames, and those into blocks.
pub(super) fn cut(feed: &mut Feed, output: &Output) -> Result<(), Stop> {
    while !feed.is_at_end()? {
        if skip_frame(FORMAT, feed)? {
            continue;
        }
        let frame = frame(feed)?;
        let mut sink = output.sink();
        sink.begin_content();
        if frame.is_linked || !output.is_parallel() {
            let mut before = Vec::new();
            while let Some(block) = block(feed, &frame)? {
                decompress(&block, &frame, Some(&mut before), &mut sink)?;
            }
            end(feed, &frame, &mut sink)?;
            sink.finish();
        } else {
            sink.finish();
            parallel(feed, frame, output)?;
            let mut sink = output.sink();
            end(feed, &frame, &mut sink)?;
            sink.finish();
        }
    }
    Ok(())
}

fn parallel(feed: &mut Feed, frame: Frame, output: &Output) -> Result<(), Stop> {
    let mut batch = Vec::new();
    let mut batch_bytes = 0;
    loop {
        let block = block(feed, &frame)?;
        let is_end = block.is_none();
        if let Some(block) = block {
            batch_bytes += block.bytes.len();
            batch.push(block);
        }
        if batch_bytes >= UNIT_BYTES_MIN || is_end && !batch.is_empty() {
            let blocks = std::mem::take(&mut batch);
            let bytes = std::mem::take(&mut batch_bytes);
            output
                .submit(bytes, move |sink| blocks.iter().try_for_each(|block| decompress(block, &frame, None, sink)))?;
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Decompresses a block; `before` holds the bytes before it that it may refer to, and those after it then.
fn decompress(block: &Block, frame: &Frame, before: Option<&mut Vec<u8>>, sink: &mut Sink) -> Result<(), Stop> {
    if let Some(sum) = block.sum {
        let found = xxh32(&block.bytes, 0);
        if found != sum {
            let problem = format!("the checksum of the block is {found:08x}, not {sum:08x} as stored");
            return Err(damaged(FORMAT, block.offset, problem));
        }
    }
    let room = &mut sink.free_for(frame.block_bytes_max)?[..frame.block_bytes_max];
    let written = if block.is_stored {
        room[..block.bytes.len()].copy_from_slice(&block.bytes);
        block.bytes.len()
    } else {
        let window: &[u8] = before.as_deref().map_or(&[], Vec::as_slice);
        lz4_flex::block::decompress_into_with_dict(&block.bytes, room, window)
            .map_err(|error| damaged(FORMAT, block.offset, format!("the block is damaged ({error})")))?
    };
    if let Some(before) = before.filter(|_| frame.is_linked) {
        let written = &room[..written];
        let keep = before.len().min(WINDOW_BYTES.saturating_sub(written.len()));
        before.drain(..before.len() - keep);
        before.extend_from_slice(&written[written.len().saturating_sub(WINDOW_BYTES)..]);
    }
    sink.advance(written);
    Ok(())
}

/// Takes the next block off `feed`; `None` at the mark that ends a frame's blocks.
fn block(feed: &mut Feed, frame: &Frame) -> Result<Option<Block>, Stop> {
    let offset = feed.offset();
    let cut_short = || truncated(FORMAT, offset, "a block");
    let Some(&size) = feed.need(4)?.first_chunk::<4>() else { return Err(cut_short()) };
    let size = u32::from_le_bytes(size);
    feed.consume(4);
    let bytes = (size & !STORED) as usize;
    if size == 0 {
        return Ok(None);
    }
    if bytes > frame.block_bytes_max {
        let problem = format!("a block of {bytes} bytes, where the frame allows {}", frame.block_bytes_max);
        return Err(damaged(FORMAT, offset, problem));
    }
    let sum_bytes = if frame.has_block_sums { 4 } else { 0 };
    if feed.need(bytes + sum_bytes)?.len() < bytes + sum_bytes {
        return Err(cut_short());
    }
    let content = feed.take(bytes);
    let sum = if frame.has_block_sums { Some(number(feed).ok_or_else(cut_short)?) } else { None };
    Ok(Some(Block { offset, is_stored: size & STORED != 0, bytes: content, sum }))
}

/// Takes a number off what `feed` holds already.
fn number(feed: &mut Feed) -> Option<u32> {
    let bytes = *feed.held().first_chunk::<4>()?;
    feed.consume(4);
    Some(u32::from_le_bytes(bytes))
}

/// What stands behind the blocks of a frame.
fn end(feed: &mut Feed, frame: &Frame, sink: &mut Sink) -> Result<(), Stop> {
    let offset = feed.offset();
    let mut sum = None;
    if frame.has_content_sum {
        feed.need(4)?;
        sum = Some(number(feed).ok_or_else(|| truncated(FORMAT, offset, "the checksum of a frame"))?);
    }
    sink.expect_content(Expected { sum, bytes: frame.content_bytes, format: FORMAT, offset });
    Ok(())
}

/// Takes the header of a frame off `feed`.
fn frame(feed: &mut Feed) -> Result<Frame, Stop> {
    let offset = feed.offset();
    let wrong = |problem: String| damaged(FORMAT, offset, problem);
    let window = feed.need(HEADER_BYTES_MAX)?;
    let signature = &window[..window.len().min(SIGNATURE.len())];
    if signature != &SIGNATURE[..signature.len()] {
        let magic = signature.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
        return Err(wrong(String::from(match magic {
            Some(LEGACY) => "this is LZ4's legacy format; compress it again without -l",
            _ if offset == 0 => "the file does not begin as an LZ4 frame does (04 22 4d 18)",
            _ => "what follows the last frame is not a frame",
        })));
    }
    let cut_short = || truncated(FORMAT, offset, "a frame's header");
    let &[flags, block_size] = window.get(4..6).and_then(|found| found.first_chunk::<2>()).ok_or_else(cut_short)?;
    if flags >> 6 != 1 {
        return Err(wrong(format!("version {} of the format is unknown; there is only 1", flags >> 6)));
    }
    if flags & 2 != 0 || block_size & 0x8f != 0 {
        return Err(wrong(String::from("the frame's header has a reserved bit set")));
    }
    let block_bytes_max = match block_size >> 4 {
        power @ 4..=7 => 1 << (8 + 2 * power),
        other => return Err(wrong(format!("block size {other} is unknown; there are 4 to 7"))),
    };
    let has_content_bytes = flags & 8 != 0;
    let sum_at = 6 + if has_content_bytes { 8 } else { 0 } + if flags & 1 != 0 { 4 } else { 0 };
    let &sum = window.get(sum_at).ok_or_else(cut_short)?;
    if (xxh32(&window[4..sum_at], 0) >> 8) as u8 != sum {
        return Err(wrong(String::from("the checksum of the frame's header is wrong")));
    }
    if flags & 1 != 0 {
        return Err(wrong(String::from("the frame needs a dictionary, and dictionaries are not supported")));
    }
    let content_bytes = window[6..].first_chunk::<8>().filter(|_| has_content_bytes);
    let frame = Frame {
        block_bytes_max,
        is_linked: flags & 0x20 == 0,
        has_block_sums: flags & 0x10 != 0,
        has_content_sum: flags & 4 != 0,
        content_bytes: content_bytes.map(|bytes| u64::from_le_bytes(*bytes)),
    };
    feed.consume(sum_at + 1);
    Ok(frame)
}
