//! Statements: who does what.
//!
//! Every statement is dispatched here over its syntax tree. Queries and INSERT go to `datafusion`; the rest is ours,
//! because `DataFusion` would lose parts of it (lengths of texts, constraints, COPY FROM). What this version cannot do
//! is refused by name, never ignored.

mod alter;
mod backup;
mod change;
mod checkpoint;
mod client_settings;
mod copy;
mod create;
mod create_from;
mod cursor_query;
mod cursors;
mod describe;
mod discard;
mod drop;
mod dump_tools;
mod export;
mod following_settings;
mod foreign;
mod grants;
mod hidden_columns;
mod hint;
mod identity;
mod import;
mod index;
mod insert;
mod lock_table;
mod merge;
mod nature;
mod new_folder;
mod notifications;
mod object_locks;
mod objects;
mod of_session;
mod own_block;
mod own_types;
mod owner;
mod owners;
mod pivot;
pub(crate) mod prepare;
mod query;
mod refuse;
mod rejects;
mod renames;
mod reset;
pub(crate) mod resolve;
pub(crate) mod restore;
mod rights;
mod role_names;
mod roles;
mod row_locks;
mod rows;
mod run_prepared;
mod schema_elements;
mod schemas;
mod sequence;
mod set_config;
mod setting_calls;
mod settings;
mod shaped;
mod show;
mod storage;
mod streams;
mod summarize;
pub(crate) mod temporary;
mod time_settings;
mod transaction;
mod unload;
mod updatable;
mod user_types;
mod view;
mod with_changes;

pub(crate) use client_settings::ClientSettings;
pub(crate) use create_from::load_found;
pub(crate) use cursors::Cursors;
pub(crate) use describe::describe;
use following_settings::{follow_path, settings_behind};
pub(crate) use of_session::execute_of_session;
pub(crate) use run_prepared::{Arguments, execute_prepared};
pub(crate) use set_config::begin_session;
pub use streams::CopyBegin;
pub(crate) use streams::{SharedWriter, Streams};

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_load::Control;
use sqlparser::ast::{DescribeAlias, ObjectType, Select, Statement, With};

use nature::nature;
use prepare::Execution;
use query::{explain, run_query};

use crate::catalog::{Entry, RoleId, SearchPath};
use crate::datafusion::{ExecutionContext, NamedRows, Parameters};
use crate::prepared::{Shapes, Surroundings};
use crate::sql::{self, Parsed, build};
use crate::transaction::{Block, Nature, Rerun, Run, StatementTransaction};
use crate::{Database, Error, Outcome};

/// What of a session its statements work with.
pub(crate) struct SessionContext<'a> {
    pub(crate) database: &'a Arc<Database>,
    pub(crate) block: &'a mut Block,
    pub(crate) prepared: &'a mut prepare::Named,
    pub(crate) streams: &'a mut Streams,
    pub(crate) settings: &'a mut ClientSettings,
    pub(crate) shapes: &'a mut Shapes,
    pub(crate) cursors: &'a mut Cursors,
    pub(crate) control: &'a Arc<Control>,
}

/// What a statement works with.
pub(crate) struct Context<'a> {
    pub(crate) database: &'a Arc<Database>,
    pub(crate) control: &'a Arc<Control>,
    /// The transaction that it works in.
    pub(crate) transaction: &'a Arc<StatementTransaction>,
    /// The values of parameters that still stand in it.
    pub(crate) parameters: Option<&'a Parameters<'a>>,
    /// The WITH that stands before it, if it changes rows.
    pub(crate) with: Option<&'a With>,
    /// Rows that are there, which its queries know by name.
    pub(crate) named: &'a [NamedRows],
}

impl Context<'_> {
    /// What `name` stands for to the statement's transaction.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        self.transaction.entry(&self.database.catalog, name)
    }

    /// Where a point query works.
    pub(crate) fn surroundings(&self) -> Surroundings<'_> {
        let database = self.database;
        Surroundings { transaction: self.transaction, catalog: &database.catalog, queries: &database.queries }
    }

    /// The transaction of the block that has the catalog to itself, if one has.
    pub(crate) fn block_transaction(&self) -> Option<&Arc<StatementTransaction>> {
        self.database.catalog.is_fork().then_some(self.transaction)
    }

    /// To whom belongs what it makes.
    pub(crate) fn creator(&self) -> RoleId {
        self.transaction.numbers().identity().current
    }

    /// What its queries run in.
    pub(crate) fn execution(&self) -> ExecutionContext<'_> {
        ExecutionContext {
            transaction: self.transaction,
            control: self.control,
            parameters: self.parameters,
            named: self.named,
        }
    }

    /// A query of the statement's own, which sees the WITH before it and must change nothing.
    pub(crate) fn reading(&self, select: Select) -> Result<Statement, Error> {
        let mut query = build::query_of(select);
        refuse::unless_reads_only(&query)?;
        query.with = self.with.cloned();
        Ok(Statement::Query(Box::new(query)))
    }

    /// All tables and views as the statement's transaction sees them, sorted by name.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let path = self.transaction.numbers().path();
        let entries = self.database.catalog.entries().into_iter().filter(|entry| path.may_see(entry.name()));
        entries.map(|entry| self.transaction.seen(&self.database.catalog, entry)).collect()
    }
}

/// Executes one statement, in the session's transaction block or in a transaction of its own.
pub(crate) async fn execute(session: SessionContext<'_>, sql: &str) -> Result<Outcome, Error> {
    let database = session.database;
    execute_one(session, sql).await.map_err(|error| hint::of_new_label(error, &database.catalog))
}

async fn execute_one(mut session: SessionContext<'_>, sql: &str) -> Result<Outcome, Error> {
    let (catalog, path) = (&session.database.catalog, session.block.numbers().path());
    let prepare = |text: &str| prepare::named_in(text, catalog, &path);
    if let Some(shaped) = session.shapes.find(sql, catalog, &path, prepare) {
        return Box::pin(shaped::execute(session, shaped, sql)).await;
    }
    if let Some((name, literals)) = sql::shape::execution(sql)
        && let Some(prepared) = session.prepared.get(&name).cloned()
    {
        return execute_prepared(session, &prepared, Arguments::Literals(&literals)).await;
    }
    let parsed = session.database.queries.check_values(sql).and_then(|()| sql::parse(sql));
    let mut parsed = parsed.inspect_err(|_| session.block.fail())?;
    let resolved = resolve::resolve(&mut parsed, sql, &session.database.catalog, &path);
    dump_tools::tell_format(&mut parsed, || session.settings.kept("application_name"));
    if let Parsed::SchemaElements(parts) = parsed {
        return schema_elements::create(session, parts).await;
    }
    if let Parsed::Cursor(statement) = parsed {
        return cursors::execute(session, *statement).await;
    }
    match &parsed {
        Parsed::Empty => return Ok(Outcome::done("")),
        Parsed::Identity(set) => {
            session.block.refuse_if_failed()?;
            return identity::set(&mut session, set).inspect_err(|_| session.block.fail());
        }
        Parsed::Sql(statement) => {
            if !transaction::ends_block(statement) {
                session.block.refuse_if_failed()?;
            }
            cursors::before(&mut session, statement).await?;
            if let Some(outcome) = transaction::control(session.block, session.control, statement) {
                let is_committed = matches!(&outcome, Ok(Outcome::Done { tag, .. }) if tag == "COMMIT");
                session.cursors.follow(statement, is_committed, session.block);
                if outcome.is_ok() && session.settings.follow_savepoints(statement, session.block.savepoints()) {
                    follow_path(&mut session, Outcome::done(""))?;
                }
                settings_behind(&mut session, statement, &outcome)?;
                let outcome = outcome.inspect_err(|_| session.block.fail())?;
                session.block.wait_until_safe().await?;
                end_of_transaction(session.database, session.block)?;
                return Ok(outcome);
            }
            resolved.inspect_err(|_| session.block.fail())?;
            rights::check_session(&session, &parsed).inspect_err(|_| session.block.fail())?;
            if let Some(outcome) = settings::set(session.database, statement) {
                return outcome.inspect_err(|_| session.block.fail());
            }
            if let Some(outcome) = time_settings::set(session.block, statement) {
                return outcome.inspect_err(|_| session.block.fail());
            }
            if let Some(outcome) = session.settings.execute(statement, session.block.is_open()) {
                return outcome
                    .and_then(|outcome| follow_path(&mut session, outcome))
                    .inspect_err(|_| session.block.fail());
            }
            if let Some(outcome) = set_config::set_config(&mut session, statement) {
                return outcome.inspect_err(|_| session.block.fail());
            }
            if let Statement::Reset(reset) = statement.as_ref() {
                return reset::reset_settings(&mut session, &reset.reset).inspect_err(|_| session.block.fail());
            }
            if let Statement::Discard { object_type } = statement.as_ref() {
                return discard::discard(&mut session, *object_type).inspect_err(|_| session.block.fail());
            }
            if let Some(outcome) = prepare::manage(session.database, session.prepared, statement) {
                return outcome.inspect_err(|_| session.block.fail());
            }
            if let Some(execution) = prepare::execution(session.prepared, statement) {
                let Execution { prepared, arguments } = execution.inspect_err(|_| session.block.fail())?;
                return execute_prepared(session, &prepared, Arguments::Expressions(&arguments)).await;
            }
            lock_table::check_block(statement, session.block)?;
            if let Statement::ShowVariable { variable } = statement.as_ref() {
                let shown = show::show_setting(session.database, session.block, session.settings, variable);
                return shown.inspect_err(|_| session.block.fail());
            }
        }
        _ => {
            session.block.refuse_if_failed()?;
            resolved.inspect_err(|_| session.block.fail())?;
            rights::check_session(&session, &parsed).inspect_err(|_| session.block.fail())?;
        }
    }
    if let Parsed::Role(statement) = &parsed {
        roles::check_setting(&mut session, statement).inspect_err(|_| session.block.fail())?;
    }
    if sql::asks_for_settings(sql) {
        setting_calls::tell(session.database, session.block, session.settings);
    }
    if let Parsed::Role(statement) = &parsed
        && roles::is_of_several_steps(statement)
        && !session.block.is_open()
    {
        return Box::pin(own_block::execute(session, parsed)).await;
    }
    Box::pin(run(session, parsed, sql, &path)).await
}

/// Runs the statement of `sql` as often as it has to be.
async fn run(session: SessionContext<'_>, parsed: Parsed, sql: &str, path: &SearchPath) -> Result<Outcome, Error> {
    let SessionContext { database, block, streams, control, .. } = session;
    object_locks::lock(block, &database.catalog, &parsed, control).await.inspect_err(|_| block.fail())?;
    let nature = nature(&parsed, &database.catalog);
    let own = block.definitions_for(nature, &database.catalog).map(|catalog| database.with_catalog(catalog));
    let database = own.as_ref().unwrap_or(database);
    // What files and streams give is not asked for twice.
    let rerun = if matches!(parsed, Parsed::Sql(_)) { Rerun::Allowed } else { Rerun::Never };
    let mut first = Some(parsed);
    let mut run = Run::new(nature, rerun, control);
    let outcome = loop {
        let transaction = run.begin(block)?;
        let done = async {
            let context = Context { database, control, transaction, parameters: None, with: None, named: &[] };
            let parsed = match first.take() {
                Some(parsed) => parsed,
                None => parse_again(&context, sql, path)?,
            };
            execute_with_actions(&context, streams, parsed, nature).await
        };
        let done = done.await;
        if let ControlFlow::Break(outcome) = run.end(block, done).await {
            break outcome;
        }
    };
    end_of_transaction(database, block)?;
    outcome.map_err(|error| hint::with_hint(error, &database.catalog))
}

/// The statement of `sql`, to run again.
fn parse_again(context: &Context<'_>, sql: &str, path: &SearchPath) -> Result<Parsed, Error> {
    let mut parsed = sql::parse(sql)?;
    resolve::resolve(&mut parsed, sql, &context.database.catalog, path)?;
    Ok(parsed)
}

/// Executes a statement, and what foreign keys demand of its changes.
async fn execute_with_actions(
    context: &Context<'_>,
    streams: &mut Streams,
    parsed: Parsed,
    nature: Nature,
) -> Result<Outcome, Error> {
    let outcome = execute_in(context, streams, parsed).await?;
    if nature == Nature::Writes {
        foreign::run_actions(context)?;
    }
    Ok(outcome)
}

/// What is to be done about temporary tables when a statement leaves no transaction open.
fn end_of_transaction(database: &Arc<Database>, block: &Block) -> Result<(), Error> {
    if !block.numbers().temporary.has_any() || block.is_open() {
        return Ok(());
    }
    temporary::at_end(database, block.numbers())
}

/// Executes `statement` if it sets something that there is.
fn set(session: &mut SessionContext<'_>, statement: &Statement) -> Option<Result<Outcome, Error>> {
    transaction::control(session.block, session.control, statement)
        .or_else(|| settings::set(session.database, statement))
        .or_else(|| time_settings::set(session.block, statement))
        .or_else(|| session.settings.execute(statement, session.block.is_open()))
}

async fn execute_in(context: &Context<'_>, streams: &mut Streams, parsed: Parsed) -> Result<Outcome, Error> {
    match parsed {
        Parsed::Empty => Ok(Outcome::done("")),
        Parsed::CopyFrom(copy) => copy::copy_from(context, streams, *copy).await,
        Parsed::CopyTo(copy) => unload::copy_to(context, streams, *copy).await,
        Parsed::CreateFrom(create) => create_from::create_from(context, *create).await,
        Parsed::Export(export) => export::export(context, &export).await,
        Parsed::Import(import) => import::import(context, &import).await,
        Parsed::Sequence(statement) => sequence::run(context, &statement),
        Parsed::AlterTable(alter) => Box::pin(alter::alter_table(context, *alter)).await,
        Parsed::Object(statement) => Box::pin(objects::run(context, *statement)).await,
        Parsed::Domain(statement) => Box::pin(user_types::domain(context, *statement)).await,
        Parsed::Checkpoint => checkpoint::checkpoint(context).await,
        Parsed::Backup(statement) => backup::backup(context, statement).await,
        Parsed::Summarize(query) => Box::pin(summarize::summarize(context, query)).await,
        Parsed::Pivot(statement) => Box::pin(pivot::pivot(context, *statement)).await,
        Parsed::SetConstraints(set) => foreign::set_constraints(context, set.constraints.as_deref(), set.deferred),
        Parsed::Notification(statement) => notifications::run(context, &statement),
        Parsed::Role(statement) => roles::run(context, &statement),
        Parsed::Privilege(statement) => Box::pin(grants::run(context, &statement)).await,
        Parsed::Identity(_) => Err(Error::internal("who a session acts as is no matter of a transaction")),
        Parsed::Cursor(_) => Err(Error::internal("cursors are a matter of the session")),
        Parsed::SchemaElements(_) => Err(Error::internal("what is made with a schema is a statement of its own")),
        Parsed::Sql(statement) => Box::pin(execute_tree(context, *statement)).await,
    }
}

async fn execute_tree(context: &Context<'_>, statement: Statement) -> Result<Outcome, Error> {
    if sql::row_locks::are_within(&statement) {
        return Box::pin(row_locks::execute(context, statement)).await;
    }
    match statement {
        Statement::Query(query) if with_changes::has_changes(&query) => {
            Box::pin(with_changes::execute(context, query)).await
        }
        Statement::Query(query) => match with_changes::with_change(query) {
            Ok((with, change)) => Box::pin(with_changes::change_behind(context, &with, change)).await,
            Err(query) => run_query(context, query).await,
        },
        Statement::Explain { describe_alias: DescribeAlias::Describe | DescribeAlias::Desc, statement, .. } => {
            Box::pin(show::describe_query(context, *statement)).await
        }
        Statement::Explain { .. } => Box::pin(explain(context, statement)).await,
        Statement::Update(update) => Box::pin(change::update(context, update)).await,
        Statement::Delete(delete) => Box::pin(change::delete(context, delete)).await,
        Statement::Insert(insert) => Box::pin(insert::insert(context, insert)).await,
        Statement::Merge(merge) => Box::pin(merge::merge(context, merge)).await,
        Statement::CreateTable(table) => Box::pin(create::create_table(context, table)).await,
        Statement::CreateIndex(create) => index::create_index(context, &create).await,
        Statement::AlterIndex { name, operation } => Box::pin(alter::alter_index(context, &name, &operation)).await,
        Statement::CreateView(view) => view::create_view(context, view).await,
        Statement::Drop {
            object_type: object_type @ (ObjectType::Table | ObjectType::View),
            if_exists,
            names,
            cascade,
            temporary,
            ..
        } => drop::drop_objects(context, object_type, if_exists, &names, cascade, temporary),
        Statement::Drop { object_type: ObjectType::Index, if_exists, names, .. } => {
            index::drop_indexes(context, if_exists, &names).await
        }
        Statement::Drop { object_type: ObjectType::Sequence, if_exists, names, cascade, temporary: false, .. } => {
            sequence::drop_sequences(context, if_exists, &names, cascade)
        }
        Statement::Truncate(truncate) => drop::truncate(context, &truncate),
        Statement::Lock(lock) => lock_table::lock(context, &lock),
        Statement::CreateSchema {
            schema_name,
            if_not_exists,
            with,
            options,
            default_collate_spec: None,
            clone: None,
        } => schemas::create(context, &schema_name, if_not_exists, &[with.as_ref(), options.as_ref()]),
        Statement::Drop { object_type: ObjectType::Schema, if_exists, names, cascade, .. } => {
            schemas::drop_schemas(context, if_exists, &names, cascade)
        }
        Statement::CreateType { name, representation } => {
            user_types::create_type(context, &name, representation.as_ref())
        }
        Statement::AlterType(alter) => user_types::alter_type(context, &alter).await,
        Statement::Drop { object_type: ObjectType::Type, if_exists, names, .. } => {
            user_types::drop_types(context, if_exists, &names, "DROP TYPE")
        }
        Statement::DropDomain(drop) => {
            user_types::drop_types(context, drop.if_exists, std::slice::from_ref(&drop.name), "DROP DOMAIN")
        }
        Statement::ExplainTable { table_name, .. } => show::describe(context, &table_name).await,
        Statement::ShowTables { .. } | Statement::ShowViews { .. } => show::show_tables(context, &statement),
        other => Err(refuse::statement(&other)),
    }
}
