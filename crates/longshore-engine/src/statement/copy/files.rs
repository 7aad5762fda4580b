//! COPY FROM files: which of them are loaded, how, and what the ledger is told of them.
//!
//! Every load of files is noted: those that were loaded in the transaction of the load, one that has failed in a transaction of
//! its own. A dry run is not, nor a load into a table that its transaction block has made. Not here: which files ONCE leaves out (`once`).

use std::sync::Arc;

use longshore_source::FoundFile;
use longshore_storage::{Isolation, Transaction, TransactionError};
use sqlparser::ast::Expr;

use super::copied::Copied;
use super::noted_name::shown;
use super::once::{self, Chosen, ToLoad};
use super::plan::CopyPlan;
use super::target::Target;
use crate::binary::BinarySource;
use crate::catalog::{LOADS, Ledger, LoadRecord, LoadStatus, RunningLoad, Table, signed};
use crate::sql::options::Options;
use crate::statement::{Context, rejects};
use crate::text::{FileKind, TextSources, explain_load, find_files, kind_of, local_path};
use crate::{Error, ErrorKind, Report};

/// What a statement says of files.
pub(super) struct FilesCopy {
    pub(super) table: Arc<Table>,
    pub(super) columns: Vec<String>,
    /// Paths, patterns or addresses.
    pub(super) names: Vec<String>,
    pub(super) condition: Option<Expr>,
}

impl FilesCopy {
    /// Loads the files: says how much, and what is to be told of it.
    pub(super) async fn run(self, context: &Context<'_>, options: &Options) -> Result<(Report, Option<String>), Error> {
        if options.rejects.dry_run {
            return self.load(context, options, None).await;
        }
        if context.database.is_durable() && context.database.catalog.is_new_in_block(&self.table) {
            // The table gets the number by which the ledger knows it when the block commits.
            if options.once.once {
                return Err(Error::unsupported(format!(
                    "option ONCE: table {} is made in the same transaction block; load it after COMMIT",
                    self.table.name
                )));
            }
            return self.load(context, options, None).await;
        }
        let (ledger, running) = self.begin(context)?;
        let names = self.names.clone();
        let loaded = self.load(context, options, Some((&ledger, &running))).await;
        if let (Err(error), Some(record)) = (&loaded, running.record(LoadStatus::Failed)) {
            let message = error.clone().without(&options.source.secrets()).to_string();
            let message = names.iter().fold(message, |message, name| message.replace(name, &shown(name)));
            note_failed(context, ledger, LoadRecord { error: Some(message), ..record }).await;
        }
        loaded
    }

    /// Notes that the load begins.
    fn begin(&self, context: &Context<'_>) -> Result<(Ledger, RunningLoad), Error> {
        let database = context.database;
        let ledger = database.catalog.ledger_or_make(|schema| database.relation(LOADS, schema))?;
        let last = || {
            let mut transaction = database.transactions.begin_read_only(Isolation::Snapshot);
            ledger.last_load(&mut transaction)
        };
        let table = (self.table.number(), self.table.name.as_str());
        let names: Vec<String> = self.names.iter().map(|name| shown(name)).collect();
        let running = database.catalog.loads.begin(table, &names, context.control, last)?;
        Ok((ledger, running))
    }

    async fn load(
        self,
        context: &Context<'_>,
        options: &Options,
        noted: Option<(&Ledger, &RunningLoad)>,
    ) -> Result<(Report, Option<String>), Error> {
        let files = find_files(&self.names, &options.source)?;
        rejects::check_file(options, &files)?;
        let Chosen { files, skipped, ignored } =
            once::choose(context, &self.table, files, options, noted.map(|(ledger, _)| ledger)).await?;
        if options.once.once && files.is_empty() {
            return Ok((Report::default(), Some(once::notice(0, skipped, ignored))));
        }
        if let (true, Some((_, running))) = (options.once.once, noted) {
            running.claim(files.iter().map(|file| file.state.name.clone()))?;
        }
        let hashes = once::Hashes::begin(&files, options);
        let Copied { report, mut notice, rejects, counts } = self.copy(context, options, &files).await?;
        if let Some((ledger, running)) = noted {
            let hashes = hashes.finish().await?;
            once::check_unchanged(context, &files, options).await?;
            let Some(record) = running.record(LoadStatus::Loaded) else {
                return Err(Error::internal("the load is not known"));
            };
            let only = (files.len() == 1).then_some((report.rows, rejects));
            let records = files.iter().enumerate().map(|(at, file)| {
                let counts = counts.get(at).map(|counts| (counts.rows(), counts.rejects())).or(only);
                let hash = hashes.get(at).copied().flatten().map(|hash| hash.to_string());
                file.record(&record, counts, hash)
            });
            let records: Vec<LoadRecord> = records.collect();
            context.transaction.with_any(|transaction| {
                records.iter().try_for_each(|record| {
                    let added = ledger.add(transaction, record);
                    added.map_err(|error| loaded_meanwhile(error, record))
                })
            })?;
        }
        if options.once.once {
            let once = once::notice(files.len(), skipped, ignored);
            notice = Some([Some(once), notice].into_iter().flatten().collect::<Vec<_>>().join("\n"));
        }
        Ok((report, notice))
    }

    /// Puts the records of files into the table.
    async fn copy(self, context: &Context<'_>, options: &Options, files: &[ToLoad]) -> Result<Copied, Error> {
        let Self { table, columns, condition, .. } = self;
        let starts: Vec<u64> = files.iter().map(|file| file.start).collect();
        let files: Vec<FoundFile> = files.iter().map(|file| file.found.clone()).collect();
        let mut kinds = Vec::with_capacity(files.len());
        for file in &files {
            let kind = kind_of(file, options.format)?;
            kind.check(options.format, &file.location.to_string())?;
            kinds.push(kind);
        }
        if kinds.iter().all(|kind| *kind == FileKind::Text) {
            let texts = TextSources::Files(files.clone());
            let target = Target::new(table, &columns, options, texts.further_columns(options)?)?;
            let load = async {
                let mut plan = CopyPlan::of_text(context, target, texts, options, condition)?;
                plan.start_at(&starts);
                plan.run(context).await
            };
            load.await.map_err(|error| explain_load(error, &TextSources::Files(files), options))
        } else {
            let is_binary = kinds.iter().all(|kind| *kind == FileKind::Binary);
            options.check_columnar(if is_binary { "the binary format" } else { "a Parquet or Arrow file" })?;
            if let Some(at) = starts.iter().position(|start| *start > 0) {
                return Err(Error::unsupported(format!(
                    "{}: {} cannot be read from its middle on; leave ON_CHANGE continue out",
                    files[at].location,
                    kinds[at].described()
                )));
            }
            let target = Target::new(table, &columns, options, Vec::new())?;
            let plan = if is_binary {
                let sources = files.iter().map(binary_source).collect::<Result<_, _>>()?;
                CopyPlan::of_binary(context, target, sources, options, condition)?
            } else {
                CopyPlan::of_columnar(context, target, &files, options, condition)?
            };
            plan.run(context).await
        }
    }
}

/// A file in PostgreSQL's binary format.
fn binary_source(file: &FoundFile) -> Result<BinarySource, Error> {
    let path = local_path(file).ok_or_else(|| {
        Error::unsupported(format!(
            "{}: FORMAT binary is read from files of this machine and from STDIN",
            file.location
        ))
    })?;
    Ok(BinarySource::File(path.to_owned()))
}

impl ToLoad {
    /// What the ledger is to be told of the file, of a load that `load` is about.
    fn record(&self, load: &LoadRecord, counts: Option<(u64, u64)>, hash: Option<String>) -> LoadRecord {
        LoadRecord {
            file: shown(&self.state.name),
            ordinal: self.ordinal,
            size: self.state.bytes.map(signed),
            modified: self.state.modified,
            version: self.state.version.clone(),
            hash,
            rows: counts.map(|(rows, _)| signed(rows)),
            rejects: counts.map(|(_, rejects)| signed(rejects)),
            bytes: self.state.bytes.map(|bytes| signed(bytes.saturating_sub(self.start))),
            ..load.clone()
        }
    }
}

/// The error of a record that cannot be added to the ledger.
fn loaded_meanwhile(error: TransactionError, record: &LoadRecord) -> Error {
    if error.is_conflict() || matches!(error, TransactionError::Duplicate { .. }) {
        return Error::new(
            ErrorKind::Conflict,
            format!(
                "{}: another session has loaded it into {} at the same time; nothing was loaded: run the statement again",
                record.file, record.table_name
            ),
        );
    }
    error.into()
}

/// Notes that a load has failed. If that cannot be noted, there is nobody to tell.
async fn note_failed(context: &Context<'_>, ledger: Ledger, record: LoadRecord) {
    let transactions = Arc::clone(&context.database.transactions);
    // The statement may have been cancelled; this is not part of it.
    let note = move || {
        let add = |transaction: &mut Transaction| ledger.add_failed(transaction, &record);
        transactions.retry(Isolation::Snapshot, add)
    };
    let _ = tokio::task::spawn_blocking(note).await;
}
