//! Comparisons of CHAR columns with texts: trailing blanks do not count, as in PostgreSQL.
//!
//! `CHAR(n)` is stored without trailing blanks and has no type of its own in Arrow. So a literal or a parameter that such
//! a column is compared with loses its blanks, too, before the plan is optimized; whether a column of a plan is one of a
//! table's, is looked up there. As in PostgreSQL, what is cast to text, or compared by LIKE, keeps them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use longshore_storage::ColumnType;
use longshore_value::text::trim_char;

use super::origin::column_type;

/// Among the metadata of a parameter that is compared with a CHAR column.
const BPCHAR: &str = "longshore.bpchar";

/// The plan with such comparisons.
pub(in crate::datafusion) fn with_bpchar_semantics(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let mut may_change = false;
        node.apply_expressions(|expr| {
            may_change |= expr.exists(|part| Ok(has_blanks(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !may_change {
            return Ok(Transformed::no(node));
        }
        let names = NamePreserver::new(&node);
        let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
        let is_char = |column: &Column| {
            inputs.iter().any(|input| input.schema().maybe_index_of_column(column).is_some_and(|at| is_char(input, at)))
        };
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(compare_bpchar(expr, &is_char)?.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

/// The expression with such comparisons, where `is_char` says of which columns.
pub(in crate::datafusion) fn compare_bpchar(
    expr: Expr,
    is_char: &dyn Fn(&Column) -> bool,
) -> Result<Transformed<Expr>> {
    let is_char = |expr: &Expr| matches!(expr, Expr::Column(column) if is_char(column));
    expr.transform_up(|part| {
        let mut changed = false;
        let mut trim = |value: &mut Expr| changed |= trim(value);
        let part = match part {
            Expr::BinaryExpr(BinaryExpr { mut left, op, mut right }) if is_comparison(op) => {
                if has_blanks(&right) && is_char(&left) {
                    trim(&mut right);
                } else if has_blanks(&left) && is_char(&right) {
                    trim(&mut left);
                }
                Expr::BinaryExpr(BinaryExpr { left, op, right })
            }
            Expr::Between(mut between) if has_blanks(&between.low) || has_blanks(&between.high) => {
                if is_char(&between.expr) {
                    let Between { low, high, .. } = &mut between;
                    trim(low);
                    trim(high);
                }
                Expr::Between(between)
            }
            Expr::InList(InList { expr, mut list, negated }) => {
                if list.iter().any(has_blanks) && is_char(&expr) {
                    list.iter_mut().for_each(trim);
                }
                Expr::InList(InList { expr, list, negated })
            }
            other => other,
        };
        Ok(if changed { Transformed::yes(part) } else { Transformed::no(part) })
    })
}

/// Whether the trailing blanks of the values of a parameter do not count.
pub(in crate::datafusion) fn is_bpchar(parameter: &Placeholder) -> bool {
    parameter.field.as_ref().is_some_and(|field| field.metadata().contains_key(BPCHAR))
}

/// `rows` without the trailing blanks of texts in these columns; `None` if there are none.
pub(in crate::datafusion) fn trimmed(rows: &RecordBatch, columns: &[usize]) -> Result<Option<RecordBatch>> {
    let mut arrays: Option<Vec<ArrayRef>> = None;
    for column in columns {
        let Some(texts) = rows.column(*column).as_string_view_opt() else { continue };
        if texts.iter().flatten().any(|text| text.ends_with(' ')) {
            let texts = texts.iter().map(|text| text.map(trim_char));
            arrays.get_or_insert_with(|| rows.columns().to_vec())[*column] =
                Arc::new(texts.collect::<StringViewArray>());
        }
    }
    Ok(arrays.map(|arrays| RecordBatch::try_new(rows.schema(), arrays)).transpose()?)
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether it has blanks to lose, or may have.
fn has_blanks(value: &Expr) -> bool {
    match value {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => text.ends_with(' '),
        Expr::Placeholder(placeholder) => !is_bpchar(placeholder),
        _ => false,
    }
}

fn trim(value: &mut Expr) -> bool {
    if !has_blanks(value) {
        return false;
    }
    match value {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            text.truncate(trim_char(text).len());
        }
        Expr::Placeholder(placeholder) => {
            let field = placeholder
                .field
                .take()
                .map_or_else(|| Field::new(&placeholder.id, DataType::Utf8View, true), Arc::unwrap_or_clone);
            let mut metadata = field.metadata().clone();
            metadata.insert(BPCHAR.to_owned(), String::new());
            placeholder.field = Some(Arc::new(field.with_metadata(metadata)));
        }
        _ => {}
    }
    true
}

/// Whether a column of the plan is a CHAR column of a table.
fn is_char(plan: &LogicalPlan, at: usize) -> bool {
    matches!(column_type(plan, at), Some(ColumnType::Char(_)))
}
