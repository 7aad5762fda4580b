//! What statements took, by their texts with parameters in the place of values: `pg_stat_statements`.
//!
//! An entry belongs to one text and one role. Whoever executes a statement often keeps its entry, so that no text is looked
//! at again. There are so many entries at most; where there are too many, those that were called least go. Not here: who
//! measures times (a server).

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{lock, now};
use crate::catalog::RoleId;
use crate::sql::normalized::normalized;

/// Bytes of a text that are kept at most.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// The part of the entries that goes when there are too many: one in so many.
const EVICTED_PART: usize = 20;

/// The statements of a database that were measured.
#[derive(Debug, Default)]
pub struct Statements {
    /// 0 where nothing is measured.
    entries_max: AtomicUsize,
    entries: Mutex<HashMap<(RoleId, i64), Arc<StatementEntry>>>,
    /// How often entries went because there were too many.
    evictions: AtomicU64,
    /// When all were forgotten last, in microseconds since 1970-01-01 UTC; 0 for when the database was opened.
    reset_at: AtomicI64,
}

/// One statement of one role.
#[derive(Debug)]
pub struct StatementEntry {
    role: RoleId,
    id: i64,
    query: String,
    numbers: Mutex<Measured>,
    /// Whether it is in the list no more.
    is_gone: AtomicBool,
}

/// What executions have taken; times are milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) calls: u64,
    pub(crate) total: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) mean: f64,
    /// The sum of the squares of the distances from the mean.
    squares: f64,
    pub(crate) rows: u64,
}

impl Measured {
    /// One more execution (Welford's way, which loses no digits).
    fn add(&mut self, milliseconds: f64, rows: u64) {
        self.calls += 1;
        self.total += milliseconds;
        self.rows += rows;
        if self.calls == 1 {
            (self.least, self.most, self.mean) = (milliseconds, milliseconds, milliseconds);
            return;
        }
        self.least = self.least.min(milliseconds);
        self.most = self.most.max(milliseconds);
        let before = self.mean;
        self.mean += (milliseconds - before) / self.calls as f64;
        self.squares += (milliseconds - before) * (milliseconds - self.mean);
    }

    /// The standard deviation of all of them.
    pub(crate) fn deviation(&self) -> f64 {
        if self.calls > 1 { (self.squares / self.calls as f64).sqrt() } else { 0.0 }
    }
}

impl Statements {
    /// Measures so many statements at most; 0 for none.
    pub fn set_entries_max(&self, entries: usize) {
        self.entries_max.store(entries, Ordering::Relaxed);
    }

    /// Whether anything is measured.
    #[must_use]
    pub fn are_measured(&self) -> bool {
        self.entries_max.load(Ordering::Relaxed) > 0
    }

    /// The entry of a statement that a role executes; `None` where nothing is measured.
    pub(crate) fn entry(&self, role: RoleId, sql: &str) -> Option<Arc<StatementEntry>> {
        let entries_max = self.entries_max.load(Ordering::Relaxed);
        if entries_max == 0 {
            return None;
        }
        let mut query = normalized(sql);
        let mut hasher = DefaultHasher::new();
        query.hash(&mut hasher);
        // As PostgreSQL's ids it may be below 0, and is never 0.
        let id = i64::from_ne_bytes(hasher.finish().to_ne_bytes()).max(i64::MIN + 1);
        let id = if id == 0 { 1 } else { id };
        let mut entries = lock(&self.entries);
        if let Some(known) = entries.get(&(role, id)) {
            return Some(Arc::clone(known));
        }
        if entries.len() >= entries_max {
            self.evictions.fetch_add(1, Ordering::Relaxed);
            evict(&mut entries, entries_max);
        }
        if query.len() > TEXT_BYTES_MAX {
            let end = (0..=TEXT_BYTES_MAX).rev().find(|end| query.is_char_boundary(*end));
            query.truncate(end.unwrap_or(0));
        }
        let (numbers, is_gone) = (Mutex::default(), AtomicBool::new(false));
        let entry = Arc::new(StatementEntry { role, id, query, numbers, is_gone });
        entries.insert((role, id), Arc::clone(&entry));
        Some(entry)
    }

    /// Forgets those of a role, of an id, or all; 0 leaves each open.
    pub(crate) fn reset(&self, role: u32, id: i64) {
        let mut entries = lock(&self.entries);
        entries.retain(|_, entry| {
            let goes = (role == 0 || entry.role.0 == role) && (id == 0 || entry.id == id);
            entry.is_gone.fetch_or(goes, Ordering::Relaxed);
            !goes
        });
        if role == 0 && id == 0 {
            self.evictions.store(0, Ordering::Relaxed);
            self.reset_at.store(now(), Ordering::Relaxed);
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<StatementEntry>> {
        lock(&self.entries).values().cloned().collect()
    }

    /// How often entries went because there were too many, and when all were forgotten last.
    pub(crate) fn info(&self) -> (u64, i64) {
        (self.evictions.load(Ordering::Relaxed), self.reset_at.load(Ordering::Relaxed))
    }
}

/// Makes room for more entries.
fn evict(entries: &mut HashMap<(RoleId, i64), Arc<StatementEntry>>, entries_max: usize) {
    let mut calls: Vec<(u64, (RoleId, i64))> =
        entries.iter().map(|(key, entry)| (lock(&entry.numbers).calls, *key)).collect();
    calls.sort_unstable();
    let excess = (entries.len() + 1).saturating_sub(entries_max);
    let leaving = excess.max(entries_max / EVICTED_PART);
    for (_, key) in calls.into_iter().take(leaving) {
        if let Some(entry) = entries.remove(&key) {
            entry.is_gone.store(true, Ordering::Relaxed);
        }
    }
}

impl StatementEntry {
    /// An execution took so long, and gave or changed so many rows.
    pub fn add(&self, time: Duration, rows: u64) {
        lock(&self.numbers).add(time.as_secs_f64() * 1e3, rows);
    }

    /// Whether it is to be looked up again.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    pub(crate) fn role(&self) -> RoleId {
        self.role
    }

    /// The number of its text.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// Its text.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    pub(crate) fn numbers(&self) -> Measured {
        *lock(&self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_summed_up() {
        let statements = Statements::default();
        assert!(statements.entry(RoleId(10), "SELECT 1").is_none());
        statements.set_entries_max(100);
        let entry = statements.entry(RoleId(10), "SELECT 1").expect("it is measured");
        for milliseconds in [2, 4, 4, 4, 5, 5, 7, 9] {
            entry.add(Duration::from_millis(milliseconds), 2);
        }
        let again = statements.entry(RoleId(10), "SELECT 2").expect("it is measured");
        assert!(Arc::ptr_eq(&entry, &again), "it differs in values alone");
        let measured = again.numbers();
        assert_eq!((measured.calls, measured.rows), (8, 16));
        let shown = format!("{} {} {} {}", measured.total, measured.least, measured.most, measured.mean);
        assert_eq!(shown, "40 2 9 5");
        assert!((measured.deviation() - 2.0).abs() < 1e-9);
        assert!(!Arc::ptr_eq(&entry, &statements.entry(RoleId(11), "SELECT 1").expect("it is measured")));
        statements.reset(0, entry.id());
        assert!(entry.is_gone() && statements.all().is_empty());
    }

    #[test]
    fn those_that_are_called_least_go() {
        let statements = Statements::default();
        statements.set_entries_max(10);
        let often = statements.entry(RoleId(10), "SELECT often").expect("it is measured");
        often.add(Duration::from_millis(1), 1);
        for number in 0..50 {
            let _ = statements.entry(RoleId(10), &format!("SELECT a{number}"));
        }
        assert!(!often.is_gone() && statements.all().len() <= 10);
        assert_eq!(statements.info().0, 41);
    }
}
