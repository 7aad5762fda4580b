//! bzip2: streams one after the other, each of blocks that begin at any bit.
//!
//! Blocks are found by the 48 bits that each begins with, and decompressed in parallel: each is made a stream of its
//! own by a header before it and a trailer behind it. The chance that these 48 bits occur inside a block is about one
//! in 10^13 per byte; such a file fails, and loads with one thread.

use bzip2::{Decompress, Status};

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Output, Sink};

const FORMAT: &str = "bzip2";
/// The bits that a block begins with: the digits of pi.
const BLOCK: u64 = 0x3141_5926_5359;
/// The bits that end a stream: the digits of its square root.
const END: u64 = 0x1772_4538_5090;
const MAGIC_BITS: usize = 48;
const SUM_BITS: usize = 32;
const HEADER_BYTES: usize = 4;
/// No block is larger: 900,000 bytes at most go into one, and it does not grow by much.
const BLOCK_BYTES_MAX: usize = 4 << 20;

/// What the decompressor of a block of 900,000 bytes takes (the manual of bzip2, section 2.2).
const DECOMPRESSOR_BYTES: usize = 100_000 + 4 * 900_000;

/// Bytes by which a stream is known.
const SIGNATURE_BYTES: usize = HEADER_BYTES + MAGIC_BITS / 8;

/// Whether a file that begins with `head` is of this format.
pub(super) fn begins(head: &[u8]) -> bool {
    head.len() >= SIGNATURE_BYTES && agrees(head)
}

/// Whether `whole`, an entire file, is the beginning of one of this format.
pub(super) fn is_stump(whole: &[u8]) -> bool {
    (HEADER_BYTES..SIGNATURE_BYTES).contains(&whole.len()) && agrees(whole)
}

fn agrees(head: &[u8]) -> bool {
    let magic =
        |magic: u64| head[HEADER_BYTES..].iter().zip(&magic.to_be_bytes()[2..]).all(|(left, right)| left == right);
    head.starts_with(b"BZh") && matches!(head[3], b'1'..=b'9') && (magic(BLOCK) || magic(END))
}

/// Cuts a file into blocks.
pub(super) fn cut(feed: &mut Feed, output: &Output) -> Result<(), Stop> {
    let mut is_first = true;
    while !feed.is_at_end()? {
        let offset = feed.offset();
        let header = feed.need(HEADER_BYTES)?;
        if header.len() < HEADER_BYTES && b"BZh".starts_with(&header[..header.len().min(3)]) {
            return Err(truncated(FORMAT, offset, "a stream's header"));
        }
        let level = header.get(3).copied().filter(|level| header.starts_with(b"BZh") && matches!(level, b'1'..=b'9'));
        let Some(level) = level else {
            let problem = if is_first {
                "the file does not begin as bzip2 does (BZh1 to BZh9)"
            } else {
                "what follows the last stream is not a stream"
            };
            return Err(damaged(FORMAT, offset, problem));
        };
        is_first = false;
        if output.is_parallel() {
            blocks(feed, level, output)?;
        } else {
            let mut sink = output.sink();
            decompress(feed, &mut sink, None)?;
            sink.finish();
        }
    }
    Ok(())
}

/// Hands the blocks of a stream to workers.
fn blocks(feed: &mut Feed, level: u8, output: &Output) -> Result<(), Stop> {
    feed.consume(HEADER_BYTES);
    // Bits of the window's first byte that belong to what was before.
    let mut bit = 0;
    let mut combined = 0_u32;
    loop {
        let offset = feed.offset();
        let Some(magic) = bits(feed, bit, MAGIC_BITS)? else { return Err(truncated(FORMAT, offset, "a stream")) };
        let Some(sum) = bits(feed, bit + MAGIC_BITS, SUM_BITS)? else {
            return Err(truncated(FORMAT, offset, "a checksum"));
        };
        let sum = sum as u32;
        if magic == END {
            if sum != combined {
                let problem = format!("the checksum of the stream is {combined:08x}, not {sum:08x} as stored");
                return Err(damaged(FORMAT, offset, problem));
            }
            feed.consume((bit + MAGIC_BITS + SUM_BITS).div_ceil(8));
            return Ok(());
        }
        if magic != BLOCK {
            return Err(damaged(FORMAT, offset, "neither a block nor the end of the stream begins here"));
        }
        combined = combined.rotate_left(1) ^ sum;
        let end = next_magic(feed, bit + MAGIC_BITS + SUM_BITS)?;
        let stream = as_stream(level, feed.need(end.div_ceil(8))?, bit, end, sum);
        feed.consume(end / 8);
        bit = end % 8;
        output.submit(stream.len(), move |sink| decompress(&mut Feed::of(stream, offset), sink, Some(offset)))?;
    }
}

/// `count` <= 48 bits from bit `first` of the window on; `None` if it ends before.
fn bits(feed: &mut Feed, first: usize, count: usize) -> Result<Option<u64>, Stop> {
    let window = feed.need((first + count).div_ceil(8))?;
    let Some(bytes) = window.get(first / 8..(first + count).div_ceil(8)) else { return Ok(None) };
    let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let behind = bytes.len() * 8 - first % 8 - count;
    Ok(Some(value >> behind & ((1 << count) - 1)))
}

/// The bit at which the next block or the end of the stream begins, from bit `first` on.
fn next_magic(feed: &mut Feed, first: usize) -> Result<usize, Stop> {
    let begin = feed.offset();
    let mut position = first / 8;
    let mut recent = 0_u64;
    loop {
        let window = feed.need(position + 1)?;
        if window.len() <= position {
            return Err(truncated(FORMAT, begin + window.len() as u64, "a block"));
        }
        if position > BLOCK_BYTES_MAX {
            return Err(damaged(FORMAT, begin, "a block has no end"));
        }
        for (index, &byte) in window.iter().enumerate().skip(position) {
            recent = recent << 8 | u64::from(byte);
            // Whatever the shift, the fourth to last byte of the 56 bits lies inside the magic.
            if !MIDDLE[(recent >> 24 & 0xff) as usize] {
                continue;
            }
            for behind in 0..8 {
                let candidate = recent >> behind & ((1 << MAGIC_BITS) - 1);
                let end_bit = (index + 1) * 8 - behind;
                if (candidate == BLOCK || candidate == END) && end_bit >= first + MAGIC_BITS {
                    return Ok(end_bit - MAGIC_BITS);
                }
            }
        }
        position = window.len();
    }
}

/// The bytes that the fourth to last of 56 bits may be when a magic lies among them, shifted by 0 to 7.
const MIDDLE: [bool; 256] = {
    let mut table = [false; 256];
    let mut behind = 0;
    while behind < 8 {
        table[(BLOCK << behind >> 24 & 0xff) as usize] = true;
        table[(END << behind >> 24 & 0xff) as usize] = true;
        behind += 1;
    }
    table
};

/// The bits `first..end` of `window`, a block, as a stream of their own.
fn as_stream(level: u8, window: &[u8], first: usize, end: usize, sum: u32) -> Vec<u8> {
    let shift = first % 8;
    let mut stream = Vec::with_capacity(HEADER_BYTES + (end - first) / 8 + 12);
    stream.extend_from_slice(&[b'B', b'Z', b'h', level]);
    let bytes = &window[first / 8..end.div_ceil(8)];
    let whole = (end - first) / 8;
    stream.extend(
        bytes
            .iter()
            .zip(bytes[1..].iter().chain(&[0]))
            .take(whole)
            .map(|(&left, &right)| ((u16::from(left) << 8 | u16::from(right)) << shift >> 8) as u8),
    );
    // The bits that do not fill a byte, then the trailer: the end's magic and the only block's checksum.
    let left = (end - first) % 8;
    let last = (0..left).fold(0_u128, |value, index| {
        let bit = first + whole * 8 + index;
        value << 1 | u128::from(window[bit / 8] >> (7 - bit % 8) & 1)
    });
    let trailer_bits = MAGIC_BITS + SUM_BITS;
    let tail = last << trailer_bits | u128::from(END) << SUM_BITS | u128::from(sum);
    let tail_bits = left + trailer_bits;
    let tail = tail << (128 - tail_bits);
    stream.extend_from_slice(&tail.to_be_bytes()[..tail_bits.div_ceil(8)]);
    stream
}

/// Decompresses the stream at the front of `feed`; `block` is the offset of the only block, if it was cut out.
fn decompress(feed: &mut Feed, sink: &mut Sink, block: Option<u64>) -> Result<(), Stop> {
    let _counted = sink.reserve(DECOMPRESSOR_BYTES)?;
    let mut decompress = Decompress::new(false);
    loop {
        let offset = block.unwrap_or(feed.offset());
        let input = feed.need(1)?;
        let at_end = input.is_empty();
        let (read_before, written_before) = (decompress.total_in(), decompress.total_out());
        let status = decompress
            .decompress(input, sink.free()?)
            .map_err(|error| damaged(FORMAT, offset, format!("a block is damaged ({error})")))?;
        let read = (decompress.total_in() - read_before) as usize;
        let written = (decompress.total_out() - written_before) as usize;
        sink.advance(written);
        feed.consume(read);
        if status == Status::StreamEnd {
            return Ok(());
        }
        if read == 0 && written == 0 {
            return Err(if at_end && block.is_none() {
                truncated(FORMAT, offset, "a stream")
            } else {
                damaged(FORMAT, offset, "a block is damaged")
            });
        }
    }
}
