//! The settings under which queries are planned and run.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::Dialect;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionConfig;
use longshore_storage::Memory;

use super::casts::PostgresCasts;
use super::checked::{CheckedArithmetic, CheckedSum};
use super::memory::SharedPool;
use crate::Config;

/// The one catalog that there is.
pub(super) const CATALOG: &str = "longshore";
/// The one schema that holds tables and views.
pub(super) const SCHEMA: &str = "public";
/// Rows of a batch that operators hand to each other.
pub(super) const BATCH_ROWS: usize = 8192;

/// The state that every statement starts from; it knows no tables yet.
pub(super) fn state(config: &Config, memory: &Arc<Memory>) -> SessionState {
    let mut session = SessionConfig::new()
        .with_target_partitions(config.threads)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(true)
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false);
    let parser = &mut session.options_mut().sql_parser;
    parser.dialect = Dialect::PostgreSQL;
    // Decimal literals are exact, as in PostgreSQL: 0.1 + 0.2 is 0.3.
    parser.parse_float_as_decimal = true;
    let mut state = SessionStateBuilder::new()
        .with_config(session)
        .with_runtime_env(runtime(config, memory))
        .with_default_features()
        .build();
    let checked: Result<()> = state
        .register_function_rewrite(Arc::new(CheckedArithmetic::new()))
        .and_then(|()| state.register_function_rewrite(Arc::new(PostgresCasts::new())))
        .and_then(|()| state.register_udaf(Arc::new(AggregateUDF::new_from_impl(CheckedSum::new()))).map(|_| ()));
    checked.expect("the state of a session takes functions");
    state
}

fn runtime(config: &Config, memory: &Arc<Memory>) -> Arc<RuntimeEnv> {
    let Some(limit) = config.memory_limit else {
        return Arc::new(RuntimeEnv::default());
    };
    let pool = SharedPool::new(Arc::clone(memory), limit);
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .build_arc()
        .expect("a runtime with default caches and temporary folders is always to be had")
}
