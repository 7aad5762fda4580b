//! Rows of a batch as `DataRow` messages.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use longshore_engine::{Binaries, Texts, TypeId, is_null, shown_times};

use crate::protocol::backend::Writing;
use crate::protocol::frontend::{Format, Formats};

/// How the rows of a result are written.
#[derive(Debug)]
pub(crate) struct Rows {
    types: Arc<[TypeId]>,
    formats: Formats,
}

/// A column of a batch in the format that was asked for.
enum Column<'a> {
    Text(Texts<'a>),
    Binary(Binaries<'a>),
}

impl Rows {
    pub(crate) fn new(types: Arc<[TypeId]>, formats: Formats) -> Self {
        Self { types, formats }
    }

    /// Appends rows from `from` on, up to `count`, or until there are `bytes_max` bytes; returns how many.
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
        let shown = match &self.formats {
            Formats::All(Format::Binary) => None,
            _ => shown_times(batch).map_err(|error| error.to_string())?,
        };
        let texts = shown.as_ref().unwrap_or(batch);
        let column = |at: usize| -> Option<(&ArrayRef, Column<'_>)> {
            Some(match self.formats.of(at) {
                Format::Text => (texts.column(at), Column::Text(Texts::new(texts.column(at))?)),
                Format::Binary => {
                    (batch.column(at), Column::Binary(Binaries::new(batch.column(at), self.types.get(at)?.oid)?))
                }
            })
        };
        let columns: Vec<(&ArrayRef, Column<'_>)> = (0..batch.num_columns())
            .map(|at| {
                column(at).ok_or_else(|| format!("values of type {} cannot be sent", batch.column(at).data_type()))
            })
            .collect::<Result<_, _>>()?;
        for row in from..from + count {
            let mut message = Writing::new(out, b'D');
            message.i16(columns.len() as i16);
            for (array, column) in &columns {
                if is_null(array, row) {
                    message.i32(-1);
                } else {
                    message.value(|out| match column {
                        Column::Text(texts) => texts.write(row, out),
                        Column::Binary(binaries) => binaries.write(row, out),
                    });
                }
            }
            drop(message);
            if out.len() >= bytes_max {
                return Ok(row + 1 - from);
            }
        }
        Ok(count)
    }
}
