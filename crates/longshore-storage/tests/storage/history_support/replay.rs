//! Does a history again, one transaction after the other, on a map.
//!
//! Every transaction, also one that failed, must have seen the state at its start and its own writes. Under
//! SERIALIZABLE one that wrote and committed must have seen what it would see at its commit too (the thesis, 2.3.2:
//! serializable in the order of commits), phantoms included. And of two that ran at the same time and wrote the same
//! object, one must have failed.

use std::collections::{BTreeMap, HashMap};

use super::{History, Object, Op, Record, Table, Value};

/// The values of every object, each with the time of its commit, in order.
pub(crate) struct States {
    keys: i32,
    versions: BTreeMap<Object, Vec<(u64, Value)>>,
    passed_over: bool,
}

/// Whether a transaction wrote what others had made and removed again since it began. It is as if they had not, but a
/// graph of who wrote before whom shows a cycle.
pub(crate) fn has_passed_over(history: &History) -> bool {
    States::new(history, &mut Vec::new()).passed_over
}

/// What is wrong with a history; nothing if it is as good as `serializable` says, or a snapshot at least.
pub(crate) fn faults(history: &History, serializable: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let states = States::new(history, &mut faults);
    for (at, record) in history.records.iter().enumerate() {
        if let Err(fault) = states.check(record, record.start) {
            faults.push(format!("transaction {at} did not see the state at its start {}: {fault}", record.start));
        }
        if let (true, true, Some(commit)) = (serializable, record.has_written(), record.committed())
            && let Err(fault) = states.check(record, commit - 1)
        {
            faults.push(format!("transaction {at} is not serial at its commit {commit}: {fault}"));
        }
    }
    faults
}

impl States {
    pub(crate) fn new(history: &History, faults: &mut Vec<String>) -> States {
        let mut writers: Vec<(u64, usize)> = Vec::new();
        for (at, record) in history.records.iter().enumerate() {
            if let (Some(commit), true) = (record.committed(), record.has_written()) {
                writers.push((commit, at));
            }
        }
        writers.sort_unstable();
        for pair in writers.windows(2) {
            if pair[0].0 == pair[1].0 {
                faults.push(format!("transactions {} and {} have one time of commit", pair[0].1, pair[1].1));
            }
        }
        let mut versions: BTreeMap<Object, Vec<(u64, Value)>> = BTreeMap::new();
        let mut passed_over = false;
        for (commit, at) in writers {
            let record = &history.records[at];
            let mut values: HashMap<Object, Value> = HashMap::new();
            for op in &record.ops {
                let Some(object) = op.writes() else { continue };
                let before = || versions.get(&object).and_then(|versions| versions.last());
                let value = values
                    .entry(object)
                    .or_insert_with(|| before().map(|(_, value)| value.clone()).unwrap_or_default());
                op.apply(value);
            }
            for (object, value) in values {
                let versions = versions.entry(object).or_default();
                let before = versions.last();
                let was_there = before.is_some_and(|(_, before)| !before.is_absent());
                // What was not there, and came and went, was not written.
                if value.is_absent() && !was_there {
                    continue;
                }
                // Nor does it matter to who begins before and ends behind: he neither sees it nor misses it.
                let began_with = versions.partition_point(|(time, _)| *time <= record.start).checked_sub(1);
                let began_without = began_with.is_none_or(|at| versions[at].1.is_absent());
                if let Some((time, _)) = before.filter(|(time, _)| *time > record.start) {
                    if was_there || !began_without {
                        let start = record.start;
                        faults.push(format!(
                            "transaction {at} wrote {object:?} from {start} to {commit}, another at {time}"
                        ));
                    } else {
                        passed_over = true;
                    }
                }
                versions.push((commit, value));
            }
        }
        States { keys: history.keys, versions, passed_over }
    }

    fn at(&self, object: Object, time: u64) -> Value {
        let Some(versions) = self.versions.get(&object) else { return Value::default() };
        let behind = versions.partition_point(|(commit, _)| *commit <= time);
        behind.checked_sub(1).map(|last| versions[last].1.clone()).unwrap_or_default()
    }

    /// All objects that were there after all commits up to a time.
    pub(crate) fn all_at(&self, time: u64) -> BTreeMap<Object, Value> {
        let all = self.versions.keys().map(|object| (*object, self.at(*object, time)));
        all.filter(|(_, value)| !value.is_absent()).collect()
    }

    /// Whether a transaction saw the state after all commits up to a time, and its own writes.
    fn check(&self, record: &Record, time: u64) -> Result<(), String> {
        let mut own: HashMap<Object, Value> = HashMap::new();
        for op in &record.ops {
            let value = |object: Object| own.get(&object).cloned().unwrap_or_else(|| self.at(object, time));
            let present = |table: Table, holds: &dyn Fn(i32, &Value) -> bool| -> Vec<(i32, Value)> {
                let all = (0..self.keys).map(|key| (key, value(Object { table, key })));
                all.filter(|(key, value)| !value.is_absent() && holds(*key, value)).collect()
            };
            let expected = match op {
                Op::Read(object, _) => Op::Read(*object, value(*object)),
                Op::Range(table, keys, _) => {
                    Op::Range(*table, keys.clone(), present(*table, &|key, _| keys.contains(&key)))
                }
                Op::Filter(values, _) => {
                    Op::Filter(values.clone(), present(Table::Registers, &|_, value| values.contains(&value.0[0])))
                }
                Op::Append(object, _) | Op::Write(object, _) | Op::Delete(object) => {
                    let mut changed = value(*object);
                    op.apply(&mut changed);
                    own.insert(*object, changed);
                    continue;
                }
            };
            if expected != *op {
                return Err(format!("{op:?} instead of {expected:?}"));
            }
        }
        Ok(())
    }
}
