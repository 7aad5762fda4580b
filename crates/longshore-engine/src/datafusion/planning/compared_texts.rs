//! Comparisons of CHAR and UUID columns with texts: trailing blanks do not count, and every spelling of a UUID does.
//!
//! `CHAR(n)` is stored without trailing blanks, and a UUID is told as a text in its usual form; neither has a type of its own
//! in Arrow. So a literal or a parameter that such a column is compared with takes its form, too, before the plan is
//! optimized; whether a column of a plan is one of a table's, is looked up there. As in PostgreSQL, what is cast to text, or
//! compared by LIKE, stays as it is.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use longshore_storage::{ColumnType, Uuid};
use longshore_value::text::trim_char;

use super::origin::{column_type, gives_uuid};
use crate::builtin_types::PG_TYPE;
use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::nested_casts::cast;
use crate::datafusion::functions::uuid_in;
use crate::sql::arrays::{ALL_OF, ANY_OF};

/// The form that texts take to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::datafusion) enum TextForm {
    /// Without trailing blanks.
    Char,
    /// The usual spelling of a UUID.
    Uuid,
}

impl TextForm {
    /// The form of the values of a column.
    pub(in crate::datafusion) fn of(column_type: ColumnType) -> Option<TextForm> {
        match column_type {
            ColumnType::Char(_) => Some(TextForm::Char),
            ColumnType::Uuid => Some(TextForm::Uuid),
            _ => None,
        }
    }

    /// The form that the values of a parameter take.
    pub(in crate::datafusion) fn of_parameter(parameter: &Placeholder) -> Option<TextForm> {
        let metadata = parameter.field.as_ref()?.metadata();
        [TextForm::Char, TextForm::Uuid].into_iter().find(|form| metadata.contains_key(form.key()))
    }

    /// What the metadata of a parameter has that takes this form.
    fn key(self) -> &'static str {
        match self {
            TextForm::Char => "longshore.bpchar",
            TextForm::Uuid => "longshore.uuid",
        }
    }
}

/// The plan with such comparisons.
///
/// # Errors
/// A UUID is compared with a text that is none.
pub(in crate::datafusion) fn with_compared_texts(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let mut may_change = false;
        node.apply_expressions(|expr| {
            may_change |= expr.exists(|part| Ok(may_take_form(part)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !may_change {
            return Ok(Transformed::no(node));
        }
        let names = NamePreserver::new(&node);
        let inputs: Vec<LogicalPlan> = node.inputs().into_iter().cloned().collect();
        let form = |column: &Column| {
            let mut found =
                inputs.iter().filter_map(|input| Some((input, input.schema().maybe_index_of_column(column)?)));
            found.find_map(|(input, at)| TextForm::of(column_type(input, at)?))
        };
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(compare_texts(expr, &form)?.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

/// The expression with such comparisons, where `form` tells that of columns.
///
/// # Errors
/// A UUID is compared with a text that is none.
pub(in crate::datafusion) fn compare_texts(
    expr: Expr,
    form: &dyn Fn(&Column) -> Option<TextForm>,
) -> Result<Transformed<Expr>> {
    let form = |expr: &Expr| match expr {
        Expr::Column(column) => form(column),
        Expr::ScalarFunction(call) if gives_uuid(call.name()) => Some(TextForm::Uuid),
        Expr::Cast(cast) if cast.field.metadata().get(PG_TYPE).is_some_and(|name| name == "bpchar") => {
            Some(TextForm::Char)
        }
        _ => None,
    };
    expr.transform_up(|part| {
        let mut changed = false;
        let mut take = |value: &mut Expr, form| take_form(value, form).map(|taken| changed |= taken);
        let part = match part {
            Expr::BinaryExpr(BinaryExpr { mut left, op, mut right }) if is_comparison(op) => {
                if may_take_form(&right)
                    && let Some(form) = form(&left)
                {
                    take(&mut right, form)?;
                } else if may_take_form(&left)
                    && let Some(form) = form(&right)
                {
                    take(&mut left, form)?;
                }
                Expr::BinaryExpr(BinaryExpr { left, op, right })
            }
            Expr::Between(mut between) if may_take_form(&between.low) || may_take_form(&between.high) => {
                if let Some(form) = form(&between.expr) {
                    let Between { low, high, .. } = &mut between;
                    take(low, form)?;
                    take(high, form)?;
                }
                Expr::Between(between)
            }
            Expr::InList(InList { expr, mut list, negated }) => {
                if list.iter().any(may_take_form)
                    && let Some(form) = form(&expr)
                {
                    list.iter_mut().try_for_each(|value| take(value, form))?;
                }
                Expr::InList(InList { expr, list, negated })
            }
            Expr::ScalarFunction(mut call) if [ANY_OF, ALL_OF].contains(&call.name()) => {
                if let [_, value, array] = call.args.as_mut_slice()
                    && form(value) == Some(TextForm::Uuid)
                {
                    changed |= take_uuids(array);
                }
                Expr::ScalarFunction(call)
            }
            other => other,
        };
        Ok(if changed { Transformed::yes(part) } else { Transformed::no(part) })
    })
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

/// Whether a value may be another one in the form of a column, or none of it.
fn may_take_form(value: &Expr) -> bool {
    match value {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            let is_usual = |uuid: Uuid| uuid.text() == text.as_bytes();
            !Uuid::parse(text.as_bytes()).is_ok_and(is_usual)
        }
        Expr::Placeholder(placeholder) => TextForm::of_parameter(placeholder).is_none(),
        _ => false,
    }
}

/// Lets a text that stands for an array, or a parameter, be an array of UUIDs; says whether it is one.
fn take_uuids(array: &mut Expr) -> bool {
    let texts = list_of(DataType::Utf8View);
    let elements = match std::mem::take(array) {
        literal @ Expr::Literal(..) => cast(literal, &texts),
        Expr::Placeholder(Placeholder { id, field })
            if field.as_ref().is_none_or(|field| field.data_type().is_string()) =>
        {
            let field = Some(Arc::new(Field::new(&id, texts, true)));
            Expr::Placeholder(Placeholder { id, field })
        }
        other => {
            *array = other;
            return false;
        }
    };
    *array = uuid_in::function().call(vec![elements]);
    true
}

/// Gives a value the form of a column; says whether it is another one then.
fn take_form(value: &mut Expr, form: TextForm) -> Result<bool> {
    match value {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => match form {
            TextForm::Char => {
                let length = trim_char(text).len();
                let is_longer = length < text.len();
                text.truncate(length);
                Ok(is_longer)
            }
            TextForm::Uuid => {
                let stored = uuid_in::stored(text)?;
                let is_other = stored != *text;
                *text = stored;
                Ok(is_other)
            }
        },
        Expr::Placeholder(placeholder) if TextForm::of_parameter(placeholder).is_none() => {
            let field = placeholder
                .field
                .take()
                .map_or_else(|| Field::new(&placeholder.id, DataType::Utf8View, true), Arc::unwrap_or_clone);
            let mut metadata = field.metadata().clone();
            metadata.insert(form.key().to_owned(), String::new());
            placeholder.field = Some(Arc::new(field.with_metadata(metadata)));
            Ok(true)
        }
        _ => Ok(false),
    }
}
