//! Checks of the elements of arrays, as a domain demands them of a column of arrays of it.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DFSchema, Result};
use datafusion::physical_expr::PhysicalExpr;

use crate::catalog::ELEMENT;
use crate::datafusion::functions::nested::innermost;

/// The only column that the condition is over: an element of arrays of this type.
pub(super) fn schema(array: &DataType) -> Result<DFSchema> {
    DFSchema::try_from(Schema::new(vec![Field::new(ELEMENT, innermost(array).clone(), true)]))
}

/// The rows that have an element for which `expr` is false; `None` if there is none.
pub(super) fn fails(expr: &Arc<dyn PhysicalExpr>, arrays: &ArrayRef) -> Result<Option<Vec<usize>>> {
    let (values, rows) = elements(arrays)?;
    let schema = Schema::new(vec![Field::new(ELEMENT, values.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![values])?;
    let passes = expr.evaluate(&batch)?.into_array(batch.num_rows())?;
    let passes: &BooleanArray = passes.as_boolean();
    if passes.false_count() == 0 {
        return Ok(None);
    }
    let mut failing: Vec<usize> =
        (0..passes.len()).filter(|at| passes.is_valid(*at) && !passes.value(*at)).map(|at| rows[at]).collect();
    failing.dedup();
    Ok(Some(failing))
}

/// The innermost elements of arrays, and the row that each is of.
fn elements(arrays: &ArrayRef) -> Result<(ArrayRef, Vec<usize>)> {
    let mut rows: Vec<usize> = (0..arrays.len()).collect();
    let mut values = Arc::clone(arrays);
    while let Some(lists) = values.as_list_opt::<i32>() {
        let offsets = lists.value_offsets();
        let (mut places, mut of) = (Vec::new(), Vec::new());
        for (list, row) in rows.iter().enumerate().filter(|(list, _)| lists.is_valid(*list)) {
            for place in offsets[list]..offsets[list + 1] {
                places.push(place as u64);
                of.push(*row);
            }
        }
        let inner = take(lists.values(), &UInt64Array::from(places), None)?;
        (values, rows) = (inner, of);
    }
    Ok((values, rows))
}
