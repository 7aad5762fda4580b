//! COPY FROM of text that goes into the table as it is: handed to `longshore-load`, and what is to be told of it.

use std::sync::Arc;

use longshore_load::{Conflicts, FileCounts, LoadError, TextOptions, load_interleaved, load_into};
use longshore_storage::{Column, ColumnType, Relation, Transaction};

use super::conflict;
use super::copied::Copied;
use super::settings::Settings;
use crate::sql::options::{CheckTime, MergeMode};
use crate::statement::rejects::{self, Rejects};
use crate::statement::{Context, foreign};
use crate::text::{TextInput, named_by_inputs, tell_repairs};
use crate::transaction::StatementTransaction;
use crate::{Error, Report, blocking};

/// Texts that are loaded as they are.
pub(super) struct LoadPlan {
    pub(super) relation: Arc<Relation>,
    pub(super) inputs: Vec<TextInput>,
    /// How they are read, and what is checked of each row.
    pub(super) text: TextOptions,
    pub(super) settings: Settings,
    /// The transaction that it is part of; `None` for one of its own.
    pub(super) transaction: Option<Arc<StatementTransaction>>,
}

/// Refuses times with a zone where those without one would mean something else than in the session.
fn refuse_other_zones(context: &Context<'_>, relation: &Relation) -> Result<(), Error> {
    let settings = context.transaction.time().settings;
    let is_zoned = |column: &Column| column.column_type.unrounded() == ColumnType::TimestampTz;
    if settings.zone.fixed_offset() == Some(0) || !relation.schema().columns().iter().any(is_zoned) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "COPY reads times without a zone in UTC, and TimeZone is {}; SET TimeZone = 'UTC' before it",
        settings.zone.name()
    )))
}

impl LoadPlan {
    /// Loads: says how much, and what is to be told of it.
    pub(super) async fn run(mut self, context: &Context<'_>) -> Result<Copied, Error> {
        refuse_other_zones(context, &self.relation)?;
        // What cannot be read again, or undone, is read with repairs at once.
        if self.interleaves() || self.inputs.iter().any(TextInput::reads_once) {
            self.text = self.text.repairing().unwrap_or(self.text);
        }
        match self.load(context, self.text.clone()).await? {
            Some(loaded) => Ok(loaded),
            None => match self.text.repairing() {
                Some(text) => {
                    let loaded = self.load(context, text).await?;
                    loaded.ok_or_else(|| Error::internal("a text that is repaired has records that are not whole"))
                }
                None => Err(Error::internal("a text that is not to be repaired was to be read again")),
            },
        }
    }

    fn interleaves(&self) -> bool {
        self.settings.merge_mode == MergeMode::Interleaved
    }

    /// Loads the texts as `text` says; says how much, and what is to be told of it. `None` if they are to be read again with
    /// repairs: then nothing was changed.
    async fn load(&self, context: &Context<'_>, mut text: TextOptions) -> Result<Option<Copied>, Error> {
        let Self { relation, inputs, settings, transaction, .. } = self;
        let rejects = Rejects::new(context, &settings.rejects)?;
        text.on_error = rejects.on_error.clone();
        let (into, tuning) = (Arc::clone(relation), settings.tuning.clone());
        let (dry_run, interleaves) = (settings.rejects.dry_run, self.interleaves());
        let checks = match transaction {
            Some(transaction) if is_checked_on_the_way(settings, &text)? => {
                transaction.with(|transaction| Ok(transaction.reference_checks(relation)))?.map(Arc::new)
            }
            _ => None,
        };
        text.references.clone_from(&checks);
        let counts: Vec<Arc<FileCounts>> = inputs.iter().map(|_| Arc::default()).collect();
        let counted = counts.clone();
        let (transaction, inputs, log) = (transaction.clone(), inputs.clone(), text.repair_log().cloned());
        let loaded = blocking::run(context.control, move |control| {
            let files = inputs.iter().zip(counted).map(|(input, counts)| {
                let mut file = input.file();
                file.counts = Some(counts);
                file
            });
            let files = files.collect();
            let named = |error| named_by_inputs(error, &inputs);
            let mut action_rows = Vec::new();
            let repairs_later = text.repairing().is_some();
            let again = |error: &LoadError| repairs_later && matches!(error, LoadError::Misshapen(_));
            if dry_run {
                return match longshore_load::dry_run(files, into.schema(), into.memory(), &text, &tuning, control) {
                    Err(error) if again(&error) => Ok(None),
                    report => Ok(Some((report.map_err(named)?, action_rows))),
                };
            }
            let report = match transaction {
                // The transaction is nobody else's while it lasts.
                Some(transaction) if interleaves => transaction.with_unless_cancelled(control, |transaction| {
                    let run_actions = |transaction: &mut Transaction| {
                        action_rows.extend(transaction.run_foreign_key_actions_unless(&|| control.is_cancelled())?);
                        Ok(())
                    };
                    load_interleaved(files, &into, transaction, &text, &tuning, control, run_actions).map_err(named)
                })?,
                Some(transaction) => {
                    let loaded = match load_into(files, &into, &text, &tuning, control) {
                        Err(error) if again(&error) => return Ok(None),
                        loaded => loaded,
                    };
                    if let (Err(_), Some(checks)) = (&loaded, &checks) {
                        // The error may tell of a row that is not there.
                        transaction.with_unless_cancelled(control, |transaction| {
                            transaction.note_missing(checks);
                            Ok::<_, Error>(())
                        })?;
                    }
                    let loaded = loaded.map_err(named)?;
                    transaction.with_unless_cancelled(control, |transaction| {
                        let since = transaction.writes();
                        let run_actions = |transaction: &mut Transaction| {
                            if let Some(checks) = &checks {
                                transaction.note_checked(since, checks)?;
                            }
                            action_rows.extend(transaction.run_foreign_key_actions_unless(&|| control.is_cancelled())?);
                            Ok(())
                        };
                        loaded.commit_in(transaction, run_actions).map_err(named)
                    })?
                }
                None => match longshore_load::copy_from(files, &into, &text, &tuning, control) {
                    Err(error) if again(&error) => return Ok(None),
                    report => report.map_err(named)?,
                },
            };
            Ok(Some((report, action_rows)))
        })
        .await?;
        let Some((loaded, action_rows)) = loaded else { return Ok(None) };
        if let Some(log) = log {
            tell_repairs(&log.summary(), context.control);
        }
        foreign::check_action_rows(context, action_rows)?;
        rejects.keep(context)?;
        let notice = rejects::notice(&loaded.rejects, &settings.rejects, loaded.rows, Some(relation));
        let notice = conflict::notice(conflict::merged(&loaded), &settings.conflict, notice);
        let rows = if dry_run { 0 } else { loaded.rows + loaded.updated };
        let report = Report { rows, bytes_read: loaded.bytes, seconds: loaded.seconds, ..Report::default() };
        Ok(Some(Copied { report, notice, rejects: loaded.rejects.records, counts }))
    }
}

/// Whether foreign keys are checked while the text is read. Where rows go to the table on the way or take the place of
/// others, they are checked when all of them are there.
fn is_checked_on_the_way(settings: &Settings, text: &TextOptions) -> Result<bool, Error> {
    let can_be = settings.merge_mode == MergeMode::Short && text.conflicts == Conflicts::default();
    match settings.references {
        Some(CheckTime::Unified) if !can_be => Err(Error::unsupported(
            "option FOREIGN_KEYS: unified does not go with MERGE_MODE interleaved and ON_CONFLICT; leave one of them out",
        )),
        Some(CheckTime::Post) => Ok(false),
        Some(CheckTime::Unified) | None => Ok(can_be),
    }
}
