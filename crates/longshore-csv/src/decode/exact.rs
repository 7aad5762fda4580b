//! Decides what every type's text means: slow, obvious functions from the bytes of one field to its value.
//!
//! They are the specification of the language of values, the path that the fast decoders leave the unusual
//! to, and the oracle of the tests. They see a field's content, without its quotes, and know nothing of NULL.
//! Types that are not strings may be surrounded by ASCII white space, but for UUID and BYTEA, as in PostgreSQL.

mod date_time;
mod number;
mod separators;
mod string;

pub use date_time::{DATE_MAX, DATE_MIN, civil_from_days, date, days_from_civil, time, timestamp, timestamptz};
pub(crate) use date_time::{MICROSECONDS_PER_DAY, days_of_month, within_range, zone_offset};
pub(crate) use longshore_value::digits::POWERS_OF_TEN;
pub use number::{decimal64, decimal128, float32, float64, int16, int32, int64, numeric};
pub use separators::Separators;
pub use string::{boolean, bytea, character, text, uuid, varchar};

use super::{Expected, Reason, ValueType};

/// Whether a field of that text is a value of the type, were it not NULL.
pub(crate) fn is_value(text: &[u8], value_type: ValueType) -> bool {
    match value_type {
        ValueType::Boolean => boolean(text).is_ok(),
        ValueType::Int16 | ValueType::Int32 | ValueType::Int64 => int64(text).is_ok(),
        ValueType::Float32 | ValueType::Float64 => float64(text).is_ok(),
        ValueType::Decimal64 { precision, scale } | ValueType::Decimal128 { precision, scale } => {
            decimal128(text, precision, scale).is_ok()
        }
        ValueType::Date => date(text).is_ok(),
        ValueType::Time => time(text).is_ok(),
        ValueType::Timestamp => timestamp(text).is_ok(),
        ValueType::TimestampTz => timestamptz(text).is_ok(),
        ValueType::Uuid => uuid(text).is_ok(),
        ValueType::Bytea => bytea(text, &mut Vec::new()).is_ok(),
        ValueType::Numeric(limit) => numeric(text, limit, &mut |_| {}).is_ok(),
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => true,
    }
}

/// Cuts the white space that PostgreSQL's `isspace` knows off both ends.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let Some(start) = bytes.iter().position(|byte| !space(byte)) else { return &[] };
    let end = bytes.iter().rposition(|byte| !space(byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// Reads a field from its front.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of `bytes` without the white space around them; refuses to read nothing.
    pub(crate) fn trimmed(bytes: &'a [u8]) -> Result<Reader<'a>, Reason> {
        let rest = trim(bytes);
        if rest.is_empty() { Err(Reason::Empty) } else { Ok(Reader { rest }) }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Takes the next byte if `accept` does.
    pub(crate) fn take(&mut self, accept: impl Fn(u8) -> bool) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        accept(byte).then(|| {
            self.rest = rest;
            byte
        })
    }

    /// Takes the longest run of digits, perhaps empty.
    pub(crate) fn digits(&mut self) -> &'a [u8] {
        let len = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        digits
    }

    /// Takes a number of `min` to `max` digits.
    pub(crate) fn number(&mut self, min: usize, max: usize) -> Result<u32, Reason> {
        let mut number = 0;
        let mut count = 0;
        while count < max {
            let Some(digit) = self.take(|byte| byte.is_ascii_digit()) else { break };
            number = number * 10 + u32::from(digit - b'0');
            count += 1;
        }
        if count < min { Err(self.missing(Expected::Digit)) } else { Ok(number) }
    }

    /// Takes `byte` or fails.
    pub(crate) fn byte(&mut self, byte: u8) -> Result<(), Reason> {
        self.take(|next| next == byte).map(|_| ()).ok_or_else(|| self.missing(Expected::Byte(byte)))
    }

    /// Fails unless everything was read.
    pub(crate) fn end(&self) -> Result<(), Reason> {
        match self.peek() {
            None => Ok(()),
            Some(found) => Err(Reason::Unexpected { found, expected: Expected::End }),
        }
    }

    /// The reason for not finding `expected` here.
    pub(crate) fn missing(&self, expected: Expected) -> Reason {
        match self.peek() {
            None => Reason::Ends { expected },
            Some(found) => Reason::Unexpected { found, expected },
        }
    }
}
