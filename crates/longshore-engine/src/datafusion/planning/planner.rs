//! What one statement is planned with: the names that it sees, its functions, its transaction.
//!
//! Not here: how it is planned (`plan`).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::{CatalogProviderList, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::RelationPlanner;
use longshore_load::Control;
use sqlparser::ast::{ObjectNamePart, Statement, TableFactor, Visitor};

use super::function_registry::Functions;
use super::names::{Names, OneSchema};
use super::samples::Samples;
use super::short_aliases::ShortAliases;
use super::storage::StorageCalls;
use super::system_tables::SystemCatalog;
use super::table_functions::TableFunctions;
use super::values::ValuesInFrom;
use crate::catalog::{Catalog, Entry, Table};
use crate::datafusion::files::Files;
use crate::datafusion::files::named_source::NamedSource;
use crate::datafusion::functions::time::session;
use crate::datafusion::hidden_names::TARGET;
use crate::datafusion::scan::table::RelationTable;
use crate::sql::names;
use crate::sql::visit::Visit;
use crate::transaction::StatementTransaction;

/// Bytes of a Parquet or Arrow file that a worker claims at a time when it is loaded.
const PART_BYTES: u64 = 16 << 20;
/// Parts that such files are claimed in, at most.
const PARTS_MAX: usize = 4096;

/// An optimized plan.
#[derive(Clone)]
pub(in crate::datafusion) struct Optimized {
    pub(in crate::datafusion) tree: LogicalPlan,
    /// Whether its root is a projection over a query of its own, whose order counts.
    pub(in crate::datafusion) projects_last: bool,
}

/// What one statement is planned and run with.
pub(in crate::datafusion) struct Planner {
    pub(in crate::datafusion) state: Box<SessionState>,
    pub(in crate::datafusion) functions: Arc<Functions>,
    pub(in crate::datafusion) catalog: Arc<Catalog>,
    pub(in crate::datafusion) names: Arc<Names>,
    pub(in crate::datafusion) transaction: Arc<StatementTransaction>,
    /// What system tables and functions tell of.
    pub(super) system: Arc<SystemCatalog>,
    /// Whether the statement names any of these.
    pub(super) asks_the_system: AtomicBool,
    /// Whether joins shall sort both sides rather than keep one of them.
    pub(in crate::datafusion) merges: bool,
}

impl Planner {
    /// A planner for one statement over what `files` knows; `base` holds the settings.
    pub(in crate::datafusion) fn new(
        base: &SessionState,
        functions: &Arc<Functions>,
        mut files: Files,
        transaction: &Arc<StatementTransaction>,
        control: &Arc<Control>,
    ) -> Self {
        files.control = Arc::clone(control);
        let catalog = Arc::clone(&files.catalog);
        let names = Arc::new(Names::new(Arc::clone(&catalog), Arc::clone(transaction)));
        let mut state = base.clone();
        state.register_catalog_list(Arc::new(OneSchema(Arc::clone(&names))) as Arc<dyn CatalogProviderList>);
        state.config_mut().set_extension(Arc::clone(control));
        let storage = StorageCalls {
            catalog: Arc::clone(&catalog),
            transaction: Arc::clone(transaction),
            control: Arc::clone(control),
        };
        // The last one is asked first.
        let relations: [Arc<dyn RelationPlanner>; 6] = [
            Arc::new(files),
            Arc::new(storage),
            Arc::new(ValuesInFrom),
            Arc::new(Samples),
            Arc::new(TableFunctions),
            Arc::new(ShortAliases),
        ];
        for planner in relations {
            state.register_relation_planner(planner).expect("the state of a session takes planners of relations");
        }
        session::tell(&mut state, transaction.time());
        state.mark_start_execution();
        let system = Arc::new(SystemCatalog::new(&catalog, transaction, &names));
        Self {
            state: Box::new(state),
            functions: Arc::clone(functions),
            catalog,
            names,
            transaction: Arc::clone(transaction),
            system,
            asks_the_system: AtomicBool::new(false),
            merges: false,
        }
    }

    /// Whether the statement, as far as it is planned, names system tables or functions.
    pub(super) fn asks_the_system(&self) -> bool {
        self.asks_the_system.load(Ordering::Relaxed)
    }

    /// The same planner for plans whose joins spill.
    pub(in crate::datafusion) fn merging(mut self) -> Self {
        let options = self.state.config_mut().options_mut();
        options.optimizer.prefer_hash_join = false;
        // One thread alone would get a hash join.
        options.execution.target_partitions = options.execution.target_partitions.max(2);
        self.merges = true;
        self
    }

    /// Whether files are looked at while `statement` is planned.
    pub(in crate::datafusion) fn looks_at_files(&self, statement: &Statement) -> bool {
        struct Finder<'a>(&'a Catalog);
        impl Visitor for Finder<'_> {
            type Break = ();

            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                let TableFactor::Table { name, args, .. } = factor else { return ControlFlow::Continue(()) };
                let is_text = |part: &ObjectNamePart| matches!(part, ObjectNamePart::Identifier(name) if name.quote_style == Some('\''));
                let entry = names::relation(name).ok().and_then(|name| self.0.get(&name));
                // In the definition of a view, the path of a file is a text.
                let may_be_file = matches!(entry, Some(Entry::View(view)) if view.sql.contains('\''));
                if args.is_some() || name.0.iter().any(is_text) || may_be_file {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
        }
        statement.visit(&mut Finder(&self.catalog)).is_break()
    }

    /// Makes [`TARGET`] stand for `table` with the numbers of its rows.
    pub(in crate::datafusion) fn change(&self, table: &Table) {
        self.define_numbered(TARGET, table);
    }

    /// Makes `name` stand for `table` with the numbers of its rows.
    pub(in crate::datafusion) fn define_numbered(&self, name: &str, table: &Table) {
        self.names.define(name, Arc::new(RelationTable::with_rows(table, &self.transaction)));
    }

    /// Makes `name` stand for these rows.
    pub(in crate::datafusion) fn define_rows(&self, name: &str, rows: RecordBatch) -> datafusion::common::Result<()> {
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        self.names.define(name, Arc::new(table));
        Ok(())
    }

    /// Makes `name` stand for files, which `threads` workers read.
    pub(in crate::datafusion) fn define(
        &mut self,
        name: &str,
        source: NamedSource,
        threads: usize,
    ) -> datafusion::common::Result<()> {
        let table: Arc<dyn TableProvider> = match source {
            NamedSource::Text(text) => Arc::new(*text),
            NamedSource::Rows(rows) => rows.table()?,
            NamedSource::Columnar(files) => {
                // More parts than workers, so that one that is slow does not keep the others waiting.
                let parts = (files.bytes() / PART_BYTES) as usize;
                let options = self.state.config_mut().options_mut();
                options.execution.target_partitions = parts.clamp(threads, PARTS_MAX.max(threads));
                options.optimizer.repartition_file_min_size = 0;
                Arc::new(files)
            }
        };
        self.names.define(name, table);
        Ok(())
    }
}
