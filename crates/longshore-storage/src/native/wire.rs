//! Little-endian fields of the header and the directory, written and read with every bound checked.
//!
//! Hand-written because the directory is the one part of a file that is parsed before anything is trusted: a
//! reader here never looks past its end and never allocates more than the bytes it has been given.

use std::fmt;

/// Bytes that do not say what the format asks for; the text says which part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    /// An error whose reason is `reason`.
    pub(crate) fn new(reason: impl Into<String>) -> Malformed {
        Malformed(reason.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sets the bits behind those of some rows: those of rows that do not exist are set, whatever they were.
pub(crate) fn set_bits_beyond(bits: &mut [u8], rows: usize) {
    if !rows.is_multiple_of(8) {
        bits[rows / 8] |= 0xFF << (rows % 8);
    }
}

/// Appends fields to a byte vector.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Everything written so far.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends one byte.
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends four bytes.
    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends eight bytes.
    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends sixteen bytes.
    pub(crate) fn i128(&mut self, value: i128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a length of four bytes and then `bytes`.
    ///
    /// # Panics
    ///
    /// If `bytes` has 4 GiB or more: names and bounds, which alone are written so, never have.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).expect("a directory field is below 4 GiB"));
        self.bytes.extend_from_slice(bytes);
    }
}

/// Takes fields off the front of a slice.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Bytes not yet taken.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((head, tail)) = self.rest.split_at_checked(count) else {
            return Err(Malformed::new(format!("it ends where {count} more bytes are expected")));
        };
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("take returned N bytes"))
    }

    /// One byte.
    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Four bytes.
    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Sixteen bytes.
    pub(crate) fn i128(&mut self) -> Result<i128, Malformed> {
        self.array().map(i128::from_le_bytes)
    }

    /// A length of four bytes and that many bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u32()?;
        self.take(len as usize)
    }

    /// A vector for `count` things to come, each of at least `least_bytes` bytes, unless there cannot be as many.
    pub(crate) fn vec<T>(&self, count: usize, least_bytes: usize, what: &str) -> Result<Vec<T>, Malformed> {
        if count > self.remaining() / least_bytes {
            return Err(Malformed::new(format!("it claims {count} {what} but has {} bytes left", self.remaining())));
        }
        Ok(Vec::with_capacity(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.u8(7);
        writer.u32(u32::MAX);
        writer.u64(1 << 40);
        writer.i128(i128::MIN);
        writer.bytes("größe".as_bytes());
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8(), Ok(7));
        assert_eq!(reader.u32(), Ok(u32::MAX));
        assert_eq!(reader.u64(), Ok(1 << 40));
        assert_eq!(reader.i128(), Ok(i128::MIN));
        assert_eq!(reader.bytes(), Ok("größe".as_bytes()));
        assert_eq!(reader.remaining(), 0);
        assert!(reader.u8().is_err());
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        let mut writer = Writer::default();
        writer.u32(1000);
        let bytes = writer.into_bytes();
        assert!(Reader::new(&bytes).bytes().is_err());
        assert!(Reader::new(&bytes).vec::<u8>(1000, 1, "columns").is_err());
    }
}
