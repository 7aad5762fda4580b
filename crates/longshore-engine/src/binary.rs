//! PostgreSQL's binary format of values, as its `typsend` functions write them and its `typreceive` functions read them; and
//! the binary format of COPY, which is made of such values.
//!
//! Clients and files have the same values, so both crates that write them use these: COPY here, and whoever speaks a protocol.
//! A value is read into the column that it goes to ([`columns`]) or becomes its text ([`decode`]), which means what the same
//! text means in a statement. Not here: messages, and which format a client has asked for.

mod columns;
mod decode;
mod encode;
mod reader;
mod texts;
mod writer;

pub use decode::{Malformed, binary_text};
pub use encode::Binaries;
pub(crate) use reader::{BinaryRows, BinarySource};
pub use texts::{Texts, is_null};
pub(crate) use writer::BinaryWriter;

/// Days from 1970-01-01 to 2000-01-01, from which binary values count.
const DAYS_TO_2000: i32 = 10_957;
/// The same in microseconds.
const MICROS_TO_2000: i64 = DAYS_TO_2000 as i64 * 86_400_000_000;
/// The version of JSONB's format, which stands before its text.
const JSONB_VERSION: u8 = 1;
/// `sign` of a number in NUMERIC's format.
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;
/// What a number in NUMERIC's format may have behind the point, at most.
const SCALE_MAX: u16 = 0x3FFF;

/// What the binary format of COPY begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xFF\r\n\0";
