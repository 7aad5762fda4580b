//! `ONCE`: which files a load leaves out because they were loaded before.
//!
//! A file is the one that was loaded if its size and time are the same, or else its content; a remote one if its version is the
//! same, or where its store gives none, its size and time. What has changed is for the user to decide (`ON_CHANGE`). The last
//! load of a file into the table counts.
//!
//! The content that is noted is the one that was loaded: a file that changes meanwhile ends the load. Not here: the ledger
//! (`catalog`), how files are loaded (`files`).

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use longshore_load::{Cancellation, Control};
use longshore_source::{ContentHash, FileState, FoundFile, Location, StoreOptions, hash_content};
use longshore_storage::in_threads;
use tokio::task::JoinHandle;

use super::noted_name::shown;
use crate::catalog::{Ledger, LoadRecord, LoadStatus, Table, shown_time, signed};
use crate::sql::options::{ChangeChoice, Options};
use crate::statement::Context;
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind, blocking};

/// Servers are asked about so many files at a time.
const REQUESTS: usize = 16;

/// A file that is to be loaded.
pub(super) struct ToLoad {
    pub(super) found: FoundFile,
    /// What is known of it before it is read.
    pub(super) state: FileState,
    /// Where its first record is that was not loaded; 0 for all of it.
    pub(super) start: u64,
    /// How many loads with ONCE there were of it, with this one.
    pub(super) ordinal: Option<i64>,
}

/// What is to be loaded, and how many files are not.
pub(super) struct Chosen {
    pub(super) files: Vec<ToLoad>,
    /// They were loaded before.
    pub(super) skipped: usize,
    /// They have changed since, and are left as they were.
    pub(super) ignored: usize,
}

/// What becomes of a file.
enum Fate {
    Load { start: u64 },
    Skip,
    Ignore,
}

/// Chooses the files that are to be loaded into `table`.
pub(super) async fn choose(
    context: &Context<'_>,
    table: &Arc<Table>,
    found: Vec<FoundFile>,
    options: &Options,
    ledger: Option<&Ledger>,
) -> Result<Chosen, Error> {
    if !options.once.once {
        let files = found.into_iter().map(|found| {
            // What cannot be said of it is not noted.
            let state = FileState::of(&found).unwrap_or_else(|_| FileState {
                name: found.location.to_string(),
                bytes: found.bytes,
                modified: None,
                version: None,
            });
            ToLoad { found, state, start: 0, ordinal: None }
        });
        return Ok(Chosen { files: files.collect(), skipped: 0, ignored: 0 });
    }
    let (table, transaction) = (Arc::clone(table), Arc::clone(context.transaction));
    let ledger = ledger.cloned().or_else(|| context.database.catalog.ledger());
    let on_change = options.once.on_change;
    let work = move |control: &Control| {
        let mut chosen = Chosen { files: Vec::new(), skipped: 0, ignored: 0 };
        let mut named = HashSet::new();
        for found in found {
            let state = FileState::of(&found)?;
            check_can_be_known(&found, &state)?;
            if !named.insert(state.name.clone()) {
                chosen.skipped += 1;
                continue;
            }
            let known = match &ledger {
                Some(ledger) => Known::of(ledger, &transaction, control, &table, &state)?,
                None => Known { last: None, ordinal: 0 },
            };
            let ordinal = Some(known.ordinal + 1);
            let fate = match known.last {
                None => Fate::Load { start: 0 },
                Some(last) => fate(&found, &state, &last, &table.name, on_change, control)?,
            };
            match fate {
                Fate::Load { start } => chosen.files.push(ToLoad { found, state, start, ordinal }),
                Fate::Skip => chosen.skipped += 1,
                Fate::Ignore => chosen.ignored += 1,
            }
        }
        Ok(chosen)
    };
    blocking::run(context.control, work).await
}

/// Refuses a file that would not be known again.
fn check_can_be_known(found: &FoundFile, state: &FileState) -> Result<(), Error> {
    let problem = match &found.location {
        Location::Stdin => "standard input has no name by which it is known again",
        Location::File(_) if state.bytes.is_none() => "it is no regular file, and can be read only once",
        Location::Remote(_) if state.version.is_none() && state.modified.is_none() => {
            "its server tells neither a version (ETag) nor when it was modified"
        }
        Location::File(_) | Location::Remote(_) => return Ok(()),
    };
    Err(Error::unsupported(format!("{}: option ONCE: {problem}; leave ONCE out", found.location)))
}

/// What the ledger knows of a file.
struct Known {
    /// The last load of it that counts.
    last: Option<LoadRecord>,
    /// How many loads with ONCE there were.
    ordinal: i64,
}

impl Known {
    fn of(
        ledger: &Ledger,
        transaction: &StatementTransaction,
        control: &Control,
        table: &Table,
        state: &FileState,
    ) -> Result<Self, Error> {
        let name = shown(&state.name);
        let records = transaction.with_unless_cancelled(control, |transaction| {
            ledger.records_of(transaction, table.number(), Some(&name))
        })?;
        let ordinal = records.iter().filter_map(|(_, record)| record.ordinal).max().unwrap_or(0);
        let is_it = |record: &LoadRecord| record.status == LoadStatus::Loaded && record.file == name;
        let loaded = records.into_iter().map(|(_, record)| record).filter(is_it);
        Ok(Self { last: loaded.max_by_key(|record| record.load), ordinal })
    }
}

/// What becomes of a file that was loaded before.
fn fate(
    found: &FoundFile,
    state: &FileState,
    last: &LoadRecord,
    table: &str,
    on_change: ChangeChoice,
    control: &Control,
) -> Result<Fate, Error> {
    let same_size = state.bytes.map(signed) == last.size;
    let same_time = state.modified == last.modified && state.modified.is_some();
    let is_same = match (&state.version, &last.version) {
        (Some(now), Some(then)) => now == then,
        _ => same_size && same_time,
    };
    if is_same {
        return Ok(Fate::Skip);
    }
    let old_bytes = last.size.and_then(|size| u64::try_from(size).ok());
    let mut prefix_end = None;
    let change = match (&found.location, state.bytes, old_bytes, &last.hash) {
        (Location::File(path), Some(bytes), Some(old), Some(hash)) if bytes >= old => {
            let found = hash_content(path, bytes, Some(old), control.cancellation())?;
            prefix_end = found.prefix_end;
            let starts_the_same = found.prefix.is_some_and(|prefix| prefix.to_string() == *hash);
            match (starts_the_same, bytes == old) {
                (true, true) => return Ok(Fate::Skip),
                (true, false) => Change::Grown { old, bytes },
                (false, _) => Change::Content,
            }
        }
        (_, Some(bytes), Some(old), _) if bytes != old => Change::Size { old, bytes },
        (Location::Remote(_), ..) if state.version.is_some() && last.version.is_some() => Change::Version,
        _ => Change::Time { hashed: last.hash.is_some() },
    };
    let problem = match (on_change, &change) {
        (ChangeChoice::Ignore, _) => return Ok(Fate::Ignore),
        (ChangeChoice::Append, _) => return Ok(Fate::Load { start: 0 }),
        (ChangeChoice::Error, _) => {
            "ON_CHANGE append loads all of it beside the rows that it gave before, ignore leaves \
                                     it, and continue loads what was appended to text"
                .to_owned()
        }
        (ChangeChoice::Continue, Change::Grown { old, .. }) => {
            if last.rejects.is_none_or(|rejects| rejects > 0) {
                "it cannot be continued, since it is not known whether its last record was loaded or rejected"
                    .to_owned()
            } else if *old > 0 && prefix_end != Some(b'\n') {
                "it cannot be continued, since what was loaded did not end with a line feed: its last record may have been \
                 cut"
                .to_owned()
            } else {
                return Ok(Fate::Load { start: *old });
            }
        }
        (ChangeChoice::Continue, _) => {
            "it cannot be continued, since it is not known to begin with what was loaded".to_owned()
        }
    };
    Err(Error::new(
        ErrorKind::State,
        format!(
            "{}: it was loaded into {table} by load {} at {}, and has changed since: {}; {problem}",
            found.location,
            last.load,
            shown_time(last.started),
            change.shown(state, last)
        ),
    ))
}

/// How a file differs from what was loaded.
enum Change {
    Grown {
        old: u64,
        bytes: u64,
    },
    Content,
    Size {
        old: u64,
        bytes: u64,
    },
    Version,
    /// Whether its content was compared.
    Time {
        hashed: bool,
    },
}

impl Change {
    fn shown(&self, state: &FileState, last: &LoadRecord) -> String {
        let time = |time: Option<i64>| time.map_or_else(|| "an unknown time".to_owned(), shown_time);
        match self {
            Self::Grown { old, bytes } => {
                format!("it had {old} bytes, and {} were appended to them", bytes - old)
            }
            Self::Content => format!("its content is another one, of {} bytes", state.bytes.unwrap_or_default()),
            Self::Size { old, bytes } => format!("it had {old} bytes, and has {bytes}"),
            Self::Version => "its version (ETag) is another one".to_owned(),
            Self::Time { hashed } => {
                let modified = format!("it was modified at {}, then at {}", time(last.modified), time(state.modified));
                if *hashed { modified } else { format!("{modified}, and its content was not noted without ONCE") }
            }
        }
    }
}

/// The hashes of files, which are computed while they are loaded.
pub(super) struct Hashes {
    work: Option<JoinHandle<Result<Vec<Option<ContentHash>>, Error>>>,
    cancellation: Arc<Cancellation>,
}

impl Hashes {
    /// Begins to hash the files that `options` want to know again by their content.
    pub(super) fn begin(files: &[ToLoad], options: &Options) -> Self {
        let cancellation = Arc::new(Cancellation::default());
        let local = |file: &ToLoad| match (&file.found.location, file.state.bytes) {
            (Location::File(path), Some(bytes)) => Some((path.clone(), bytes)),
            _ => None,
        };
        let is_wanted = options.once.once && !options.rejects.dry_run;
        let work = is_wanted.then(|| {
            let wanted: Vec<_> = files.iter().map(local).collect();
            let cancellation = Arc::clone(&cancellation);
            let hash = move |wanted: Option<(PathBuf, u64)>| match wanted {
                Some((path, bytes)) => Ok(Some(hash_content(&path, bytes, None, &cancellation)?.whole)),
                None => Ok(None),
            };
            tokio::task::spawn_blocking(move || wanted.into_iter().map(hash).collect())
        });
        Self { work, cancellation }
    }

    /// The hashes in the order of the files; `None` for remote ones.
    pub(super) async fn finish(mut self) -> Result<Vec<Option<ContentHash>>, Error> {
        let Some(work) = self.work.take() else { return Ok(Vec::new()) };
        work.await.unwrap_or_else(|error| Err(Error::internal(format!("nobody hashes the files: {error}"))))
    }
}

impl Drop for Hashes {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

/// Refuses to keep what was loaded if a file has changed meanwhile.
pub(super) async fn check_unchanged(context: &Context<'_>, files: &[ToLoad], options: &Options) -> Result<(), Error> {
    if !options.once.once {
        return Ok(());
    }
    let states: Vec<_> = files.iter().map(|file| (file.found.clone(), file.state.clone())).collect();
    let store = options.source.open.store.clone();
    let work = move |control: &Control| {
        let is_remote = states.iter().any(|(found, _)| matches!(found.location, Location::Remote(_)));
        let threads = if is_remote { REQUESTS.min(states.len()) } else { 1 };
        let next = AtomicUsize::new(0);
        let check = || {
            while let Some((found, state)) = states.get(next.fetch_add(1, Ordering::Relaxed)) {
                if control.is_cancelled() {
                    return Err(Error::cancelled());
                }
                check_same(found, state, &store)?;
            }
            Ok(())
        };
        in_threads(threads, check).into_iter().collect()
    };
    blocking::run(context.control, work).await
}

fn check_same(found: &FoundFile, before: &FileState, store: &StoreOptions) -> Result<(), Error> {
    if FileState::now(found, store)?.is_same_as(before) {
        return Ok(());
    }
    let problem = "it was changed while it was loaded; nothing was loaded: run the statement again when it is complete";
    Err(Error::new(ErrorKind::Io, format!("{}: {problem}", found.location)))
}

/// What is to be told of so many files.
pub(super) fn notice(loaded: usize, skipped: usize, ignored: usize) -> String {
    let files = |count: usize| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let mut parts = vec![format!("{} {} loaded", files(loaded), were(loaded))];
    if skipped > 0 {
        parts.push(format!("{} {} loaded before and left out", files(skipped), were(skipped)));
    }
    if ignored > 0 {
        let have = if ignored == 1 { "has" } else { "have" };
        parts.push(format!("{} {have} changed and {} ignored", files(ignored), were(ignored)));
    }
    parts.join("; ")
}
