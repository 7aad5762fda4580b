//! How a text that an execution gives becomes a value of the type that its placeholder has, where that is more than to read a
//! number: NUMERIC, JSON, times, intervals, bytes and arrays.
//!
//! Drivers send most values as texts. A text is cast as if it stood in the statement, by an expression that is made when the
//! plan is kept; one that cannot be cast is no value, so that the error is the one of a statement that was never prepared.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, col};
use datafusion::physical_expr::PhysicalExpr;

use crate::datafusion::planning::expressions::simplified;

const TEXT: &str = "text";

static ONE_TEXT: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(vec![Field::new(TEXT, DataType::Utf8View, false)])));

/// Those of the types of a plan's placeholders.
#[derive(Debug, Default)]
pub(super) struct TextReaders(Vec<(DataType, Arc<dyn PhysicalExpr>)>);

impl TextReaders {
    /// Those that `plan` needs, made with the settings of `state`.
    pub(super) fn of(plan: &LogicalPlan, state: &SessionState) -> Result<Self> {
        let mut types: Vec<DataType> = Vec::new();
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                expr.apply(|part| {
                    if let Expr::Placeholder(Placeholder { field: Some(field), .. }) = part
                        && is_cast(field.data_type())
                        && !types.contains(field.data_type())
                    {
                        types.push(field.data_type().clone());
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        // There are types that no text is cast to.
        let readers = types.into_iter().filter_map(|to| reader(&to, state).ok().map(|reader| (to, reader)));
        Ok(Self(readers.collect()))
    }

    /// A text as a value of this type, if it is one.
    pub(super) fn read(&self, text: &str, data_type: &DataType) -> Option<ScalarValue> {
        let (_, reader) = self.0.iter().find(|(to, _)| to == data_type)?;
        let text = Arc::new(StringViewArray::from_iter_values([text])) as ArrayRef;
        let row = RecordBatch::try_new(Arc::clone(&ONE_TEXT), vec![text]).ok()?;
        let value = reader.evaluate(&row).ok()?.into_array(1).ok()?;
        ScalarValue::try_from_array(&value, 0).ok().filter(|value| value.data_type() == *data_type)
    }
}

/// Whether texts are cast to be values of this type.
fn is_cast(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Struct(_)
            | DataType::List(_)
            | DataType::Time64(_)
            | DataType::Float32
            | DataType::Decimal128(..)
            | DataType::BinaryView
    )
}

fn reader(to: &DataType, state: &SessionState) -> Result<Arc<dyn PhysicalExpr>> {
    let schema = DFSchema::try_from(Arc::clone(&ONE_TEXT))?;
    let cast = Expr::Cast(Cast::new(Box::new(col(TEXT)), to.clone()));
    state.create_physical_expr(simplified(state, cast, &schema)?, &schema)
}
