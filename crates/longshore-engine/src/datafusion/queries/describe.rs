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
use datafusion::logical_expr::{Expr, LogicalPlan};
use longshore_storage::ColumnType;
use sqlparser::ast::{DataType, Statement};

use super::{Queries, headed};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::execution::complexity;
use crate::datafusion::planning::long_statements::logical;
use crate::datafusion::planning::origin;
use crate::datafusion::planning::parameter_types::deduced;
use crate::datafusion::planning::plan_cache::{rewritten, untyped, with_types, without_casts};
use crate::datafusion::planning::planner::Planner;
use crate::datafusion::request::ExecutionContext;
use crate::sql::{declared_types, oid_casts};
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
        let (planner, plan) = self.plan_deduced(statement, declared, context).await?;
        let found = parameters(&plan).map_err(from_datafusion)?;
        let parameters = (0..declared.len()).map(|number| found.get(&name_of(number)).copied()).collect();
        let optimized = complexity::optimized(&planner.state, &plan).map_err(from_datafusion)?;
        let schema = Arc::clone(optimized.schema().inner());
        let types = origin::types(&plan, &schema, &self.files.catalog);
        Ok(Described { parameters, schema: headed(&schema).unwrap_or(schema), types })
    }

    /// The plan of `statement` whose parameters all have a type: that which is declared, or that of where they stand, or TEXT.
    async fn plan_deduced(
        &self,
        statement: &Statement,
        declared: &[Option<DataType>],
        context: &ExecutionContext<'_>,
    ) -> Result<(Planner, LogicalPlan), Error> {
        let mut types = declared.to_vec();
        loop {
            let (planner, plan) = match self.plan_with(statement, &types, context).await {
                Ok(planned) => planned,
                // Some functions need the types of their arguments.
                Err(error) if types.iter().any(Option::is_none) => {
                    for known in &mut types {
                        known.get_or_insert(DataType::Text);
                    }
                    return self.plan_with(statement, &types, context).await.map_err(|_| error);
                }
                Err(error) => return Err(error),
            };
            let open = untyped(&plan).map_err(from_datafusion)?;
            if open.is_empty() {
                return Ok((planner, plan));
            }
            let deduced = deduced(&plan).map_err(from_datafusion)?;
            let is_open = |number: usize| open.contains(&name_of(number));
            let of = |(known, is_array): &(&BuiltinType, bool)| {
                declared_types::of_oid(if *is_array { known.array_oid } else { known.oid })
            };
            let mut has_found = false;
            for (number, known) in types.iter_mut().enumerate().filter(|(number, _)| is_open(*number)) {
                *known = deduced.get(&name_of(number)).and_then(of);
                has_found |= known.is_some();
            }
            if !has_found {
                for (_, known) in types.iter_mut().enumerate().filter(|(number, _)| is_open(*number)) {
                    *known = Some(DataType::Text);
                }
                return self.plan_with(statement, &types, context).await;
            }
        }
    }

    async fn plan_with(
        &self,
        statement: &Statement,
        types: &[Option<DataType>],
        context: &ExecutionContext<'_>,
    ) -> Result<(Planner, LogicalPlan), Error> {
        let statement = rewritten(statement, &with_types(types.len(), |number| types[number].clone()))
            .ok_or_else(|| Error::internal("a statement has more parameters than were counted"))?;
        let (planner, plan) = Box::pin(logical(self.planner(context), statement, context.control)).await?;
        Ok((planner, without_casts(plan).map_err(from_datafusion)?))
    }
}

/// The name of the parameter of this number, from 0.
fn name_of(number: usize) -> String {
    format!("${}", number + 1)
}

/// The types of the placeholders of a plan.
fn parameters(plan: &LogicalPlan) -> Planned<BTreeMap<String, TypeId>> {
    let type_id = |(known, is_array): (&BuiltinType, bool)| match (is_array, TypeId::of_builtin(known)) {
        (true, of_element) => TypeId { oid: known.array_oid, length: -1, ..of_element },
        (false, of_value) => of_value,
    };
    let mut found: BTreeMap<_, _> = deduced(plan)?.into_iter().map(|(id, known)| (id, type_id(known))).collect();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                match part {
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
