//! What the planner of SQL finds by name: tables, functions and settings.
//!
//! `DataFusion` keeps functions in maps of a session's state. These are copied with the state, which every statement has of
//! its own, and once more for the tasks of its plan: a tenth of the time of a point query. So all statements share the
//! [`Functions`] of their database, and their states have none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::catalog::information_schema::InformationSchemaProvider;
use datafusion::catalog::{SchemaProvider, TableFunctionArgs, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, TableReference, plan_datafusion_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::{ParserOptions, PlannerContext, SqlToRel};
use futures::FutureExt;
use sqlparser::ast::{self, ExprWithAlias};

use super::function_registry::Functions;
use super::names::name_of;
use super::planner::Planner;
use super::random;
use super::system_tables::{INFORMATION_SCHEMA, PG_CATALOG};
use super::type_names::TypeNames;
use super::{advisory, identity, sequences, system_functions, system_tables};
use crate::datafusion::execution::limits;
use crate::datafusion::functions::{excluding, shifted};
use crate::sql::names::{CATALOG, SCHEMA};

/// The table of `information_schema` that is `DataFusion`'s: its settings.
const ENGINE_SETTINGS: &str = "df_settings";

impl Planner {
    /// The plan of `statement` as it is; its views are defined.
    pub(in crate::datafusion) fn plan_statement(&self, statement: Statement) -> Result<LogicalPlan> {
        if let Statement::Statement(inner) = &statement
            && let ast::Statement::Insert(insert) = inner.as_ref()
            && let Some(plan) = self.insert_of_query(insert)?
        {
            return Ok(plan);
        }
        SqlToRel::new_with_options(self, self.parser_options()).statement_to_plan(statement)
    }

    /// The expression `expr` over the columns of `schema`.
    pub(in crate::datafusion) fn plan_expression(&self, expr: ExprWithAlias, schema: &DFSchema) -> Result<Expr> {
        let planner = SqlToRel::new_with_options(self, self.parser_options());
        planner.sql_to_expr_with_alias(expr, schema, &mut PlannerContext::new())
    }

    fn parser_options(&self) -> ParserOptions {
        ParserOptions::from(&self.state.config_options().sql_parser)
    }

    /// The scalar function of this name.
    pub(in crate::datafusion) fn function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let own = sequences::function(name, &self.catalog, &self.transaction);
        let own = own.or_else(|| random::function(name, &self.transaction));
        let own = own.or_else(|| identity::function(name, &self.catalog, &self.transaction));
        let own = own.or_else(|| advisory::function(name, &self.transaction));
        own.or_else(|| self.functions.scalar.get(name).cloned()).or_else(|| {
            let function = system_functions::function(name, &self.system);
            self.asks_the_system.fetch_or(function.is_some(), Ordering::Relaxed);
            function
        })
    }

    /// What the tasks of `plan` know of their session. Tables that describe functions know all of them.
    pub(in crate::datafusion) fn task_context(&self, plan: &Arc<dyn ExecutionPlan>) -> Arc<TaskContext> {
        if !describes_functions(plan) {
            let context = self.state.task_ctx();
            return match self.transaction.numbers().query_limits() {
                Some(limits) => limits::limited(context, limits),
                None => context,
            };
        }
        let Functions { scalar, higher_order, aggregate, window, table: _ } = self.functions.as_ref();
        Arc::new(TaskContext::new(
            None,
            self.state.session_id().to_owned(),
            self.state.config().clone(),
            scalar.clone(),
            higher_order.clone(),
            aggregate.clone(),
            window.clone(),
            Arc::clone(self.state.runtime_env()),
        ))
    }

    /// An argument of a table function, with the casts and operators of PostgreSQL.
    fn rewritten(&self, argument: Expr) -> Result<Expr> {
        let (schema, options) = (DFSchema::empty(), self.state.config_options());
        let rewrites = self.state.analyzer().function_rewrites();
        let rewritten = argument.transform_up(|part| {
            rewrites.iter().try_fold(Transformed::no(part), |part, rewrite| {
                part.transform_data(|part| rewrite.rewrite(part, &schema, options))
            })
        });
        rewritten.map(|rewritten| rewritten.data)
    }

    fn table(&self, reference: TableReference) -> Result<Option<Arc<dyn TableProvider>>> {
        let name = reference.table();
        match reference.schema() {
            Some(INFORMATION_SCHEMA) => {}
            None | Some(SCHEMA | PG_CATALOG) => {
                // Nobody's table is called as one of the system's, but for one that its user would not find otherwise.
                let own = self.names.lookup(&name_of(&reference));
                return Ok(own.or_else(|| self.system_table(PG_CATALOG, name)));
            }
            Some(_) => return Ok(self.names.lookup(&name_of(&reference))),
        }
        if name != ENGINE_SETTINGS {
            return Ok(self.system_table(INFORMATION_SCHEMA, name));
        }
        let resolved = reference.resolve(CATALOG, SCHEMA);
        let provider = InformationSchemaProvider::new(Arc::clone(self.state.catalog_list()));
        let provider = provider.with_table_functions(self.functions.table.clone());
        // It makes its tables at once.
        provider.table(&resolved.table).now_or_never().transpose().map(Option::flatten)
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<dyn TableProvider>> {
        let table = system_tables::table(&self.system, schema, name);
        self.asks_the_system.fetch_or(table.is_some(), Ordering::Relaxed);
        table
    }
}

/// Whether `plan` has a table of `information_schema`.
fn describes_functions(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<StreamingTableExec>() || plan.children().into_iter().any(describes_functions)
}

impl ContextProvider for Planner {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let table = self.table(name.clone())?.map(provider_as_source);
        table.ok_or_else(|| plan_datafusion_err!("table '{}' not found", name.resolve(CATALOG, SCHEMA)))
    }

    fn get_table_function_source(&self, name: &str, arguments: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let function = self.functions.table.get(name);
        let function = function.ok_or_else(|| plan_datafusion_err!("table function '{name}' not found"))?;
        let context = SimplifyContext::builder()
            .with_config_options(Arc::clone(self.state.config_options()))
            .with_query_execution_start_time(self.state.execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let simple = |argument: Expr| {
            let argument = self.rewritten(argument)?;
            simplifier.simplify(simplifier.coerce(argument, &DFSchema::empty())?)
        };
        let arguments: Vec<Expr> = arguments.into_iter().map(simple).collect::<Result<_>>()?;
        let arguments = TableFunctionArgs::new(&arguments, self.state.as_ref());
        Ok(provider_as_source(function.create_table_provider_with_args(arguments)?))
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.state.relation_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(TypeNames))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.function(name)
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.functions.higher_order.get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.functions.aggregate.get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        let own = || excluding::named(name, |name| self.functions.aggregate.get(name).cloned());
        self.functions.window.get(name).cloned().or_else(own).or_else(|| shifted::named(name))
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.functions
            .scalar
            .keys()
            .cloned()
            .chain(sequences::names().chain(advisory::names()).chain(random::NAMES).map(str::to_owned))
            .chain(system_functions::all_names().map(str::to_owned))
            .collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.functions.higher_order.keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.functions.aggregate.keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.functions.window.keys().cloned().collect()
    }
}
