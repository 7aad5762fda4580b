//! Encodings: text in any encoding of the WHATWG standard becomes UTF-8 while it is read.
//!
//! A byte order mark wins over the encoding that was named, as in browsers. Files that are UTF-8 do not come here
//! unless invalid bytes shall be replaced: the decoders check them. What cannot be in the encoding that was named is
//! refused with the remedy (`doubt`).

use std::io::{self, Read};

use crate::budget::Budget;

mod doubt;
mod fast;
mod names;
mod parallel;
mod transcode;

/// How text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8, the default.
    pub const UTF_8: Encoding = Encoding(encoding_rs::UTF_8);

    /// The encoding that goes by `name`: a label of the WHATWG standard, or a name of PostgreSQL's or Python's for one.
    /// As in that standard `latin1` means windows-1252, which files that claim to be Latin-1 are.
    ///
    /// # Errors
    /// A message that names some of the encodings.
    pub fn named(name: &str) -> Result<Self, String> {
        names::find(name).map(Encoding).ok_or_else(|| {
            format!(
                "ENCODING {name:?} is not known; there are utf8, utf-16le, utf-16be, latin1 (windows-1252), \
                 iso-8859-2 to iso-8859-16, windows-1250 to windows-1258, macintosh, koi8-r, shift_jis, euc-jp, \
                 iso-2022-jp, euc-kr, gbk, gb18030, big5 and their other names"
            )
        })
    }

    /// The name that the standard gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The encoding of text that begins with `head`, where `named` was asked for.
    ///
    /// # Errors
    /// When the text is in an encoding that must be named, or that is not supported.
    pub(crate) fn of(head: &[u8], named: Encoding) -> io::Result<Self> {
        if head.starts_with(b"\xff\xfe\0\0") || head.starts_with(b"\0\0\xfe\xff") {
            return Err(refused("the text is UTF-32, which is not supported; convert it to UTF-8 (iconv -f UTF-32)"));
        }
        let doubt = match encoding_rs::Encoding::for_bom(head) {
            Some((marked, bytes)) => match doubt::about_marked(&head[bytes..], Encoding(marked)) {
                None => return Ok(Encoding(marked)),
                doubt => doubt,
            },
            None => doubt::about_named(head, named),
        };
        match doubt {
            Some(problem) => Err(refused(&problem)),
            None => Ok(named),
        }
    }
}

/// The text of `input`, which is in `encoding`, as UTF-8 and without a byte order mark; converted ahead by `threads`
/// threads where the encoding allows more than one.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn decoded(
    input: Box<dyn Read + Send>,
    encoding: Encoding,
    errors: EncodingErrors,
    threads: usize,
    budget: &Budget,
) -> io::Result<Box<dyn Read + Send>> {
    parallel::start(input, encoding, errors, threads, budget, parallel::PART_UNITS)
}

fn refused(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// What to do about bytes that are not valid in the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncodingErrors {
    /// The load stops and names the place.
    #[default]
    Stop,
    /// U+FFFD takes their place.
    Replace,
}
