//! The slow twin of the reader of logs: all files in memory, one rule of `docs/format.md` after the other.
//!
//! It shares no code with the reader. The fuzz target `log` uses it as well.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The files of a log's folder.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// A record: where it begins and ends, its kind and its content.
pub(crate) type FoundRecord = (u64, u64, u8, Vec<u8>);

/// Reads a log from a position on: the records before the end or the first fault, and where the end is unless there is a
/// fault.
pub(crate) fn read(files: &Files, identity: u64, from: u64) -> (Vec<FoundRecord>, Option<u64>) {
    let segments: BTreeMap<u64, &Vec<u8>> =
        files.iter().filter_map(|(name, bytes)| Some((first_of(name)?, bytes))).collect();
    let mut records = Vec::new();
    let end = read_segments(&segments, identity, from, &mut records);
    (records, end)
}

fn read_segments(
    segments: &BTreeMap<u64, &Vec<u8>>,
    identity: u64,
    from: u64,
    records: &mut Vec<FoundRecord>,
) -> Option<u64> {
    let mut first = *segments.range(..=from).next_back()?.0;
    let mut at = first;
    loop {
        let segment = segments[&first];
        if segment.get(..40)? != header(identity, first) {
            return None;
        }
        let next = segments.range(first + 1..).next().map(|(next, _)| *next);
        if next == Some(at) {
            first = at;
            continue;
        }
        if next.is_some_and(|next| next < at) {
            return None;
        }
        let whole = |at: u64, from: u64| frame(&segment[40..], at - first, identity.wrapping_add(at), at, from);
        if let Some((bytes, found)) = whole(at, from) {
            records.extend(found.into_iter().filter(|record| record.0 >= from));
            at += bytes;
            continue;
        }
        let is_damaged =
            next.is_some() || (at + 8..first + segment.len() as u64).step_by(8).any(|at| whole(at, 0).is_some());
        return (!is_damaged && at >= from).then_some(at);
    }
}

/// The bytes of the frame at a position and its records, if it is whole; of one that ends before `from` only the header
/// counts.
fn frame(frames: &[u8], offset: u64, seed: u64, at: u64, from: u64) -> Option<(u64, Vec<FoundRecord>)> {
    let frame = frames.get(usize::try_from(offset).ok()?..)?;
    let length = u64::from(u32::from_le_bytes(frame.get(..4)?.try_into().ok()?));
    let checksum = u64::from_le_bytes(frame.get(4..12)?.try_into().ok()?);
    let check = u32::from_le_bytes(frame.get(12..16)?.try_into().ok()?);
    if length == 0 || check != xxh3_64_with_seed(&frame[..12], seed) as u32 {
        return None;
    }
    let bytes = 16 + length.div_ceil(8) * 8;
    if at + bytes <= from {
        return Some((bytes, Vec::new()));
    }
    frame.get(..bytes as usize)?;
    let payload = &frame[16..16 + length as usize];
    if xxh3_64_with_seed(payload, seed) != checksum {
        return None;
    }
    let mut records = Vec::new();
    let mut begin = 0;
    while begin < payload.len() {
        let kind = payload[begin];
        let digits = payload[begin + 1..].iter().position(|byte| *byte < 128)? + 1;
        let spelling = &payload[begin + 1..begin + 1 + digits];
        let length = spelling
            .iter()
            .rev()
            .try_fold(0_u64, |length, byte| length.checked_mul(128).map(|length| length + u64::from(byte & 127)))?;
        if digits > 5 || (digits > 1 && spelling[digits - 1] == 0) || length > 1 << 30 {
            return None;
        }
        let content = begin + 1 + digits;
        let end = content + length as usize;
        let content = payload.get(content..end)?.to_vec();
        records.push((at + 16 + begin as u64, at + 16 + end as u64, kind, content));
        begin = end;
    }
    Some((bytes, records))
}

/// The header of the segment that begins at a position.
fn header(identity: u64, first: u64) -> [u8; 40] {
    let mut header = Vec::from(b"\x8CLSLOG\r\n");
    header.extend(1_u64.to_le_bytes());
    header.extend(identity.to_le_bytes());
    header.extend(first.to_le_bytes());
    header.extend(xxh3_64(&header).to_le_bytes());
    header.try_into().expect("forty bytes")
}

fn first_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let first = u64::from_str_radix(digits, 16).ok()?;
    (format!("{first:016x}") == digits && first % 8 == 0 && first <= 1 << 62).then_some(first)
}
