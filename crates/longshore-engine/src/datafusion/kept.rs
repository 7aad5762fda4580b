//! Plans of prepared statements, kept from one execution to the next.
//!
//! What is kept is the optimized logical plan, with placeholders for the parameters, and tables without their rows. To
//! run it, its tables are taken anew, with the rows that the transaction sees, and its placeholders become values; what depends on either, which
//! index to use or how to join, is decided after that, by the physical planner. A plan is kept only if that makes no
//! difference: every placeholder has a type, there are tables and views only, and no function whose value is settled
//! when a query is planned, as `now()`. It is made again when a table or view was changed by a statement since.
//!
//! Values that would not be the same ones in the types of the placeholders are not put there: such an execution is
//! planned as if nothing had been prepared. Not here: which statements are prepared (`prepared`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{ParamValues, Result, ScalarValue, internal_err};
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use longshore_storage::{Datum, Relation};
use sqlparser::ast::{self, Statement};

use super::names::Names;
use super::table::RelationTable;
use crate::{Error, prepared};

/// Statements whose plans are kept for one prepared statement: its own, and those that find rows for it.
const PLANS_MAX: usize = 4;

/// The plans of one prepared statement.
#[derive(Default)]
pub(crate) struct Plans(Mutex<Vec<Kept>>);

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plans").finish_non_exhaustive()
    }
}

struct Kept {
    statement: Statement,
    /// The state of the catalog that it was made in.
    version: u64,
    /// `None` if this one is not to be kept.
    plan: Option<Arc<Plan>>,
}

/// A plan with placeholders.
pub(super) struct Plan {
    plan: LogicalPlan,
    /// By their names.
    parameters: HashMap<String, DataType>,
}

/// What became of a plan that was kept.
pub(super) enum Bound {
    Plan(Box<LogicalPlan>),
    /// A table is another one now: it must be made again.
    Stale,
    /// The values are not of its types.
    Unfit,
}

/// A table of a kept plan. It keeps neither the table nor its rows alive.
struct Shape {
    relation: Weak<Relation>,
    schema: SchemaRef,
}

/// What an execution of a prepared statement gives.
pub(crate) struct Parameters<'a> {
    pub(crate) plans: &'a Plans,
    /// The types that PREPARE has given to the first of them.
    pub(crate) types: &'a [ast::DataType],
    pub(crate) values: Vec<Datum<'a>>,
    /// The same as they stand in the text of a statement.
    pub(crate) texts: Vec<ast::Expr>,
}

impl Parameters<'_> {
    /// Puts the values in the place of the parameters.
    pub(super) fn bind(&self, statement: &mut Statement) -> std::result::Result<(), Error> {
        prepared::bind(statement, &self.texts)
    }
}

impl Plans {
    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan that was kept of a statement; `Some(None)` if it is known not to be kept.
    #[expect(clippy::option_option, reason = "not to be kept is not the same as not known")]
    pub(super) fn get(&self, statement: &Statement, version: u64) -> Option<Option<Arc<Plan>>> {
        let kept = self.kept();
        let found = kept.iter().find(|kept| kept.version == version && kept.statement == *statement)?;
        Some(found.plan.clone())
    }

    /// Keeps the plan of a statement, or that there is none to be kept.
    pub(super) fn put(&self, statement: &Statement, version: u64, plan: Option<Arc<Plan>>) {
        let mut kept = self.kept();
        kept.retain(|kept| kept.version == version && kept.statement != *statement);
        if kept.len() < PLANS_MAX {
            kept.push(Kept { statement: statement.clone(), version, plan });
        }
    }

    /// Forgets the plan of a statement.
    pub(super) fn forget(&self, statement: &Statement) {
        self.kept().retain(|kept| kept.statement != *statement);
    }
}

impl Plan {
    /// The plan to keep of one that is not optimized yet, if it can be kept.
    pub(super) fn of(plan: &LogicalPlan, state: &SessionState) -> Result<Option<Self>> {
        if !is_timeless(plan)? {
            return Ok(None);
        }
        let plan = state.optimize(plan)?;
        let mut parameters = HashMap::new();
        for (name, data_type) in plan.get_parameter_types()? {
            let Some(data_type) = data_type else { return Ok(None) };
            parameters.insert(name, data_type);
        }
        Ok(without_rows(plan)?.map(|plan| Self { plan, parameters }))
    }

    /// The plan over the tables that `names` stand for, with these values.
    pub(super) fn bound(&self, names: &Names, values: &[Datum<'_>]) -> Result<Bound> {
        let mut given = HashMap::with_capacity(self.parameters.len());
        for (name, data_type) in &self.parameters {
            let name = name.trim_start_matches('$');
            let value = name.parse::<usize>().ok().and_then(|number| values.get(number.checked_sub(1)?));
            let Some(value) = value.and_then(|value| scalar(*value, data_type)) else { return Ok(Bound::Unfit) };
            given.insert(name.to_owned(), ScalarAndMetadata::from(value));
        }
        let mut stale = false;
        let plan = self.plan.clone().transform_up_with_subqueries(|node| {
            let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
            if let Some(provider) = now(names, &scan)? {
                let scan = TableScan { source: provider_as_source(provider), ..scan };
                return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
            }
            stale = true;
            Ok(Transformed::no(LogicalPlan::TableScan(scan)))
        })?;
        if stale {
            return Ok(Bound::Stale);
        }
        Ok(Bound::Plan(Box::new(plan.data.with_param_values(ParamValues::Map(given))?)))
    }
}

/// The plan with shapes in the place of tables; `None` if it reads anything else.
fn without_rows(plan: LogicalPlan) -> Result<Option<LogicalPlan>> {
    let mut tables_only = true;
    let plan = plan.transform_up_with_subqueries(|node| {
        tables_only &= !matches!(node, LogicalPlan::Extension(_) | LogicalPlan::Statement(_));
        let LogicalPlan::TableScan(scan) = node else { return Ok(Transformed::no(node)) };
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<RelationTable>() else {
            tables_only = false;
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        let shape = Shape { relation: Arc::downgrade(table.relation()), schema: provider.schema() };
        let scan = TableScan { source: provider_as_source(Arc::new(shape)), ..scan };
        Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
    })?;
    Ok(tables_only.then_some(plan.data))
}

/// The table of a scan as it is now, if it is still the same.
fn now(names: &Names, scan: &TableScan) -> Result<Option<Arc<dyn TableProvider>>> {
    let Some(provider) = names.lookup(scan.table_name.table()) else { return Ok(None) };
    let shape = source_as_provider(&scan.source)?;
    let is_same = match (shape.downcast_ref::<Shape>(), provider.downcast_ref::<RelationTable>()) {
        (Some(shape), Some(now)) => {
            shape.relation.upgrade().is_some_and(|relation| Arc::ptr_eq(&relation, now.relation()))
                && shape.schema == provider.schema()
        }
        _ => false,
    };
    Ok(is_same.then_some(provider))
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Shape {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        internal_err!("a plan that was kept must be bound to tables before it is run")
    }
}

/// Whether all functions give the same value whenever the plan is made, and all placeholders have a type.
fn is_timeless(plan: &LogicalPlan) -> Result<bool> {
    let mut timeless = true;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                let bad = match part {
                    Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Stable,
                    Expr::Placeholder(placeholder) => placeholder.field.is_none(),
                    _ => false,
                };
                timeless &= !bad;
                Ok(if bad { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    })?;
    Ok(timeless)
}

/// A value in the type of a placeholder, if it is the same value there.
fn scalar(value: Datum<'_>, data_type: &DataType) -> Option<ScalarValue> {
    let whole = match value {
        Datum::I16(value) => Some(i64::from(value)),
        Datum::I32(value) => Some(i64::from(value)),
        Datum::I64(value) => Some(value),
        _ => None,
    };
    match (value, data_type) {
        (Datum::Null, _) => ScalarValue::try_from(data_type).ok(),
        (Datum::Bool(value), DataType::Boolean) => Some(ScalarValue::Boolean(Some(value))),
        (Datum::F64(value), DataType::Float64) => Some(ScalarValue::Float64(Some(value))),
        (Datum::F32(value), DataType::Float32) => Some(ScalarValue::Float32(Some(value))),
        (Datum::Bytes(value), DataType::BinaryView) => Some(ScalarValue::BinaryView(Some(value.to_owned()))),
        (Datum::Text(value), DataType::Utf8View) => Some(ScalarValue::Utf8View(Some(value.to_owned()))),
        (Datum::Text(value), DataType::Utf8) => Some(ScalarValue::Utf8(Some(value.to_owned()))),
        (Datum::Text(value), DataType::Date32 | DataType::Timestamp(..)) => {
            ScalarValue::Utf8(Some(value.to_owned())).cast_to(data_type).ok().filter(|value| !value.is_null())
        }
        (_, DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Decimal128(..)) => {
            let value = ScalarValue::Int64(Some(whole?));
            value.cast_to(data_type).ok().filter(|value| !value.is_null())
        }
        _ => None,
    }
}
