//! What the directory says of a block: where it lies, how it is encoded, what its values are bounded by.
//!
//! Definitions
//! - A block holds the values of one column of one chunk, as sections one behind the other.
//! - Its sections, in order: validity bits, if some but not all rows are NULL; then the buffers of the packed column, as
//!   its layout has them (`packed/layout.rs`); then its texts, in any number of pieces.
//!
//! Invariants, checked by [`Block::verify`] before a byte of memory is allocated for the block
//! - The encoding is one for the physical type of the column, and NULLs occur only where the column allows them.
//! - Every section has the raw length that rows and encoding demand; that of values is bounded by what LZ4 can expand.
//! - The stored lengths add up to the block.

use longshore_value::uuid::Uuid;

use crate::packed::Layout;
use crate::statistics::{ColumnStatistics, Value};
use crate::types::{Column, ColumnType, Physical};

use super::section::{Extent, PIECE_BYTES, Section};
use super::version1;
use super::wire::{Malformed, Reader, Writer};

/// How the values of a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Every row is NULL.
    Null,
    /// As they are in memory.
    Packed(Layout),
    /// As programs of version 1 wrote them.
    Version1(version1::Encoding),
}

impl Encoding {
    /// Appends the encoding to a directory.
    fn write(self, writer: &mut Writer) {
        match self {
            Encoding::Null => writer.u8(0),
            Encoding::Packed(Layout::Constant(bytes)) => {
                writer.u8(1);
                writer.i128(i128::from_le_bytes(bytes));
            }
            Encoding::Packed(Layout::Bits) => writer.u8(2),
            Encoding::Packed(Layout::Offset { base, divisor, width }) => {
                writer.u8(3);
                writer.i128(base);
                writer.u64(divisor);
                writer.u8(width);
            }
            Encoding::Packed(Layout::Dictionary { entries, width }) => {
                writer.u8(4);
                writer.u32(entries);
                writer.u8(width);
            }
            Encoding::Packed(Layout::Texts { width }) => {
                writer.u8(5);
                writer.u8(width);
            }
            Encoding::Packed(Layout::Plain) => writer.u8(6),
            Encoding::Packed(Layout::Fsst { symbols, width }) => {
                writer.u8(7);
                writer.u8(symbols);
                writer.u8(width);
            }
            Encoding::Version1(_) => unreachable!("version 1 is not written any more"),
        }
    }

    /// Reads an encoding that a column of type `physical` may have.
    fn read(reader: &mut Reader<'_>, physical: Physical, version: u32) -> Result<Encoding, Malformed> {
        if version == 1 {
            return version1::Encoding::read(reader, physical).map(Encoding::Version1);
        }
        let tag = reader.u8()?;
        let layout = match tag {
            0 => return Ok(Encoding::Null),
            1 => Layout::Constant(reader.i128()?.to_le_bytes()),
            2 => Layout::Bits,
            3 => Layout::Offset { base: reader.i128()?, divisor: reader.u64()?, width: reader.u8()? },
            4 => Layout::Dictionary { entries: reader.u32()?, width: reader.u8()? },
            5 => Layout::Texts { width: reader.u8()? },
            6 => Layout::Plain,
            7 => Layout::Fsst { symbols: reader.u8()?, width: reader.u8()? },
            _ => return Err(Malformed::new(format!("{tag} is not an encoding"))),
        };
        if !layout.is_possible(physical) {
            return Err(Malformed::new(format!("{layout:?} is not an encoding of {physical:?}")));
        }
        Ok(Encoding::Packed(layout))
    }

    /// Whether there are no values.
    fn is_null(self) -> bool {
        matches!(self, Encoding::Null | Encoding::Version1(version1::Encoding::Null))
    }

    /// Whether blocks with this encoding may have texts.
    fn may_have_texts(self, physical: Physical) -> bool {
        match self {
            Encoding::Null => false,
            Encoding::Packed(_) => physical == Physical::View,
            Encoding::Version1(encoding) => encoding.is_text(),
        }
    }
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
    pub(super) fn read(
        reader: &mut Reader<'_>,
        column: ColumnType,
        rows: u32,
        version: u32,
    ) -> Result<Block, Malformed> {
        let (offset, bytes, checksum) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let encoding = Encoding::read(reader, column.physical(), version)?;
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
        !self.encoding.is_null() && self.statistics.null_count > 0
    }

    /// Bytes of the chunk's heap that the block fills.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.raw_bytes).fold(0, u64::saturating_add)
    }

    /// Checks everything that can be checked without the block's bytes; afterwards the lengths of the sections may be
    /// relied upon.
    pub(super) fn verify(&self, column: &Column, rows: u32) -> Result<(), Malformed> {
        let nulls = self.statistics.null_count;
        if nulls > u64::from(rows) || (nulls == u64::from(rows)) != self.encoding.is_null() {
            return Err(Malformed::new(format!("{nulls} of {rows} rows cannot be NULL in this encoding")));
        }
        if nulls > 0 && !column.nullable {
            return Err(Malformed::new(format!("{nulls} rows are NULL but the column is NOT NULL")));
        }
        if let Encoding::Version1(encoding) = self.encoding {
            encoding.verify()?;
        }
        let physical = column.column_type.physical();
        let extents = self.extents(physical);
        if extents.len() != self.sections.len() || !self.pieces.is_empty() && !self.encoding.may_have_texts(physical) {
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
    fn extents(&self, physical: Physical) -> Vec<Extent> {
        let rows = self.statistics.row_count;
        let mut extents = Vec::new();
        if self.has_validity() {
            extents.push(Extent::Exactly(rows.div_ceil(8)));
        }
        match self.encoding {
            Encoding::Null => {}
            Encoding::Packed(layout) => {
                let lengths = layout.buffer_bytes(physical, rows as usize);
                extents.extend(lengths.map(|bytes| Extent::Exactly(bytes as u64)));
            }
            Encoding::Version1(encoding) => extents.extend(encoding.extents(rows)),
        }
        extents
    }

    /// The least that the values take in memory. A block may have few bytes of many rows, if these are alike.
    pub(super) fn bytes_in_memory(&self, physical: Physical) -> u64 {
        match self.encoding {
            Encoding::Null => 0,
            Encoding::Packed(_) => {
                let sections = self.sections.iter().map(|section| section.raw_bytes);
                sections.fold(self.heap_bytes(), u64::saturating_add)
            }
            Encoding::Version1(_) => {
                (self.statistics.row_count * physical.width() as u64).saturating_add(self.heap_bytes())
            }
        }
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
        Value::Uuid(value) => writer.i128(value.stored()),
        Value::Text(text) => writer.bytes(text.as_bytes()),
        Value::Bytes(bytes) => writer.bytes(bytes),
    }
}

/// Reads a bound of a column; its type says which kind of value it is.
fn read_bound(reader: &mut Reader<'_>, column: ColumnType) -> Result<Value, Malformed> {
    Ok(match column {
        ColumnType::Boolean => Value::Boolean(reader.u8()? != 0),
        ColumnType::Decimal { .. } => Value::Decimal(reader.i128()?),
        ColumnType::Uuid => Value::Uuid(Uuid::of_stored(reader.i128()?)),
        _ if column.is_bytes() => Value::Bytes(reader.bytes()?.to_vec()),
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
