//! The settings under which queries are planned and run.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::Dialect;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::prelude::SessionConfig;
use longshore_storage::Memory;

use super::execution::memory::{self, SharedPool};
use super::execution::shared::Physical;
use super::execution::sizes;
use super::execution::spill::NamelessFiles;
use super::functions;
use super::functions::aggregates::{ArrayExtremes, ComputedDelimiters};
use super::functions::anything::ArgumentsAsTexts;
use super::functions::arrays::operators::ArrayOperators;
use super::functions::casts::PostgresCasts;
use super::functions::checked::{CheckedArithmetic, CheckedSum};
use super::functions::date_diff::DateDiff;
use super::functions::exact::operators::{FinalOperators, NumericOperators};
use super::functions::exact::{aggregates, functions as math, lists};
use super::functions::json::aggregates::JsonAggregates;
use super::functions::json::operators::JsonOperators;
use super::functions::nested_casts::NestedCasts;
use super::functions::operators::PostgresOperators;
use super::functions::ranks;
use super::functions::time::rewrite::TimeRewrite;
use super::functions::time::series;
use super::functions::untyped::TruthTexts;
use super::functions::{arrays, enums, information, json, rows, time};
use super::optimizer::{logical_rules, physical_rules};
use super::planning::cast_types::AssignedTypes;
use super::planning::exact_numbers::ExactNumbers;
use super::planning::literals::Literals;
use super::planning::operator_types::OperatorTypes;
use super::planning::time_operators::TimeOperators;
use super::scan::morsels::BATCH_ROWS;
use crate::Config;
use crate::activity::TempFiles;
use crate::sql::names::{CATALOG, SCHEMA};

/// The state that every statement starts from; it knows no tables yet.
pub(super) fn state(config: &Config, memory: &Arc<Memory>, temp_files: &Arc<TempFiles>) -> SessionState {
    let mut session = SessionConfig::new()
        .with_target_partitions(config.threads)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(true)
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false);
    if let Some(limit) = config.memory_limit {
        memory::fit(&mut session, limit);
    }
    let parser = &mut session.options_mut().sql_parser;
    parser.dialect = Dialect::PostgreSQL;
    // Decimal literals are exact, as in PostgreSQL: 0.1 + 0.2 is 0.3.
    parser.parse_float_as_decimal = true;
    // The order of a query in FROM counts for a LIMIT above it, and for whatever goes through rows one by one.
    parser.enable_subquery_sort_elimination = false;
    // Our scans are parallel themselves. To spread the batches of a serial source (generate_series, a sorted subquery)
    // would lose their order, which people rely on where they store or print them.
    session.options_mut().optimizer.enable_round_robin_repartition = false;
    // What `IS TRUE` gives may be NULL to 55.2's operators, and not to its plans, which are refused then.
    session.options_mut().execution.skip_physical_aggregate_schema_check = true;
    let mut state = SessionStateBuilder::new()
        .with_config(session)
        .with_runtime_env(runtime(config, memory, temp_files))
        .with_expr_planners(first_planners())
        .with_default_features()
        .with_optimizer_rules(logical_rules(config.optimizer))
        .with_physical_optimizer_rules(physical_rules(config.optimizer))
        .with_analyzer_rules(analyzer_rules())
        .with_query_planner(Arc::new(Physical))
        .build();
    let aliased = aliases(&mut state);
    let own = [ScalarUDF::new_from_impl(DateDiff::new())];
    let rewrites: [Arc<dyn FunctionRewrite + Send + Sync>; 8] = [
        Arc::new(TimeRewrite),
        Arc::new(NestedCasts),
        Arc::new(FinalOperators),
        Arc::new(PostgresOperators),
        Arc::new(CheckedArithmetic::new()),
        Arc::new(PostgresCasts::new()),
        Arc::new(ArgumentsAsTexts),
        Arc::new(ArrayExtremes),
    ];
    let checked: Result<()> = aliased
        .and_then(|()| state.register_expr_planner(Arc::new(Literals)))
        .and_then(|()| state.register_expr_planner(Arc::new(NumericOperators)))
        .and_then(|()| rewrites.into_iter().try_for_each(|rewrite| state.register_function_rewrite(rewrite)))
        .and_then(|()| {
            own.into_iter()
                .chain(information::functions())
                .chain(json::functions())
                .chain(arrays::functions())
                .chain(rows::functions())
                .chain(enums::functions())
                .chain(math::functions())
                .chain(functions::by_overloads())
                .chain(time::functions())
                .chain(lists::functions())
                .try_for_each(|function| state.register_udf(Arc::new(function)).map(|_| ()))
        })
        .and_then(|()| state.register_udaf(Arc::new(AggregateUDF::new_from_impl(CheckedSum::new()))).map(|_| ()));
    let checked = checked.and_then(|()| {
        let aggregates = json::aggregates::aggregates().chain(aggregates::functions());
        aggregates.into_iter().try_for_each(|function| state.register_udaf(Arc::new(function)).map(|_| ()))
    });
    let checked = checked.and_then(|()| series::register(&mut state));
    let checked =
        checked.and_then(|()| ranks::register(&mut state)).and_then(|()| functions::aggregates::register(&mut state));
    checked.and_then(|()| sizes::bound(&mut state)).expect("the state of a session takes functions");
    state
}

/// The rules that make a plan out of what was planned, before the optimizer's.
fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(ExactNumbers)];
    rules.extend(Analyzer::new().rules);
    rules
}

/// Those of ours that come before `DataFusion`'s.
fn first_planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![
        Arc::new(AssignedTypes),
        Arc::new(OperatorTypes),
        Arc::new(TruthTexts),
        Arc::new(JsonOperators::new()),
        Arc::new(ArrayOperators::new()),
        Arc::new(JsonAggregates),
        Arc::new(ComputedDelimiters),
        Arc::new(TimeOperators::new()),
    ]
}

/// Gives functions the names that PostgreSQL and DuckDB have for them, too.
fn aliases(state: &mut SessionState) -> Result<()> {
    let every = state.udaf("bool_and")?.as_ref().clone().with_aliases(["every"]);
    state.register_udaf(Arc::new(every))?;
    for (name, alias) in [("uuid", "gen_random_uuid"), ("to_timestamp", "strptime"), ("to_char", "strftime")] {
        let function = state.udf(name)?.as_ref().clone().with_aliases([alias]);
        state.register_udf(Arc::new(function))?;
    }
    Ok(())
}

fn runtime(config: &Config, memory: &Arc<Memory>, temp_files: &Arc<TempFiles>) -> Arc<RuntimeEnv> {
    let disk = DiskManagerBuilder::default().with_temp_file_factory(Arc::new(NamelessFiles::new(temp_files)));
    let mut runtime = RuntimeEnvBuilder::new().with_disk_manager_builder(disk);
    if let Some(limit) = config.memory_limit {
        runtime = runtime.with_max_spill_merge_fan_in(memory::merged_runs(limit, config.threads));
        runtime = runtime.with_memory_pool(Arc::new(SharedPool::new(Arc::clone(memory), limit, config.heap_bytes)));
    }
    runtime.build_arc().expect("a runtime with default caches and temporary folders is always to be had")
}
