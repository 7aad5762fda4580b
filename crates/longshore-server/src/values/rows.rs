//! Rows of a batch as `DataRow` messages.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use longshore_engine::{Binaries, Texts, TypeId, shown_times};

use crate::protocol::backend::Writing;
use crate::protocol::frontend::{Format, Formats};

/// How the rows of a result are written.
#[derive(Debug)]
pub(crate) struct Rows {
    types: Arc<[TypeId]>,
    formats: Formats,
}

/// Rows that are readied at a time: few of those of a batch go into what is sent at a time.
const ROWS_AT_ONCE: usize = 256;

/// A column of a batch in the format that was asked for.
struct Column<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    /// Of a type that has no others.
    Nulls,
    Text(Texts<'a>),
    Binary(Binaries<'a>),
}

impl<'a> Column<'a> {
    fn new(array: &'a ArrayRef, values: Values<'a>) -> Self {
        let values = if *array.data_type() == DataType::Null { Values::Nulls } else { values };
        Self { nulls: array.nulls(), values }
    }

    fn write(&self, row: usize, message: &mut Writing<'_>) {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return message.i32(-1);
        }
        match &self.values {
            Values::Nulls => message.i32(-1),
            Values::Text(texts) => message.value(|out| texts.write(row, out)),
            Values::Binary(binaries) => message.append(|out| binaries.write(row, out)),
        }
    }
}

impl Rows {
    pub(crate) fn new(types: Arc<[TypeId]>, formats: Formats) -> Self {
        Self { types, formats }
    }

    /// Appends rows from `from` on, up to `count` of them, some hundreds, or until there are `bytes_max` bytes; returns how many.
    ///
    /// # Errors
    /// A value that cannot be written.
    pub(crate) fn write(
        &self,
        batch: &RecordBatch,
        from: usize,
        count: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, String> {
        let count = count.min(ROWS_AT_ONCE);
        let batch = &batch.slice(from, count);
        let shown = match &self.formats {
            Formats::All(Format::Binary) => None,
            _ => shown_times(batch).map_err(|error| error.to_string())?,
        };
        let texts = shown.as_ref().unwrap_or(batch);
        let column = |at: usize| -> Option<Column<'_>> {
            Some(match self.formats.of(at) {
                Format::Text => {
                    let texts = texts.column(at);
                    Column::new(texts, Values::Text(Texts::new(texts)?.of_type(self.types.get(at)?)))
                }
                Format::Binary => {
                    let binaries = Binaries::of_type(batch.column(at), self.types.get(at)?)?;
                    Column::new(batch.column(at), Values::Binary(binaries))
                }
            })
        };
        let columns: Vec<Column<'_>> = (0..batch.num_columns())
            .map(|at| {
                column(at).ok_or_else(|| format!("values of type {} cannot be sent", batch.column(at).data_type()))
            })
            .collect::<Result<_, _>>()?;
        for row in 0..count {
            let mut message = Writing::new(out, b'D');
            message.i16(columns.len() as i16);
            for column in &columns {
                column.write(row, &mut message);
            }
            drop(message);
            if out.len() >= bytes_max {
                return Ok(row + 1);
            }
        }
        Ok(count)
    }
}
