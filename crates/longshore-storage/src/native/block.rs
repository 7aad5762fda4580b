//! What the directory says of a block: where it lies, how it is encoded, what its values are bounded by.
//!
//! Definitions
//! - A block holds the values of one column of one chunk, as sections one behind the other.
//! - Its sections, in order: validity bits, if some but not all rows are NULL; then by encoding
//!   - `Null`: none, every row is NULL
//!   - `Integers`: the planes of the residuals
//!   - `Text`: the planes of the lengths, the short values, and in any number of pieces the long values
//!   - `Dictionary`: the planes of the codes, then of its entries what `Text` has of all rows
//!
//! Invariants, checked by [`Block::verify`] before a byte of memory is allocated for the block
//! - The encoding is one for the physical type of the column, and NULLs occur only where the column allows them.
//! - Every section has the raw length that rows and encoding demand; that of values is bounded by what LZ4 can expand.
//! - The stored lengths add up to the block.

use crate::statistics::{ColumnStatistics, Value};
use crate::types::{Column, ColumnType, Physical};
use crate::view::INLINE_BYTES_MAX;

use super::integer::IntegerCode;
use super::plane::{is_width, plane_bytes};
use super::section::Section;
use super::text::{DICTIONARY_ENTRIES_MAX, PIECE_BYTES};
use super::wire::{Malformed, Reader, Writer};

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
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Encoding::Text { .. } | Encoding::Dictionary { .. })
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Encoding::Null => writer.u8(0),
            Encoding::Integers(code) => {
                writer.u8(1);
                code.write(writer);
            }
            Encoding::Text { lengths } => {
                writer.u8(2);
                lengths.write(writer);
            }
            Encoding::Dictionary { entries, code_width, lengths } => {
                writer.u8(3);
                writer.u32(*entries);
                writer.u8(*code_width);
                lengths.write(writer);
            }
        }
    }

    /// Reads an encoding that a column of type `physical` may have.
    fn read(reader: &mut Reader<'_>, physical: Physical) -> Result<Encoding, Malformed> {
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
}

/// What a section's raw length must be.
#[derive(Clone, Copy)]
enum Extent {
    Exactly(u64),
    AtMost(u64),
}

/// The directory's entry of one block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    /// Where in the file it begins.
    pub(super) offset: u64,
    /// Its length in the file.
    pub(super) bytes: u64,
    /// xxh3 of these bytes.
    pub(super) checksum: u64,
    /// How the values are stored.
    pub(super) encoding: Encoding,
    /// Its sections, in order, but for the pieces of long values.
    pub(super) sections: Vec<Section>,
    /// The pieces of long values, behind the other sections.
    pub(super) pieces: Vec<Section>,
    /// Null count and bounds.
    pub(super) statistics: ColumnStatistics,
}

impl Block {
    /// The fewest bytes that `write` appends.
    pub(super) const BYTES_MIN: usize = 3 * 8 + 1 + 2 * 4 + 4 + 1;

    /// Appends the entry to the directory.
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.u64(self.offset);
        writer.u64(self.bytes);
        writer.u64(self.checksum);
        self.encoding.write(writer);
        writer.u32(self.sections.len() as u32);
        writer.u32(self.pieces.len() as u32);
        for section in self.sections.iter().chain(&self.pieces) {
            writer.u64(section.raw_bytes);
            writer.u64(section.stored_bytes);
        }
        writer.u32(self.statistics.null_count as u32);
        writer.u8(u8::from(self.statistics.min.is_some())
            | u8::from(self.statistics.max.is_some()) << 1
            | u8::from(self.statistics.exact) << 2);
        for bound in [&self.statistics.min, &self.statistics.max].into_iter().flatten() {
            write_bound(writer, bound);
        }
    }

    /// Reads the entry of a column of a chunk of `rows` rows.
    pub(super) fn read(reader: &mut Reader<'_>, column: ColumnType, rows: u32) -> Result<Block, Malformed> {
        let (offset, bytes, checksum) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let encoding = Encoding::read(reader, column.physical())?;
        let (sections, pieces) = (reader.u32()? as usize, reader.u32()? as usize);
        let sections = read_sections(reader, sections)?;
        let pieces = read_sections(reader, pieces)?;
        let null_count = u64::from(reader.u32()?);
        let flags = reader.u8()?;
        let mut bound = |present: bool| present.then(|| read_bound(reader, column)).transpose();
        let statistics = ColumnStatistics {
            row_count: u64::from(rows),
            null_count,
            min: bound(flags & 1 != 0)?,
            max: bound(flags & 2 != 0)?,
            exact: flags & 4 != 0,
        };
        Ok(Block { offset, bytes, checksum, encoding, sections, pieces, statistics })
    }

    /// Whether the first section has validity bits.
    pub(super) fn has_validity(&self) -> bool {
        self.encoding != Encoding::Null && self.statistics.null_count > 0
    }

    /// Bytes of the chunk's heap that the block fills.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.raw_bytes).fold(0, u64::saturating_add)
    }

    /// Checks everything that can be checked without the block's bytes; afterwards the lengths of the sections may be
    /// relied upon.
    pub(super) fn verify(&self, column: &Column, rows: u32) -> Result<(), Malformed> {
        let nulls = self.statistics.null_count;
        if nulls > u64::from(rows) || (nulls == u64::from(rows)) != (self.encoding == Encoding::Null) {
            return Err(Malformed::new(format!("{nulls} of {rows} rows cannot be NULL in this encoding")));
        }
        if nulls > 0 && !column.nullable {
            return Err(Malformed::new(format!("{nulls} rows are NULL but the column is NOT NULL")));
        }
        if let Encoding::Dictionary { entries, code_width, .. } = self.encoding
            && (entries == 0
                || entries as usize > DICTIONARY_ENTRIES_MAX
                || code_width > CODE_WIDTH_MAX
                || !is_width(code_width))
        {
            return Err(Malformed::new(format!("a dictionary of {entries} entries, {code_width} bits per code")));
        }
        let extents = self.extents();
        if extents.len() != self.sections.len() || !self.pieces.is_empty() && !self.encoding.is_text() {
            return Err(Malformed::new(format!(
                "{} sections and {} pieces where {} sections are expected",
                self.sections.len(),
                self.pieces.len(),
                extents.len()
            )));
        }
        let pieces = std::iter::repeat(Extent::AtMost(PIECE_BYTES as u64));
        let sections = self.sections.iter().chain(&self.pieces);
        let mut stored_bytes = 0_u64;
        for (number, (section, extent)) in sections.zip(extents.into_iter().chain(pieces)).enumerate() {
            let fits = match extent {
                Extent::Exactly(bytes) => section.raw_bytes == bytes,
                Extent::AtMost(bytes) => section.raw_bytes <= bytes,
            };
            if !fits || !section.is_possible() {
                return Err(Malformed::new(format!(
                    "section {number} cannot have {} bytes, {} of them stored",
                    section.raw_bytes, section.stored_bytes
                )));
            }
            stored_bytes = stored_bytes.saturating_add(section.stored_bytes);
        }
        if stored_bytes != self.bytes {
            return Err(Malformed::new(format!("sections of {stored_bytes} bytes in a block of {}", self.bytes)));
        }
        Ok(())
    }

    /// What the sections before the pieces must have.
    fn extents(&self) -> Vec<Extent> {
        let rows = self.statistics.row_count;
        let planes = |width: u8, count: u64| plane_bytes(width, count).map(Extent::Exactly);
        let mut extents = Vec::new();
        if self.has_validity() {
            extents.push(Extent::Exactly(rows.div_ceil(8)));
        }
        let texts = |lengths: &IntegerCode, count: u64, extents: &mut Vec<Extent>| {
            extents.extend(planes(lengths.width, count));
            extents.push(Extent::AtMost(count * INLINE_BYTES_MAX as u64));
        };
        match &self.encoding {
            Encoding::Null => {}
            Encoding::Integers(code) => extents.extend(planes(code.width, rows)),
            Encoding::Text { lengths } => texts(lengths, rows, &mut extents),
            Encoding::Dictionary { entries, code_width, lengths } => {
                extents.extend(planes(*code_width, rows));
                texts(lengths, u64::from(*entries), &mut extents);
            }
        }
        extents
    }
}

fn read_sections(reader: &mut Reader<'_>, count: usize) -> Result<Vec<Section>, Malformed> {
    let mut sections = reader.vec(count, 16, "sections")?;
    for _ in 0..count {
        sections.push(Section { raw_bytes: reader.u64()?, stored_bytes: reader.u64()? });
    }
    Ok(sections)
}

fn write_bound(writer: &mut Writer, bound: &Value) {
    match bound {
        Value::Boolean(value) => writer.u8(u8::from(*value)),
        Value::Integer(value) => writer.u64(*value as u64),
        Value::Decimal(value) => writer.i128(*value),
        Value::Float(value) => writer.u64(value.to_bits()),
        Value::Text(text) => writer.bytes(text.as_bytes()),
        Value::Bytes(bytes) => writer.bytes(bytes),
    }
}

/// Reads a bound of a column; its type says which kind of value it is.
fn read_bound(reader: &mut Reader<'_>, column: ColumnType) -> Result<Value, Malformed> {
    Ok(match column {
        ColumnType::Boolean => Value::Boolean(reader.u8()? != 0),
        ColumnType::Decimal { .. } => Value::Decimal(reader.i128()?),
        ColumnType::Bytea => Value::Bytes(reader.bytes()?.to_vec()),
        _ => match column.physical() {
            Physical::F32 | Physical::F64 => Value::Float(f64::from_bits(reader.u64()?)),
            Physical::View => {
                let text = std::str::from_utf8(reader.bytes()?);
                Value::Text(text.map_err(|_| Malformed::new("a bound of the column is not UTF-8"))?.to_owned())
            }
            _ => Value::Integer(reader.u64()? as i64),
        },
    })
}
