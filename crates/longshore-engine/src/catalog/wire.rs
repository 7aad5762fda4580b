//! Numbers and texts as bytes, one behind the other: how the catalog says in the log what it has. `docs/format.md` describes
//! them.
//!
//! What is read was written by this crate and was found sound by its checksum. It is checked all the same: bytes that are
//! none of these are an error, never a panic.

use crate::{Error, ErrorKind};

/// Writes bytes behind others.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn flag(&mut self, flag: bool) {
        self.byte(flag.into());
    }

    /// Seven bits a byte, the lowest first; all bytes but the last have the highest bit.
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    pub(crate) fn signed(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Writer, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(crate) fn list<T>(&mut self, list: &[T], put: impl FnMut(&mut Writer, &T)) {
        let mut put = put;
        self.number(list.len() as u64);
        for item in list {
            put(self, item);
        }
    }
}

/// Reads what [`Writer`] has written.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Error> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(damaged(&format!("{other} is neither true nor false"))),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged("a number is too long"))
    }

    /// A number that counts things in memory.
    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        usize::try_from(self.number()?).map_err(|_| damaged("a number is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Error> {
        let bytes = self.take(8)?;
        bytes.try_into().map(i64::from_le_bytes).map_err(|_| damaged("it ends too early"))
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        let length = self.count()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| damaged("a text is not UTF-8"))
    }

    pub(crate) fn optional<T>(&mut self, take: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<Option<T>, Error> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    pub(crate) fn list<T>(&mut self, take: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let (count, mut take) = (self.count()?, take);
        // Every item has a byte at least.
        if count > self.0.len() {
            return Err(damaged("a list is longer than what there is"));
        }
        (0..count).map(|_| take(self)).collect()
    }
}

/// Bytes that do not say what they should.
pub(crate) fn damaged(problem: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("what the log says of the catalog cannot be read: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        writer.list(&numbers, |writer, number| writer.number(*number));
        writer.signed(i64::MIN);
        writer.text("\"ä\" 'b'\n");
        writer.optional(Some("x"), Writer::text);
        writer.optional(None, Writer::text);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.list(Reader::number).unwrap(), numbers);
        assert_eq!(reader.signed().unwrap(), i64::MIN);
        assert_eq!(reader.text().unwrap(), "\"ä\" 'b'\n");
        assert_eq!(reader.optional(Reader::text).unwrap().as_deref(), Some("x"));
        assert_eq!(reader.optional(Reader::text).unwrap(), None);
        assert!(reader.is_at_end());
        for end in 0..bytes.len() {
            let mut reader = Reader::new(&bytes[..end]);
            let read = reader.list(Reader::number).and_then(|_| reader.signed()).and_then(|_| reader.text());
            let read = read.and_then(|_| reader.optional(Reader::text)).and_then(|_| reader.optional(Reader::text));
            assert!(read.is_err(), "{end}");
        }
    }
}
