//! How changes of rows are written: which row, what becomes of it, its values.
//!
//! Each change begins with a number: what it is in the lowest three bits, and above them, folded, how far its row lies
//! behind the one that comes next after the change before. So the rows of an insert of many, one behind the other, have
//! one byte each.

use super::error::ReplayProblem;
use super::wire::{Reader, folded, put_bytes, put_number, put_signed, put_wide, unfolded};
use crate::block_ref::BlockRef;
use crate::chunk::hot::HotChunk;
use crate::datum::{Datum, datum_of_bits};
use crate::row_id::RowId;
use crate::typed::{self, Input, Stored, StoredValue, ValueError};
use crate::types::{Column, Physical};
use crate::values::TextRoom;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// It is there, with these values.
    Insert = 0,
    /// It has these values of some columns.
    Update = 1,
    /// The same of the same columns as the update before.
    UpdateAlike = 2,
    /// It goes.
    Delete = 3,
    /// All rows of its chunk go.
    Truncate = 4,
    /// A chunk takes the place, of which this is the first row.
    Chunk = 5,
    /// The same with a chunk that is in a block file.
    Block = 6,
}

const KIND_BITS: u32 = 3;

/// The ids of rows take as many bits.
const ROW_BITS: u32 = 48;

impl ChangeKind {
    fn of(bits: u64) -> Option<ChangeKind> {
        Some(match bits {
            0 => ChangeKind::Insert,
            1 => ChangeKind::Update,
            2 => ChangeKind::UpdateAlike,
            3 => ChangeKind::Delete,
            4 => ChangeKind::Truncate,
            5 => ChangeKind::Chunk,
            6 => ChangeKind::Block,
            _ => return None,
        })
    }
}

/// The row that comes next after the last that was named.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NextRow(u64);

impl NextRow {
    /// Names a row.
    #[inline]
    pub(super) fn put(&mut self, bytes: &mut Vec<u8>, kind: ChangeKind, row: RowId) {
        let ahead = row.0.wrapping_sub(self.0) as i64;
        put_number(bytes, folded(ahead) << KIND_BITS | kind as u64);
        self.0 = row.0 + 1;
    }

    /// The row that is named next, and what becomes of it.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut Reader<'_>) -> Result<(ChangeKind, RowId), ReplayProblem> {
        let head = reader.number()?;
        let bits = head & ((1 << KIND_BITS) - 1);
        let kind = ChangeKind::of(bits);
        let kind = kind.ok_or_else(|| ReplayProblem::Malformed(format!("{bits} is not a kind of change")))?;
        let row = self.0.wrapping_add(unfolded(head >> KIND_BITS) as u64);
        if row >> ROW_BITS != 0 {
            return Err(ReplayProblem::Malformed("a row has an id that no row can have".to_owned()));
        }
        self.0 = row + 1;
        Ok((kind, RowId(row)))
    }
}

/// Which values are NULL, of columns that may be: a bit for each of these, in whole bytes, in front of the values.
pub(super) struct NullBits {
    at: usize,
    next: usize,
}

impl NullBits {
    /// Makes room for the bits of so many columns that may be NULL.
    #[inline]
    pub(super) fn begin(bytes: &mut Vec<u8>, nullable: usize) -> NullBits {
        let at = bytes.len();
        bytes.resize(at + nullable.div_ceil(8), 0);
        NullBits { at, next: 0 }
    }

    /// Appends the newest value that a row of a slot has of a column, which is the next one.
    #[inline]
    pub(super) fn put(&mut self, bytes: &mut Vec<u8>, slot: &HotChunk, row: usize, (at, column): (usize, &Column)) {
        let has_value = put_value(bytes, slot, row, (at, column.column_type.physical()));
        if column.nullable {
            if !has_value {
                bytes[self.at + self.next / 8] |= 1 << (self.next % 8);
            }
            self.next += 1;
        } else {
            debug_assert!(has_value, "a column that is not NULL has values");
        }
    }
}

/// The same of values that are read.
pub(super) struct ReadNullBits<'a> {
    bits: &'a [u8],
    next: usize,
}

impl<'a> ReadNullBits<'a> {
    pub(super) fn begin(reader: &mut Reader<'a>, nullable: usize) -> Result<ReadNullBits<'a>, ReplayProblem> {
        Ok(ReadNullBits { bits: reader.take(nullable.div_ceil(8))?, next: 0 })
    }

    /// The value of the next column, as it stores it.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut Reader<'a>, column: &Column) -> Result<Input<'a>, ReplayProblem> {
        if column.nullable {
            let at = self.next;
            self.next += 1;
            if self.bits[at / 8] >> (at % 8) & 1 == 1 {
                return Ok(Input::Null);
            }
        }
        read_value(reader, column)
    }
}

/// Appends a value; says whether there is one, or it is NULL.
#[inline]
fn put_value(bytes: &mut Vec<u8>, slot: &HotChunk, row: usize, (at, physical): (usize, Physical)) -> bool {
    match physical {
        Physical::U8 => slot.scalar::<bool>(row, at).map(|value| bytes.push(value.into())),
        Physical::I16 => slot.scalar::<i16>(row, at).map(|value| put_signed(bytes, value.into())),
        Physical::I32 => slot.scalar::<i32>(row, at).map(|value| put_signed(bytes, value.into())),
        Physical::I64 => slot.scalar::<i64>(row, at).map(|value| put_signed(bytes, value)),
        Physical::I128 => slot.scalar::<i128>(row, at).map(|value| put_wide(bytes, value)),
        Physical::F32 => slot.scalar::<f32>(row, at).map(|value| bytes.extend_from_slice(&value.to_le_bytes())),
        Physical::F64 => slot.scalar::<f64>(row, at).map(|value| bytes.extend_from_slice(&value.to_le_bytes())),
        Physical::View => slot.text(row, at, &TextRoom::default()).map(|text| put_bytes(bytes, text)),
    }
    .is_some()
}

/// Reads a value, which must be one that the column takes, and as the column stores it.
#[inline]
fn read_value<'a>(reader: &mut Reader<'a>, column: &Column) -> Result<Input<'a>, ReplayProblem> {
    let datum = match column.column_type.physical() {
        Physical::U8 => match reader.byte()? {
            0 => Datum::Bool(false),
            1 => Datum::Bool(true),
            other => return Err(value_problem(column, format!("{other} is not a boolean"))),
        },
        Physical::I16 => Datum::I16(narrow(reader.signed()?, column)?),
        Physical::I32 => Datum::I32(narrow(reader.signed()?, column)?),
        Physical::I64 => Datum::I64(reader.signed()?),
        Physical::I128 => datum_of_bits(column.column_type, reader.wide()? as u128),
        Physical::F32 => Datum::F32(f32::from_le_bytes(reader.array()?)),
        Physical::F64 => Datum::F64(f64::from_le_bytes(reader.array()?)),
        Physical::View => text(reader.bytes()?, column)?,
    };
    stored(column, datum)
}

/// The rows of a chunk that went again.
pub(super) fn gone_rows(first: RowId, item: &mut Reader<'_>) -> Result<Vec<usize>, ReplayProblem> {
    let count = item.count()?;
    if first.row() != 0 || count > item.len() {
        return Err(ReplayProblem::Malformed("a chunk does not begin with its first row".to_owned()));
    }
    ascending(item, count)
}

/// The columns that an update changes, of so many.
pub(super) fn columns(item: &mut Reader<'_>, of: usize) -> Result<Vec<usize>, ReplayProblem> {
    let count = item.count()?;
    if count > of {
        return Err(ReplayProblem::Malformed(format!("{count} columns of {of}")));
    }
    let columns = ascending(item, count)?;
    match columns.last() {
        Some(last) if *last >= of => Err(ReplayProblem::Malformed(format!("there is no column {last}"))),
        _ => Ok(columns),
    }
}

/// So many numbers, each by how far it lies behind the one that comes next after the one before.
fn ascending(item: &mut Reader<'_>, count: usize) -> Result<Vec<usize>, ReplayProblem> {
    let mut numbers = Vec::with_capacity(count);
    let mut next = 0_usize;
    for _ in 0..count {
        let number = next.checked_add(item.count()?).filter(|&number| number < usize::MAX);
        let number = number.ok_or_else(|| ReplayProblem::Malformed("a number is too large".to_owned()))?;
        numbers.push(number);
        next = number + 1;
    }
    Ok(numbers)
}

/// Where a chunk is in a block file.
pub(super) fn read_block(item: &mut Reader<'_>) -> Result<BlockRef, ReplayProblem> {
    let (file, offset, bytes, head_bytes) = (item.number()?, item.number()?, item.number()?, item.number()?);
    let malformed = |reason: &str| ReplayProblem::Malformed(reason.to_owned());
    let head_bytes = u32::try_from(head_bytes).map_err(|_| malformed("a number is too large"))?;
    let block = BlockRef { file, offset, bytes, head_bytes, checksum: u64::from_le_bytes(item.array()?) };
    if block.is_possible() { Ok(block) } else { Err(malformed("no chunk can be there")) }
}

/// A text, or bytes of a column of bytes.
pub(super) fn text<'a>(bytes: &'a [u8], column: &Column) -> Result<Datum<'a>, ReplayProblem> {
    if column.column_type.is_bytes() {
        return Ok(Datum::Bytes(bytes));
    }
    let text = simdutf8::basic::from_utf8(bytes);
    text.map(Datum::Text).map_err(|_| value_problem(column, "a text is not UTF-8".to_owned()))
}

/// A value as a column stores it, if it is that already.
pub(super) fn stored<'a>(column: &Column, datum: Datum<'a>) -> Result<Input<'a>, ReplayProblem> {
    let input = typed::input(column, datum).map_err(|error| value_problem(column, described(&error)))?;
    let is_same = match (input.stored(), datum) {
        (Stored::Text(stored), Datum::Text(text)) => stored == text.as_bytes(),
        _ => true,
    };
    if is_same {
        return Ok(input);
    }
    Err(value_problem(column, format!("{datum} is not as it is stored")))
}

#[inline]
fn narrow<T: TryFrom<i64>>(value: i64, column: &Column) -> Result<T, ReplayProblem> {
    T::try_from(value).map_err(|_| value_problem(column, format!("{value} is out of range")))
}

#[cold]
fn value_problem(column: &Column, reason: String) -> ReplayProblem {
    ReplayProblem::Value { column: column.name.clone(), reason }
}

fn described(error: &ValueError) -> String {
    match error {
        ValueError::NotNull => "NULL is not allowed".to_owned(),
        ValueError::Type { found } => format!("{found} is not of its type"),
        ValueError::TooLong { value, length } => format!("\"{value}\" is too long ({length} characters)"),
        ValueError::Invalid { value } => format!("\"{value}\" is not a valid value or out of range"),
    }
}
