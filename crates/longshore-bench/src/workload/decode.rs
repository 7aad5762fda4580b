//! The decoders, a column of each type: the fast loop against its slow, obvious twin.
//!
//! A column is a piece of one-field records, decoded again and again from the cache; the marks are made beforehand.
//! Both sides are reduced to one digest, so that a fast wrong decoder has no time.

mod column;

use std::mem::MaybeUninit;
use std::time::Instant;

use longshore_csv::decode::{Decoder, FieldRule, Heap, Slot, Target, Validity, Values};
use longshore_csv::{Dialect, Kernel, Marks, PADDING, Padded, Rows, Scanner, Shape, TextTraits};

use crate::measure::{Amount, Case, Measured, measure};
use crate::{Failure, Settings};
use column::Column;

/// Values of a column: about a piece of text.
const ROWS: usize = 8_192;

/// Values that a run decodes at scale factor 1, by repetition.
const VALUES: f64 = 8e6;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let repeats = ((VALUES * settings.scale) as usize / ROWS).max(1);
    let amount = Amount::Values((repeats * ROWS) as u64);
    let dialect = Dialect::new(b'|', Some(b'"'), None)?;
    let columns = column::all();
    let mut measured = Vec::new();
    for column in &columns {
        let text = Text::new(column, &dialect)?;
        let mut cases = vec![Case::new(format!("{} exact", column.name), amount, || {
            let started = Instant::now();
            let mut digest = 0_i128;
            for _ in 0..repeats {
                digest = text.exact(column)?;
            }
            check(digest, column, started)
        })];
        for kernel in [Kernel::best(), Kernel::Portable] {
            let decoder = Decoder::with_kernel(FieldRule::new(column.value_type), &dialect, kernel);
            let mut slots = Slots::new(column, text.len);
            let text = &text;
            cases.push(Case::new(format!("{} fast {kernel}", column.name), amount, move || {
                let mut marks = Marks::new();
                let rows = text.rows(&mut marks)?;
                let started = Instant::now();
                for _ in 0..repeats {
                    slots.decode(&decoder, &rows)?;
                }
                check(slots.digest(), column, started)
            }));
        }
        measured.extend(measure(cases, settings)?);
    }
    Ok(measured)
}

fn check(digest: i128, column: &Column, started: Instant) -> Result<std::time::Duration, Failure> {
    let time = started.elapsed();
    if digest == column.digest { Ok(time) } else { Err("the values are wrong".into()) }
}

/// A padded text of one-field records.
struct Text<'a> {
    buffer: Vec<u8>,
    len: usize,
    dialect: &'a Dialect,
    traits: TextTraits,
}

impl<'a> Text<'a> {
    fn new(column: &Column, dialect: &'a Dialect) -> Result<Text<'a>, Failure> {
        let mut buffer = column.text.clone();
        let len = buffer.len();
        buffer.resize(len + PADDING, 0);
        let traits = longshore_csv::survey(Kernel::Portable, dialect, &buffer[..len]).traits;
        let text = Text { buffer, len, dialect, traits };
        let mut marks = Marks::new();
        if text.rows(&mut marks)?.count() == ROWS { Ok(text) } else { Err("not one field a record".into()) }
    }

    fn rows<'m>(&'m self, marks: &'m mut Marks) -> Result<Rows<'m>, Failure> {
        let padded = Padded::new(&self.buffer, self.len);
        Scanner::new(Kernel::best(), self.dialect, self.traits).scan(padded, marks);
        let shape = Shape { fields: 1, trailing_delimiter: false };
        let records = Rows::new(padded, marks, shape, self.traits, self.dialect);
        match records.error {
            None => Ok(records.rows),
            Some(error) => Err(error.kind.reason().into()),
        }
    }

    /// Decodes by the twin.
    fn exact(&self, column: &Column) -> Result<i128, Failure> {
        let mut digest = 0_i128;
        for line in self.buffer[..self.len].split_inclusive(|&byte| byte == b'\n') {
            let field = &line[..line.len() - 1];
            let field = if column.quoted { &field[1..field.len() - 1] } else { field };
            digest = digest.wrapping_add((column.exact)(field).map_err(|reason| reason.to_string())?);
        }
        Ok(digest)
    }
}

/// Column memory that a decoder fills.
enum Memory {
    U8(Vec<MaybeUninit<u8>>),
    I16(Vec<MaybeUninit<i16>>),
    I32(Vec<MaybeUninit<i32>>),
    I64(Vec<MaybeUninit<i64>>),
    I128(Vec<MaybeUninit<i128>>),
    F32(Vec<MaybeUninit<f32>>),
    F64(Vec<MaybeUninit<f64>>),
    Views(Vec<MaybeUninit<u128>>),
}

/// What a decoder fills, used again by every pass.
struct Slots {
    memory: Memory,
    validity: Vec<u8>,
    heap: Vec<MaybeUninit<u8>>,
}

impl Slots {
    fn new(column: &Column, text_bytes: usize) -> Slots {
        let memory = match column.value_type.slot() {
            Slot::U8 => Memory::U8(empty()),
            Slot::I16 => Memory::I16(empty()),
            Slot::I32 => Memory::I32(empty()),
            Slot::I64 => Memory::I64(empty()),
            Slot::I128 => Memory::I128(empty()),
            Slot::F32 => Memory::F32(empty()),
            Slot::F64 => Memory::F64(empty()),
            Slot::View => Memory::Views(empty()),
        };
        // A short field may still be a long value: leave room.
        let heap = vec![MaybeUninit::uninit(); text_bytes + 64 * ROWS + PADDING];
        Slots { memory, validity: vec![0xff; ROWS.div_ceil(8)], heap }
    }

    fn decode(&mut self, decoder: &Decoder, rows: &Rows<'_>) -> Result<(), Failure> {
        let values = match &mut self.memory {
            Memory::U8(slots) => Values::U8(slots),
            Memory::I16(slots) => Values::I16(slots),
            Memory::I32(slots) => Values::I32(slots),
            Memory::I64(slots) => Values::I64(slots),
            Memory::I128(slots) => Values::I128(slots),
            Memory::F32(slots) => Values::F32(slots),
            Memory::F64(slots) => Values::F64(slots),
            Memory::Views(slots) => Values::Views(slots),
        };
        let validity = Validity::new(&mut self.validity, 0);
        let mut heap = Heap::new(&mut self.heap, 0);
        let mut target = Target { values, validity, heap: &mut heap, coded: None };
        decoder.decode(rows, 0, &mut target).map_err(|error| error.reason.to_string().into())
    }

    /// Sum of what stands in the slots, as [`Column::exact`] reduces values.
    fn digest(&self) -> i128 {
        match &self.memory {
            Memory::U8(slots) => sum(slots, i128::from),
            Memory::I16(slots) => sum(slots, i128::from),
            Memory::I32(slots) => sum(slots, i128::from),
            Memory::I64(slots) => sum(slots, i128::from),
            Memory::I128(slots) => sum(slots, |value| value),
            Memory::F32(slots) => sum(slots, |value| i128::from(value.to_bits())),
            Memory::F64(slots) => sum(slots, |value| i128::from(value.to_bits())),
            // Length and first four bytes stand in the low half of a view.
            Memory::Views(slots) => sum(slots, |view| i128::from(view as u64)),
        }
    }
}

fn empty<T: Copy>() -> Vec<MaybeUninit<T>> {
    vec![MaybeUninit::uninit(); ROWS]
}

fn sum<T: Copy>(slots: &[MaybeUninit<T>], reduce: impl Fn(T) -> i128) -> i128 {
    slots.iter().fold(0, |sum, slot| {
        // SAFETY: a digest is taken after a decode of `ROWS` rows that succeeded, which fills every slot.
        sum.wrapping_add(reduce(unsafe { slot.assume_init() }))
    })
}
