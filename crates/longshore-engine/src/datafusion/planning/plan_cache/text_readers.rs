//! What reads the texts that an execution gives for placeholders whose types need a cast.

use datafusion::arrow::array::StringViewArray;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::datafusion::functions::nested::innermost;
use crate::datafusion::planning::text_reader::TextReader;
use crate::transaction::StatementTime;

/// Those of the types of a plan's placeholders.
#[derive(Debug, Default)]
pub(super) struct TextReaders(Vec<TextReader>);

impl TextReaders {
    /// Those that `plan` needs, in a session whose state is `state` and that knows this of time.
    pub(super) fn of(plan: &LogicalPlan, state: &SessionState, time: &StatementTime) -> Result<Self> {
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
        let readers = types.into_iter().filter_map(|to| TextReader::new(to, state, time.settings.clone()).ok());
        Ok(Self(readers.collect()))
    }

    /// A text as a value of this type, if it is one.
    pub(super) fn read(&self, text: &str, data_type: &DataType) -> Option<ScalarValue> {
        let reader = self.0.iter().find(|reader| reader.data_type() == data_type)?;
        let value = reader.read(StringViewArray::from_iter_values([text]))?;
        ScalarValue::try_from_array(&value, 0).ok()
    }
}

/// Whether texts are cast to be values of this type. Not to be decimals: one that a cast would round may be compared.
fn is_cast(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => !matches!(innermost(item.data_type()), DataType::Decimal128(..)),
        DataType::Struct(_) | DataType::Time64(_) | DataType::Float32 | DataType::BinaryView => true,
        _ => false,
    }
}
