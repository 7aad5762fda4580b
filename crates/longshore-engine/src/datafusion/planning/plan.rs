//! From a parsed statement to a plan: its views, its logical plan, its physical plan.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::{DFSchema, TableReference};
use datafusion::datasource::ViewTable;
use datafusion::execution::SessionState;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, Projection, WriteOp};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::sql::parser::Statement as Parsed;
use futures::future::BoxFuture;
use sqlparser::ast::Statement;

use super::compared_texts::with_compared_texts;
use super::enums::with_enums;
use super::insert_of_query::cast_to_column;
use super::lateral_functions::without_joins;
use super::limits::with_computed_limits;
use super::multisets::with_multisets;
use super::names::name_of;
use super::null_logic::with_null_logic;
use super::nullable_subqueries::with_nullable_subqueries;
use super::order::with_order;
use super::outer_types;
use super::padded_texts::with_padded_texts;
use super::planner::{Optimized, Planner};
use super::shown_oids::{with_names, with_shown_columns};
use super::type_calls::with_told_types;
use super::unnesting::unnested;
use super::{
    common_types, expressions, frames, grouped_keys, matched_types, merged_columns, outer_names, rules, stars,
    system_tables, whole_rows,
};
use crate::catalog::{Entry, Rules, Table, View};
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::execution::compact::compact;
use crate::datafusion::execution::complexity;
use crate::datafusion::execution::distinct_keys::with_distinct_keys;
use crate::datafusion::execution::interruptible::interruptible;
use crate::datafusion::execution::memory;
use crate::datafusion::execution::shared::with_shared_rows;
use crate::datafusion::execution::sizes::Planning;
use crate::datafusion::execution::spilling_joins::without_cross_joins;
use crate::datafusion::execution::windows::by_groups;
use crate::datafusion::functions::zeros::with_equal_zeros;
use crate::datafusion::scan::table::RelationTable;
use crate::sql;
use crate::sql::expressions::each_query;
use crate::sql::{
    arrays, cast_names, expansion, headings, lateral_names, named_arguments, numbers, oid_casts, recursive, repeated,
    rows, set_returning, time_syntax, unnamed, untyped, values_lists, windows,
};
use crate::{Error, ErrorKind};

/// Views that read each other, at most.
const OPEN_VIEWS_MAX: usize = 100;

impl Planner {
    /// What is made of every physical plan before it is run.
    fn finished(&self, plan: Arc<dyn ExecutionPlan>) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let plan = with_distinct_keys(plan)?;
        let plan = if self.merges { without_cross_joins(plan)? } else { plan };
        let plan = if self.is_limited() { compact(by_groups(plan)?)? } else { plan };
        interruptible(plan)
    }

    /// Whether its queries may take so much memory and no more.
    pub(in crate::datafusion) fn is_limited(&self) -> bool {
        let limits = self.transaction.numbers().query_limits();
        limits.is_some_and(|limits| limits.memory.is_some()) || memory::is_limited(&self.state)
    }

    /// The logical plan of `statement`, not optimized.
    pub(in crate::datafusion) async fn logical(&self, statement: Statement) -> Result<LogicalPlan, Error> {
        let plan = self.plan(statement, &mut Vec::new()).await?;
        let plan = with_names(self, plan)
            .and_then(with_nullable_subqueries)
            .and_then(with_compared_texts)
            .and_then(with_padded_texts)
            .and_then(with_enums)
            .and_then(with_told_types)
            .and_then(|plan| with_computed_limits(plan, &self.state))
            .and_then(with_multisets)
            .and_then(with_order);
        let plan = plan.and_then(|plan| unnested(plan, &self.state)).and_then(with_null_logic).and_then(|plan| {
            // The queries that IN became take the value from the query around them.
            if plan.transformed { outer_types::resolved(plan.data, &self.state) } else { Ok(plan.data) }
        });
        plan.and_then(with_equal_zeros).and_then(|plan| with_shown_columns(self, plan)).map_err(from_datafusion)
    }

    /// How an optimized plan is to be run.
    pub(in crate::datafusion) async fn physical_of_optimized(
        &self,
        plan: &Optimized,
    ) -> Result<Arc<dyn ExecutionPlan>, Error> {
        let physical = async |tree: &LogicalPlan| {
            let physical = self.state.query_planner().create_physical_plan(tree, self.state.as_ref());
            Planning::new(tree, physical).await.and_then(|plan| self.finished(plan)).map_err(from_datafusion)
        };
        match &plan.tree {
            LogicalPlan::Projection(Projection { expr, input, .. }) if plan.projects_last => {
                self.project(expr, input.schema(), physical(input).await?).map_err(from_datafusion)
            }
            tree => physical(tree).await,
        }
    }

    fn project(
        &self,
        exprs: &[Expr],
        schema: &DFSchema,
        input: Arc<dyn ExecutionPlan>,
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let exprs = exprs.iter().map(|expr| {
            let name = expr.schema_name().to_string();
            Ok(ProjectionExpr::new(self.state.create_physical_expr(expr.clone().unalias(), schema)?, name))
        });
        let exprs = exprs.collect::<datafusion::common::Result<Vec<_>>>()?;
        Ok(Arc::new(ProjectionExec::try_new(exprs, input)?))
    }

    /// Makes `table` the target of an INSERT, which follows these `rules` of it.
    pub(in crate::datafusion) fn insert_into(&self, table: &Table, rules: &Rules) -> Result<(), Error> {
        let mut defaults = HashMap::new();
        for (column, rule) in table.relation.schema().columns().iter().zip(&rules.columns) {
            if let Some(default) = rules::default(self, &rule.origin)? {
                let default = cast_to_column(default, &column.column_type.arrow(), &DFSchema::empty());
                defaults.insert(column.name.clone(), default.map_err(from_datafusion)?);
            }
        }
        self.names.define(&table.name, Arc::new(RelationTable::target(table, &self.transaction, defaults)));
        Ok(())
    }

    /// How `plan` is to be run.
    pub(in crate::datafusion) async fn physical(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, Error> {
        let physical = Planning::new(plan, Box::pin(self.state.create_physical_plan(plan)));
        physical.await.and_then(|plan| self.finished(plan)).map_err(from_datafusion)
    }

    /// The optimized plan of the rows of an INSERT.
    pub(in crate::datafusion) async fn optimized_insert(&self, plan: &LogicalPlan) -> Result<Optimized, Error> {
        Planning::new(plan, Box::pin(async { optimized_insert(&self.state, plan) })).await.map_err(from_datafusion)
    }

    /// Plans `statement`; `open` names the views that it is part of.
    fn plan<'a>(
        &'a self,
        statement: Statement,
        open: &'a mut Vec<String>,
    ) -> BoxFuture<'a, Result<LogicalPlan, Error>> {
        Box::pin(async move {
            let mut statement = statement;
            headings::name_within(&mut statement);
            rows::write_out(&mut statement)?;
            values_lists::put_in_from(&mut statement);
            repeated::name_repeated(&mut statement);
            untyped::write_out(&mut statement);
            let mut queries = 0;
            each_query(&mut statement, |query| {
                queries += 1;
                recursive::keep_clauses(query)?;
                unnamed::name(query);
                repeated::name_compared(query);
                cast_names::mark(query);
                Ok::<_, Error>(())
            })?;
            if queries > 1 {
                expansion::check(&statement)?;
            }
            oid_casts::write_out(&mut statement);
            system_tables::base_types::write_out(&mut statement);
            system_tables::views_by_function::write_out(&mut statement);
            system_tables::table_oids::write_out(&self.system, &mut statement);
            named_arguments::write_out(&mut statement);
            time_syntax::rewrite(&mut statement);
            arrays::write_out(&mut statement);
            lateral_names::write_out(&mut statement);
            set_returning::write_out(&mut statement, |name| self.function(name).is_some());
            numbers::mark_statement(&mut statement);
            windows::written_out(&mut statement)?;
            frames::resolve(self, &mut statement)?;
            let statement = Parsed::Statement(Box::new(statement));
            let references = self.state.resolve_table_references(&statement).map_err(from_datafusion)?;
            let of_statement = || match &statement {
                Parsed::Statement(statement) => statement.to_string(),
                _ => String::new(),
            };
            let is_all = references.iter().any(|name| system_tables::describes_columns(name.table(), of_statement));
            for name in self.names_to_expand(&references, is_all) {
                if let Some(Entry::View(view)) = self.catalog.get(&name)
                    && !self.names.knows(&name)
                {
                    let defined = self.define_view(&view, open).await;
                    // A view that cannot be planned any more has no columns to tell of.
                    if !is_all {
                        defined?;
                    }
                }
            }
            let Parsed::Statement(mut statement) = statement else {
                return Err(Error::internal("a statement expected"));
            };
            stars::written_out(self, &mut statement)?;
            merged_columns::resolve(self, &mut statement)?;
            whole_rows::write_out(self, &mut statement)?;
            grouped_keys::complete(self, &mut statement);
            if queries > 1 {
                outer_names::write_out(self, &mut statement);
            }
            let plan =
                complexity::checked(self.plan_statement(Parsed::Statement(statement)).map_err(from_datafusion)?)?;
            // Copies of a query are known by where they lie, as long as nothing is changed.
            matched_types::check(&plan).map_err(from_datafusion)?;
            let plan = with_shared_rows(plan)
                .and_then(without_joins)
                .and_then(common_types::united)
                .map_err(from_datafusion)?;
            if queries > 1 { outer_types::resolved(plan, &self.state).map_err(from_datafusion) } else { Ok(plan) }
        })
    }

    /// The names that a statement with these references may look up; all of them where it is told of the columns of views.
    fn names_to_expand(&self, references: &[TableReference], is_all: bool) -> Vec<String> {
        if is_all {
            let path = self.transaction.numbers().path();
            return self.catalog.names().into_iter().filter(|name| path.may_see(name)).collect();
        }
        references.iter().map(name_of).collect()
    }

    async fn define_view(&self, view: &View, open: &mut Vec<String>) -> Result<(), Error> {
        if open.contains(&view.name) {
            return Err(Error::invalid(format!(
                "the view {} reads itself by way of {}; drop one of them",
                view.name,
                open.join(", ")
            )));
        }
        let mut query = sql::parse_query(&view.sql)?;
        repeated::name_for(&mut query, !view.columns.is_empty());
        if open.len() == OPEN_VIEWS_MAX {
            return Err(Error::new(
                ErrorKind::TooComplex,
                format!(
                    "views read each other more than {OPEN_VIEWS_MAX} deep, down to {}; make one of them a table",
                    view.name
                ),
            ));
        }
        open.push(view.name.clone());
        let plan = self.plan(Statement::Query(query), open).await?;
        open.pop();
        let names = columns_of(view, &plan);
        let plan = rename(plan, &names).map_err(from_datafusion)?;
        let definition = Some(view.sql.clone());
        self.names.define(&view.name, Arc::new(ViewTable::new(plan, definition)));
        Ok(())
    }
}

/// The plan of the rows that an INSERT appends, which have the types of the columns of its table.
pub(in crate::datafusion) fn rows_of_insert(plan: LogicalPlan) -> Result<Arc<LogicalPlan>, Error> {
    match plan {
        LogicalPlan::Dml(DmlStatement { op: WriteOp::Insert(InsertOp::Append), input, .. }) => Ok(input),
        _ => Err(Error::unsupported("only INSERT INTO appends rows; other forms of INSERT are not supported yet")),
    }
}

/// The optimized plan of the rows of an INSERT, in the order that its query asks for.
///
/// The planner of INSERT puts a projection to the columns of the table above the query, and the optimizer takes
/// the order of what is below a projection for unimportant; so the query is optimized by itself.
pub(in crate::datafusion) fn optimized_insert(
    state: &SessionState,
    plan: &LogicalPlan,
) -> datafusion::common::Result<Optimized> {
    match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) if is_sorted(input) => {
            let query = complexity::optimized(state, input)?;
            let exprs = expr.iter().map(|expr| {
                let name = expr.schema_name().to_string();
                Ok(expressions::simplified(state, expr.clone().unalias(), query.schema())?.alias(name))
            });
            let exprs = exprs.collect::<datafusion::common::Result<Vec<_>>>()?;
            let tree = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(query))?);
            Ok(Optimized { tree, projects_last: true })
        }
        _ => Ok(Optimized { tree: complexity::optimized(state, plan)?, projects_last: false }),
    }
}

/// Whether the rows of a query may come in an order that it asks for.
fn is_sorted(query: &LogicalPlan) -> bool {
    match query {
        LogicalPlan::Projection(Projection { input, .. }) => is_sorted(input),
        other => matches!(other, LogicalPlan::Sort(_) | LogicalPlan::Limit(_)),
    }
}

/// Refuses plans that would change something.
pub(in crate::datafusion) fn reads_only(plan: &LogicalPlan) -> Result<(), Error> {
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(plan).map_err(from_datafusion)
}

/// The names of the first columns of a view, as it gives them; of all where its plan has headings that are not shown as
/// they are.
fn columns_of(view: &View, plan: &LogicalPlan) -> Vec<String> {
    let mut columns = view.columns.clone();
    let fields = plan.schema().fields();
    if fields.iter().any(|field| headings::shown(field.name()).is_some()) {
        for field in fields.iter().skip(columns.len()) {
            let shown = headings::shown(field.name()).filter(|shown| !columns.iter().any(|column| column == shown));
            columns.push(shown.unwrap_or(field.name()).to_owned());
        }
    }
    columns
}

/// Gives the first columns of `plan` the names in `columns`.
fn rename(plan: LogicalPlan, columns: &[String]) -> datafusion::common::Result<LogicalPlan> {
    if columns.is_empty() {
        return Ok(plan);
    }
    let exprs: Vec<Expr> = plan
        .schema()
        .columns()
        .into_iter()
        .enumerate()
        .map(|(position, column)| match columns.get(position) {
            Some(name) => Expr::Column(column).alias(name),
            None => Expr::Column(column),
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}
