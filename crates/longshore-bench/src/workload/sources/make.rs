//! The files: lineitem compressed in each format as its usual tool does it, and in encodings other than UTF-8.

use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use super::Made;
use crate::Failure;
use crate::text::Lineitem;

/// Bytes of text of a frame or a block, in formats that have such.
const FRAME_BYTES: u64 = 4 << 20;

/// A way to write lineitem down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One stream.
    Gzip,
    /// Many frames, as `pzstd` and `zstd --rsyncable` tools of logs write them.
    Zstd,
    Lz4,
    Bzip2,
    /// Blocks, as `xz -T` writes them.
    Xz,
    /// Nothing but ASCII, said to be Latin-1.
    Latin1,
    /// One letter in thirty beyond ASCII.
    Latin1Accents,
    Utf16,
    Utf16Accents,
}

impl Form {
    pub(super) const ALL: [Form; 9] = [
        Form::Gzip,
        Form::Zstd,
        Form::Lz4,
        Form::Bzip2,
        Form::Xz,
        Form::Latin1,
        Form::Latin1Accents,
        Form::Utf16,
        Form::Utf16Accents,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Gzip => "gzip",
            Form::Zstd => "zstd frames",
            Form::Lz4 => "lz4",
            Form::Bzip2 => "bzip2",
            Form::Xz => "xz blocks",
            Form::Latin1 => "latin-1, ASCII",
            Form::Latin1Accents => "latin-1, accents",
            Form::Utf16 => "utf-16, ASCII",
            Form::Utf16Accents => "utf-16, accents",
        }
    }

    /// Whether it takes so long that a part of the text is enough.
    pub(super) fn is_slow(self) -> bool {
        matches!(self, Form::Bzip2 | Form::Xz)
    }

    /// The encoding to be named; UTF-16 has a mark.
    pub(super) fn encoding(self) -> Option<&'static str> {
        matches!(self, Form::Latin1 | Form::Latin1Accents).then_some("latin1")
    }

    /// The file of `text` in this form, made if it is not there.
    pub(super) fn make(self, text: &Lineitem) -> Result<Made, Failure> {
        let plain = &text.path;
        let packed = |suffix: &str, pack: fn(&mut dyn Read, fs::File) -> Result<(), Failure>| {
            let path = Made::file(plain, suffix, |path| pack(&mut fs::File::open(plain)?, fs::File::create(path)?))?;
            Ok(Made::of(path, text))
        };
        match self {
            Form::Gzip => packed("csv.gz", gzip),
            Form::Zstd => packed("csv.zst", zstd),
            Form::Lz4 => packed("csv.lz4", lz4),
            Form::Bzip2 => packed("csv.bz2", bzip2),
            Form::Xz => packed("csv.xz", xz),
            Form::Latin1 => Ok(Made::of(plain.clone(), text)),
            Form::Utf16 => packed("utf-16.csv", |text, file| encode(text, file, false, true)),
            Form::Latin1Accents | Form::Utf16Accents => {
                let wide = self == Form::Utf16Accents;
                let suffix = if wide { "accents-utf-16.csv" } else { "accents-latin-1.csv" };
                let encoded: fn(&mut dyn Read, fs::File) -> Result<(), Failure> = if wide {
                    |text, file| encode(text, file, true, true)
                } else {
                    |text, file| encode(text, file, true, false)
                };
                let mut made = packed(suffix, encoded)?;
                let accents = count(plain)?;
                made.text_bytes += accents;
                // Only comments have small letters; a letter with an accent has two bytes.
                made.facts = made.facts.plus(crate::facts::COLUMNS - 1, accents);
                Ok(made)
            }
        }
    }
}

fn gzip(text: &mut dyn Read, file: fs::File) -> Result<(), Failure> {
    let mut encoder = flate2::write::GzEncoder::new(BufWriter::new(file), flate2::Compression::default());
    std::io::copy(text, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(())
}

fn zstd(text: &mut dyn Read, file: fs::File) -> Result<(), Failure> {
    let mut file = BufWriter::new(file);
    let mut frame = Vec::new();
    while text.take(FRAME_BYTES).read_to_end(&mut frame)? > 0 {
        file.write_all(&zstd::bulk::compress(&frame, zstd::DEFAULT_COMPRESSION_LEVEL)?)?;
        frame.clear();
    }
    file.flush()?;
    Ok(())
}

fn lz4(text: &mut dyn Read, file: fs::File) -> Result<(), Failure> {
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max4MB).content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, BufWriter::new(file));
    std::io::copy(text, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(())
}

fn bzip2(text: &mut dyn Read, file: fs::File) -> Result<(), Failure> {
    let mut encoder = bzip2::write::BzEncoder::new(BufWriter::new(file), bzip2::Compression::best());
    std::io::copy(text, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(())
}

fn xz(text: &mut dyn Read, file: fs::File) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let stream =
        liblzma::stream::MtStreamBuilder::new().threads(threads).preset(1).block_size(FRAME_BYTES).encoder()?;
    let mut encoder = liblzma::write::XzEncoder::new_stream(BufWriter::new(file), stream);
    std::io::copy(text, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(())
}

/// The letter that gets an accent, and what it becomes.
const PLAIN: u8 = b'e';
const ACCENTED: u8 = 0xe9;

/// Writes ASCII in Latin-1, or in UTF-16 with a mark.
fn encode(text: &mut dyn Read, file: fs::File, accents: bool, wide: bool) -> Result<(), Failure> {
    let mut file = BufWriter::new(file);
    if wide {
        file.write_all(b"\xff\xfe")?;
    }
    let mut part = Vec::new();
    while text.take(FRAME_BYTES).read_to_end(&mut part)? > 0 {
        let letters = part.iter().map(|&byte| if accents && byte == PLAIN { ACCENTED } else { byte });
        let encoded: Vec<u8> = if wide { letters.flat_map(|byte| [byte, 0]).collect() } else { letters.collect() };
        file.write_all(&encoded)?;
        part.clear();
    }
    file.flush()?;
    Ok(())
}

/// How many letters of the text get an accent.
fn count(path: &Path) -> Result<u64, Failure> {
    let (mut file, mut part, mut found) = (fs::File::open(path)?, Vec::new(), 0);
    while (&mut file).take(FRAME_BYTES).read_to_end(&mut part)? > 0 {
        found += memchr::memchr_iter(PLAIN, &part).count() as u64;
        part.clear();
    }
    Ok(found)
}
