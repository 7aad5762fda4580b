//! How the placeholders of a plan to keep get their types.
//!
//! `DataFusion` gives a placeholder the type of what it is compared with, or of the column of an INSERT that it stands
//! for. Beyond that, one that a cast is applied to gets the type of the cast, which then has nothing left to do; and one
//! of which nothing is known has the type that PREPARE has declared, or that of the first value that it is given.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use longshore_storage::Datum;
use sqlparser::ast;

use super::Parameters;
use crate::datafusion::functions::time::clock;
use crate::sql::build;
use crate::sql::parameters;

/// What the parameters of a statement are to be written as, so that each has a type.
pub(in crate::datafusion) enum Written {
    As(Vec<ast::Expr>),
    /// NULL tells no type: another execution will.
    NotNow,
    /// A value is of a type that its text does not have.
    Never,
}

/// The plan with the types of casts in the placeholders that they are applied to.
pub(in crate::datafusion) fn without_casts(plan: LogicalPlan) -> Result<LogicalPlan> {
    with_parts(plan, |part| match part {
        Expr::Cast(cast) => match *cast.expr {
            Expr::Placeholder(Placeholder { id, field: None }) => {
                let placeholder = Placeholder { id, field: Some(cast.field) };
                Ok(Transformed::yes(Expr::Placeholder(placeholder)))
            }
            inner => {
                let cast = datafusion::logical_expr::Cast { expr: Box::new(inner), ..cast };
                Ok(Transformed::no(Expr::Cast(cast)))
            }
        },
        other => Ok(Transformed::no(other)),
    })
}

/// The plan with placeholders for functions that give the time of its transaction: `$now` for `now()`.
pub(super) fn with_clocks(plan: LogicalPlan) -> Result<LogicalPlan> {
    with_parts(plan, |part| match &part {
        Expr::ScalarFunction(call) if call.args.is_empty() => {
            let Some(clock) = clock::of_transaction(&call.func) else { return Ok(Transformed::no(part)) };
            let field = Field::new(clock, call.func.return_type(&[])?, false);
            let placeholder = Placeholder { id: format!("${clock}"), field: Some(Arc::new(field)) };
            Ok(Transformed::yes(Expr::Placeholder(placeholder)))
        }
        _ => Ok(Transformed::no(part)),
    })
}

/// The plan with what `other` gives in the place of each part of its expressions, which keep their names.
fn with_parts(plan: LogicalPlan, other: impl Fn(Expr) -> Result<Transformed<Expr>>) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(expr.transform_up(&other)?.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

/// The names of the placeholders that have no type.
pub(in crate::datafusion) fn untyped(plan: &LogicalPlan) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::Placeholder(Placeholder { id, field: None }) = part {
                    found.insert(id.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// `count` parameters with casts to the types that `types` gives to their numbers, from 0.
pub(in crate::datafusion) fn with_types(
    count: usize,
    types: impl Fn(usize) -> Option<ast::DataType>,
) -> Vec<ast::Expr> {
    let written = (0..count).map(|number| {
        let placeholder = build::value(ast::Value::Placeholder(format!("${}", number + 1)));
        match types(number) {
            Some(data_type) => build::cast_as(placeholder, data_type),
            None => placeholder,
        }
    });
    written.collect()
}

/// `statement` with its parameters written so.
pub(in crate::datafusion) fn rewritten(statement: &ast::Statement, written: &[ast::Expr]) -> Option<ast::Statement> {
    let mut statement = statement.clone();
    parameters::bind(&mut statement, written).ok()?;
    Some(statement)
}

impl Parameters<'_> {
    /// The parameters with casts of those that are `untyped`.
    pub(in crate::datafusion) fn written(&self, untyped: &BTreeSet<String>) -> Written {
        let mut types = Vec::with_capacity(self.values.len());
        for (number, value) in self.values.iter().enumerate() {
            let declared = self.types.get(number).and_then(Option::as_ref);
            types.push(match (untyped.contains(&format!("${}", number + 1)), declared, value) {
                (false, ..) => None,
                (true, Some(data_type), _) => Some(data_type.clone()),
                (true, None, Datum::I16(_) | Datum::I32(_) | Datum::I64(_)) => Some(ast::DataType::BigInt(None)),
                (true, None, Datum::Text(_)) => Some(ast::DataType::Text),
                (true, None, Datum::Uuid(_)) => Some(ast::DataType::Uuid),
                (true, None, Datum::Bool(_)) => Some(ast::DataType::Boolean),
                (true, None, Datum::Null) => return Written::NotNow,
                (true, None, _) => return Written::Never,
            });
        }
        Written::As(with_types(types.len(), |number| types[number].clone()))
    }
}
