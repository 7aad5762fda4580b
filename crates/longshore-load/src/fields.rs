//! Which decoder fills which column: the plan of a load, made once, and its use on the rows of a piece.
//!
//! Not here: the rule that a column is read by (`options/values`), room for the rows (`row_decoder`).

use std::collections::HashMap;

use longshore_csv::decode::{Advice, Coded, Decoder, FieldError, Heap, Reason, Target, TextMemo, Validity, Values};
use longshore_csv::{Kernel, PADDING, Rows};
use longshore_storage::{Column, ColumnType, PartitionBuffer, SpareColumn, SpareValues};

use crate::error::LoadError;
use crate::input::{ComputedValue, InputFile};
use crate::options::TextOptions;
use crate::piece::Piece;

mod constant_filler;
mod output;
mod text_memos;

use constant_filler::{ConstantFiller, constant};
pub(crate) use output::Output;
pub(crate) use text_memos::TextMemos;
use text_memos::note_codes;

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
    fillers: Vec<(usize, ConstantFiller)>,
    columns: usize,
}

/// Why rows were not taken.
pub(crate) enum DecodeError {
    /// A field of them is bad.
    Value(BadValue),
    /// Their text became another one while it was decoded.
    Changed,
    /// Something else stands in the way, such as memory.
    Other(LoadError),
}

/// A bad field of some rows.
pub(crate) struct BadValue {
    /// Index into the file's fields.
    pub(crate) position: usize,
    pub(crate) error: FieldError,
}

/// Bytes of heap by which a decoder's value may be longer than its field.
fn growth(decoder: &Decoder) -> usize {
    decoder.rule().value_type.growth_max()
}

/// That what was decoded of a piece behind so many rows, and bytes of the heap, is text, if it may have changed since it
/// was looked at.
fn are_texts(piece: &Piece<'_>, buffer: &PartitionBuffer, (rows, heap): (usize, usize)) -> Result<(), DecodeError> {
    if piece.may_change && !buffer.are_texts(rows, heap) { Err(DecodeError::Changed) } else { Ok(()) }
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
            let value = input.computed.iter().find(|(filled, _)| *filled == place).map(|(_, value)| value);
            let filler = match value {
                Some(ComputedValue::Text(text)) => constant(file, definition, text, kernel)?,
                Some(ComputedValue::RecordNumber) if definition.column_type == ColumnType::BigInt => {
                    ConstantFiller::RecordNumber
                }
                Some(ComputedValue::RecordNumber) => return Err(no_bigint(definition)),
                Some(ComputedValue::Number(source)) => {
                    match definition.column_type {
                        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => {}
                        _ => return Err(no_bigint(definition)),
                    }
                    ConstantFiller::Number(*source)
                }
                None | Some(ComputedValue::Null) if definition.nullable => ConstantFiller::Null,
                None | Some(ComputedValue::Null) if input.names.is_some() => {
                    return Err(not_in_header(file, definition));
                }
                None | Some(ComputedValue::Null) => return Err(not_null(file, definition)),
            };
            plan.fillers.push((column, filler));
        }
        plan.fields.sort_by_key(|field| field.position);
        Ok(plan)
    }

    /// Bytes of heap that constants need at most in each call of [`FieldPlan::decode`].
    pub(crate) fn constant_bytes(&self) -> usize {
        let bytes = |(_, filler): &(usize, ConstantFiller)| match filler {
            ConstantFiller::Null | ConstantFiller::RecordNumber | ConstantFiller::Number(_) => 0,
            ConstantFiller::Constant { decoder, text } => text.rows().text_bytes() + growth(decoder),
        };
        self.fillers.iter().map(bytes).sum()
    }

    /// Bytes of heap by which the values of a row may be longer than its fields.
    pub(crate) fn row_growth(&self) -> usize {
        self.fields.iter().map(|field| growth(&field.decoder)).sum()
    }

    /// Bytes of heap that [`FieldPlan::decode`] needs at most for these rows.
    pub(crate) fn heap_bytes(&self, rows: &Rows<'_>) -> usize {
        // Copies write whole registers, beyond the end of the last string.
        rows.text_bytes() + rows.count() * self.row_growth() + self.constant_bytes() + PADDING
    }

    /// What to tell about the field `raw`, quotes included, at `position` of a record, that was refused for `reason`.
    /// `None` if this plan does not read it.
    pub(crate) fn advice(&self, position: usize, raw: &[u8], reason: Reason) -> Option<Advice> {
        let field = self.fields.binary_search_by_key(&position, |field| field.position).ok()?;
        Some(self.fields[field].decoder.advice(raw, reason))
    }

    /// Decodes `rows`, which are of `piece`, behind the rows that `buffer` has, which `memos` knows.
    ///
    /// # Errors
    /// The first bad field: of the first bad row, in the order of the file; a text that changed meanwhile. The buffer is
    /// then only good to be dropped.
    pub(crate) fn decode(
        &self,
        mut rows: Rows<'_>,
        piece: &Piece<'_>,
        buffer: &mut PartitionBuffer,
        mut memos: Option<&mut TextMemos>,
    ) -> Result<(), DecodeError> {
        let count = rows.count();
        let mut nulls = vec![0; self.columns];
        let mut bad = None;
        let mut spare = buffer.spare(count);
        let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
        for field in &self.fields {
            let column = &mut spare.columns[field.column];
            let mut memo = memos.as_mut().and_then(|memos| memos.of(column, field.column));
            let mut target = target(column, rows.count(), &mut heap, memo.as_deref_mut());
            match field.decoder.decode(&rows, field.position, &mut target) {
                Ok(()) => {
                    nulls[field.column] = target.validity.nulls();
                    note_codes(column, memo, count);
                }
                Err(error) => {
                    rows = rows.truncated(error.row);
                    bad = Some(BadValue { position: field.position, error });
                }
            }
        }
        if let Some(bad) = bad {
            return Err(DecodeError::Value(bad));
        }
        self.fill(&mut spare.columns, &rows, piece, &mut heap, &mut nulls);
        let heap_used = heap.used();
        let before = (buffer.rows(), buffer.heap_used());
        // SAFETY: every column was filled for `count` rows, by its decoder or its filler, and the heap up to
        // `heap_used`; the decoders check UTF-8, make views that point into the heap, and write the codes of all rows
        // where their memo says so. What they check may be another
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
        mut memos: Option<&mut TextMemos>,
    ) -> Result<(), DecodeError> {
        let count = rows.count();
        let mut nulls = vec![0; self.columns];
        let mut spare = buffer.spare(count);
        let mut heap = Heap::new(spare.heap.bytes, spare.heap.used);
        let mut errors = Vec::new();
        let before = bad.len();
        for &Field { position, column, ref decoder } in &self.fields {
            let spare = &mut spare.columns[column];
            let mut memo = memos.as_mut().and_then(|memos| memos.of(spare, column));
            let mut target = target(spare, count, &mut heap, memo.as_deref_mut());
            decoder.decode_lenient(rows, position, &mut target, &mut errors);
            nulls[column] = target.validity.nulls();
            note_codes(spare, memo, count);
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
        self.fillers
            .iter()
            .any(|(_, filler)| matches!(filler, ConstantFiller::RecordNumber | ConstantFiller::Number(_)))
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
            nulls[*column] = if matches!(filler, ConstantFiller::Null) { rows.count() } else { 0 };
        }
    }
}

/// The room of a column as the decoders see it, with what they remember of it.
fn target<'a, 'h>(
    column: &'a mut SpareColumn<'_>,
    count: usize,
    heap: &'a mut Heap<'h>,
    memo: Option<&'a mut TextMemo>,
) -> Target<'a, 'h> {
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
    let coded = memo.zip(column.codes.as_mut()).map(|(memo, spare)| Coded { memo, codes: &mut spare.codes[..count] });
    Target { values, validity: Validity::new(column.validity, column.validity_offset), heap, coded }
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
