//! What the tests share: text, readers with whims, and containers of every kind.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "tests end where anything fails")]

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::write::{DeflateEncoder, GzEncoder};
use longshore_source::{Container, OpenOptions, open_reader};
use longshore_testing::Random;

pub(crate) mod pool;
pub(crate) mod server;

/// Rows of text that compress about as well as real ones.
pub(crate) fn text(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 64);
    let mut random = Random::new(bytes as u64 + 1);
    while text.len() < bytes {
        let (a, b) = (random.next(), random.next());
        writeln!(text, "{},{},\"name {}\",{}.{:02}", text.len(), a % 1000, b % 77, a % 9999, b % 100).unwrap();
    }
    text.truncate(bytes);
    text
}

/// Gives the same bytes for ever, a little at a time, and tells when it is dropped.
pub(crate) struct Endless {
    bytes: Vec<u8>,
    position: usize,
    dropped: Arc<AtomicBool>,
}

impl Endless {
    pub(crate) fn new(bytes: Vec<u8>, dropped: &Arc<AtomicBool>) -> Self {
        Self { bytes, position: 0, dropped: Arc::clone(dropped) }
    }
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.bytes.len() - self.position).min(100_000);
        into[..count].copy_from_slice(&self.bytes[self.position..][..count]);
        self.position = (self.position + count) % self.bytes.len();
        Ok(count)
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

/// Gives out at most `chunk` bytes at a time.
pub(crate) struct Chunked {
    pub(crate) bytes: io::Cursor<Vec<u8>>,
    pub(crate) chunk: usize,
}

impl Read for Chunked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.chunk);
        self.bytes.read(&mut into[..count])
    }
}

/// Opens and reads `bytes`; what was read before an error comes back with it.
pub(crate) fn read(bytes: &[u8], options: &OpenOptions) -> (Vec<u8>, io::Result<()>) {
    read_chunked(bytes, usize::MAX, options)
}

/// As [`read`], from a stream that gives out few bytes at a time.
pub(crate) fn read_chunked(bytes: &[u8], chunk: usize, options: &OpenOptions) -> (Vec<u8>, io::Result<()>) {
    let input = Chunked { bytes: io::Cursor::new(bytes.to_vec()), chunk };
    let mut reader = open_reader("test", Box::new(input), None, options).unwrap().into_reader();
    let mut text = Vec::new();
    let result = reader.read_to_end(&mut text).map(drop);
    if result.is_err() {
        assert!(reader.read(&mut [0; 8]).is_err(), "an error is not followed by an end");
    }
    (text, result)
}

/// A file of every kind that each format allows, of `text`.
pub(crate) fn files(text: &[u8]) -> Vec<(String, Container, Vec<u8>)> {
    let mut files = Vec::new();
    let mut add = |name: &str, container, bytes| files.push((name.to_owned(), container, bytes));
    add("gzip", Container::Gzip, gzip(text));
    add("gzip, members", Container::Gzip, pieces(text, 4).flat_map(gzip).collect());
    add("gzip, zeros behind", Container::Gzip, [gzip(text), vec![0; 600]].concat());
    for field in [Sized::Bgzf, Sized::Pgzip, Sized::Mgzip] {
        let mut bytes: Vec<u8> =
            text.chunks((text.len() / 3).clamp(1, 40_000)).flat_map(|piece| sized_member(piece, field)).collect();
        if text.is_empty() || field == Sized::Bgzf {
            bytes.extend(sized_member(b"", field));
        }
        add(&format!("gzip, {field:?}"), Container::Gzip, bytes);
    }
    add("zstd", Container::Zstd, zstd_frame(text, true));
    add("zstd, size unknown", Container::Zstd, zstd_frame(text, false));
    let frames = pieces(text, 5).enumerate().flat_map(|(index, piece)| {
        let skippable = if index == 2 { b"\x53\x2a\x4d\x18\x03\0\0\0abc".to_vec() } else { Vec::new() };
        [skippable, zstd_frame(piece, index % 2 == 0)].concat()
    });
    add("zstd, frames", Container::Zstd, frames.collect());
    for (name, linked, block) in [
        ("lz4", false, lz4_flex::frame::BlockSize::Max64KB),
        ("lz4, linked", true, lz4_flex::frame::BlockSize::Max64KB),
        ("lz4, large blocks", false, lz4_flex::frame::BlockSize::Max4MB),
    ] {
        add(name, Container::Lz4, lz4(text, linked, block));
    }
    let block = lz4_flex::frame::BlockSize::Max256KB;
    add("lz4, frames", Container::Lz4, pieces(text, 3).flat_map(|piece| lz4(piece, false, block)).collect());
    add("bzip2", Container::Bzip2, bzip2(text, 1));
    add("bzip2, streams", Container::Bzip2, pieces(text, 3).flat_map(|piece| bzip2(piece, 9)).collect());
    add("xz", Container::Xz, xz(text, None));
    add("xz, blocks", Container::Xz, xz(text, Some(200_000)));
    let streams = pieces(text, 3).flat_map(|piece| [xz(piece, None), vec![0; 8]].concat());
    add("xz, streams", Container::Xz, streams.collect());
    add("zip", Container::Zip, zip(&[("a.csv", text)], false));
    add("zip, descriptor", Container::Zip, zip(&[("dir/", b""), ("dir/a.csv", text)], true));
    files
}

/// `text` in about `count` pieces, at least one.
fn pieces(text: &[u8], count: usize) -> impl Iterator<Item = &[u8]> {
    let size = text.len().div_ceil(count).max(1);
    let empty = text.is_empty().then_some(text);
    text.chunks(size).chain(empty)
}

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sized {
    Bgzf,
    Pgzip,
    Mgzip,
}

/// A gzip member that tells its size.
pub(crate) fn sized_member(text: &[u8], field: Sized) -> Vec<u8> {
    let data = deflate(text);
    let mut extra = match field {
        Sized::Bgzf => b"BC\x02\0".to_vec(),
        Sized::Pgzip => b"IG\x04\0".to_vec(),
        Sized::Mgzip => b"MZ\x04\0".to_vec(),
    };
    let extra_bytes = if field == Sized::Bgzf { 6 } else { 8 };
    let member_bytes = 12 + extra_bytes + data.len() + 8;
    match field {
        Sized::Bgzf => extra.extend((member_bytes as u16 - 1).to_le_bytes()),
        Sized::Pgzip => extra.extend((member_bytes as u32).to_le_bytes()),
        Sized::Mgzip => extra.extend((data.len() as u32).to_le_bytes()),
    }
    let mut member = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff".to_vec();
    member.extend((extra.len() as u16).to_le_bytes());
    member.extend(extra);
    member.extend(data);
    let mut crc = flate2::Crc::new();
    crc.update(text);
    member.extend(crc.sum().to_le_bytes());
    member.extend(crc.amount().to_le_bytes());
    assert_eq!(member.len(), member_bytes);
    member
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd_frame(text: &[u8], sized: bool) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.include_contentsize(sized).unwrap();
    if sized {
        encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
    }
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn lz4(text: &[u8], linked: bool, block: lz4_flex::frame::BlockSize) -> Vec<u8> {
    let mode = if linked { lz4_flex::frame::BlockMode::Linked } else { lz4_flex::frame::BlockMode::Independent };
    let info = lz4_flex::frame::FrameInfo::new()
        .block_mode(mode)
        .block_size(block)
        .block_checksums(linked)
        .content_checksum(true)
        .content_size(Some(text.len() as u64));
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bzip2(text: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(text: &[u8], block_bytes: Option<u64>) -> Vec<u8> {
    let stream = match block_bytes {
        None => liblzma::stream::Stream::new_easy_encoder(0, liblzma::stream::Check::Crc64),
        Some(bytes) => liblzma::stream::MtStreamBuilder::new()
            .threads(2)
            .preset(0)
            .block_size(bytes)
            .check(liblzma::stream::Check::Crc32)
            .encoder(),
    };
    let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream.unwrap());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A zip archive; with `descriptor` the sizes and checksums stand behind the files, as when a stream was packed.
pub(crate) fn zip(files: &[(&str, &[u8])], descriptor: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in files {
        let data = deflate(text);
        let mut crc = flate2::Crc::new();
        crc.update(text);
        let is_folder = name.ends_with('/');
        let described = descriptor && !is_folder;
        let (flags, method) = (if described { 8_u16 } else { 0 }, if is_folder { 0_u16 } else { 8 });
        let data = if is_folder { Vec::new() } else { data };
        let sizes = [crc.sum(), data.len() as u32, text.len() as u32];
        let mut header = vec![20, 0];
        header.extend(flags.to_le_bytes());
        header.extend(method.to_le_bytes());
        header.extend([0; 4]);
        for size in sizes {
            header.extend(if described { 0 } else { size }.to_le_bytes());
        }
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0, 0]);
        let offset = archive.len() as u32;
        archive.extend(b"PK\x03\x04");
        archive.extend(&header);
        archive.extend(name.as_bytes());
        archive.extend(&data);
        if described {
            archive.extend(b"PK\x07\x08");
            archive.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
        }
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&header);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let offset = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([files.len() as u8, 0, files.len() as u8, 0]);
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(offset.to_le_bytes());
    archive.extend([0, 0]);
    archive
}
