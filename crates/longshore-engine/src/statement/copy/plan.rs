//! What a COPY FROM is going to do: its options are read once, here, into the plan of one of two ways.
//!
//! Text that goes into the table as it is, is loaded (`load`). Rows that are computed, chosen by a condition, or read from
//! Parquet and Arrow files are inserted by the planner (`insert`).

use std::sync::Arc;

use longshore_load::TextOptions;
use longshore_source::FoundFile;
use longshore_storage::{Column, ColumnType, Relation, Schema};
use sqlparser::ast::{Expr, Query};

use super::copied::Copied;
use super::insert::{InsertPlan, rows_of_source};
use super::load::LoadPlan;
use super::rules::{Followed, LoadRules};
use super::settings::Settings;
use super::target::{Target, check_named};
use crate::Error;
use crate::binary::{BinaryRows, BinarySource};
use crate::datafusion::{Columnar, NamedSource, RowsOnce, TextTable};
use crate::sql::options::{CheckTime, Options};
use crate::statement::rejects::Rejects;
use crate::statement::{Context, refuse};
use crate::text::{ColumnMapping, ComputedColumn, TextSources};
use crate::transaction::StatementTransaction;

/// A COPY FROM that is ready to run.
pub(super) enum CopyPlan {
    Load(LoadPlan),
    Insert(InsertPlan),
}

impl CopyPlan {
    /// The rows of `query` into `target`.
    pub(super) fn of_query(
        context: &Context<'_>,
        target: Target,
        query: Box<Query>,
        options: &Options,
    ) -> Result<Self, Error> {
        refuse::unless_reads_only(&query)?;
        let settings = Settings::new(context, options);
        let conflict = target.conflicts_of_rows(options)?;
        let rejects = Rejects::new(context, &settings.rejects)?;
        Ok(Self::Insert(InsertPlan { target, query, source: None, repairs: None, settings, rejects, conflict }))
    }

    /// Those records of `texts` into `target` for which `condition` is true.
    pub(super) fn of_text(
        context: &Context<'_>,
        target: Target,
        texts: TextSources,
        options: &Options,
        condition: Option<Expr>,
    ) -> Result<Self, Error> {
        check_named(options, &target.names())?;
        let columns = target.table.relation.schema().columns();
        // JSON and arrays are read by the planner.
        let is_loaded =
            condition.is_none() && !target.fields.iter().any(|field| columns[*field].column_type.is_inserted());
        let followed = if is_loaded { target.followed(context, options.rejects.dry_run)? } else { None };
        if let Some(Followed { computed, mut rules }) = followed {
            rules.conflicts = target.conflicts(options)?;
            let computed: Vec<_> = target.computed.iter().cloned().chain(computed).collect();
            let mapping = target.mapping(&target.fields, &computed);
            let transaction = Some(context.transaction);
            return Self::of_load(context, &target.table.relation, &mapping, texts, options, rules, transaction);
        }
        if options.references == Some(CheckTime::Unified) {
            return Err(Error::unsupported(
                "option FOREIGN_KEYS: unified is for texts that are loaded as they are; with WHERE, and where values are \
                 computed or checked, foreign keys are checked when all rows are there",
            ));
        }
        let filled = target.computed.iter().map(|(column, _)| *column);
        let fields: Vec<usize> = target.fields.iter().copied().chain(filled).collect();
        let as_read = |field: &usize| {
            let column = columns[*field].clone();
            if column.column_type.is_inserted() { Column { column_type: ColumnType::Text, ..column } } else { column }
        };
        let schema = Arc::new(Schema::new(fields.iter().map(as_read).collect()));
        let name = texts.name();
        let places: Vec<usize> = (0..target.fields.len()).collect();
        let behind = target.computed.iter().enumerate();
        let computed: Vec<(usize, ComputedColumn)> =
            behind.map(|(index, (_, computed_column))| (places.len() + index, computed_column.clone())).collect();
        let (inputs, text) = texts.plan(options, &target.mapping(&places, &computed), context.control)?;
        // The plan is run once, so that records are repaired as they come.
        let mut text = text.repairing().unwrap_or(text);
        let repairs = text.repair_log().cloned();
        let settings = Settings::new(context, options);
        let rejects = Rejects::new(context, &settings.rejects)?;
        text.on_error = rejects.on_error.clone();
        let table = TextTable::new(name, inputs, schema, text, settings.tuning.clone(), context.database.memory());
        let table = NamedSource::Text(Box::new(TextTable { checks_all: true, ..table }));
        let target = Target { fields, computed: Vec::new(), ..target };
        let fields: Vec<String> = target.names().into_iter().map(str::to_owned).collect();
        let (query, name) = rows_of_source(&target, &fields, condition, |column| column.column_type.is_inserted())?;
        let conflict = target.conflicts_of_rows(options)?;
        let source = Some((name, table));
        Ok(Self::Insert(InsertPlan { target, query, source, repairs, settings, rejects, conflict }))
    }

    /// Those rows of Parquet or Arrow `files` into `target` for which `condition` is true.
    pub(super) fn of_columnar(
        context: &Context<'_>,
        target: Target,
        files: &[FoundFile],
        options: &Options,
        condition: Option<Expr>,
    ) -> Result<Self, Error> {
        let files = Columnar::open(files, &options.source.open.store, context.database.memory())?;
        let fields = target.fields_of(&files)?;
        let settings = Settings::new(context, options);
        let rejects = Rejects::new(context, &settings.rejects)?;
        let (query, name) = rows_of_source(&target, &fields, condition, |column| column.column_type.is_inserted())?;
        let conflict = target.conflicts_of_rows(options)?;
        let source = Some((name, NamedSource::Columnar(files)));
        Ok(Self::Insert(InsertPlan { target, query, source, repairs: None, settings, rejects, conflict }))
    }

    /// Those rows of `sources`, in PostgreSQL's binary format, into `target` for which `condition` is true.
    pub(super) fn of_binary(
        context: &Context<'_>,
        target: Target,
        sources: Vec<BinarySource>,
        options: &Options,
        condition: Option<Expr>,
    ) -> Result<Self, Error> {
        let columns = target.table.relation.schema().columns();
        let columns: Vec<Column> = target.fields.iter().map(|field| columns[*field].clone()).collect();
        let rows = BinaryRows::new(sources, &columns, context.control);
        let settings = Settings::new(context, options);
        let rejects = Rejects::new(context, &settings.rejects)?;
        let names: Vec<String> = target.names().into_iter().map(str::to_owned).collect();
        let (query, name) = rows_of_source(&target, &names, condition, BinaryRows::is_cast)?;
        let conflict = target.conflicts_of_rows(options)?;
        let source = Some((name, NamedSource::Rows(RowsOnce::new(rows.schema(), rows))));
        Ok(Self::Insert(InsertPlan { target, query, source, repairs: None, settings, rejects, conflict }))
    }

    /// Those of `rows`, which a program gives, into `target` for which `condition` is true.
    pub(super) fn of_rows(
        context: &Context<'_>,
        target: Target,
        rows: RowsOnce,
        options: &Options,
        condition: Option<Expr>,
    ) -> Result<Self, Error> {
        let fields = rows.schema().fields();
        if fields.len() != target.fields.len() {
            return Err(Error::invalid(format!(
                "the rows have {} columns, where {} are expected: {}",
                fields.len(),
                target.fields.len(),
                target.names().join(", ")
            )));
        }
        // Types that are read where they are inserted, such as JSON, are given as texts.
        let is_text = |column: &Column| {
            let at = target.names().iter().position(|name| *name == column.name);
            column.column_type.is_inserted() && at.is_some_and(|at| fields[at].data_type().is_string())
        };
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let (query, name) = rows_of_source(&target, &names, condition, is_text)?;
        let settings = Settings::new(context, options);
        let rejects = Rejects::new(context, &settings.rejects)?;
        let conflict = target.conflicts_of_rows(options)?;
        let source = Some((name, NamedSource::Rows(rows)));
        Ok(Self::Insert(InsertPlan { target, query, source, repairs: None, settings, rejects, conflict }))
    }

    /// A load of `texts`, as part of `transaction` or in a transaction of its own.
    pub(super) fn of_load(
        context: &Context<'_>,
        relation: &Arc<Relation>,
        mapping: &ColumnMapping<'_>,
        texts: TextSources,
        options: &Options,
        rules: LoadRules,
        transaction: Option<&Arc<StatementTransaction>>,
    ) -> Result<Self, Error> {
        let (inputs, text) = texts.plan(options, mapping, context.control)?;
        let LoadRules { check, numbers, conflicts } = rules;
        let text = TextOptions { check, numbers, conflicts, reject_limit: options.rejects.limit, ..text };
        let (relation, settings) = (Arc::clone(relation), Settings::new(context, options));
        Ok(Self::Load(LoadPlan { relation, inputs, text, settings, transaction: transaction.map(Arc::clone) }))
    }

    /// Lets each text begin where it is said, at the begin of a record; what is before was loaded already.
    pub(super) fn start_at(&mut self, starts: &[u64]) {
        let inputs = match self {
            Self::Load(plan) => plan.inputs.as_mut_slice(),
            Self::Insert(InsertPlan { source: Some((_, NamedSource::Text(table))), .. }) => table.inputs.as_mut_slice(),
            Self::Insert(_) => &mut [],
        };
        for (input, start) in inputs.iter_mut().zip(starts) {
            input.text_start = Some(*start).filter(|start| *start > 0);
        }
    }

    /// Runs it: says how much was done, and what is to be told of it.
    pub(super) async fn run(self, context: &Context<'_>) -> Result<Copied, Error> {
        match self {
            Self::Load(plan) => {
                let table = plan.relation.name();
                plan.run(context).await.map_err(|error| error.of_table(&table))
            }
            Self::Insert(plan) => {
                let table = plan.target.table.name.clone();
                plan.run(context).await.map_err(|error| error.of_table(&table))
            }
        }
    }
}
