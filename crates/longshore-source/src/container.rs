//! Compressed files: which format it is, by content; then decompression in the order of the file.
//!
//! Not here: threads and memory (`parallel_reader`), what the text is (`encoding`).

use std::io::{self, Read};
use std::sync::Arc;

use crate::budget::Budget;
use crate::byte_counter::ByteCounter;
use crate::fault::Stop;
use crate::feed::Feed;
use crate::parallel_reader::ParallelReader;

mod bzip2;
mod deflate;
mod gzip;
mod lz4;
mod xz;
mod zip;
mod zstd;

/// Bytes at the beginning of a file by which its format is known.
pub(crate) const HEAD_BYTES: usize = 512;

/// A format of compressed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Container {
    /// gzip, BGZF among it.
    Gzip,
    /// Zstandard.
    Zstd,
    /// LZ4 frames.
    Lz4,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// A zip archive with one file in it.
    Zip,
}

impl Container {
    /// All of them.
    pub const ALL: [Container; 6] =
        [Container::Gzip, Container::Zstd, Container::Lz4, Container::Bzip2, Container::Xz, Container::Zip];

    /// Its name in options and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Container::Gzip => "gzip",
            Container::Zstd => "zstd",
            Container::Lz4 => "lz4",
            Container::Bzip2 => "bzip2",
            Container::Xz => "xz",
            Container::Zip => "zip",
        }
    }

    /// The format of a file that begins with `head`.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        let is = |container: Self| match container {
            Container::Gzip => head.starts_with(gzip::SIGNATURE),
            Container::Zstd => head.starts_with(zstd::SIGNATURE) || is_skippable_frame(head),
            Container::Lz4 => head.starts_with(lz4::SIGNATURE) || head.starts_with(&lz4::LEGACY.to_le_bytes()),
            Container::Bzip2 => bzip2::begins(head),
            Container::Xz => head.starts_with(xz::SIGNATURE),
            Container::Zip => head.starts_with(zip::SIGNATURE) || head.starts_with(zip::SIGNATURE_EMPTY),
        };
        Self::ALL.into_iter().find(|&container| is(container))
    }

    /// Decompresses `input`, with up to `threads` threads beside the one that cuts it. `named` says that the user
    /// named the format.
    pub(crate) fn decompress(
        self,
        input: Box<dyn Read + Send>,
        counter: Arc<ByteCounter>,
        budget: &Budget,
        threads: usize,
        named: bool,
    ) -> io::Result<ParallelReader> {
        ParallelReader::start(threads, budget, move |output| {
            let mut feed = Feed::new(input, output, counter);
            match self {
                Container::Gzip => gzip::cut(&mut feed, output, named),
                Container::Zstd => zstd::cut(&mut feed, output),
                Container::Lz4 => lz4::cut(&mut feed, output),
                Container::Bzip2 => bzip2::cut(&mut feed, output),
                Container::Xz => xz::cut(&mut feed, output),
                Container::Zip => zip::cut(&mut feed, output),
            }
        })
    }
}

/// Zstandard and LZ4 share these; files that begin so are from `pzstd`.
fn is_skippable_frame(head: &[u8]) -> bool {
    matches!(head, [first, 0x2a, 0x4d, 0x18, ..] if first & 0xf0 == 0x50)
}

/// What a file is that begins with `head`, if it is no text and nothing that is read here.
pub(crate) fn foreign(head: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 14] = [
        (b"PAR1", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow IPC file"),
        (b"Obj\x01", "an Avro file"),
        (b"ORC\x00", "an ORC file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"LZIP\x01", "an lzip file"),
        (b"\x1f\x9d", "a file of compress (.Z)"),
        (b"\xff\x06\x00\x00sNaPpY", "a framed Snappy file"),
        (b"\x89LZO\0\r\n\x1a\n", "an lzop file"),
        (b"%PDF-", "a PDF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    ];
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive");
    }
    SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)).map(|&(_, name)| name)
}

/// The container that a whole file of these few bytes must have been when it was longer, if they cannot be text.
pub(crate) fn stump(whole: &[u8]) -> Option<Container> {
    let is_cut = |signature: &[u8], least: usize| {
        whole.len() >= least && whole.len() < signature.len() && signature.starts_with(whole)
    };
    let is = |container: Container| match container {
        Container::Gzip => is_cut(gzip::SIGNATURE, 1),
        Container::Zstd => is_cut(zstd::SIGNATURE, 2),
        Container::Lz4 => is_cut(lz4::SIGNATURE, 2),
        Container::Xz => is_cut(xz::SIGNATURE, 1),
        Container::Zip => is_cut(zip::SIGNATURE, 3),
        Container::Bzip2 => bzip2::is_stump(whole),
    };
    Container::ALL.into_iter().find(|&container| is(container))
}

/// The first of the sixteen signatures of frames that hold no content, which lz4 and zstd share.
const SKIPPABLE: u32 = 0x184d_2a50;

/// Moves over one skippable frame of lz4 or zstd, if `feed` stands before one.
fn skip_frame(format: &'static str, feed: &mut Feed) -> Result<bool, Stop> {
    let Some(&signature) = feed.need(4)?.first_chunk::<4>() else { return Ok(false) };
    if u32::from_le_bytes(signature) & !0xf != SKIPPABLE {
        return Ok(false);
    }
    feed.consume(4);
    skip_counted(format, feed)?;
    Ok(true)
}

/// Moves over what a length of 32 bits, at the front of `feed`, counts.
fn skip_counted(format: &'static str, feed: &mut Feed) -> Result<(), Stop> {
    let offset = feed.offset();
    let cut_short = || crate::fault::truncated(format, offset, "a skippable frame");
    let &length = feed.need(4)?.first_chunk::<4>().ok_or_else(cut_short)?;
    feed.consume(4);
    let mut left = u32::from_le_bytes(length) as usize;
    while left > 0 {
        let found = feed.need(1)?.len().min(left);
        if found == 0 {
            return Err(cut_short());
        }
        feed.consume(found);
        left -= found;
    }
    Ok(())
}
