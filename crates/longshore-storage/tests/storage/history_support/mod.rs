//! Histories: what concurrent transactions did and saw, and the two checkers of what that means.
//!
//! The objects are lists, which grow by items, and registers, which are written and deleted; every item and every value
//! is written once in a history, so what was read says who wrote it. [`adya`] looks for cycles of dependencies, without
//! trusting the database with more than the order in which registers were written; [`replay`] takes it by its word that
//! transactions are serial in the order of their commits, and does them again.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::ops::RangeInclusive;

pub(crate) mod adya;
pub(crate) mod replay;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Table {
    Lists,
    Registers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) table: Table,
    pub(crate) key: i32,
}

/// What is in an object. A list without items and a register without value are not there at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) Vec<u32>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A lookup by key.
    Read(Object, Value),
    /// The objects that are there, by key.
    Range(Table, RangeInclusive<i32>, Vec<(i32, Value)>),
    /// The registers whose value is in a range, by key.
    Filter(RangeInclusive<u32>, Vec<(i32, Value)>),
    /// Appends an item to a list.
    Append(Object, u32),
    /// Writes a register.
    Write(Object, u32),
    /// Deletes a register.
    Delete(Object),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// When; of one that wrote nothing, its start.
    Committed(u64),
    Aborted,
}

/// A transaction.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) session: usize,
    pub(crate) start: u64,
    pub(crate) end: End,
    pub(crate) ops: Vec<Op>,
}

/// Transactions; those of one session in the order in which it ran them.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Objects have the keys `0..keys`.
    pub(crate) keys: i32,
    pub(crate) records: Vec<Record>,
}

impl Object {
    pub(crate) fn list(key: i32) -> Object {
        Object { table: Table::Lists, key }
    }

    pub(crate) fn register(key: i32) -> Object {
        Object { table: Table::Registers, key }
    }
}

impl Value {
    /// The items of a list as text.
    pub(crate) fn of_items(text: &str) -> Value {
        let items = text.trim_end().split(',').filter(|item| !item.is_empty());
        Value(items.map(|item| item.parse().expect("an item")).collect())
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl Op {
    /// The objects that were read, those included that were found missing. Of a filter only those found.
    pub(crate) fn reads(&self) -> Vec<(Object, Value)> {
        match self {
            Op::Read(object, value) => vec![(*object, value.clone())],
            Op::Range(table, keys, seen) => {
                let value = |key| seen.iter().find(|(at, _)| *at == key).map(|(_, value)| value.clone());
                let object = |key| Object { table: *table, key };
                keys.clone().map(|key| (object(key), value(key).unwrap_or_default())).collect()
            }
            Op::Filter(_, seen) => seen.iter().map(|(key, value)| (Object::register(*key), value.clone())).collect(),
            Op::Append(..) | Op::Write(..) | Op::Delete(_) => Vec::new(),
        }
    }

    /// The object that was written.
    pub(crate) fn writes(&self) -> Option<Object> {
        match self {
            Op::Append(object, _) | Op::Write(object, _) | Op::Delete(object) => Some(*object),
            Op::Read(..) | Op::Range(..) | Op::Filter(..) => None,
        }
    }

    /// What the write makes of an object.
    pub(crate) fn apply(&self, value: &mut Value) {
        match self {
            Op::Append(_, item) => value.0.push(*item),
            Op::Write(_, written) => value.0 = vec![*written],
            Op::Delete(_) => value.0.clear(),
            Op::Read(..) | Op::Range(..) | Op::Filter(..) => {}
        }
    }
}

impl Record {
    pub(crate) fn committed(&self) -> Option<u64> {
        match self.end {
            End::Committed(time) => Some(time),
            End::Aborted => None,
        }
    }

    pub(crate) fn has_written(&self) -> bool {
        self.ops.iter().any(|op| op.writes().is_some())
    }
}
