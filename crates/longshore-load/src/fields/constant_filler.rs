//! What goes into columns that no field of a file goes to: NULL, one value, or numbers of records.
//!
//! Not here: which columns these are (the module above), who gives numbers (`numbering`).

use std::mem::MaybeUninit;
use std::sync::Arc;

use longshore_csv::decode::{Advice, Decoder, FieldRule, Heap, Validity};
use longshore_csv::{Dialect, Kernel, Missing, RowText, Rows};
use longshore_storage::{Arena, Column, Memory, PartitionBuffer, Schema, SpareColumn, SpareValues};

use super::{growth, target};
use crate::error::LoadError;
use crate::options::value_type;
use crate::piece::Piece;

/// Bytes of the block that a constant is tried in.
const CHECK_BLOCK_BYTES: usize = 64 << 10;

/// What goes into a column that no field goes to.
pub(super) enum ConstantFiller {
    Null,
    RecordNumber,
    /// Of the source of numbers at this place.
    Number(usize),
    Constant {
        decoder: Box<Decoder>,
        /// One row of one field: the text of the value.
        text: RowText,
    },
}

impl ConstantFiller {
    /// Fills the next slots of a column, for `rows` of `piece`.
    pub(super) fn fill(&self, column: &mut SpareColumn<'_>, rows: &Rows<'_>, piece: &Piece<'_>, heap: &mut Heap<'_>) {
        let count = rows.count();
        if count == 0 {
            return;
        }
        match self {
            Self::Null => {
                repeat_first(&mut column.values, count, true);
                let mut validity = Validity::new(column.validity, column.validity_offset);
                for row in 0..count {
                    validity.clear(row);
                }
            }
            Self::Constant { decoder, text } => {
                let mut target = target(column, 1, heap, None);
                decoder.decode(&text.rows(), 0, &mut target).expect("it was decoded when the load was planned");
                repeat_first(&mut column.values, count, false);
            }
            Self::RecordNumber => {
                let SpareValues::I64(slots) = &mut column.values else {
                    unreachable!("the plan gives numbers to BIGINT columns only");
                };
                for (row, slot) in slots[..count].iter_mut().enumerate() {
                    slot.write(piece.number(rows.record(row).0) as i64);
                }
            }
            // Who gives the numbers keeps to the type of the column.
            Self::Number(source) => {
                let number = |row: usize| piece.number_of(*source, rows.record(row).0);
                match &mut column.values {
                    SpareValues::I16(slots) => {
                        slots[..count].iter_mut().enumerate().for_each(|(row, slot)| {
                            slot.write(number(row) as i16);
                        });
                    }
                    SpareValues::I32(slots) => {
                        slots[..count].iter_mut().enumerate().for_each(|(row, slot)| {
                            slot.write(number(row) as i32);
                        });
                    }
                    SpareValues::I64(slots) => {
                        slots[..count].iter_mut().enumerate().for_each(|(row, slot)| {
                            slot.write(number(row));
                        });
                    }
                    _ => unreachable!("the plan gives numbers to columns of integers only"),
                }
            }
        }
    }
}

/// Sets the first `count` slots to what the first one holds, or to zero.
fn repeat_first(values: &mut SpareValues<'_>, count: usize, zero: bool) {
    fn repeat<T: Copy + Default>(slots: &mut [MaybeUninit<T>], zero: bool) {
        if zero {
            slots[0].write(T::default());
        }
        let first = slots[0];
        slots.fill(first);
    }
    match values {
        SpareValues::U8(slots) => repeat(&mut slots[..count], zero),
        SpareValues::I16(slots) => repeat(&mut slots[..count], zero),
        SpareValues::I32(slots) => repeat(&mut slots[..count], zero),
        SpareValues::I64(slots) => repeat(&mut slots[..count], zero),
        SpareValues::I128(slots) => repeat(&mut slots[..count], zero),
        SpareValues::F32(slots) => repeat(&mut slots[..count], zero),
        SpareValues::F64(slots) => repeat(&mut slots[..count], zero),
        SpareValues::Views(slots) => repeat(&mut slots[..count], zero),
    }
}

/// The filler for the value of `text`, which is never NULL.
pub(super) fn constant(file: &str, column: &Column, text: &str, kernel: Kernel) -> Result<ConstantFiller, LoadError> {
    let dialect: &Dialect = RowText::dialect();
    let rule = FieldRule { force_not_null: true, ..FieldRule::new(value_type(&column.column_type)) };
    let decoder = Box::new(Decoder::with_kernel(rule, dialect, kernel));
    let mut row = RowText::new(vec![Missing::default()], 0);
    row.push_quoted(text.as_bytes(), 0);
    row.end_record(0, 0);
    row.seal();
    let heap_bytes = row.rows().text_bytes() + growth(&decoder) + longshore_csv::PADDING;
    let schema = Arc::new(Schema::new(vec![column.clone()]));
    let mut arena = Arena::new(Memory::new(None), CHECK_BLOCK_BYTES);
    let mut trial = PartitionBuffer::with_capacity(&schema, 1, heap_bytes, &mut arena)?;
    let mut spare = trial.spare(1);
    let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
    let mut target = target(&mut spare.columns[0], 1, &mut heap, None);
    match decoder.decode(&row.rows(), 0, &mut target) {
        Ok(()) => Ok(ConstantFiller::Constant { decoder, text: row }),
        Err(error) => {
            let Advice { reason, remedy } = decoder.advice(text.as_bytes(), error.reason);
            Err(LoadError::Unfit {
                file: file.to_owned(),
                problem: format!(
                    "column {} {}: the value {text:?} for the whole file is not valid ({reason}); {remedy}",
                    column.name, column.column_type,
                ),
            })
        }
    }
}
