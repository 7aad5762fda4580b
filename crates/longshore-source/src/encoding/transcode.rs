//! A reader that turns text of any encoding into UTF-8, from front to back.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult};

use super::{Encoding, EncodingErrors};

/// Encoded bytes that are read at a time.
const RAW_BYTES: usize = 64 << 10;
/// Encoded bytes of the past that are kept for messages.
const PAST_BYTES: usize = 8;
/// The decoder makes no progress with less room than this; it is the longest that one step may write, with a reserve.
const ROOM_BYTES_MIN: usize = 64;

/// Text in some encoding as UTF-8, without a byte order mark.
pub(crate) struct Transcoder<R> {
    input: R,
    encoding: Encoding,
    errors: EncodingErrors,
    decoder: Decoder,
    /// A little of the past, and the bytes that were read last, up to `end`.
    raw: Vec<u8>,
    /// Where in `raw` the decoder stands.
    position: usize,
    end: usize,
    /// Offset of the decoder in the input.
    offset: u64,
    /// Line feeds that were handed out.
    lines: u64,
    /// For readers that bring too little room: text for them, and how much of it they took.
    aside: Vec<u8>,
    aside_taken: usize,
    at_end: bool,
    is_done: bool,
    failed: Option<String>,
}

impl<R: Read> Transcoder<R> {
    pub(crate) fn new(input: R, encoding: Encoding, errors: EncodingErrors) -> Self {
        Self {
            input,
            encoding,
            errors,
            decoder: encoding.0.new_decoder_with_bom_removal(),
            raw: vec![0; PAST_BYTES + RAW_BYTES],
            position: 0,
            end: 0,
            offset: 0,
            lines: 0,
            aside: Vec::new(),
            aside_taken: 0,
            at_end: false,
            is_done: false,
            failed: None,
        }
    }

    /// Decodes into `room`, which has at least [`ROOM_BYTES_MIN`] bytes; 0 at the end.
    fn decode(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written == 0 && !self.is_done {
            if self.position == self.end && !self.at_end {
                self.refill()?;
            }
            let source = &self.raw[self.position..self.end];
            let (result, read, new) = match self.errors {
                EncodingErrors::Stop => self.decoder.decode_to_utf8_without_replacement(source, room, self.at_end),
                EncodingErrors::Replace => {
                    let (result, read, new, _) = self.decoder.decode_to_utf8(source, room, self.at_end);
                    let result = match result {
                        encoding_rs::CoderResult::InputEmpty => DecoderResult::InputEmpty,
                        encoding_rs::CoderResult::OutputFull => DecoderResult::OutputFull,
                    };
                    (result, read, new)
                }
            };
            self.position += read;
            self.offset += read as u64;
            written = new;
            match result {
                DecoderResult::Malformed(length, behind) => {
                    self.lines += count_lines(&room[..written]);
                    self.failed = Some(self.complain(length.into(), behind.into()));
                    // What is right before the place is handed out first.
                    self.is_done = true;
                    return Ok(written);
                }
                DecoderResult::InputEmpty if self.at_end => self.is_done = true,
                DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
            }
        }
        self.lines += count_lines(&room[..written]);
        Ok(written)
    }

    fn refill(&mut self) -> io::Result<()> {
        let past = self.end.min(PAST_BYTES);
        self.raw.copy_within(self.end - past..self.end, 0);
        (self.position, self.end) = (past, past);
        match self.input.read(&mut self.raw[past..past + RAW_BYTES]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
            Ok(read) => {
                self.end += read;
                self.at_end = read == 0;
                Ok(())
            }
        }
    }

    /// Says where `length` malformed bytes are that end `behind` bytes before the decoder's place.
    fn complain(&self, length: usize, behind: usize) -> String {
        let bytes = self.position.checked_sub(behind + length).map(|start| &self.raw[start..start + length]);
        let byte = self.offset.saturating_sub((behind + length) as u64);
        format!("line {}, {}", self.lines + 1, invalid(byte, bytes.unwrap_or_default(), self.encoding.name()))
    }
}

/// What to say of the bytes `shown`, which stand at `byte` and are not valid in the encoding called `name`.
pub(super) fn invalid(byte: u64, shown: &[u8], name: &str) -> String {
    let shown: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "byte {byte}: the bytes {} are not valid {name}; set ENCODING to what the file is in, or ENCODING_ERRORS \
         'replace' to put U+FFFD there",
        shown.join(" "),
    )
}

pub(super) fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.aside_taken == self.aside.len() {
            if let (true, Some(problem)) = (self.is_done, &self.failed) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem.clone()));
            }
            if into.len() >= ROOM_BYTES_MIN {
                let written = self.decode(into)?;
                return if written == 0 && self.failed.is_some() { self.read(into) } else { Ok(written) };
            }
            let mut aside = std::mem::take(&mut self.aside);
            aside.resize(ROOM_BYTES_MIN, 0);
            let written = self.decode(&mut aside);
            aside.truncate(written.as_ref().copied().unwrap_or(0));
            self.aside = aside;
            self.aside_taken = 0;
            if written? == 0 {
                return if self.failed.is_some() { self.read(into) } else { Ok(0) };
            }
        }
        let rest = &self.aside[self.aside_taken..];
        let bytes = rest.len().min(into.len());
        into[..bytes].copy_from_slice(&rest[..bytes]);
        self.aside_taken += bytes;
        Ok(bytes)
    }
}
