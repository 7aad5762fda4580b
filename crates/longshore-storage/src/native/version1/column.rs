//! Decodes the values of one column of one chunk.
//!
//! Floats are stored as integers by their bits: equal ones then take no bytes, whole ones lose the zeros of their
//! fraction (the step of a frame), and all come back bit by bit. NULL slots are stored as whatever is cheapest and come
//! back as 0 or the empty view, which is what every other way into a relation leaves there.

use std::mem::MaybeUninit;

use crate::buffer::{SpareColumn, SpareHeap};
use crate::statistics::ColumnStatistics;
use crate::statistics::bounds::Bounds;
use crate::types::ColumnType;
use crate::values::{SpareValues, Values};

use super::Encoding;
use super::integer::{self, IntegerCode};
use super::plane::{Integer, Planes};
use super::text;
use crate::native::bounds;
use crate::native::section::{Section, Unpacked, expand_all, unpack};
use crate::native::wire::{Malformed, set_bits_beyond};

/// Where a block is decoded from: its bytes and the worker's memory for sections that have to be unpacked.
pub(in crate::native) struct Stored<'a> {
    /// How it is encoded, and the sections of its verified entry in the directory.
    pub(in crate::native) encoding: Encoding,
    /// Sections but for the pieces of long values.
    pub(in crate::native) sections: &'a [Section],
    /// The pieces of long values.
    pub(in crate::native) pieces: &'a [Section],
    /// What the directory says of the values.
    pub(in crate::native) statistics: &'a ColumnStatistics,
    /// The block's bytes, whose checksum has been compared, and `SLACK_BYTES` more.
    pub(in crate::native) bytes: &'a [u8],
    /// For the unpacked sections.
    pub(in crate::native) scratch: &'a mut Vec<u8>,
}

/// Fills the slots of a column and its validity bits.
///
/// The column must be the first rows of a fresh buffer, with room in the heap for the block's long values. Its values must
/// lie between the bounds that the block claims, and views of a column of text must be UTF-8.
pub(in crate::native) fn decode(
    stored: Stored<'_>,
    column: &mut SpareColumn<'_>,
    heap: &mut SpareHeap<'_>,
    column_type: ColumnType,
) -> Result<(), Malformed> {
    let Stored { encoding, sections, pieces, statistics, bytes, scratch } = stored;
    let (physical, utf8) = (column_type.physical(), !column_type.is_bytes());
    let rows = slots(&column.values);
    if encoding == Encoding::Null {
        let validity = &mut column.validity[..rows.div_ceil(8)];
        validity.fill(0);
        set_bits_beyond(validity, rows);
        clear_nulls(&mut column.values, validity);
        return Ok(());
    }
    let sections_bytes: usize = sections.iter().map(|section| section.stored_bytes as usize).sum();
    let stored_pieces = &bytes[sections_bytes..];
    let mut sections = unpack(sections, bytes, scratch)?.into_iter();
    let has_validity = statistics.null_count > 0;
    if has_validity {
        let from = sections.next().ok_or_else(missing)?.bytes();
        let validity = &mut column.validity[..rows.div_ceil(8)];
        validity.copy_from_slice(from);
        set_bits_beyond(validity, rows);
        let nulls: u32 = validity.iter().map(|byte| byte.count_zeros()).sum();
        if u64::from(nulls) != statistics.null_count {
            return Err(Malformed::new(format!("{nulls} rows are NULL where {} are expected", statistics.null_count)));
        }
    }
    let validity = has_validity.then_some((&column.validity[..rows.div_ceil(8)], 0));
    let values = match (&mut column.values, &encoding) {
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
            let long = Long { pieces, stored: stored_pieces, heap };
            Values::Views(decode_texts(lengths, &mut sections, long, utf8, out)?)
        }
        (SpareValues::Views(out), Encoding::Dictionary { entries, code_width, lengths }) => {
            let codes = Planes::new(*code_width, rows, &mut sections.by_ref().map(Unpacked::bytes));
            let codes = codes.ok_or_else(missing)?;
            let long = Long { pieces, stored: stored_pieces, heap };
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
    bounds::check(statistics, &found, physical)?;
    if has_validity {
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
    pieces: &'a [Section],
    /// The pieces' bytes, and more.
    stored: &'a [u8],
    heap: &'h mut SpareHeap<'m>,
}

impl<'h> Long<'_, 'h, '_> {
    /// Unpacks them to the end of what the heap has; says where that is, and which they are.
    fn unpack(self) -> Result<(usize, &'h [u8]), Malformed> {
        let Long { pieces, stored, heap } = self;
        let start = heap.used;
        heap.used += pieces.iter().map(|piece| piece.raw_bytes as usize).sum::<usize>();
        let room = &mut heap.bytes[start..heap.used];
        expand_all(pieces, stored, room)?;
        // SAFETY: the pieces, which have as many bytes, were written to it.
        Ok((start, unsafe { room.assume_init_ref() }))
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
