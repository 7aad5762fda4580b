//! Columns that a set operation puts together.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, Union};

use super::{ReadAs, common, in_type, of_literals, planned};
use crate::datafusion::planning::multisets::{over, sides};
use crate::datafusion::planning::origin::{char_length_of_column, column_of_known_type, shows_unknown};

/// A UNION, whose columns have one type each.
pub(super) fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let columns = union.schema.fields().len();
    let commons: Vec<Option<ReadAs>> = (0..columns).map(|column| common_type(&union.inputs, column)).collect();
    if commons.iter().all(Option::is_none) {
        let is_stale = |(column, field): (usize, &FieldRef)| {
            let is_own = |input: &Arc<LogicalPlan>| input.schema().field(column).data_type() == field.data_type();
            !union.inputs.iter().any(is_own)
        };
        if !union.schema.fields().iter().enumerate().any(is_stale) {
            return Ok(Transformed::no(LogicalPlan::Union(union)));
        }
        return Union::try_new_with_loose_types(union.inputs).map(|union| Transformed::yes(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| in_types(&input, input.schema(), &commons).map(Arc::new));
    let union = Union::try_new_with_loose_types(inputs.collect::<Result<_>>()?)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// An INTERSECT or an EXCEPT. Its rows are those of the left side, in the types of both: `SELECT 1 EXCEPT SELECT 2.5` gives a
/// NUMERIC.
pub(super) fn of_set_operation(join: Join) -> Result<Transformed<LogicalPlan>> {
    let [left, right] = sides(&join);
    let inputs = [Arc::clone(left), Arc::clone(right)];
    let commons: Vec<Option<ReadAs>> = (0..left.schema().fields().len())
        .map(|column| common_type(&inputs, column).or_else(|| type_of_both(&inputs, column).map(ReadAs::Type)))
        .collect();
    if commons.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let [left, right] = &inputs;
    let left = in_types(left, join.left.schema(), &commons)?;
    let right = in_types(right, join.right.schema(), &commons)?;
    let is_distinct = matches!(*join.left, LogicalPlan::Distinct(_));
    let left = if is_distinct { LogicalPlanBuilder::from(left).distinct()?.build()? } else { left };
    let columns = |side: &LogicalPlan| side.schema().columns().into_iter().map(Expr::Column);
    let on = columns(&left).zip(columns(&right)).collect();
    Ok(Transformed::yes(LogicalPlan::Join(over(&join, left, right, on)?)))
}

/// What the column at this place of all inputs becomes, where that is not what `DataFusion` makes of it.
fn common_type(inputs: &[Arc<LogicalPlan>], column: usize) -> Option<ReadAs> {
    let typed = || inputs.iter().filter(|input| !shows_unknown(input, column));
    let is_literal = |input: &&Arc<LogicalPlan>| type_at(input, column).is_string() && shows_unknown(input, column);
    let has_literals = inputs.iter().any(|input| is_literal(&input));
    if has_literals {
        let mut known = typed().filter_map(|input| column_of_known_type(input, column));
        match known.find_map(ReadAs::text) {
            Some(ReadAs::Char(_)) => {
                return Some(ReadAs::Char(typed().find_map(|input| char_length_of_column(input, column))));
            }
            Some(form) => return Some(form),
            None => {}
        }
    }
    let types: Vec<DataType> = typed().map(|input| type_at(input, column).clone()).collect();
    common(&types).or_else(|| of_literals(&types).filter(|_| has_literals)).map(ReadAs::Type)
}

/// The type of the column at this place of both inputs, where they have two and are not texts.
fn type_of_both(inputs: &[Arc<LogicalPlan>; 2], column: usize) -> Option<DataType> {
    let types = inputs.each_ref().map(|input| type_at(input, column).clone());
    let are_texts = types.iter().all(|known| known.is_string() || known.is_null());
    if types[0] == types[1] || are_texts { None } else { planned(&types) }
}

fn type_at(input: &LogicalPlan, column: usize) -> &DataType {
    input.schema().field(column).data_type()
}

/// The input with its columns in these types, and with the names of this schema.
pub(super) fn in_types(input: &Arc<LogicalPlan>, named: &DFSchema, commons: &[Option<ReadAs>]) -> Result<LogicalPlan> {
    let schema = input.schema();
    let columns = schema.columns().into_iter().zip(named.columns()).zip(commons);
    let exprs = columns.enumerate().map(|(at, ((column, name), common))| {
        let column = Expr::Column(column);
        let cast = match common {
            Some(ReadAs::Type(to)) if type_at(input, at).is_null() => Expr::Literal(ScalarValue::try_from(to)?, None),
            Some(ReadAs::Type(to)) => in_type(column, to, schema)?,
            Some(common) if shows_unknown(input, at) => common.cast(column),
            _ => column,
        };
        Ok(cast.alias_qualified(name.relation, name.name))
    });
    LogicalPlanBuilder::from(Arc::clone(input)).project(exprs.collect::<Result<Vec<_>>>()?)?.build()
}
