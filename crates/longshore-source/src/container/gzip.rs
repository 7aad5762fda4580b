//! gzip (RFC 1952): members one after the other, each a header, deflate data, a CRC-32 and a length.
//!
//! Members whose header tells their size (BGZF of bgzip, `pgzip`, `mgzip`) are decompressed in parallel; others by
//! the cutter, since only decompressing tells where a member ends. The parsing goes on beside it.
//! After the last member zero bytes may follow (tapes are padded so); anything else is an error.

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::{Output, Sink, UNIT_BYTES_MIN};

use super::deflate::inflate;

pub(super) const SIGNATURE: &[u8] = b"\x1f\x8b";
const FORMAT: &str = "gzip";
const FIXED_BYTES: usize = 10;
const TRAILER_BYTES: usize = 8;
/// A header longer than this is taken for damage: names and comments end with a zero byte that may be missing.
const HEADER_BYTES_MAX: usize = 1 << 20;

const FLAG_HEADER_CRC: u8 = 2;
const FLAG_EXTRA: u8 = 4;
const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;
const FLAGS_RESERVED: u8 = 0xe0;

/// The header of a member.
struct Header {
    bytes: usize,
    /// Bytes of the whole member, if the header tells.
    member_bytes: Option<usize>,
    /// Whether bgzip wrote it: then the file ends with an empty member.
    is_bgzf: bool,
}

/// Cuts a file into members. A BGZF file that was `named` as gzip by the user may lack its last, empty member.
pub(super) fn cut(feed: &mut Feed, output: &Output, named: bool) -> Result<(), Stop> {
    let mut serial: Option<Sink> = None;
    let mut batch = Vec::new();
    let mut batch_offset = 0;
    // The member before: whether it is of BGZF, and whether it is the empty one that ends such a file.
    let mut last_bgzf = (false, false);
    while let Some(header) = next_header(feed)? {
        let sized = header.member_bytes.filter(|&bytes| output.is_parallel() && bytes <= output.unit_bytes_max());
        last_bgzf = (header.is_bgzf, header.is_bgzf && header.member_bytes == Some(BGZF_END_BYTES));
        let Some(member_bytes) = sized else {
            submit(output, &mut batch, batch_offset)?;
            member(feed, serial.get_or_insert_with(|| output.sink()))?;
            continue;
        };
        if let Some(sink) = serial.take() {
            sink.finish();
        }
        if batch.is_empty() {
            batch_offset = feed.offset();
        }
        if feed.need(member_bytes)?.len() < member_bytes {
            // Found again by the worker, after the members before it were handed out.
            batch.append(&mut feed.take_rest());
            submit(output, &mut batch, batch_offset)?;
            return Ok(());
        }
        batch.append(&mut feed.take(member_bytes));
        if batch.len() >= UNIT_BYTES_MIN {
            submit(output, &mut batch, batch_offset)?;
        }
    }
    submit(output, &mut batch, batch_offset)?;
    if last_bgzf == (true, false) && !named {
        let problem = "the empty member that ends a BGZF file is missing: the file is probably cut short \
                       (set COMPRESSION 'gzip' to take it as it is)";
        return Err(damaged(FORMAT, feed.offset(), problem));
    }
    Ok(())
}

/// Bytes of the empty member that bgzip ends a file with.
const BGZF_END_BYTES: usize = 28;

fn submit(output: &Output, batch: &mut Vec<u8>, offset: u64) -> Result<(), Stop> {
    if batch.is_empty() {
        return Ok(());
    }
    let bytes = std::mem::take(batch);
    output.submit(bytes.len(), move |sink| {
        let mut feed = Feed::of(bytes, offset);
        while !feed.is_at_end()? {
            member(&mut feed, sink)?;
        }
        Ok(())
    })
}

/// Decompresses the member at the front of `feed`.
fn member(feed: &mut Feed, sink: &mut Sink) -> Result<(), Stop> {
    let begin = feed.offset();
    let header = header(feed)?;
    feed.consume(header.bytes);
    let crc = inflate(FORMAT, feed, sink)?;
    let offset = feed.offset();
    let trailer = feed.need(TRAILER_BYTES)?;
    let Some((&sum, rest)) = trailer.split_first_chunk::<4>() else {
        return Err(truncated(FORMAT, offset, "the member's checksum"));
    };
    let Some(&length) = rest.first_chunk::<4>() else {
        return Err(truncated(FORMAT, offset, "the member's length"));
    };
    let (sum, length) = (u32::from_le_bytes(sum), u32::from_le_bytes(length));
    if sum != crc.sum() {
        let problem = format!("the checksum of the member's content is {:08x}, not {sum:08x} as stored", crc.sum());
        return Err(damaged(FORMAT, offset, problem));
    }
    if length != crc.amount() {
        let problem = format!("the member's content has {} bytes (modulo 2^32), not {length} as stored", crc.amount());
        return Err(damaged(FORMAT, offset, problem));
    }
    feed.consume(TRAILER_BYTES);
    if header.member_bytes.is_some_and(|size| feed.offset() - begin != size as u64) {
        return Err(damaged(FORMAT, begin, "the member is not as long as its header says"));
    }
    Ok(())
}

/// The header of the next member, which is not consumed; `None` at the end.
fn next_header(feed: &mut Feed) -> Result<Option<Header>, Stop> {
    let offset = feed.offset();
    let window = feed.need(1)?;
    let Some(&first) = window.first() else { return Ok(None) };
    if first != 0 || offset == 0 {
        return header(feed).map(Some);
    }
    loop {
        let window = feed.need(1)?;
        let bytes = window.len();
        if bytes == 0 {
            return Ok(None);
        }
        if window.iter().any(|&byte| byte != 0) {
            return Err(damaged(FORMAT, offset, "what follows the last member is neither a member nor zero bytes"));
        }
        feed.consume(bytes);
    }
}

/// Reads the header at the front of `feed` without consuming it.
fn header(feed: &mut Feed) -> Result<Header, Stop> {
    let offset = feed.offset();
    let mut wanted = FIXED_BYTES;
    loop {
        let window = feed.need(wanted)?;
        let signature = &window[..window.len().min(SIGNATURE.len())];
        if signature != &SIGNATURE[..signature.len()] {
            let problem = if offset == 0 {
                "the file does not begin as gzip does (1f 8b)"
            } else {
                "what follows the last member is neither a member nor zero bytes"
            };
            return Err(damaged(FORMAT, offset, problem));
        }
        if let Some(found) = parse_header(window).map_err(|problem| damaged(FORMAT, offset, problem))? {
            return Ok(found);
        }
        if window.len() < wanted {
            return Err(truncated(FORMAT, offset, "a member's header"));
        }
        if wanted >= HEADER_BYTES_MAX {
            return Err(damaged(FORMAT, offset, "the member's header has no end"));
        }
        wanted *= 2;
    }
}

/// `None` while the header is longer than `window`.
fn parse_header(window: &[u8]) -> Result<Option<Header>, String> {
    let Some((fixed, mut rest)) = window.split_first_chunk::<FIXED_BYTES>() else { return Ok(None) };
    let (method, flags) = (fixed[2], fixed[3]);
    if method != 8 {
        return Err(format!("compression method {method} is unknown; gzip uses 8, deflate"));
    }
    if flags & FLAGS_RESERVED != 0 {
        return Err(format!("the member's flags {flags:02x} are unknown"));
    }
    let mut extra: &[u8] = &[];
    if flags & FLAG_EXTRA != 0 {
        let Some((length, after)) = rest.split_first_chunk::<2>() else { return Ok(None) };
        let Some((field, after)) = after.split_at_checked(u16::from_le_bytes(*length).into()) else { return Ok(None) };
        (extra, rest) = (field, after);
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let Some(end) = memchr::memchr(0, rest) else { return Ok(None) };
            rest = &rest[end + 1..];
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let Some((sum, after)) = rest.split_first_chunk::<2>() else { return Ok(None) };
        let mut crc = flate2::Crc::new();
        crc.update(&window[..window.len() - rest.len()]);
        if crc.sum() as u16 != u16::from_le_bytes(*sum) {
            return Err(String::from("the checksum of the member's header is wrong"));
        }
        rest = after;
    }
    let bytes = window.len() - rest.len();
    let (member_bytes, is_bgzf) = member_bytes(extra, bytes);
    // A size that cannot be is no reason to fail: the field may mean something else.
    let member_bytes = member_bytes.filter(|&size| size >= bytes + TRAILER_BYTES);
    Ok(Some(Header { bytes, member_bytes, is_bgzf }))
}

/// The size of the member that one of the known subfields tells, and whether it is bgzip's.
fn member_bytes(mut extra: &[u8], header_bytes: usize) -> (Option<usize>, bool) {
    while let [first, second, low, high, rest @ ..] = extra {
        let Some((field, after)) = rest.split_at_checked(u16::from_le_bytes([*low, *high]).into()) else { break };
        match ([*first, *second], field) {
            ([b'B', b'C'], &[low, high]) => return (Some(usize::from(u16::from_le_bytes([low, high])) + 1), true),
            // Python's pgzip: the whole member.
            ([b'I', b'G'], &[a, b, c, d]) => return (Some(u32::from_le_bytes([a, b, c, d]) as usize), false),
            // Python's mgzip: the deflate data.
            ([b'M', b'Z'], &[a, b, c, d]) => {
                let data = u32::from_le_bytes([a, b, c, d]) as usize;
                return (Some(header_bytes + data + TRAILER_BYTES), false);
            }
            _ => extra = after,
        }
    }
    (None, false)
}
