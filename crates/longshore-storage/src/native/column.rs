//! Encodes and decodes the values of one column of one chunk.
//!
//! Floats are stored as integers by their bits: equal ones then take no bytes, whole ones lose the zeros of their
//! fraction (the step of a frame), and all come back bit by bit. NULL slots are stored as whatever is cheapest and come
//! back as 0 or the empty view, which is what every other way into a relation leaves there.

use std::mem::MaybeUninit;

use xxhash_rust::xxh3::xxh3_64;

use crate::buffer::{SpareColumn, SpareHeap};
use crate::chunk::Chunk;
use crate::statistics::bounds::Bounds;
use crate::types::ColumnType;
use crate::values::{Scratch, SpareValues, Values};

use super::block::{Block, Encoding};
use super::bounds;
use super::integer::{self, IntegerCode};
use super::plane::{Integer, Planes};
use super::section::{SectionWriter, Unpacked, unpack, unpack_pieces};
use super::text::{self, Dictionary};
use super::wire::Malformed;

/// Appends the block of a column to `writer`; its offset is counted from the writer's start.
pub(super) fn encode(chunk: &Chunk, column: usize, scratch: &mut Scratch, writer: &mut SectionWriter) -> Block {
    let statistics = chunk.statistics(column).clone();
    let start = writer.bytes().len();
    let encoding = if statistics.null_count == chunk.rows() as u64 {
        Encoding::Null
    } else {
        let validity = chunk.validity(column).filter(|_| statistics.null_count > 0);
        if let Some(validity) = validity {
            writer.push(&validity[..chunk.rows().div_ceil(8)]);
        }
        let values = chunk.values(column, 0..chunk.rows(), scratch);
        encode_values(values, validity, chunk.heap(column), writer)
    };
    let (sections, pieces) = writer.take_sections();
    let bytes = &writer.bytes()[start..];
    Block {
        offset: start as u64,
        bytes: bytes.len() as u64,
        checksum: xxh3_64(bytes),
        encoding,
        sections,
        pieces,
        statistics,
    }
}

fn encode_values(values: Values<'_>, validity: Option<&[u8]>, heap: &[u8], writer: &mut SectionWriter) -> Encoding {
    match values {
        Values::U8(values) => encode_integers(values, validity, writer),
        Values::I16(values) => encode_integers(values, validity, writer),
        Values::I32(values) => encode_integers(values, validity, writer),
        Values::I64(values) => encode_integers(values, validity, writer),
        Values::I128(values) => encode_integers(values, validity, writer),
        Values::F32(values) => {
            let bits: Vec<i32> = values.iter().map(|value| value.to_bits() as i32).collect();
            encode_integers(&bits, validity, writer)
        }
        Values::F64(values) => {
            let bits: Vec<i64> = values.iter().map(|value| value.to_bits() as i64).collect();
            encode_integers(&bits, validity, writer)
        }
        Values::Views(views) => match Dictionary::build(views, heap) {
            Some(dictionary) => Encoding::Dictionary {
                entries: dictionary.entries().len() as u32,
                code_width: dictionary.write_codes(writer),
                lengths: text::encode(dictionary.entries(), heap, writer),
            },
            None => Encoding::Text { lengths: text::encode(views, heap, writer) },
        },
    }
}

fn encode_integers<T: Integer>(values: &[T], validity: Option<&[u8]>, writer: &mut SectionWriter) -> Encoding {
    Encoding::Integers(integer::encode(values, validity, |section| writer.push(section)))
}

/// Where a block is decoded from: its bytes and the worker's memory for sections that have to be unpacked.
pub(super) struct Stored<'a> {
    /// The verified entry of the directory.
    pub(super) block: &'a Block,
    /// The block's bytes, whose checksum has been compared, and `SLACK_BYTES` more.
    pub(super) bytes: &'a [u8],
    /// For the unpacked sections.
    pub(super) scratch: &'a mut Vec<u8>,
}

/// Fills the slots of a column and its validity bits.
///
/// The column must be the first rows of a fresh buffer, with room in the heap for the block's long values. Its values must
/// lie between the bounds that the block claims, and views of a column of text must be UTF-8.
pub(super) fn decode(
    stored: Stored<'_>,
    column: &mut SpareColumn<'_>,
    heap: &mut SpareHeap<'_>,
    column_type: ColumnType,
) -> Result<(), Malformed> {
    let Stored { block, bytes, scratch } = stored;
    let (physical, utf8) = (column_type.physical(), column_type != ColumnType::Bytea);
    let rows = slots(&column.values);
    if block.encoding == Encoding::Null {
        let validity = &mut column.validity[..rows.div_ceil(8)];
        validity.fill(0);
        set_bits_beyond(validity, rows);
        clear_nulls(&mut column.values, validity);
        return Ok(());
    }
    let unpacked = unpack(&block.sections, bytes, scratch)?;
    let mut sections = unpacked.into_iter();
    if block.has_validity() {
        let from = sections.next().ok_or_else(missing)?.bytes();
        let validity = &mut column.validity[..rows.div_ceil(8)];
        validity.copy_from_slice(from);
        set_bits_beyond(validity, rows);
        let nulls: u32 = validity.iter().map(|byte| byte.count_zeros()).sum();
        if u64::from(nulls) != block.statistics.null_count {
            return Err(Malformed::new(format!(
                "{nulls} rows are NULL where {} are expected",
                block.statistics.null_count
            )));
        }
    }
    let validity = block.has_validity().then_some((&column.validity[..rows.div_ceil(8)], 0));
    let values = match (&mut column.values, &block.encoding) {
        (SpareValues::U8(out), Encoding::Integers(code)) => {
            let values = decode_integers(code, &mut sections, out)?;
            if values.iter().any(|value| *value > 1) {
                return Err(Malformed::new("a boolean is neither true nor false"));
            }
            Values::U8(values)
        }
        (SpareValues::I16(out), Encoding::Integers(code)) => Values::I16(decode_integers(code, &mut sections, out)?),
        (SpareValues::I32(out), Encoding::Integers(code)) => Values::I32(decode_integers(code, &mut sections, out)?),
        (SpareValues::I64(out), Encoding::Integers(code)) => Values::I64(decode_integers(code, &mut sections, out)?),
        (SpareValues::I128(out), Encoding::Integers(code)) => Values::I128(decode_integers(code, &mut sections, out)?),
        (SpareValues::F32(out), Encoding::Integers(code)) => {
            decode_integers::<i32>(code, &mut sections, bits_of_f32(out))?;
            // SAFETY: all their bits have just been written.
            Values::F32(unsafe { out.assume_init_ref() })
        }
        (SpareValues::F64(out), Encoding::Integers(code)) => {
            decode_integers::<i64>(code, &mut sections, bits_of_f64(out))?;
            // SAFETY: all their bits have just been written.
            Values::F64(unsafe { out.assume_init_ref() })
        }
        (SpareValues::Views(out), Encoding::Text { lengths }) => {
            let long = Long { block, bytes, heap };
            Values::Views(decode_texts(lengths, &mut sections, long, utf8, out)?)
        }
        (SpareValues::Views(out), Encoding::Dictionary { entries, code_width, lengths }) => {
            let codes = Planes::new(*code_width, rows, &mut sections.by_ref().map(Unpacked::bytes));
            let codes = codes.ok_or_else(missing)?;
            let long = Long { block, bytes, heap };
            let mut table = vec![MaybeUninit::uninit(); *entries as usize];
            let table = decode_texts(lengths, &mut sections, long, utf8, &mut table)?;
            Values::Views(text::decode_codes(&codes, table, out)?)
        }
        (_, encoding) => {
            return Err(Malformed::new(format!("{encoding:?} does not encode this column")));
        }
    };
    let mut found = Bounds::new(physical);
    found.add(values, validity);
    bounds::check(&block.statistics, &found, physical)?;
    if block.has_validity() {
        clear_nulls(&mut column.values, &column.validity[..rows.div_ceil(8)]);
    }
    Ok(())
}

fn slots(values: &SpareValues<'_>) -> usize {
    match values {
        SpareValues::U8(slots) => slots.len(),
        SpareValues::I16(slots) => slots.len(),
        SpareValues::I32(slots) => slots.len(),
        SpareValues::I64(slots) => slots.len(),
        SpareValues::I128(slots) => slots.len(),
        SpareValues::F32(slots) => slots.len(),
        SpareValues::F64(slots) => slots.len(),
        SpareValues::Views(slots) => slots.len(),
    }
}

fn missing() -> Malformed {
    Malformed::new("a section is missing")
}

fn decode_integers<'a, 'out, T: Integer>(
    code: &IntegerCode,
    sections: &mut impl Iterator<Item = Unpacked<'a>>,
    out: &'out mut [MaybeUninit<T>],
) -> Result<&'out [T], Malformed> {
    let planes = Planes::new(code.width, out.len(), &mut sections.map(Unpacked::bytes));
    Ok(integer::decode(code, &planes.ok_or_else(missing)?, out))
}

/// The long values of a block and the heap they go into.
struct Long<'a, 'h, 'm> {
    block: &'a Block,
    /// The block's bytes.
    bytes: &'a [u8],
    heap: &'h mut SpareHeap<'m>,
}

impl<'h> Long<'_, 'h, '_> {
    /// Unpacks them to the end of what the heap has; says where that is, and which they are.
    fn unpack(self) -> Result<(usize, &'h [u8]), Malformed> {
        let Long { block, bytes, heap } = self;
        let sections_bytes: u64 = block.sections.iter().map(|section| section.stored_bytes).sum();
        let start = heap.used;
        heap.used += block.heap_bytes() as usize;
        let room = &mut heap.bytes[start..heap.used];
        Ok((start, unpack_pieces(&block.pieces, &bytes[sections_bytes as usize..], room)?))
    }
}

fn decode_texts<'a, 'out>(
    lengths: &IntegerCode,
    sections: &mut impl Iterator<Item = Unpacked<'a>>,
    long: Long<'_, '_, '_>,
    utf8: bool,
    out: &'out mut [MaybeUninit<u128>],
) -> Result<&'out [u128], Malformed> {
    let planes = Planes::new(lengths.width, out.len(), &mut sections.map(Unpacked::bytes));
    let planes = planes.ok_or_else(missing)?;
    let short = sections.next().ok_or_else(missing)?;
    let (long_at, long) = long.unpack()?;
    let values = text::Values { lengths: *lengths, planes, short, long, long_at: long_at as u32, utf8 };
    values.decode(out)
}

/// Sets the bits of the rows that do not exist.
fn set_bits_beyond(validity: &mut [u8], rows: usize) {
    if !rows.is_multiple_of(8) {
        validity[rows / 8] |= 0xFF << (rows % 8);
    }
}

/// Writes 0 into the slots of the rows whose bit is not set.
fn clear_nulls(values: &mut SpareValues<'_>, validity: &[u8]) {
    fn clear<T: Copy>(slots: &mut [MaybeUninit<T>], validity: &[u8], zero: T) {
        for (slots, bits) in slots.chunks_mut(8).zip(validity) {
            if *bits != 0xFF {
                for (bit, slot) in slots.iter_mut().enumerate() {
                    if bits >> bit & 1 == 0 {
                        slot.write(zero);
                    }
                }
            }
        }
    }
    match values {
        SpareValues::U8(slots) => clear(slots, validity, 0),
        SpareValues::I16(slots) => clear(slots, validity, 0),
        SpareValues::I32(slots) => clear(slots, validity, 0),
        SpareValues::I64(slots) => clear(slots, validity, 0),
        SpareValues::I128(slots) => clear(slots, validity, 0),
        SpareValues::F32(slots) => clear(slots, validity, 0.0),
        SpareValues::F64(slots) => clear(slots, validity, 0.0),
        SpareValues::Views(slots) => clear(slots, validity, 0),
    }
}

fn bits_of_f32(slots: &mut [MaybeUninit<f32>]) -> &mut [MaybeUninit<i32>] {
    let (start, len) = (slots.as_mut_ptr(), slots.len());
    // SAFETY: both types have the same size and alignment and neither asks anything of the bits, which are borrowed
    // exclusively throughout.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
}

fn bits_of_f64(slots: &mut [MaybeUninit<f64>]) -> &mut [MaybeUninit<i64>] {
    let (start, len) = (slots.as_mut_ptr(), slots.len());
    // SAFETY: as for `bits_of_f32`.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
}
