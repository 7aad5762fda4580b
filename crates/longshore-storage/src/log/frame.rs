//! Frames, and the records in them. `docs/format.md` describes every byte.
//!
//! A frame holds the records of one write. It is the unit that a crash tears: its checksum covers all records, so they are
//! there together or not at all. The checksum is seeded by the frame's position and the database, so that bytes of an
//! earlier use of the file, or of another log, are never taken for a frame.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::lsn::Lsn;

/// The most bytes of a record.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// Length, checksum, and the check of these two.
pub(super) const HEADER_BYTES: usize = 16;

/// Frames begin at multiples of it. It makes the search for a frame behind damage eight times as fast.
pub(super) const ALIGNMENT: usize = 8;

/// Kind and length of a record take no more.
pub(super) const RECORD_OVERHEAD_MAX: usize = 6;

const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT));

/// What checksums of the frame at a position begin with.
pub(super) fn seed(identity: u64, start: Lsn) -> u64 {
    identity.wrapping_add(start.get())
}

/// The bytes of a frame, given those of its records.
pub(super) fn bytes_of(payload_bytes: usize) -> usize {
    HEADER_BYTES + payload_bytes.next_multiple_of(ALIGNMENT)
}

/// Begins a frame: room for its header.
pub(super) fn begin(frame: &mut Vec<u8>) {
    frame.clear();
    frame.resize(HEADER_BYTES, 0);
}

/// Appends a record, given in parts, to a frame.
pub(super) fn push(frame: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    frame.push(kind);
    let mut length: usize = parts.iter().map(|part| part.len()).sum();
    while length >= 0x80 {
        frame.push(length as u8 | 0x80);
        length >>= 7;
    }
    frame.push(length as u8);
    for part in parts {
        frame.extend_from_slice(part);
    }
}

/// Ends a frame of which the records are there: fills it up and writes its header.
pub(super) fn seal(frame: &mut Vec<u8>, seed: u64) {
    let payload = &frame[HEADER_BYTES..];
    let length = u32::try_from(payload.len()).expect("a buffer and one record are below 4 GiB").to_le_bytes();
    let checksum = xxh3_64_with_seed(payload, seed).to_le_bytes();
    frame[..4].copy_from_slice(&length);
    frame[4..12].copy_from_slice(&checksum);
    let check = check(&frame[..12], seed);
    frame[12..HEADER_BYTES].copy_from_slice(&check);
    frame.resize(frame.len().next_multiple_of(ALIGNMENT), 0);
}

fn check(header: &[u8], seed: u64) -> [u8; 4] {
    (xxh3_64_with_seed(header, seed) as u32).to_le_bytes()
}

/// The header of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) payload_bytes: usize,
    checksum: u64,
}

impl Header {
    /// Reads the header of a frame, unless these bytes are none.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES], seed: u64) -> Option<Header> {
        let [l0, l1, l2, l3, c0, c1, c2, c3, c4, c5, c6, c7, check @ ..] = *bytes;
        let payload_bytes = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        // No frame is empty, so a search among zeros need not compute anything.
        let is_header = payload_bytes > 0 && check == self::check(&bytes[..12], seed);
        is_header.then(|| Header { payload_bytes, checksum: u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7]) })
    }

    /// What is wrong with the bytes of the records, if anything.
    pub(super) fn check(self, payload: &[u8], seed: u64) -> Result<(), &'static str> {
        if xxh3_64_with_seed(payload, seed) != self.checksum {
            return Err("the checksum of a frame does not fit its records");
        }
        let mut rest = payload;
        while !rest.is_empty() {
            let Some((_, _, behind)) = pop(rest) else {
                return Err("the records of a frame do not fill it, though its checksum is right");
            };
            rest = behind;
        }
        Ok(())
    }
}

/// Takes a record off the front: its kind, its bytes, and what is behind it.
fn pop(payload: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, mut rest) = payload.split_first()?;
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let (&byte, behind) = rest.split_first()?;
        rest = behind;
        length |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            // Lengths have one spelling, the shortest.
            if byte == 0 && shift > 7 || length > RECORD_BYTES_MAX {
                return None;
            }
            let (bytes, behind) = rest.split_at_checked(length)?;
            return Some((kind, bytes, behind));
        }
        if shift > 28 {
            return None;
        }
    }
}

/// Some records of the log that were written together.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub(super) start: Lsn,
    /// Records that begin before it are left out.
    pub(super) from: Lsn,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Where it begins.
    #[must_use]
    pub fn start(&self) -> Lsn {
        self.start
    }

    /// Where the next one begins.
    #[must_use]
    pub fn end(&self) -> Lsn {
        self.start.behind(bytes_of(self.payload.len()))
    }

    /// Its records, in order, of those that were asked for.
    pub fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let (mut rest, mut start, from) = (self.payload, self.start.behind(HEADER_BYTES), self.from);
        let records = std::iter::from_fn(move || {
            let (kind, bytes, behind) = pop(rest)?;
            let end = start.behind(rest.len() - behind.len());
            let record = Record { start, end, kind, bytes };
            (rest, start) = (behind, end);
            Some(record)
        });
        records.filter(move |record| record.start >= from)
    }
}

/// A record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it begins.
    pub start: Lsn,
    /// Where it ends: what [`super::Log::append`] returned.
    pub end: Lsn,
    /// What it is, as its writer said.
    pub kind: u8,
    /// Its content.
    pub bytes: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(records: &[(u8, &[u8])], seed: u64) -> Vec<u8> {
        let mut frame = Vec::new();
        begin(&mut frame);
        for (kind, bytes) in records {
            push(&mut frame, *kind, &[bytes]);
        }
        seal(&mut frame, seed);
        frame
    }

    fn header(frame: &[u8], seed: u64) -> Option<Header> {
        Header::parse(frame[..HEADER_BYTES].try_into().expect("a header"), seed)
    }

    #[test]
    fn records_come_back() {
        let long = vec![7; 100_000];
        let records: [(u8, &[u8]); 5] = [(1, b"abc"), (0, b""), (255, &long), (9, &long[..127]), (9, &long[..128])];
        let bytes = frame(&records, 42);
        let header = header(&bytes, 42).expect("a header");
        let payload = &bytes[HEADER_BYTES..][..header.payload_bytes];
        assert_eq!(header.check(payload, 42), Ok(()));
        let found = Frame { start: Lsn::new(64), from: Lsn::new(0), payload };
        assert_eq!(found.end(), Lsn::new(64 + bytes.len() as u64));
        let read: Vec<_> = found.records().map(|record| (record.kind, record.bytes)).collect();
        assert_eq!(read, records);
        let second = found.records().nth(1).expect("five records");
        assert_eq!((second.start, second.end), (Lsn::new(64 + 16 + 5), Lsn::new(64 + 16 + 7)));
        let later = Frame { from: second.start, ..found };
        assert_eq!(later.records().count(), 4);
    }

    #[test]
    fn a_record_of_100_bytes_takes_120() {
        assert_eq!(frame(&[(1, &[0; 100])], 0).len(), 120);
    }

    #[test]
    fn a_changed_byte_is_seen() {
        let bytes = frame(&[(1, b"some bytes"), (2, b"more")], 7);
        let length = header(&bytes, 7).expect("a header").payload_bytes;
        for at in 0..HEADER_BYTES + length {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let header = header(&changed, 7);
            assert!(header.is_none_or(|header| header.check(&changed[HEADER_BYTES..][..length], 7).is_err()), "{at}");
        }
        assert!(header(&bytes, 8).is_none(), "at another position, or in another database");
    }

    #[test]
    fn lengths_have_one_spelling() {
        assert!(pop(&[1, 0x80, 0]).is_none());
        assert!(pop(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]).is_none());
        assert!(pop(&[1, 2, 3]).is_none());
        assert!(pop(&[1]).is_none());
        assert_eq!(pop(&[1, 1, 3, 4]), Some((1, &[3][..], &[4][..])));
    }
}
