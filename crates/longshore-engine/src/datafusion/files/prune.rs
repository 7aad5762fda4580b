//! Leaves out files that a predicate rules out by what is known of them before they are opened: what their folders say,
//! and their names.
//!
//! The predicate is evaluated on a row per file. Only columns of types whose values Arrow reads as our decoders do take
//! part. The rows of the files that are left are filtered all the same. Not here: filtering rows (`source`).

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

use crate::datafusion::scan::predicate::{CodeAnswers, Predicate, Selection, StoredRows, Values};
use crate::text::TextInput;

/// The files among `inputs` of the table of this schema that may have rows for which `predicate` is true.
pub(super) fn files_left<'a>(
    inputs: &'a [TextInput],
    predicate: &Predicate,
    table: &SchemaRef,
) -> Result<Vec<&'a TextInput>> {
    let all = || Ok(inputs.iter().collect());
    let Some(first) = inputs.first() else { return all() };
    let known: Vec<(usize, ArrayRef)> =
        first.known.iter().filter_map(|(column, _)| Some((*column, values(inputs, *column, table)?))).collect();
    let is_known = |conjunct: &&Arc<dyn PhysicalExpr>| {
        let columns = collect_columns(conjunct);
        !columns.is_empty() && columns.iter().all(|column| known.iter().any(|(known, _)| *known == column.index()))
    };
    let conjuncts: Vec<_> = predicate.conjuncts().filter(is_known).map(Arc::clone).collect();
    if conjuncts.is_empty() {
        return all();
    }
    let predicate = Predicate::new(conjuncts, table, |_| false)?;
    let columns = predicate.columns();
    let arrays = columns.iter().filter_map(|column| known.iter().find(|(known, _)| known == column));
    let arrays = arrays.map(|(_, array)| Arc::clone(array)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(inputs.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(table.project(columns)?), arrays, &options)?;
    Ok(
        match predicate.select(
            inputs.len(),
            None,
            &mut Fields { columns, batch: &batch },
            &mut CodeAnswers::default(),
        )? {
            Selection::All => inputs.iter().collect(),
            Selection::None => Vec::new(),
            Selection::Some(mask) => {
                inputs.iter().zip(mask.iter()).filter(|(_, kept)| *kept == Some(true)).map(|(input, _)| input).collect()
            }
        },
    )
}

/// The value of `column` in each file; `None` if it is not known of all, or not how it would be read.
fn values(inputs: &[TextInput], column: usize, table: &SchemaRef) -> Option<ArrayRef> {
    let data_type = table.field(column).data_type();
    let alike = [DataType::Utf8View, DataType::Int16, DataType::Int32, DataType::Int64, DataType::Date32];
    if !alike.contains(data_type) {
        return None;
    }
    let texts = inputs.iter().map(|input| {
        let (_, text) = input.known.iter().find(|(known, _)| *known == column)?;
        Some(text.as_deref())
    });
    let texts = StringArray::from(texts.collect::<Option<Vec<Option<&str>>>>()?);
    let values = cast(&texts, data_type).ok()?;
    (values.null_count() == texts.null_count()).then_some(values)
}

/// The columns of a predicate in the batch that the parser has made of them.
pub(super) struct Fields<'a> {
    pub(super) columns: &'a [usize],
    pub(super) batch: &'a RecordBatch,
}

impl Values for Fields<'_> {
    fn array(&mut self, column: usize, _wanted: Option<&BooleanArray>) -> ArrayRef {
        let position = self.columns.binary_search(&column).expect("the batch has every column of the predicate");
        Arc::clone(self.batch.column(position))
    }

    fn stored(&self, _column: usize) -> Option<StoredRows<'_>> {
        None
    }
}
