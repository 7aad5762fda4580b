//! What a query with parameters takes and gives, found out without running it.
//!
//! As in PostgreSQL, a parameter has the type that was declared for it, or that of what it is compared with, cast to or
//! combined with; one of which nothing is known is a text.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as Planned;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan};
use longshore_storage::ColumnType;
use sqlparser::ast::{DataType, Statement};

use super::{Queries, headed};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::execution::complexity;
use crate::datafusion::planning::long_statements::logical;
use crate::datafusion::planning::origin;
use crate::datafusion::planning::plan_cache::{rewritten, untyped, with_types, without_casts};
use crate::datafusion::planning::planner::Planner;
use crate::datafusion::request::ExecutionContext;
use crate::sql::oid_casts;
use crate::{BuiltinType, Error, TypeId};

/// What a query takes and gives.
pub(crate) struct Described {
    /// The types of its parameters, `None` of those that it does not name.
    pub(crate) parameters: Vec<Option<TypeId>>,
    pub(crate) schema: SchemaRef,
    pub(crate) types: Arc<[TypeId]>,
}

impl Queries {
    /// What the query `statement` takes and gives, whose parameters have the types `declared`, as far as they are.
    pub(crate) async fn describe(
        &self,
        statement: &Statement,
        declared: &[Option<DataType>],
        context: &ExecutionContext<'_>,
    ) -> Result<Described, Error> {
        let types = |number: usize| declared[number].clone();
        let as_texts = |number: usize| types(number).or(Some(DataType::Text));
        let planned = match self.plan_with(statement, declared.len(), types, context).await {
            Ok((_, plan)) if !untyped(&plan).map_err(from_datafusion)?.is_empty() => {
                let open = untyped(&plan).map_err(from_datafusion)?;
                let known_or_text = |number: usize| {
                    let is_open = open.contains(&format!("${}", number + 1));
                    types(number).or_else(|| is_open.then_some(DataType::Text))
                };
                self.plan_with(statement, declared.len(), known_or_text, context).await?
            }
            Ok(planned) => planned,
            // Some functions need the types of their arguments.
            Err(error) if declared.iter().any(Option::is_none) => {
                self.plan_with(statement, declared.len(), as_texts, context).await.map_err(|_| error)?
            }
            Err(error) => return Err(error),
        };
        let (planner, plan) = planned;
        let found = parameters(&plan).map_err(from_datafusion)?;
        let parameters = (0..declared.len()).map(|number| found.get(&format!("${}", number + 1)).copied()).collect();
        let optimized = complexity::optimized(&planner.state, &plan).map_err(from_datafusion)?;
        let schema = Arc::clone(optimized.schema().inner());
        let types = origin::types(&plan, &schema, &self.files.catalog);
        Ok(Described { parameters, schema: headed(&schema).unwrap_or(schema), types })
    }

    async fn plan_with(
        &self,
        statement: &Statement,
        count: usize,
        types: impl Fn(usize) -> Option<DataType>,
        context: &ExecutionContext<'_>,
    ) -> Result<(Planner, LogicalPlan), Error> {
        let statement = rewritten(statement, &with_types(count, types))
            .ok_or_else(|| Error::internal("a statement has more parameters than were counted"))?;
        let (planner, plan) = Box::pin(logical(self.planner(context), statement, context.control)).await?;
        Ok((planner, without_casts(plan).map_err(from_datafusion)?))
    }
}

/// The types of the placeholders of a plan.
fn parameters(plan: &LogicalPlan) -> Planned<BTreeMap<String, TypeId>> {
    let mut found = BTreeMap::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                match part {
                    Expr::BinaryExpr(BinaryExpr { left, right, .. }) => match (left.as_ref(), right.as_ref()) {
                        (Expr::Placeholder(placeholder), column) | (column, Expr::Placeholder(placeholder))
                            if is_uuid(node, column) =>
                        {
                            found.insert(placeholder.id.clone(), TypeId::of_column(ColumnType::Uuid));
                        }
                        _ => {}
                    },
                    // `$1::uuid`, `$1::regclass`
                    Expr::ScalarFunction(call) => {
                        if let [Expr::Placeholder(placeholder)] = call.args.as_slice()
                            && let Some(cast) = of_cast(call.func.name(), placeholder)
                        {
                            found.insert(placeholder.id.clone(), cast);
                        }
                    }
                    Expr::Placeholder(placeholder) => {
                        if let Some(field) = &placeholder.field {
                            found.entry(placeholder.id.clone()).or_insert(TypeId::of_field(field));
                        }
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// The type that a function casts a parameter to, if it is one that stands for a cast.
fn of_cast(function: &str, parameter: &Placeholder) -> Option<TypeId> {
    if let Some(name) = oid_casts::named(function) {
        return BuiltinType::named(name).map(TypeId::of_builtin);
    }
    let is_array = parameter.field.as_ref().is_some_and(|field| field.data_type().is_nested());
    let uuid = if is_array { ColumnType::Uuid.array()? } else { ColumnType::Uuid };
    origin::gives_uuid(function).then(|| TypeId::of_column(uuid))
}

/// Whether an expression of a node is a column of UUIDs.
fn is_uuid(node: &LogicalPlan, expr: &Expr) -> bool {
    let Expr::Column(column) = expr else { return false };
    let of_input = |input: &&LogicalPlan| {
        input.schema().maybe_index_of_column(column).and_then(|at| origin::column_type(input, at))
    };
    node.inputs().iter().find_map(of_input) == Some(ColumnType::Uuid)
}
