//! The functions of a database. They are kept beside the state of a session, which is cloned for each statement.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::catalog::TableFunction;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};

/// The function that an optimizer rule of `DataFusion` asks the state for, to plan DISTINCT ON.
const FIRST_VALUE: &str = "first_value";

/// The functions of a database, by their names and aliases.
pub(in crate::datafusion) struct Functions {
    pub(in crate::datafusion) scalar: HashMap<String, Arc<ScalarUDF>>,
    pub(in crate::datafusion) higher_order: HashMap<String, Arc<HigherOrderUDF>>,
    pub(in crate::datafusion) aggregate: HashMap<String, Arc<AggregateUDF>>,
    pub(in crate::datafusion) window: HashMap<String, Arc<WindowUDF>>,
    pub(in crate::datafusion) table: HashMap<String, Arc<TableFunction>>,
}

impl Functions {
    /// Takes the functions out of `state`.
    pub(in crate::datafusion) fn out_of(state: SessionState) -> (SessionState, Self) {
        let functions = Self {
            scalar: state.scalar_functions().clone(),
            higher_order: state.higher_order_functions().clone(),
            aggregate: state.aggregate_functions().clone(),
            window: state.window_functions().clone(),
            table: state.table_functions().clone(),
        };
        let mut builder = SessionStateBuilder::new_from_existing(state);
        *builder.scalar_functions() = None;
        *builder.higher_order_functions() = None;
        *builder.aggregate_functions() = Some(functions.aggregate.get(FIRST_VALUE).cloned().into_iter().collect());
        *builder.window_functions() = None;
        *builder.table_functions() = None;
        // Files are read and written by ways of our own.
        *builder.file_formats() = None;
        *builder.table_factories() = None;
        (builder.build(), functions)
    }

    /// Adds a scalar function.
    #[cfg(test)]
    pub(in crate::datafusion) fn add(&mut self, function: ScalarUDF) {
        self.scalar.insert(function.name().to_owned(), Arc::new(function));
    }
}
