//! Where COPY puts records that it cannot take: a table, a file, or nowhere, and what it says of them.
//!
//! Not here: which records these are (`longshore-load`).

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use longshore_load::{OnError, RejectFile, RejectSummary, RejectTable, reject_schema};
use longshore_source::FoundFile;
use longshore_storage::Relation;

use crate::Error;
use crate::catalog::{Entry, Rules, Table};
use crate::sql::names;
use crate::sql::options::{ErrorChoice, Options, RejectOptions};
use crate::statement::Context;
use crate::text::{FileRejects, check_not_read};

/// Rejects that a notice shows.
const SHOWN_MAX: usize = 3;

/// Where the rejects of one load go.
pub(crate) struct Rejects {
    pub(crate) on_error: OnError,
    table: Option<(String, Arc<RejectTable>)>,
}

impl Rejects {
    /// Makes ready what the options ask for; a table that cannot take rejects is refused before the load.
    pub(crate) fn new(context: &Context<'_>, options: &RejectOptions) -> Result<Self, Error> {
        let none = |on_error| Ok(Self { on_error, table: None });
        match &options.on_error {
            ErrorChoice::Stop => none(OnError::Stop),
            ErrorChoice::Ignore => none(OnError::Ignore),
            ErrorChoice::File(path) => none(OnError::Collect(Arc::new(RejectFile::create(Path::new(path))?))),
            ErrorChoice::Table(name) => {
                check_table(context, name)?;
                let rejects = Arc::new(RejectTable::new(context.database.memory()));
                Ok(Self { on_error: OnError::Collect(rejects.clone()), table: Some((name.clone(), rejects)) })
            }
        }
    }

    /// The same for a text that the planner is to read; `None` if nothing was said.
    pub(crate) fn of_file(&self, options: &RejectOptions) -> Option<FileRejects> {
        let RejectOptions { limit, on_error, .. } = options;
        let path = match on_error {
            ErrorChoice::File(path) => Some(path.clone()),
            ErrorChoice::Stop | ErrorChoice::Ignore | ErrorChoice::Table(_) => None,
        };
        (!self.on_error.stops()).then(|| FileRejects { on_error: self.on_error.clone(), limit: *limit, path })
    }

    /// Appends what was gathered to the table, which is made if there is none. To be called while the load can still be
    /// undone: a name that no longer stands for a table of rejects is an error.
    pub(crate) fn keep(&self, context: &Context<'_>) -> Result<(), Error> {
        let Some((name, rejects)) = &self.table else {
            return Ok(());
        };
        let made = Arc::new(context.database.relation(name, reject_schema()));
        // In one step with the look at the catalog, so that nobody drops the table in between.
        context.database.catalog.change(|change| {
            change.created_by(context.creator());
            let entries = &mut change.entries;
            let relation = match entries.get(name) {
                Some(Entry::Table(table)) if is_for_rejects(table) => Arc::clone(&table.relation),
                Some(existing) => {
                    return Err(Error::exists(format!(
                        "option ON_ERROR: {name} became a {} of other columns during the load, so that {} could not be \
                         kept; nothing was loaded: name another table",
                        existing.kind(),
                        match rejects.count() {
                            1 => "1 reject".to_owned(),
                            count => format!("{count} rejects"),
                        }
                    )));
                }
                None => {
                    let table = Table::new(name, Arc::clone(&made), Rules::default())?;
                    entries.insert(name.clone(), Entry::Table(Arc::new(table)));
                    made
                }
            };
            // Part of the transaction of the load, if it is one that writes: who loads again has no rejects twice.
            let kept = context.transaction.with(|transaction| {
                if transaction.is_read_only() {
                    return Ok(None);
                }
                rejects.append_in(&relation, transaction).map(Some)
            })?;
            if kept.is_none() {
                rejects.append_to(&relation)?;
            }
            Ok(())
        })
    }
}

fn is_for_rejects(table: &Table) -> bool {
    *table.relation.schema() == reject_schema()
}

/// Refuses a file for rejects that is one of those that are read.
pub(crate) fn check_file(options: &Options, files: &[FoundFile]) -> Result<(), Error> {
    match &options.rejects.on_error {
        ErrorChoice::File(path) => check_not_read(path, files),
        ErrorChoice::Stop | ErrorChoice::Ignore | ErrorChoice::Table(_) => Ok(()),
    }
}

/// Refuses a table for rejects that is none.
fn check_table(context: &Context<'_>, name: &str) -> Result<(), Error> {
    match context.database.catalog.get(name) {
        None => Ok(()),
        Some(Entry::Table(table)) if is_for_rejects(&table) => Ok(()),
        Some(existing) => Err(Error::exists(format!(
            "option ON_ERROR: {name} is a {} of other columns than those of rejects; name another one, or one that does \
             not exist",
            existing.kind()
        ))),
    }
}

/// What is to be said of a load that has, or would have, loaded `rows` rows into `relation`.
pub(crate) fn notice(
    summary: &RejectSummary,
    options: &RejectOptions,
    rows: u64,
    relation: Option<&Relation>,
) -> Option<String> {
    let notice = reject_notice(summary, &options.on_error);
    if !options.dry_run {
        return notice;
    }
    let good = if rows == 1 { "1 row is good".to_owned() } else { format!("{rows} rows are good") };
    let left_out = notice.map_or_else(String::new, |notice| format!("; {notice}"));
    let has_keys =
        relation.is_some_and(|relation| relation.indexes().iter().any(|index| index.uniqueness().is_unique()));
    let keys = if has_keys { " (keys were not compared)" } else { "" };
    Some(format!("nothing was loaded (DRY_RUN): {good}{keys}{left_out}"))
}

/// What is to be said of rejects, if there are any.
fn reject_notice(summary: &RejectSummary, choice: &ErrorChoice) -> Option<String> {
    if summary.records == 0 {
        return None;
    }
    let kinds: Vec<String> = summary.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let mut text = format!(
        "{} {} left out ({})",
        summary.records,
        if summary.records == 1 { "record was" } else { "records were" },
        kinds.join(", ")
    );
    match choice {
        ErrorChoice::Table(name) => {
            let _ = write!(text, "; see SELECT * FROM {}", names::quoted(name));
        }
        ErrorChoice::File(path) => {
            let _ = write!(text, "; see {path}");
        }
        ErrorChoice::Stop | ErrorChoice::Ignore => {
            for reject in summary.first.iter().take(SHOWN_MAX) {
                let _ = write!(text, "\n  {reject}");
            }
        }
    }
    Some(text)
}
