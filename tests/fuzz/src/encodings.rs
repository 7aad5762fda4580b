//! Any bytes, in any encoding, from a stream that gives out few or many at a time, for readers with little or much
//! room: the text is that of the library in one go, and bytes that are not valid are an error or U+FFFD.

use std::io::{self, Cursor, Read};

use crate::Choices;
use encoding_rs::Encoding as Library;
use longshore_source::{Compression, Encoding, EncodingErrors, OpenOptions, open_reader};

/// A name of every encoding that decodes in a way of its own, and some whose tables are alike.
const NAMES: [&str; 20] = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "windows-1251",
    "windows-1253",
    "windows-1255",
    "windows-874",
    "iso-8859-2",
    "iso-8859-6",
    "iso-8859-8",
    "macintosh",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "euc-kr",
    "gbk",
    "gb18030",
    "big5",
];

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let name = choices.pick(&NAMES);
    let (chunk, room) = (1 + choices.below(300), 1 + choices.below(300));
    let repeats = if choices.byte() & 1 == 0 { 1 } else { 1 + choices.below(4000) };
    let unit = choices.rest();
    // Long enough for more than one buffer, of what the fuzzer found in few bytes.
    let bytes = unit.repeat(repeats.min((1 << 18) / unit.len().max(1)).max(1));
    let (right, is_bad) = in_one_go(name, &bytes);

    let replaced = read(&bytes, name, EncodingErrors::Replace, chunk, room);
    if let Err(error) = replaced.1 {
        // What cannot be in the encoding, which the first bytes tell. Which texts must not be taken for such, the tests of
        // the crate say.
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let problem = error.to_string();
        assert!(["ENCODING", "UTF-32", "byte order mark"].iter().any(|word| problem.contains(word)), "{problem}");
        assert!(replaced.0.is_empty() && read(&bytes, name, EncodingErrors::Stop, chunk, room).1.is_err());
        return;
    }
    assert!(replaced.0 == right, "{name}, {chunk} at a time, room for {room}");

    let (found, result) = read(&bytes, name, EncodingErrors::Stop, chunk, room);
    let is_utf_8 = name == "utf-8" && Library::for_bom(&bytes).is_none_or(|(marked, _)| marked == encoding_rs::UTF_8);
    if is_utf_8 || bytes.starts_with(b"\xef\xbb\xbf") {
        // The decoders check it, column by column.
        assert!(result.is_ok() && found == bytes);
        return;
    }
    assert_eq!(result.is_err(), is_bad, "{name}, {chunk} at a time, room for {room}");
    assert!(right.starts_with(&found) && (is_bad || right == found), "{name}, {chunk} at a time, room for {room}");
}

/// The text by the library, and whether bytes were replaced.
fn in_one_go(name: &str, bytes: &[u8]) -> (Vec<u8>, bool) {
    let marked = Library::for_bom(bytes).map(|(marked, _)| marked);
    let named = Library::for_label(name.as_bytes()).expect("these are labels");
    let (text, is_bad) = marked.unwrap_or(named).decode_with_bom_removal(bytes);
    (text.into_owned().into_bytes(), is_bad)
}

/// What comes out, and how it ended.
fn read(bytes: &[u8], name: &str, errors: EncodingErrors, chunk: usize, room: usize) -> (Vec<u8>, io::Result<()>) {
    let options = OpenOptions {
        compression: Compression::None,
        encoding: Encoding::named(name).expect("these are names"),
        encoding_errors: errors,
        ..OpenOptions::default()
    };
    let input = Chunked { bytes: Cursor::new(bytes.to_vec()), chunk };
    let source = open_reader("fuzz", Box::new(input), None, &options).expect("a thread");
    let (mut reader, mut text, mut buffer) = (source.into_reader(), Vec::new(), vec![0; room]);
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (text, Ok(())),
            Ok(read) => text.extend_from_slice(&buffer[..read]),
            Err(error) => return (text, Err(error)),
        }
    }
}

/// Gives out at most `chunk` bytes at a time.
struct Chunked {
    bytes: Cursor<Vec<u8>>,
    chunk: usize,
}

impl Read for Chunked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.chunk);
        self.bytes.read(&mut into[..count])
    }
}
