//! Which decoder fills which column: the plan of a load, made once, and its use on the rows of a piece.
//!
//! Joins the words of the two crates below: `longshore-storage` knows column types, `longshore-csv` value types.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::Arc;

use longshore_csv::decode::{
    Advice, Decoder, FieldError, FieldRule, Heap, Reason, Target, Validity, ValueType, Values,
};
use longshore_csv::{Dialect, Kernel, Missing, RowText, Rows};
use longshore_storage::{Arena, Column, ColumnType, Memory, PartitionBuffer, Schema, SpareColumn, SpareValues};

use crate::files::{Output, Work};
use crate::position::bad_value;
use crate::worker::Piece;
use crate::{Fill, InputFile, LoadError, TextOptions};

/// Bytes of the block that a constant is tried in.
const CHECK_BLOCK_BYTES: usize = 64 << 10;

/// One field of the file and where its values go.
pub(crate) struct Field {
    /// Position in the file.
    position: usize,
    /// Position in the partition buffer.
    column: usize,
    decoder: Decoder,
}

/// The fields to decode, in the order of the file.
pub(crate) struct FieldPlan {
    fields: Vec<Field>,
    /// Columns of the buffer that no field goes to, and what goes there.
    fillers: Vec<(usize, Filler)>,
    columns: usize,
}

/// What goes into a column that no field goes to.
enum Filler {
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

/// Why rows were not taken.
pub(crate) enum Refusal {
    /// A field of them is bad.
    Value(BadValue),
    /// Their text became another one while it was decoded.
    Changed,
    /// Something else stands in the way, such as memory.
    Other(LoadError),
}

impl Refusal {
    /// The error for the user, where the rows are those of `piece`.
    pub(crate) fn explain(self, work: &Work, piece: &Piece<'_>) -> LoadError {
        match self {
            Self::Value(bad) => bad_value(work, piece, &bad),
            Self::Changed => LoadError::Changed { file: work.file.name.clone() },
            Self::Other(error) => error,
        }
    }
}

/// A bad field of some rows.
pub(crate) struct BadValue {
    /// Index into the file's fields.
    pub(crate) position: usize,
    pub(crate) error: FieldError,
}

/// That what was decoded of a piece behind so many rows, and bytes of the heap, is text, if it may have changed since it
/// was looked at.
fn are_texts(piece: &Piece<'_>, buffer: &PartitionBuffer, (rows, heap): (usize, usize)) -> Result<(), Refusal> {
    if piece.may_change && !buffer.are_texts(rows, heap) { Err(Refusal::Changed) } else { Ok(()) }
}

impl FieldPlan {
    /// Plans to fill buffers of `output`'s schema from the file `input`.
    ///
    /// # Errors
    /// When a column that may not be NULL gets no field, or a constant is no value of its column.
    pub(crate) fn new(
        file: &str,
        output: &Output,
        input: &InputFile,
        options: &TextOptions,
        kernel: Kernel,
    ) -> Result<Self, LoadError> {
        let dialect = options.row_dialect();
        let targets = input.fields.iter().enumerate();
        let field_of: HashMap<usize, usize> =
            targets.filter_map(|(position, target)| target.as_ref().map(|target| (target.column, position))).collect();
        let mut plan = Self { fields: Vec::new(), fillers: Vec::new(), columns: output.columns.len() };
        for (column, (&place, definition)) in output.columns.iter().zip(output.schema.columns()).enumerate() {
            if let Some(&position) = field_of.get(&place) {
                let rule = options.values.rule(definition, dialect)?;
                let default = input.fields[position].as_ref().and_then(|target| target.default.as_deref());
                if let Some(default) = default.filter(|default| !rule.reads_by_default(default.as_bytes())) {
                    return Err(unwritable_default(definition, default));
                }
                let decoder = Decoder::with_kernel(rule, dialect, kernel);
                plan.fields.push(Field { position, column, decoder });
                continue;
            }
            let fill = input.fills.iter().find(|(filled, _)| *filled == place).map(|(_, fill)| fill);
            let filler = match fill {
                Some(Fill::Constant(text)) => constant(file, definition, text, kernel)?,
                Some(Fill::RecordNumber) if definition.column_type == ColumnType::BigInt => Filler::RecordNumber,
                Some(Fill::RecordNumber) => return Err(no_bigint(definition)),
                Some(Fill::Number(source)) => {
                    match definition.column_type {
                        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => {}
                        _ => return Err(no_bigint(definition)),
                    }
                    Filler::Number(*source)
                }
                None | Some(Fill::Null) if definition.nullable => Filler::Null,
                None | Some(Fill::Null) if input.names.is_some() => return Err(not_in_header(file, definition)),
                None | Some(Fill::Null) => return Err(not_null(file, definition)),
            };
            plan.fillers.push((column, filler));
        }
        plan.fields.sort_by_key(|field| field.position);
        Ok(plan)
    }

    /// Bytes of heap that constants need at most in each call of [`FieldPlan::decode`].
    pub(crate) fn constant_bytes(&self) -> usize {
        let bytes = |(_, filler): &(usize, Filler)| match filler {
            Filler::Null | Filler::RecordNumber | Filler::Number(_) => 0,
            Filler::Constant { text, .. } => text.rows().text_bytes(),
        };
        self.fillers.iter().map(bytes).sum()
    }

    /// What to tell about the field `raw`, quotes included, at `position` of a record, that was refused for `reason`.
    /// `None` if this plan does not read it.
    pub(crate) fn advice(&self, position: usize, raw: &[u8], reason: Reason) -> Option<Advice> {
        let field = self.fields.binary_search_by_key(&position, |field| field.position).ok()?;
        Some(self.fields[field].decoder.advice(raw, reason))
    }

    /// Decodes `rows`, which are of `piece`, behind the rows that `buffer` has.
    ///
    /// # Errors
    /// The first bad field: of the first bad row, in the order of the file; a text that changed meanwhile. The buffer is
    /// then only good to be dropped.
    pub(crate) fn decode(
        &self,
        mut rows: Rows<'_>,
        piece: &Piece<'_>,
        buffer: &mut PartitionBuffer,
    ) -> Result<(), Refusal> {
        let count = rows.count();
        let mut nulls = vec![0; self.columns];
        let mut bad = None;
        let mut spare = buffer.spare(count);
        let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
        for field in &self.fields {
            let mut target = target(&mut spare.columns[field.column], rows.count(), &mut heap);
            match field.decoder.decode(&rows, field.position, &mut target) {
                Ok(()) => nulls[field.column] = target.validity.nulls(),
                Err(error) => {
                    rows = rows.truncated(error.row);
                    bad = Some(BadValue { position: field.position, error });
                }
            }
        }
        if let Some(bad) = bad {
            return Err(Refusal::Value(bad));
        }
        self.fill(&mut spare.columns, &rows, piece, &mut heap, &mut nulls);
        let heap_used = heap.used();
        let before = (buffer.rows(), buffer.heap_used());
        // SAFETY: every column was filled for `count` rows, by its decoder or its filler, and the heap up to
        // `heap_used`; the decoders check UTF-8 and make views that point into the heap. What they check may be another
        // text than the one that they copy, if it changes meanwhile: that is asked next, and callers drop the buffer.
        unsafe { buffer.advance(count, &nulls, heap_used) };
        are_texts(piece, buffer, before)
    }

    /// The same, without the rows that have bad fields. These are appended to `bad` in the order of row and position,
    /// the first of `rows` counting as row `first_row`.
    ///
    /// # Errors
    /// A text that changed meanwhile. The buffer is then only good to be dropped.
    pub(crate) fn decode_lenient(
        &self,
        rows: &Rows<'_>,
        first_row: usize,
        piece: &Piece<'_>,
        buffer: &mut PartitionBuffer,
        bad: &mut Vec<BadValue>,
    ) -> Result<(), Refusal> {
        let count = rows.count();
        let mut nulls = vec![0; self.columns];
        let mut spare = buffer.spare(count);
        let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
        let mut errors = Vec::new();
        let before = bad.len();
        for &Field { position, column, ref decoder } in &self.fields {
            let mut target = target(&mut spare.columns[column], count, &mut heap);
            decoder.decode_lenient(rows, position, &mut target, &mut errors);
            nulls[column] = target.validity.nulls();
            bad.extend(errors.drain(..).map(|error| BadValue { position, error }));
        }
        self.fill(&mut spare.columns, rows, piece, &mut heap, &mut nulls);
        let heap_used = heap.used();
        let bad = &mut bad[before..];
        bad.sort_by_key(|bad| (bad.error.row, bad.position));
        let mut rejected: Vec<u32> = bad.iter().map(|bad| bad.error.row as u32).collect();
        rejected.dedup();
        for bad in bad {
            bad.error.row += first_row;
        }
        let before = (buffer.rows(), buffer.heap_used());
        // SAFETY: every column was filled for `count` rows, by its decoder or its filler, and the heap up to
        // `heap_used`; the decoders check UTF-8, make views that point into the heap, and count the NULLs. For texts that
        // change meanwhile as in `decode`.
        unsafe { buffer.advance_without(count, &rejected, &nulls, heap_used) };
        are_texts(piece, buffer, before)
    }

    /// Whether a column gets the numbers of records.
    pub(crate) fn is_numbered(&self) -> bool {
        self.fillers.iter().any(|(_, filler)| matches!(filler, Filler::RecordNumber | Filler::Number(_)))
    }

    /// Fills the columns that no field goes to, for `rows` of `piece`.
    fn fill(
        &self,
        columns: &mut [SpareColumn<'_>],
        rows: &Rows<'_>,
        piece: &Piece<'_>,
        heap: &mut Heap<'_>,
        nulls: &mut [usize],
    ) {
        for (column, filler) in &self.fillers {
            filler.fill(&mut columns[*column], rows, piece, heap);
            nulls[*column] = if matches!(filler, Filler::Null) { rows.count() } else { 0 };
        }
    }
}

/// The room of a column as the decoders see it.
fn target<'a, 'h>(column: &'a mut SpareColumn<'_>, count: usize, heap: &'a mut Heap<'h>) -> Target<'a, 'h> {
    let values = match &mut column.values {
        SpareValues::U8(values) => Values::U8(&mut values[..count]),
        SpareValues::I16(values) => Values::I16(&mut values[..count]),
        SpareValues::I32(values) => Values::I32(&mut values[..count]),
        SpareValues::I64(values) => Values::I64(&mut values[..count]),
        SpareValues::I128(values) => Values::I128(&mut values[..count]),
        SpareValues::F32(values) => Values::F32(&mut values[..count]),
        SpareValues::F64(values) => Values::F64(&mut values[..count]),
        SpareValues::Views(values) => Values::Views(&mut values[..count]),
    };
    Target { values, validity: Validity::new(column.validity, column.validity_offset), heap }
}

impl Filler {
    /// Fills the next slots of a column, for `rows` of `piece`.
    fn fill(&self, column: &mut SpareColumn<'_>, rows: &Rows<'_>, piece: &Piece<'_>, heap: &mut Heap<'_>) {
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
                let mut target = target(column, 1, heap);
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
fn constant(file: &str, column: &Column, text: &str, kernel: Kernel) -> Result<Filler, LoadError> {
    let dialect: &Dialect = RowText::dialect();
    let rule = FieldRule { force_not_null: true, ..FieldRule::new(value_type(&column.column_type)) };
    let decoder = Box::new(Decoder::with_kernel(rule, dialect, kernel));
    let mut row = RowText::new(vec![Missing::default()], 0);
    row.push_quoted(text.as_bytes(), 0);
    row.end_record(0, 0);
    row.seal();
    let heap_bytes = row.rows().text_bytes() + longshore_csv::PADDING;
    let schema = Arc::new(Schema::new(vec![column.clone()]));
    let mut arena = Arena::new(Memory::new(None), CHECK_BLOCK_BYTES);
    let mut trial = PartitionBuffer::with_capacity(&schema, 1, heap_bytes, &mut arena)?;
    let mut spare = trial.spare(1);
    let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
    let mut target = target(&mut spare.columns[0], 1, &mut heap);
    match decoder.decode(&row.rows(), 0, &mut target) {
        Ok(()) => Ok(Filler::Constant { decoder, text: row }),
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

fn unwritable_default(column: &Column, default: &str) -> LoadError {
    LoadError::Options(format!(
        "column {} {}: its default {default:?} means something else, or nothing, in the separators, words or formats of \
         the file; drop the default, or the option",
        column.name, column.column_type
    ))
}

fn no_bigint(column: &Column) -> LoadError {
    LoadError::Options(format!(
        "column {} is {}, but numbers of records are BIGINT; declare it so",
        column.name, column.column_type
    ))
}

fn not_in_header(file: &str, column: &Column) -> LoadError {
    LoadError::Unfit {
        file: file.to_owned(),
        problem: format!(
            "column \"{}\" is NOT NULL, but the header of the file does not name it; give it a default (DEFAULTS), or \
             drop the constraint",
            column.name
        ),
    }
}

fn not_null(file: &str, column: &Column) -> LoadError {
    LoadError::Unfit {
        file: file.to_owned(),
        problem: format!(
            "column \"{}\" is NOT NULL but the list of columns leaves it out; name it in the list, \
             or drop the constraint",
            column.name
        ),
    }
}

/// How the text of a column is read.
pub(crate) fn value_type(column_type: &ColumnType) -> ValueType {
    match *column_type {
        ColumnType::Boolean => ValueType::Boolean,
        ColumnType::SmallInt => ValueType::Int16,
        ColumnType::Integer => ValueType::Int32,
        ColumnType::BigInt => ValueType::Int64,
        ColumnType::Real => ValueType::Float32,
        ColumnType::Double => ValueType::Float64,
        ColumnType::Decimal { precision, scale } if precision <= 18 => ValueType::Decimal64 { precision, scale },
        ColumnType::Decimal { precision, scale } => ValueType::Decimal128 { precision, scale },
        ColumnType::Char(length) => ValueType::Char(length),
        ColumnType::Varchar(length) => ValueType::Varchar(length),
        ColumnType::Text => ValueType::Text,
        ColumnType::Date => ValueType::Date,
        ColumnType::Time => ValueType::Time,
        ColumnType::Timestamp => ValueType::Timestamp,
        ColumnType::TimestampTz => ValueType::TimestampTz,
        ColumnType::Uuid => ValueType::Uuid,
        ColumnType::Bytea => ValueType::Bytea,
    }
}
