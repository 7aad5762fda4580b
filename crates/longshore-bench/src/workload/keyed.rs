//! Lineitem into a table with its two-column key, against one without: what a key costs a load.
//!
//! The goal is 1.35 times the load without a key, for the tree. Loads that are merged as they come, and a load whose rows
//! take the place of all that there are, stand beside them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{Conflicts, Control, InputFile, Source, TextOptions, Tuning, copy_from, load_interleaved};
use longshore_storage::{ConflictAction, IndexKind, Isolation, OnConflict, Relation, Uniqueness};

use crate::facts::{COLUMNS, Facts};
use crate::lineitem::{Blocks, DECIMAL_PRECISION, options, schema};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// `l_orderkey` and `l_linenumber`.
const KEY: [usize; 2] = [0, 3];

/// How the rows are loaded.
#[derive(Clone, Copy, Debug)]
enum How {
    /// All are merged in the end.
    Short,
    /// Chunks are merged as they come.
    Interleaved,
    /// The same rows are there already and give way.
    Again,
}

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let file = &lineitem(&settings.data, settings.scale, Text::Plain)?;
    let blocks = &Blocks::recycled();
    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        for (name, kind, how) in [
            ("no key", None, How::Short),
            ("tree", Some(IndexKind::Art), How::Short),
            ("hash table", Some(IndexKind::Hash), How::Short),
            ("tree, interleaved", Some(IndexKind::Art), How::Interleaved),
            ("tree, keep the last of two loads", Some(IndexKind::Art), How::Again),
        ] {
            let name = format!("{name}, {}", threads_of(threads));
            let tuning = Tuning::new(threads);
            cases
                .push(Case::new(name, Amount::Bytes(file.bytes), move || timed_load(file, kind, how, &tuning, blocks)));
        }
    }
    measure(cases, settings)
}

/// Loads, checks the relation against the facts, and returns the time of the load alone.
fn timed_load(
    file: &Lineitem,
    kind: Option<IndexKind>,
    how: How,
    tuning: &Tuning,
    blocks: &Blocks,
) -> Result<Duration, Failure> {
    let relation = Relation::new(schema(DECIMAL_PRECISION), Arc::clone(&blocks.memory()));
    if let Some(kind) = kind {
        relation.create_index("lineitem_pkey", &KEY, kind, Uniqueness::Unique)?;
    }
    let fields: Vec<usize> = (0..COLUMNS).collect();
    let input = || Ok::<_, Failure>(vec![InputFile::opened(Source::open(&file.path)?, &fields)]);
    let control = Control::new();
    let mut text = options(Text::Plain);
    if let How::Again = how {
        copy_from(input()?, &relation, &text, tuning, &control)?;
        let on = OnConflict { action: ConflictAction::KeepLast, index: None };
        text = TextOptions { conflicts: Conflicts { on, rejects: false }, ..text };
    }
    let started = Instant::now();
    let report = if let How::Interleaved = how {
        let mut transaction = relation.transactions().begin(Isolation::Serializable);
        let report = load_interleaved(input()?, &relation, &mut transaction, &text, tuning, &control, |_| Ok(()))?;
        transaction.commit()?;
        report
    } else {
        copy_from(input()?, &relation, &text, tuning, &control)?
    };
    let time = started.elapsed();
    let rows = report.rows + report.updated;
    if rows != file.facts.rows() {
        return Err(format!("{rows} rows where {} are right", file.facts.rows()).into());
    }
    file.facts.check(&Facts::of_snapshot(&relation.snapshot())?)?;
    Ok(time)
}
