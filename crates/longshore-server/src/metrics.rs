//! What the server counts of statements and connections.
//!
//! Counters are added to where something ends, by one store each. Not here: what the database counts by itself
//! (`longshore_engine::DatabaseStatistics`), how all of it is written (`monitor`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use longshore_engine::Report;

/// Kinds of statements that are told apart, by their first words.
pub(crate) const KINDS: [&str; 13] = [
    "select", "insert", "update", "delete", "merge", "copy", "begin", "commit", "rollback", "set", "create", "drop",
    "other",
];
/// Upper bounds of times of statements, in seconds.
pub(crate) const BOUNDS: [f64; 17] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    statements: [AtomicU64; KINDS.len()],
    /// Errors that clients were told, by the classes of their SQLSTATEs.
    errors: Mutex<BTreeMap<String, u64>>,
    /// How many statements took at most each bound and more than the one before; the last is for all beyond.
    times: [AtomicU64; BOUNDS.len() + 1],
    time_micros: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) rows_loaded: AtomicU64,
    pub(crate) bytes_loaded: AtomicU64,
    pub(crate) rows_sent: AtomicU64,
    pub(crate) rows_unloaded: AtomicU64,
}

impl Metrics {
    /// A statement has ended, whose first word is this.
    pub(crate) fn statement(&self, word: &str, time: Duration) {
        let word = match word {
            "END" => "commit",
            "ABORT" => "rollback",
            "START" => "begin",
            "WITH" | "VALUES" | "TABLE" | "" | "FROM" => "select",
            "RESET" => "set",
            other => other,
        };
        let kind = KINDS.iter().position(|kind| kind.eq_ignore_ascii_case(word)).unwrap_or(KINDS.len() - 1);
        add(&self.statements[kind], 1);
        let seconds = time.as_secs_f64();
        add(&self.times[BOUNDS.partition_point(|bound| *bound < seconds)], 1);
        add(&self.time_micros, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// A client was told of an error.
    pub(crate) fn error(&self, sqlstate: &str) {
        let class = sqlstate.get(..2).unwrap_or("XX");
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        match errors.get_mut(class) {
            Some(count) => *count += 1,
            None => drop(errors.insert(class.to_owned(), 1)),
        }
    }

    /// A COPY is done.
    pub(crate) fn copied(&self, report: &Report) {
        if report.bytes_written > 0 {
            add(&self.rows_unloaded, report.rows);
        } else {
            add(&self.rows_loaded, report.rows);
            add(&self.bytes_loaded, report.bytes_read);
        }
    }

    /// Statements by their kinds.
    pub(crate) fn statements(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KINDS.into_iter().zip(self.statements.iter().map(get))
    }

    /// Errors by their classes.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many statements took at most each bound; how many there were; and what they took in all.
    pub(crate) fn times(&self) -> (Vec<(f64, u64)>, u64, Duration) {
        let mut sum = 0;
        let mut buckets = Vec::with_capacity(BOUNDS.len());
        for (bound, count) in BOUNDS.iter().zip(&self.times) {
            sum += get(count);
            buckets.push((*bound, sum));
        }
        let all = sum + get(&self.times[BOUNDS.len()]);
        (buckets, all, Duration::from_micros(get(&self.time_micros)))
    }
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

/// What a counter says.
pub(crate) fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_up_to_their_bounds() {
        let metrics = Metrics::default();
        for micros in [1, 100, 101, 1_000, 100_000_000] {
            metrics.statement("SELECT", Duration::from_micros(micros));
        }
        metrics.statement("VACUUM", Duration::ZERO);
        let (buckets, all, time) = metrics.times();
        assert_eq!(buckets[..4], [(0.0001, 3), (0.000_25, 4), (0.0005, 4), (0.001, 5)]);
        assert_eq!((buckets[16].1, all, time), (5, 6, Duration::from_micros(100_001_202)));
        let counted: Vec<_> = metrics.statements().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("select", 5), ("other", 1)]);
        metrics.error("22012");
        metrics.error("22003");
        assert_eq!(metrics.errors(), BTreeMap::from([("22".to_owned(), 2)]));
    }
}
