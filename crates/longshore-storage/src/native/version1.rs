//! Blocks as version 1 of the format had them, which is read and not written any more: values packed for files alone.
//!
//! The sections of a block are, behind the validity bits, by its encoding
//! - `Null`: none, every row is NULL
//! - `Integers`: the planes of the residuals
//! - `Text`: the planes of the lengths, the short values, and in any number of pieces the long values
//! - `Dictionary`: the planes of the codes, then of its entries what `Text` has of all rows

pub(super) mod column;
mod integer;
mod plane;
mod text;

use crate::types::Physical;
use crate::view::INLINE_BYTES_MAX;

use super::section::Extent;
use super::wire::{Malformed, Reader};
use integer::IntegerCode;
use plane::{is_width, plane_bytes};
use text::DICTIONARY_ENTRIES_MAX;

/// How the values of a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Every row is NULL.
    Null,
    /// Whole numbers, booleans as 0 and 1, floats by their bits.
    Integers(IntegerCode),
    /// One text per row.
    Text {
        /// Code of the lengths.
        lengths: IntegerCode,
    },
    /// One code per row into a list of texts.
    Dictionary {
        /// Number of texts.
        entries: u32,
        /// Bits per code.
        code_width: u8,
        /// Code of the lengths.
        lengths: IntegerCode,
    },
}

/// Lengths are stored in at most this many bits.
const LENGTH_WIDTH_MAX: u8 = 32;

/// Codes are stored in at most this many bits.
const CODE_WIDTH_MAX: u8 = 16;

impl Encoding {
    /// Whether blocks with this encoding have long values.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Encoding::Text { .. } | Encoding::Dictionary { .. })
    }

    /// Reads an encoding that a column of type `physical` may have.
    pub(super) fn read(reader: &mut Reader<'_>, physical: Physical) -> Result<Encoding, Malformed> {
        let tag = reader.u8()?;
        Ok(match (tag, physical) {
            (0, _) => Encoding::Null,
            (1, Physical::View) => return Err(Malformed::new("numbers in a column of text")),
            (1, _) => Encoding::Integers(IntegerCode::read(reader, 8 * physical.width() as u8)?),
            (2, Physical::View) => Encoding::Text { lengths: IntegerCode::read(reader, LENGTH_WIDTH_MAX)? },
            (3, Physical::View) => Encoding::Dictionary {
                entries: reader.u32()?,
                code_width: reader.u8()?,
                lengths: IntegerCode::read(reader, LENGTH_WIDTH_MAX)?,
            },
            _ => return Err(Malformed::new(format!("{tag} is not an encoding of {physical:?}"))),
        })
    }

    /// Checks what can be checked without the block's bytes.
    pub(super) fn verify(self) -> Result<(), Malformed> {
        if let Encoding::Dictionary { entries, code_width, .. } = self
            && (entries == 0
                || entries as usize > DICTIONARY_ENTRIES_MAX
                || code_width > CODE_WIDTH_MAX
                || !is_width(code_width))
        {
            return Err(Malformed::new(format!("a dictionary of {entries} entries, {code_width} bits per code")));
        }
        Ok(())
    }

    /// What the sections between the validity bits and the pieces must have.
    pub(super) fn extents(self, rows: u64) -> Vec<Extent> {
        let planes = |width: u8, count: u64| plane_bytes(width, count).map(Extent::Exactly);
        let texts = |lengths: IntegerCode, count: u64| {
            planes(lengths.width, count).chain([Extent::AtMost(count * INLINE_BYTES_MAX as u64)])
        };
        match self {
            Encoding::Null => Vec::new(),
            Encoding::Integers(code) => planes(code.width, rows).collect(),
            Encoding::Text { lengths } => texts(lengths, rows).collect(),
            Encoding::Dictionary { entries, code_width, lengths } => {
                planes(code_width, rows).chain(texts(lengths, u64::from(entries))).collect()
            }
        }
    }
}
