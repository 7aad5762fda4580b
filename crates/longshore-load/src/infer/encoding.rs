//! Whether text is text where nobody decodes it: the types of a column of texts are known without a look at every value,
//! but bytes that are no text in its encoding are an error whoever meets them first.
//!
//! Not here: encodings other than UTF-8, which are decoded before (`longshore-source`).

use std::sync::Arc;

use longshore_csv::Kernel;
use longshore_storage::{Arena, Column, ColumnType, Schema};

use crate::error::LoadError;
use crate::fields::{FieldPlan, Output};
use crate::files::SpanTask;
use crate::options::TextOptions;
use crate::piece::Piece;
use crate::row_decoder::RowDecoder;

/// Whether the text of a piece is UTF-8.
pub(super) fn is_text(piece: &Piece<'_>) -> bool {
    !piece.rows.traits().non_ascii || simdutf8::basic::from_utf8(piece.rows.text().text()).is_ok()
}

/// Fails with the first field of a piece that is no text.
pub(super) fn check(
    options: &TextOptions,
    kernel: Kernel,
    task: &SpanTask,
    columns: &[Column],
    piece: &Piece<'_>,
    arena: &mut Arena,
) -> Result<(), LoadError> {
    let texts = columns.iter().map(|column| Column::new(&column.name, ColumnType::Text, true)).collect();
    let schema = Arc::new(Schema::new(texts));
    let output = Output { schema: Arc::clone(&schema), columns: (0..columns.len()).collect() };
    let plan = FieldPlan::new(&task.file.name, &output, &task.file.input, options, kernel)?;
    let mut buffers = Vec::new();
    let decoder = RowDecoder {
        plan: &plan,
        schema: &schema,
        bytes_left: piece.bytes,
        buffers: &mut buffers,
        packing: None,
        arena,
    };
    decoder.decode(piece.sound_rows(), piece, None).map(drop).map_err(|error| error.explain(task, piece))
}
