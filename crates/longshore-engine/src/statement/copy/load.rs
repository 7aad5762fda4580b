//! Loads of text: what the statement says, handed to `longshore-load`, and what is to be told of it.

use std::path::Path;
use std::sync::Arc;

use longshore_load::{Conflicts, LoadError, TextOptions, load_interleaved, load_into};
use longshore_storage::{Relation, Transaction};

use super::conflict;
use super::rules::LoadRules;
use crate::datafusion::{TextInput, Texts, Wanted, find_files, named_by_inputs, tell_repairs};
use crate::sql::options::{CheckTime, MergeMode, Options};
use crate::statement::rejects::{self, Rejects};
use crate::statement::{Context, blocking, foreign};
use crate::transaction::Work;
use crate::{Error, Report};

/// Loads the file `path` into all columns of `relation`, for IMPORT DATABASE.
pub(crate) async fn load_file(
    context: &Context<'_>,
    relation: &Arc<Relation>,
    path: &Path,
    options: Options,
) -> Result<Report, Error> {
    let fields: Vec<usize> = (0..relation.schema().columns().len()).collect();
    let texts = Texts::Files(find_files(&[path.display().to_string()], &options.source)?);
    let columns = relation.schema().columns().iter().collect();
    let wanted = Wanted { columns, places: &fields, fillings: &[], are_listed: false };
    let rules = LoadRules::default();
    run_load(context, relation, &wanted, texts, options, rules, None).await.map(|(report, _)| report)
}

/// Loads `texts`, as part of `work` or in a transaction of its own; says how much, and what is to be told of it.
pub(super) async fn run_load(
    context: &Context<'_>,
    relation: &Arc<Relation>,
    wanted: &Wanted<'_>,
    texts: Texts,
    options: Options,
    rules: LoadRules,
    work: Option<&Arc<Work>>,
) -> Result<(Report, Option<String>), Error> {
    let (inputs, mut text) = texts.plan(&options, wanted, context.control)?;
    (text.check, text.numbers, text.conflicts) = (rules.check, rules.numbers, rules.conflicts);
    // What cannot be read again, or undone, is read with repairs at once.
    if options.merge_mode == MergeMode::Interleaved || inputs.iter().any(TextInput::reads_once) {
        text = text.repairing().unwrap_or(text);
    }
    match load_inputs(context, relation, &inputs, text.clone(), &options, work).await? {
        Some(loaded) => Ok(loaded),
        None => match text.repairing() {
            Some(text) => {
                let loaded = load_inputs(context, relation, &inputs, text, &options, work).await?;
                loaded.ok_or_else(|| Error::internal("a text that is repaired has records that are not whole"))
            }
            None => Err(Error::internal("a text that is not to be repaired was to be read again")),
        },
    }
}

/// Loads `inputs`, as part of `work` or in a transaction of its own; says how much, and what is to be told of it. `None` if
/// they are to be read again with repairs: then nothing was changed.
async fn load_inputs(
    context: &Context<'_>,
    relation: &Arc<Relation>,
    inputs: &[TextInput],
    mut text: TextOptions,
    options: &Options,
    work: Option<&Arc<Work>>,
) -> Result<Option<(Report, Option<String>)>, Error> {
    let rejects = Rejects::new(context, options)?;
    text.on_error = rejects.on_error.clone();
    text.reject_limit = options.rejects.limit;
    let tuning = options.tuned(context.database.config.tuning());
    let into = Arc::clone(relation);
    let (dry_run, interleaves) = (options.rejects.dry_run, options.merge_mode == MergeMode::Interleaved);
    let checks = match work {
        Some(work) if is_checked_on_the_way(options, &text)? => {
            work.with(|transaction| Ok(transaction.reference_checks(relation)))?.map(Arc::new)
        }
        _ => None,
    };
    text.references.clone_from(&checks);
    let (work, inputs, log) = (work.map(Arc::clone), inputs.to_vec(), text.repair_log().cloned());
    let loaded = blocking::run(context.control, move |control| {
        let files = inputs.iter().map(TextInput::file).collect();
        let named = |error| named_by_inputs(error, &inputs);
        let mut acted_on = Vec::new();
        let repairs_later = text.repairing().is_some();
        let again = |error: &LoadError| repairs_later && matches!(error, LoadError::Misshapen(_));
        if dry_run {
            return match longshore_load::dry_run(files, into.schema(), into.memory(), &text, &tuning, control) {
                Err(error) if again(&error) => Ok(None),
                report => Ok(Some((report.map_err(named)?, acted_on))),
            };
        }
        let report = match work {
            // The transaction is nobody else's while it lasts.
            Some(work) if interleaves => work.with_unless_cancelled(control, |transaction| {
                let settle = |transaction: &mut Transaction| {
                    acted_on.extend(transaction.settle_unless(&|| control.is_cancelled())?);
                    Ok(())
                };
                load_interleaved(files, &into, transaction, &text, &tuning, control, settle).map_err(named)
            })?,
            Some(work) => {
                let loaded = match load_into(files, &into, &text, &tuning, control) {
                    Err(error) if again(&error) => return Ok(None),
                    loaded => loaded,
                };
                if let (Err(_), Some(checks)) = (&loaded, &checks) {
                    // The error may tell of a row that is not there.
                    work.with_unless_cancelled(control, |transaction| {
                        transaction.note_missing(checks);
                        Ok::<_, Error>(())
                    })?;
                }
                let loaded = loaded.map_err(named)?;
                work.with_unless_cancelled(control, |transaction| {
                    let since = transaction.writes();
                    let settle = |transaction: &mut Transaction| {
                        if let Some(checks) = &checks {
                            transaction.note_checked(since, checks);
                        }
                        acted_on.extend(transaction.settle_unless(&|| control.is_cancelled())?);
                        Ok(())
                    };
                    loaded.commit_in(transaction, settle).map_err(named)
                })?
            }
            None => match longshore_load::copy_from(files, &into, &text, &tuning, control) {
                Err(error) if again(&error) => return Ok(None),
                report => report.map_err(named)?,
            },
        };
        Ok(Some((report, acted_on)))
    })
    .await?;
    let Some((loaded, acted_on)) = loaded else { return Ok(None) };
    if let Some(log) = log {
        tell_repairs(&log.summary(), context.control);
    }
    foreign::check_acted_on(context, acted_on)?;
    rejects.keep(context)?;
    let notice = rejects::told(&loaded.rejects, &options.rejects, loaded.rows, Some(relation));
    let notice = conflict::told(conflict::merged(&loaded), &options.conflict, notice);
    let rows = if dry_run { 0 } else { loaded.rows + loaded.updated };
    let report = Report { rows, bytes_read: loaded.bytes, seconds: loaded.seconds, ..Report::default() };
    Ok(Some((report, notice)))
}

/// Whether foreign keys are checked while the text is read. Where rows go to the table on the way or take the place of
/// others, they are checked when all of them are there.
fn is_checked_on_the_way(options: &Options, text: &TextOptions) -> Result<bool, Error> {
    let can_be = options.merge_mode == MergeMode::Short && text.conflicts == Conflicts::default();
    match options.references {
        Some(CheckTime::Unified) if !can_be => Err(Error::unsupported(
            "option FOREIGN_KEYS: unified does not go with MERGE_MODE interleaved and ON_CONFLICT; leave one of them out",
        )),
        Some(CheckTime::Post) => Ok(false),
        Some(CheckTime::Unified) | None => Ok(can_be),
    }
}
