//! Values of one column, or of one list: those of a set operation, of CASE, of COALESCE and the like, of ARRAY. Types that
//! PostgreSQL does not match with each other are refused as it refuses them: numbers do not become texts or dates by meeting them.
//!
//! Literals without a type take that of the others, or fail to. Not here: the type that matching ones have together
//! (`common_types`).

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::cast_types;
use super::function_types;
use super::multisets::{is_set_operation, sides};
use super::operator_types;
use super::origin::{Known, column_of_known_type, known_type};
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Refuses a plan in which types meet that do not match.
pub(super) fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        operator_types::check_node(node)?;
        match node {
            LogicalPlan::Union(union) => {
                for at in 0..union.schema.fields().len() {
                    let columns = union.inputs.iter().map(|input| column_of_known_type(input, at));
                    check_list("UNION", columns)?;
                }
            }
            LogicalPlan::Join(join) if is_set_operation(join) => {
                let operation = if join.join_type == JoinType::LeftSemi { "INTERSECT" } else { "EXCEPT" };
                for at in 0..join.left.schema().fields().len() {
                    check_list(operation, sides(join).into_iter().map(|side| column_of_known_type(side, at)))?;
                }
            }
            _ => {}
        }
        if let [input] = node.inputs()[..] {
            node.apply_expressions(|expr| expr.apply(|part| check_part(part, input)))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Refuses rows of VALUES with a column whose types do not match.
pub(super) fn check_rows(rows: &[Vec<Expr>]) -> Result<()> {
    let nothing = LogicalPlan::default();
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).try_for_each(|at| {
        check_list("VALUES", rows.iter().filter_map(|row| row.get(at)).map(|value| known_type(value, &nothing)))
    })
}

fn check_part(part: &Expr, input: &LogicalPlan) -> Result<TreeNodeRecursion> {
    operator_types::check_part(part, input.schema())?;
    match part {
        Expr::Cast(cast) => cast_types::check_written(cast, input.schema())?,
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, result)| result);
            let results = case.else_expr.iter().chain(results);
            check_list("CASE", results.map(|result| known_type(result, input)))?;
        }
        Expr::ScalarFunction(call) => {
            function_types::check_call(call, input.schema())?;
            let list = match call.func.name() {
                "coalesce" => "COALESCE",
                "greatest" => "GREATEST",
                "least" => "LEAST",
                "make_array" => "ARRAY",
                _ => return Ok(TreeNodeRecursion::Continue),
            };
            check_list(list, call.args.iter().map(|value| known_type(value, input)))?;
        }
        _ => {}
    }
    Ok(TreeNodeRecursion::Continue)
}

fn check_list(list: &str, types: impl Iterator<Item = Option<Known>>) -> Result<()> {
    let mut types = types.flatten();
    let Some(first) = types.next() else { return Ok(()) };
    match types.find(|other| kind(first) != kind(*other)) {
        None => Ok(()),
        Some(other) => {
            let message = format!("{list} types {} and {} cannot be matched", name(first), name(other));
            Err(external(Error::new(ErrorKind::TypeMismatch, message)))
        }
    }
}

/// Types of one kind match, and arrays of them.
fn kind((known, is_array): Known) -> (&'static str, bool) {
    let of_values = match (known.category, known.name) {
        // What is told as `char` and what as `text` is not always the same here.
        ('S' | 'Z', _) => "texts",
        // The numbers of transactions are numbers to who asks system tables.
        ('N', _) | (_, "xid") => "numbers",
        ('D', "time" | "timetz") => "times",
        ('D', _) => "dates",
        (_, name) => name,
    };
    (of_values, is_array)
}

fn name((known, is_array): Known) -> String {
    format!("{}{}", known.sql_name, if is_array { "[]" } else { "" })
}
