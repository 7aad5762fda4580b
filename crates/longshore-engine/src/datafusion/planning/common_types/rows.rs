//! Rows of VALUES.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, not_impl_err};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Values};

use super::{common, in_type, planned};
use crate::datafusion::functions::numeric::is_number;

/// The values that an INSERT itself has: they are of the types of its columns.
pub(super) fn values_of_insert(plan: &LogicalPlan) -> Option<&Values> {
    let LogicalPlan::Dml(insert) = plan else { return None };
    let input = match insert.input.as_ref() {
        LogicalPlan::Projection(projection) => projection.input.as_ref(),
        input => input,
    };
    if let LogicalPlan::Values(values) = input { Some(values) } else { None }
}

/// Rows of values, of which the planner has cast some to decimals already.
///
/// It takes a CASE for one of the type of its first result, and rounded the others to that:
/// `VALUES (CASE WHEN false THEN 0.5 ELSE 0.255 END)` was 0.3. A CASE of several types is refused, as it does not show whether
/// a cast around it is the planner's.
pub(super) fn of_values(values: Values) -> Result<Transformed<LogicalPlan>> {
    let nothing = DFSchema::empty();
    for value in values.values.iter().flatten() {
        if value.exists(|part| is_case_of_several_types(part, &nothing))? {
            return not_impl_err!(
                "a CASE in VALUES has results of several types; cast its first result to the type that is wanted, \
                 or write SELECT ... UNION ALL in place of VALUES"
            );
        }
    }
    let own = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, .. }) => expr.get_type(&nothing),
        expr => expr.get_type(&nothing),
    };
    let mut commons = Vec::with_capacity(values.schema.fields().len());
    for (column, field) in values.schema.fields().iter().enumerate() {
        // Dates and timestamps have become nanoseconds.
        let are_moments = matches!(field.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _));
        let may_be_mixed = is_number(field.data_type()) || are_moments;
        if !may_be_mixed || !values.values.iter().any(|row| matches!(row[column], Expr::Cast(_))) {
            commons.push(None);
            continue;
        }
        let types = values.values.iter().map(|row| own(&row[column])).collect::<Result<Vec<_>>>()?;
        // Casts to a type that the planner does not make of these are the statement's own, such as `2.5::int`.
        let is_planned = planned(&types).as_ref() == Some(field.data_type());
        commons.push(common(&types).filter(|common| is_planned && common != field.data_type()));
    }
    if commons.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let rows = values.values.into_iter().map(|row| {
        let row = row.into_iter().zip(&commons).map(|(expr, common)| match (expr, common) {
            (Expr::Cast(Cast { expr, .. }), Some(common)) => in_type(*expr, common, &nothing),
            (expr, Some(common)) => in_type(expr, common, &nothing),
            (expr, None) => Ok(expr),
        });
        row.collect::<Result<Vec<_>>>()
    });
    Ok(Transformed::yes(LogicalPlanBuilder::values(rows.collect::<Result<_>>()?)?.build()?))
}

fn is_case_of_several_types(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let Expr::Case(case) = expr else { return Ok(false) };
    let results = case.when_then_expr.iter().map(|(_, result)| result).chain(&case.else_expr);
    let types = results.map(|result| result.get_type(schema)).collect::<Result<Vec<DataType>>>()?;
    let mut known = types.into_iter().filter(|data_type| !data_type.is_null());
    let Some(first) = known.next() else { return Ok(false) };
    Ok(known.any(|other| other != first && !(first.is_string() && other.is_string())))
}
