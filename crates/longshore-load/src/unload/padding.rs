//! Blanks behind the values of CHAR(n), which are kept without them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::Field;
use longshore_value::text::blanks_behind;

/// Among the metadata of a field: how many characters its texts have, with blanks behind them.
pub const WIDTH: &str = "longshore.width";

fn width(field: &Field) -> Option<usize> {
    field.metadata().get(WIDTH)?.parse().ok()
}

/// The rows with these blanks.
pub(super) fn padded(batch: &RecordBatch) -> Cow<'_, RecordBatch> {
    let fields = batch.schema_ref().fields();
    if fields.iter().all(|field| width(field).is_none()) {
        return Cow::Borrowed(batch);
    }
    let columns = batch.columns().iter().zip(fields).map(|(array, field)| -> ArrayRef {
        match (width(field), array.as_any().downcast_ref::<StringViewArray>()) {
            (Some(width), Some(texts)) => Arc::new(with_blanks(texts, width)),
            _ => Arc::clone(array),
        }
    });
    let padded = RecordBatch::try_new(batch.schema(), columns.collect());
    padded.map_or(Cow::Borrowed(batch), Cow::Owned)
}

fn with_blanks(texts: &StringViewArray, width: usize) -> StringViewArray {
    let mut builder = StringViewBuilder::with_capacity(texts.len());
    let mut padded = String::new();
    for text in texts {
        match text.map(|text| (text, blanks_behind(text.as_bytes(), width))) {
            None => builder.append_null(),
            Some((text, 0)) => builder.append_value(text),
            Some((text, blanks)) => {
                padded.clear();
                padded.push_str(text);
                padded.extend(std::iter::repeat_n(' ', blanks));
                builder.append_value(&padded);
            }
        }
    }
    builder.finish()
}
