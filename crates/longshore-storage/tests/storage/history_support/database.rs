//! Lists and registers as two relations, and the steps of random transactions on them.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use longshore_storage::{
    Arena, Column, ColumnRange, ColumnType, Datum, Direction, Field, Freeze, Index, IndexKind, Isolation, Memory,
    MergeKind, PartitionBuffer, Relation, RowId, Schema, Transaction, TransactionError, Transactions, Uniqueness, key,
};
use longshore_testing::Random;

use crate::history_support::{End, Object, Op, Record, Table, Value};
use crate::support::{Cell, batch};

const KEY: usize = 0;
const VALUE: usize = 1;

/// What a transaction is to do next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Read(Object),
    Range(Table, RangeInclusive<i32>),
    Filter(RangeInclusive<u32>),
    Append(Object),
    Write(Object),
    Delete(Object),
}

/// By which rows are found, if not by scans.
struct Indexes {
    lists: Arc<Index>,
    lists_ordered: Arc<Index>,
    registers: Arc<Index>,
    /// Every write of a register moves its row.
    values: Arc<Index>,
}

pub(crate) struct Database {
    pub(crate) transactions: Arc<Transactions>,
    lists: Relation,
    registers: Relation,
    list_key: Field<i32>,
    items: Field<&'static str>,
    list_bytes_min: usize,
    register_key: Field<i32>,
    value: Field<i64>,
    indexes: Option<Indexes>,
    /// Whether transactions insert and delete rows. Without a key that keeps two apart who insert the same, that takes
    /// serializable transactions.
    inserts: bool,
    /// Keys that transactions use from the start; above them are those that loads bring.
    keys: i32,
    /// The first key that no load has brought.
    next_key: AtomicI32,
    next_value: AtomicU32,
}

impl Database {
    /// Both relations.
    pub(crate) fn relations(&self) -> [&Relation; 2] {
        [&self.lists, &self.registers]
    }

    /// The objects that are there in relations like its own.
    #[allow(dead_code, reason = "one of the tests has a log")]
    pub(crate) fn values_in(&self, relations: &[Relation]) -> BTreeMap<Object, Value> {
        let mut values = BTreeMap::new();
        let [lists, registers] = relations else { panic!("two relations") };
        let mut t = lists.transactions().begin_read_only(Isolation::Snapshot);
        t.scan(lists, &[], |t, row| {
            let (key, mut text) = (t.get(lists, row, self.list_key)?, String::new());
            t.get_text(lists, row, self.items, &mut text)?;
            values.insert(Object::list(key), Value::of_items(&text));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        t.scan(registers, &[], |t, row| {
            let value = t.get_nullable(registers, row, self.value)?;
            let value = Value(value.map(|value| value as u32).into_iter().collect());
            values.insert(Object::register(t.get(registers, row, self.register_key)?), value);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        values.retain(|_, value| !value.is_absent());
        values
    }

    /// Packs what nobody works on.
    pub(crate) fn freeze(&self) {
        for relation in self.relations() {
            relation.freeze(Freeze::All, 0, &|| false).unwrap();
        }
    }

    /// Of this many lists and registers, which are empty.
    pub(crate) fn new(keys: i32, isolation: Isolation, indexed: bool) -> Database {
        let inserts = indexed || isolation == Isolation::Serializable;
        let transactions = Transactions::new();
        let relation = |name: &str, content: Column| {
            let columns = vec![Column::new("key", ColumnType::Integer, false), content];
            Relation::in_database(Arc::new(Schema::new(columns)), Memory::new(None), &transactions).with_name(name)
        };
        let lists = relation("lists", Column::new("items", ColumnType::Text, false));
        let registers = relation("registers", Column::new("value", ColumnType::BigInt, true));
        let mut setup = transactions.begin(Isolation::Snapshot);
        for key in 0..keys {
            setup.insert(&lists, key![key, ""]).unwrap();
            if !inserts {
                setup.insert(&registers, key![key, None::<i64>]).unwrap();
            }
        }
        setup.commit().unwrap();
        // Long enough for their texts to be compressed when they are frozen.
        let list_bytes_min = if indexed { 4000 } else { 0 };
        let indexes = indexed.then(|| Indexes {
            lists: lists.create_index("lists_pk", &[KEY], IndexKind::Hash, Uniqueness::Unique).unwrap(),
            lists_ordered: lists.create_index("lists_ordered", &[KEY], IndexKind::Art, Uniqueness::Multiple).unwrap(),
            registers: registers.create_index("registers_pk", &[KEY], IndexKind::Art, Uniqueness::Unique).unwrap(),
            values: registers.create_index("values", &[VALUE, KEY], IndexKind::Art, Uniqueness::Multiple).unwrap(),
        });
        Database {
            list_key: lists.column("key").unwrap(),
            items: lists.column("items").unwrap(),
            register_key: registers.column("key").unwrap(),
            value: registers.column("value").unwrap(),
            list_bytes_min,
            transactions,
            lists,
            registers,
            indexes,
            inserts,
            keys,
            next_key: AtomicI32::new(keys),
            next_value: AtomicU32::new(1),
        }
    }

    /// Keys in use.
    pub(crate) fn key_count(&self) -> i32 {
        self.next_key.load(Ordering::Relaxed)
    }

    fn new_value(&self) -> u32 {
        self.next_value.fetch_add(1, Ordering::Relaxed)
    }

    /// A transaction that reads everything, for the end of a history.
    pub(crate) fn read_all(&self, session: usize) -> Record {
        let mut t = self.transactions.begin_read_only(Isolation::Serializable);
        let start = t.view().start().get();
        let all = 0..=self.key_count() - 1;
        let steps = [Step::Range(Table::Lists, all.clone()), Step::Range(Table::Registers, all)];
        let ops = steps.iter().map(|step| self.step(&mut t, step).unwrap()).collect();
        t.commit().unwrap();
        Record { session, start, end: End::Committed(start), ops }
    }

    /// Loads some registers with new keys in bulk.
    pub(crate) fn load(&self, session: usize, rows: i32, kind: MergeKind) -> Record {
        let first = self.next_key.fetch_add(rows, Ordering::Relaxed);
        let (mut cells, mut ops) = (Vec::new(), Vec::new());
        for key in first..first + rows {
            let value = self.new_value();
            cells.push(vec![Cell::Integer(key.into()), Cell::Integer(value.into())]);
            ops.push(Op::Write(Object::register(key), value));
        }
        let schema = self.registers.schema();
        let mut arena = Arena::new(Arc::clone(self.registers.memory()), 1 << 16);
        let buffers = PartitionBuffer::from_batch(schema, &batch(schema, &cells), &mut arena).unwrap();
        let append = self.registers.begin_append(kind);
        append.merge(0, buffers).unwrap();
        let mut t = self.transactions.begin(Isolation::Serializable);
        let start = t.view().start().get();
        // A session may be faster. Where no index tells of that, the load looks for itself.
        if self.indexes.is_none() {
            let seen = self.step(&mut t, &Step::Range(Table::Registers, first..=first + rows - 1)).unwrap();
            let is_there = matches!(&seen, Op::Range(_, _, found) if !found.is_empty());
            ops.insert(0, seen);
            if is_there {
                return Record { session, start, end: End::Aborted, ops };
            }
        }
        let committed = append.commit_in(&mut t).and_then(|_| Ok(t.commit()?));
        let end = match committed {
            Ok(commit) => End::Committed(commit.time.get()),
            Err(TransactionError::Duplicate { .. } | TransactionError::Conflict { .. }) => End::Aborted,
            Err(error) => panic!("{error}"),
        };
        Record { session, start, end, ops }
    }

    /// A step, with what it saw.
    pub(crate) fn step(&self, t: &mut Transaction, step: &Step) -> Result<Op, TransactionError> {
        Ok(match step {
            Step::Read(object) => Op::Read(*object, self.find(t, *object)?.map(|(_, value)| value).unwrap_or_default()),
            Step::Range(table, keys) => {
                let bound = |key: &i32| Bound::Included(Datum::I32(*key));
                let range = ColumnRange::between(KEY, bound(keys.start()), bound(keys.end()));
                let index = self.indexes.as_ref().map(|indexes| match table {
                    Table::Lists => &indexes.lists_ordered,
                    Table::Registers => &indexes.registers,
                });
                Op::Range(*table, keys.clone(), self.present(t, *table, index, range)?)
            }
            Step::Filter(values) => {
                let bound = |value: &u32| Bound::Included(Datum::I64((*value).into()));
                let range = ColumnRange::between(VALUE, bound(values.start()), bound(values.end()));
                let index = self.indexes.as_ref().map(|indexes| &indexes.values);
                Op::Filter(values.clone(), self.present(t, Table::Registers, index, range)?)
            }
            Step::Append(object) => {
                let (row, mut value) = self.find(t, *object)?.expect("lists are always there");
                let item = self.new_value();
                value.0.push(item);
                let items: Vec<String> = value.0.iter().map(u32::to_string).collect();
                let (items, width) = (items.join(","), self.list_bytes_min);
                t.set(&self.lists, row, self.items, &format!("{items:width$}"))?;
                Op::Append(*object, item)
            }
            Step::Write(object) => {
                let value = self.new_value();
                match self.find(t, *object)? {
                    Some((row, _)) => drop(t.update(&self.registers, row, &[(VALUE, Datum::I64(value.into()))])?),
                    None if !self.inserts => return Ok(Op::Read(*object, Value::default())),
                    None => drop(t.insert(&self.registers, key![object.key, i64::from(value)])?),
                }
                Op::Write(*object, value)
            }
            Step::Delete(object) => {
                match self.find(t, *object)? {
                    Some((row, _)) if !self.inserts => {
                        t.set_datum(&self.registers, row, VALUE, Datum::Null)?;
                    }
                    Some((row, _)) => t.delete(&self.registers, row)?,
                    None => return Ok(Op::Read(*object, Value::default())),
                }
                Op::Delete(*object)
            }
        })
    }

    fn find(&self, t: &mut Transaction, object: Object) -> Result<Option<(RowId, Value)>, TransactionError> {
        if let Some(indexes) = &self.indexes {
            let index = if object.table == Table::Lists { &indexes.lists } else { &indexes.registers };
            let Some(row) = t.find(self.relation(object.table), index, key![object.key])? else { return Ok(None) };
            return Ok(Some((row, self.value_of(t, object.table, row)?)));
        }
        let mut found = None;
        t.scan(self.relation(object.table), &[ColumnRange::equal(KEY, object.key)], |t, row| {
            assert!(found.is_none(), "{object:?} is there twice");
            found = Some((row, self.value_of(t, object.table, row)?));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The objects in a range that are there, by key.
    fn present(
        &self,
        t: &mut Transaction,
        table: Table,
        index: Option<&Arc<Index>>,
        range: ColumnRange<'_>,
    ) -> Result<Vec<(i32, Value)>, TransactionError> {
        let key = if table == Table::Lists { self.list_key } else { self.register_key };
        let mut found = Vec::new();
        let visit = |t: &mut Transaction, row| {
            let value = self.value_of(t, table, row)?;
            if !value.is_absent() {
                found.push((t.get(self.relation(table), row, key)?, value));
            }
            Ok(ControlFlow::Continue(()))
        };
        match (index, range.low, range.high) {
            (Some(index), Bound::Included(low), Bound::Included(high)) => {
                t.range(self.relation(table), index, &[low][..]..=&[high][..], Direction::Forward, visit)?;
            }
            _ => t.scan(self.relation(table), &[range], visit)?,
        }
        found.sort_by_key(|(key, _)| *key);
        Ok(found)
    }

    fn relation(&self, table: Table) -> &Relation {
        match table {
            Table::Lists => &self.lists,
            Table::Registers => &self.registers,
        }
    }

    fn value_of(&self, t: &mut Transaction, table: Table, row: RowId) -> Result<Value, TransactionError> {
        Ok(match table {
            Table::Registers => {
                Value(t.get_nullable(&self.registers, row, self.value)?.map(|value| value as u32).into_iter().collect())
            }
            Table::Lists => {
                let mut text = String::new();
                t.get_text(&self.lists, row, self.items, &mut text)?;
                Value::of_items(&text)
            }
        })
    }

    /// A random step.
    pub(crate) fn plan(&self, random: &mut Random, only_reads: bool) -> Step {
        let keys = self.key_count();
        let list = Object::list(random.below(self.keys as usize) as i32);
        // Half of the time one of those that everybody works on.
        let below = if random.below(2) == 0 { self.keys } else { keys };
        let key = random.below(below as usize) as i32;
        let register = Object::register(key);
        let range = key..=(key + random.below(6) as i32).min(keys - 1);
        match random.below(if only_reads { 7 } else { 12 }) {
            0 | 1 => Step::Read(list),
            2 | 3 => Step::Read(register),
            4 => Step::Range(Table::Lists, list.key..=(list.key + 2).min(self.keys - 1)),
            5 => Step::Range(Table::Registers, range),
            6 => {
                let newest = self.next_value.load(Ordering::Relaxed);
                let low = newest.saturating_sub(random.below(60) as u32);
                Step::Filter(low..=low + random.below(40) as u32)
            }
            7..=8 => Step::Append(list),
            9..=10 => Step::Write(register),
            _ => Step::Delete(register),
        }
    }
}
