//! Which decoder fills which column: the plan of a load, made once, and its use on the rows of a piece.
//!
//! Joins the words of the two crates below: `longshore-storage` knows column types, `longshore-csv` value types.

use longshore_csv::decode::{Decoder, FieldError, FieldRule, Heap, Target, Validity, ValueType, Values};
use longshore_csv::{Kernel, Rows};
use longshore_storage::{ColumnType, PartitionBuffer, Schema, SpareColumn, SpareValues};

use crate::position::bad_value;
use crate::span::Span;
use crate::worker::{Pass, Piece};
use crate::{LoadError, TextOptions};

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
    /// Columns of the buffer that no field goes to: they become NULL.
    absent: Vec<usize>,
    columns: usize,
}

/// Why rows were not taken.
pub(crate) enum Refusal {
    /// A field of them is bad.
    Value(BadValue),
    /// Something else stands in the way, such as memory.
    Other(LoadError),
}

impl Refusal {
    /// The error for the user, where the rows are those of `piece`.
    pub(crate) fn explain(self, pass: &Pass, span: &Span, piece: &Piece<'_>) -> LoadError {
        match self {
            Self::Value(bad) => bad_value(pass, span, piece, &bad),
            Self::Other(error) => error,
        }
    }
}

/// The first bad field of some rows.
pub(crate) struct BadValue {
    /// Index into the file's fields.
    pub(crate) position: usize,
    pub(crate) error: FieldError,
}

impl FieldPlan {
    /// Plans to fill buffers of `schema`: `targets` holds (position in the file, column of the schema) pairs.
    ///
    /// # Errors
    /// When a column that may not be NULL gets no field.
    pub(crate) fn new(
        file: &str,
        schema: &Schema,
        targets: &[(usize, usize)],
        options: &TextOptions,
        kernel: Kernel,
    ) -> Result<Self, LoadError> {
        let columns = schema.columns();
        let mut fields: Vec<Field> = targets
            .iter()
            .map(|&(position, column)| {
                let definition = &columns[column];
                let rule = FieldRule {
                    value_type: value_type(&definition.column_type),
                    nullable: definition.nullable,
                    null_text: options.null.as_bytes().into(),
                    force_null: options.force_null.contains(&definition.name),
                    force_not_null: options.force_not_null.contains(&definition.name),
                };
                Field { position, column, decoder: Decoder::with_kernel(rule, &options.dialect, kernel) }
            })
            .collect();
        fields.sort_by_key(|field| field.position);
        let absent: Vec<usize> =
            (0..columns.len()).filter(|column| fields.iter().all(|field| field.column != *column)).collect();
        if let Some(column) = absent.iter().map(|&c| &columns[c]).find(|column| !column.nullable) {
            return Err(LoadError::Unfit {
                file: file.to_owned(),
                problem: format!(
                    "column \"{}\" is NOT NULL but the list of columns leaves it out; name it in the list, \
                     or drop the constraint",
                    column.name
                ),
            });
        }
        Ok(Self { fields, absent, columns: columns.len() })
    }

    /// Decodes `rows` behind the rows that `buffer` has.
    ///
    /// # Errors
    /// The first bad field: of the first bad row, in the order of the file. The buffer is then only good to be dropped.
    pub(crate) fn decode(&self, mut rows: Rows<'_>, buffer: &mut PartitionBuffer) -> Result<(), BadValue> {
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
            return Err(bad);
        }
        for &column in &self.absent {
            let mut target = target(&mut spare.columns[column], count, &mut heap);
            fill_with_nulls(&mut target);
            nulls[column] = count;
        }
        let heap_used = heap.used();
        // SAFETY: every column was filled for `count` rows, by its decoder or with NULLs, and the heap up to
        // `heap_used`; the decoders check UTF-8 and make views that point into the heap.
        unsafe { buffer.advance(count, &nulls, heap_used) };
        Ok(())
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

fn fill_with_nulls(target: &mut Target<'_, '_>) {
    fn zero<T: Default + Copy>(values: &mut [std::mem::MaybeUninit<T>]) -> usize {
        for value in values.iter_mut() {
            value.write(T::default());
        }
        values.len()
    }
    let count = match &mut target.values {
        Values::U8(values) => zero(values),
        Values::I16(values) => zero(values),
        Values::I32(values) => zero(values),
        Values::I64(values) => zero(values),
        Values::I128(values) => zero(values),
        Values::F32(values) => zero(values),
        Values::F64(values) => zero(values),
        Values::Views(values) => zero(values),
    };
    for row in 0..count {
        target.validity.clear(row);
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
