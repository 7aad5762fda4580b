//! Encoded text becomes UTF-8 on other threads, beside the parsing: in parts side by side where the encoding allows it,
//! otherwise from front to back.
//!
//! Not here: the threads and their memory (`parallel_reader`), characters (`fast`, `transcode`).

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use super::fast::{Progress, ROOM_BYTES_MIN, Units};
use super::transcode::{Transcoder, count_lines, invalid};
use super::{Encoding, EncodingErrors};
use crate::budget::Budget;
use crate::fault::Stop;
use crate::feed::Feed;
use crate::parallel_reader::{Output, ParallelReader, Sink};

/// Units of text that are converted in one part.
pub(super) const PART_UNITS: usize = 512 << 10;

/// `input` as UTF-8, without a byte order mark.
pub(super) fn start(
    input: Box<dyn Read + Send>,
    encoding: Encoding,
    errors: EncodingErrors,
    threads: usize,
    budget: &Budget,
    part_units: usize,
) -> io::Result<Box<dyn Read + Send>> {
    let Some(units) = Units::of(encoding) else {
        let transcode = move |output: &Output| serial(Transcoder::new(input, encoding, errors), output);
        return Ok(Box::new(ParallelReader::start(threads, budget, transcode)?));
    };
    let text = ParallelReader::start(threads, budget, move |output| {
        let feed = Feed::new(input, output, Arc::default());
        let converter = Converter { units, name: encoding.name(), errors };
        cut(feed, output, &Arc::new(converter), part_units)
    })?;
    Ok(Box::new(Numbered { text, lines: 0, failed: None }))
}

/// Reads all of `text`, which nobody else can help with.
fn serial(mut text: impl Read, output: &Output) -> Result<(), Stop> {
    let mut sink = output.sink();
    loop {
        match text.read(sink.free()?) {
            Ok(0) => break,
            Ok(read) => sink.advance(read),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !output.is_cancelled() => {}
            Err(error) => return Err(error.into()),
        }
    }
    sink.finish();
    Ok(())
}

/// Hands out parts of whole characters.
fn cut(mut feed: Feed, output: &Output, converter: &Arc<Converter>, part_units: usize) -> Result<(), Stop> {
    let mark = converter.units.mark();
    if !mark.is_empty() && feed.need(mark.len())?.starts_with(mark) {
        feed.consume(mark.len());
    }
    let mut serial = (!output.is_parallel()).then(|| output.sink());
    // Two units at least: a pair of them may be one character.
    let part_bytes = part_units.max(2) * converter.units.bytes();
    loop {
        let window = feed.need(part_bytes)?;
        let is_last = window.len() < part_bytes;
        let window = &window[..window.len().min(part_bytes)];
        let bytes = if is_last { window.len() } else { converter.units.whole(window) };
        if bytes > 0 {
            let offset = feed.offset();
            if let Some(sink) = &mut serial {
                converter.convert(&feed.held()[..bytes], offset, sink)?;
                feed.consume(bytes);
            } else {
                let (part, converter) = (feed.take(bytes), Arc::clone(converter));
                output.submit(part.len(), move |sink| converter.convert(&part, offset, sink))?;
            }
        }
        if is_last {
            serial.into_iter().for_each(Sink::finish);
            return Ok(());
        }
    }
}

/// What is the same for all parts.
struct Converter {
    units: Units,
    name: &'static str,
    errors: EncodingErrors,
}

impl Converter {
    /// Converts a part that begins at `offset` of the text.
    fn convert(&self, part: &[u8], offset: u64, sink: &mut Sink) -> Result<(), Stop> {
        let mut position = 0;
        while position < part.len() {
            let room = sink.free_for(ROOM_BYTES_MIN)?;
            let Progress { read, mut written, malformed } = self.units.convert(&part[position..], room);
            position += read;
            let length = malformed.unwrap_or(0);
            // The conversion may end with less room than that, but never begins so.
            let replacement = room.get_mut(written..written + REPLACEMENT.len());
            match (replacement, self.errors) {
                _ if length == 0 => {}
                (_, EncodingErrors::Stop) => {
                    sink.advance(written);
                    let shown = part[position..position + length].to_vec();
                    let malformed = Malformed { byte: offset + position as u64, shown, name: self.name };
                    return Err(Stop::Failed(io::Error::new(io::ErrorKind::InvalidData, malformed)));
                }
                (Some(room), EncodingErrors::Replace) => {
                    room.copy_from_slice(REPLACEMENT.as_bytes());
                    (position, written) = (position + length, written + REPLACEMENT.len());
                }
                // Found again with new room.
                (None, EncodingErrors::Replace) => {}
            }
            sink.advance(written);
        }
        Ok(())
    }
}

const REPLACEMENT: &str = "\u{fffd}";

/// Bytes that are not valid in the encoding; which line they stand in, the reader knows.
#[derive(Debug)]
struct Malformed {
    byte: u64,
    shown: Vec<u8>,
    name: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&invalid(self.byte, &self.shown, self.name))
    }
}

impl std::error::Error for Malformed {}

/// Counts the lines that go out, so that what is wrong can be placed.
struct Numbered {
    text: ParallelReader,
    lines: u64,
    failed: Option<String>,
}

impl Read for Numbered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(problem) = &self.failed {
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem.clone()));
        }
        match self.text.read(into) {
            Ok(read) => {
                self.lines += count_lines(&into[..read]);
                Ok(read)
            }
            Err(error) if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Malformed>) => {
                self.failed = Some(format!("line {}, {error}", self.lines + 1));
                self.read(into)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests end where anything fails")]

    use super::*;

    /// What comes out, and what is said where it ends early.
    fn read(mut text: impl Read) -> (Vec<u8>, Option<String>) {
        let (mut found, mut room) = (Vec::new(), [0; 777]);
        loop {
            match text.read(&mut room) {
                Ok(0) => return (found, None),
                Ok(read) => found.extend_from_slice(&room[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    let again = text.read(&mut room).expect_err("an error is not followed by an end");
                    assert_eq!(again.to_string(), error.to_string());
                    return (found, Some(error.to_string()));
                }
            }
        }
    }

    fn inputs(name: &str) -> Vec<Vec<u8>> {
        let mut seed = 9_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let wide = |text: &str| -> Vec<u8> {
            let little = text.encode_utf16().flat_map(u16::to_le_bytes);
            if name == "utf-16be" { text.encode_utf16().flat_map(u16::to_be_bytes).collect() } else { little.collect() }
        };
        let text =
            "id,name\n1,Zoë Brøndby of the long names that go on and on without any accent at all until ü\n".repeat(9);
        let mut inputs = vec![Vec::new(), wide("\u{feff}a😀\n"), wide(&"😀é\n語".repeat(40)), wide(&text)];
        inputs.push(text.chars().map(|c| c as u32 as u8).collect());
        for length in [1, 2, 3, 5, 130, 1000] {
            inputs.push((0..length).map(|_| random(256) as u8).collect());
        }
        for round in 0..60 {
            let mut input = inputs[2 + round % 3].clone();
            for _ in 0..=random(3) {
                let at = random(input.len());
                match random(3) {
                    0 => input[at] = [0xd8, 0xdc, 0x81, 0xaa, 0, b'\n'][random(6)],
                    1 => drop(input.remove(at)),
                    _ => input.truncate(at + 1),
                }
            }
            inputs.push(input);
        }
        inputs
    }

    /// Units of a part, and threads.
    const SIZES: [(usize, usize); 6] = [(1, 1), (2, 3), (3, 2), (7, 2), (64, 1), (1 << 20, 2)];

    #[test]
    fn parts_of_any_size_are_as_the_whole() {
        for name in ["utf-16le", "utf-16be", "windows-1252", "windows-1253", "iso-8859-8", "koi8-r", "macintosh"] {
            let encoding = Encoding::named(name).unwrap();
            for (index, input) in inputs(name).into_iter().enumerate() {
                for errors in [EncodingErrors::Stop, EncodingErrors::Replace] {
                    let right = read(Transcoder::new(&input[..], encoding, errors));
                    for (part_units, threads) in [SIZES[index % SIZES.len()], (65, 2)] {
                        let all = Box::new(io::Cursor::new(input.clone()));
                        let found =
                            read(start(all, encoding, errors, threads, &Budget::default(), part_units).unwrap());
                        assert!(found == right, "{name}, parts of {part_units}, {errors:?}: {found:?}, not {right:?}");
                    }
                }
            }
        }
    }
}
