//! What a database is made to do, at random.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use longshore_storage::{
    Arena, Column, ColumnType, Freeze, Isolation, Memory, MergeKind, NewColumn, Relation, RelationId, RowId, Schema,
    Transaction,
};

use super::{Change, Open, Rows, World, applied, failed};
use crate::redo_support::{datums, rows_by_id};
use crate::support::{Cell, Row, all_types, buffers, datum, id_and_text, random_rows};

/// No more relations than that.
const RELATIONS_MAX: usize = 4;

impl World {
    /// Does something. Fails only if the disk does; then the relations are as the model has them all the same.
    pub(crate) fn step(&mut self, open: &mut Open) -> Result<(), String> {
        let acted = self.act(open);
        let waited = self.wait_failed.take().map_or(Ok(()), Err);
        acted.and(waited)
    }

    fn act(&mut self, open: &mut Open) -> Result<(), String> {
        if open.relations.is_empty() {
            return self.create(open);
        }
        match self.random.below(40) {
            0..=1 if open.relations.len() < RELATIONS_MAX => self.create(open),
            2 => self.drop_relation(open),
            3..=4 => self.alter(open),
            5 => self.truncate(open),
            6..=8 => self.append(open),
            9..=11 => {
                self.freeze(open);
                Ok(())
            }
            12..=16 => self.checkpoint(open),
            17..=20 => self.pending(open),
            21 if self.backs_up => self.backup(open),
            _ => {
                let mut transaction = self.begin(open);
                let changes = self.change_rows(open, &mut transaction);
                let after = applied(self.last(), &changes);
                self.commit(open, transaction, after)
            }
        }
    }

    pub(super) fn begin(&mut self, open: &Open) -> Transaction {
        open.transactions.begin(self.random.pick(&[Isolation::Snapshot, Isolation::Serializable]))
    }

    fn pick(&mut self, open: &Open) -> RelationId {
        let ids: Vec<RelationId> = open.relations.keys().copied().collect();
        self.random.pick(&ids)
    }

    /// Inserts, updates and deletes some rows that nobody else is at.
    pub(super) fn change_rows(&mut self, open: &Open, transaction: &mut Transaction) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        let mut state = self.last();
        let others: BTreeSet<(RelationId, RowId)> =
            open.pending.iter().flat_map(|(_, changes)| changes).map(|(id, row, _)| (*id, *row)).collect();
        for _ in 0..=self.random.below(6) {
            let id = self.pick(open);
            let relation = &open.relations[&id];
            let schema = Arc::clone(relation.schema());
            let (_, rows, _) = &*state[&id];
            let at = self.random.below(rows.len().max(1));
            let row = rows.keys().nth(at).copied().filter(|row| !others.contains(&(id, *row)));
            let change = match (self.random.below(4), row) {
                (0, Some(row)) => {
                    transaction.delete(relation, row).unwrap();
                    (id, row, None)
                }
                (1, Some(row)) => {
                    let column = self.random.below(schema.columns().len());
                    let fresh = random_rows(&mut self.random, &schema, self.next_id, 1).remove(0).swap_remove(column);
                    let value = datum(&fresh, schema.columns()[column].column_type);
                    assert_eq!(transaction.update(relation, row, &[(column, value)]).unwrap(), row);
                    let mut cells = rows[&row].clone();
                    cells[column] = fresh;
                    (id, row, Some(cells))
                }
                _ => {
                    let cells = random_rows(&mut self.random, &schema, self.next_id, 1).remove(0);
                    self.next_id += 1;
                    let row = transaction.insert(relation, &datums(&cells, &schema)).unwrap();
                    (id, row, Some(cells))
                }
            };
            state = applied(state, std::slice::from_ref(&change));
            changes.push(change);
        }
        changes
    }

    fn create(&mut self, open: &mut Open) -> Result<(), String> {
        let schema = if self.random.once_in(3) { all_types() } else { id_and_text() };
        let relation = Relation::in_database(Arc::clone(&schema), Memory::new(None), &open.transactions).with_name("t");
        let is_logged = !self.random.once_in(3);
        relation.set_logged(is_logged);
        let mut rows = Rows::new();
        let mut transaction = self.begin(open);
        if self.random.once_in(2) {
            // It has rows before it joins.
            let mut other = self.begin(open);
            for cells in random_rows(&mut self.random, &schema, self.next_id, 3) {
                rows.insert(other.insert(&relation, &datums(&cells, &schema)).unwrap(), cells);
            }
            assert_eq!(other.commit().unwrap().lsn, None);
            transaction = self.begin(open);
        }
        transaction.log_created(&relation).unwrap();
        if self.random.once_in(2) {
            let cells = random_rows(&mut self.random, &schema, self.next_id, 1).remove(0);
            rows.insert(transaction.insert(&relation, &datums(&cells, &schema)).unwrap(), cells);
        }
        self.next_id += 4;
        if self.random.once_in(8) {
            transaction.rollback();
            return Ok(());
        }
        let id = relation.relation_id().unwrap();
        let mut after = self.last();
        after.insert(id, Arc::new((schema, rows, is_logged)));
        self.commit(open, transaction, after)?;
        open.relations.insert(id, relation);
        Ok(())
    }

    fn drop_relation(&mut self, open: &mut Open) -> Result<(), String> {
        let id = self.pick(open);
        if open.pending.is_some() {
            return Ok(());
        }
        let mut transaction = self.begin(open);
        transaction.log_dropped(&open.relations[&id]).unwrap();
        let mut after = self.last();
        after.remove(&id);
        self.commit(open, transaction, after)?;
        open.relations.remove(&id);
        Ok(())
    }

    fn truncate(&mut self, open: &mut Open) -> Result<(), String> {
        if open.pending.is_some() {
            return Ok(());
        }
        let id = self.pick(open);
        let mut transaction = self.begin(open);
        transaction.truncate(&open.relations[&id]).unwrap();
        let mut after = self.last();
        Arc::make_mut(after.get_mut(&id).unwrap()).1.clear();
        self.commit(open, transaction, after)
    }

    fn append(&mut self, open: &mut Open) -> Result<(), String> {
        let id = self.pick(open);
        let relation = &open.relations[&id];
        let schema = relation.schema();
        let count = if self.random.once_in(4) { self.append_rows } else { 1 + self.random.below(40) };
        let rows = random_rows(&mut self.random, schema, self.next_id, count);
        self.next_id += count as i64;
        let mut transaction = self.begin(open);
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        let append = relation.begin_append(self.random.pick(&[MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk]));
        append.merge(0, buffers(schema, &rows, &mut arena)).unwrap();
        append.commit_in(&mut transaction).unwrap();
        let mut after = self.last();
        let rows = rows_by_id(&transaction.snapshot(relation));
        Arc::make_mut(after.get_mut(&id).unwrap()).1 = rows.clone();
        if self.random.once_in(3)
            && let Some(row) = rows.keys().nth_back(self.random.below(count)).copied()
        {
            // One that it has just added.
            transaction.delete(relation, row).unwrap();
            Arc::make_mut(after.get_mut(&id).unwrap()).1.remove(&row);
        }
        self.commit(open, transaction, after)
    }

    fn freeze(&mut self, open: &Open) {
        let id = self.pick(open);
        open.relations[&id].freeze(Freeze::All, 1, &|| false).unwrap();
    }

    /// Begins or ends a transaction that goes on while others come and go.
    fn pending(&mut self, open: &mut Open) -> Result<(), String> {
        match open.pending.take() {
            None => {
                let mut transaction = open.transactions.begin(Isolation::Snapshot);
                let changes = self.change_rows(open, &mut transaction);
                open.pending = Some((transaction, changes));
                Ok(())
            }
            Some((transaction, _)) if self.random.once_in(3) => {
                transaction.rollback();
                Ok(())
            }
            Some((transaction, changes)) => {
                let after = applied(self.last(), &changes);
                self.commit(open, transaction, after)
            }
        }
    }

    /// Adds a column of one value, or of one for each row, or drops one. Rows may be logged from now on, or no longer.
    fn alter(&mut self, open: &mut Open) -> Result<(), String> {
        if open.pending.is_some() {
            return Ok(());
        }
        let id = self.pick(open);
        let before = &open.relations[&id];
        let state = self.last();
        let (_, rows, is_logged) = &*state[&id];
        let old = before.schema().columns();
        let mut columns: Vec<(Column, Option<usize>)> =
            old.iter().enumerate().map(|(at, column)| (column.clone(), Some(at))).collect();
        let added = Column::new(format!("a{}", self.next_id), ColumnType::Text, true);
        self.next_id += 1;
        match self.random.below(3) {
            0 if columns.len() > 2 && columns[1].0.name != "id" => drop(columns.remove(1)),
            _ => columns.insert(self.random.below(columns.len() + 1), (added, None)),
        }
        let schema = Arc::new(Schema::new(columns.iter().map(|(column, _)| column.clone()).collect()));
        let is_computed = self.random.once_in(2);
        let value = if self.random.once_in(3) { Cell::Null } else { Cell::Text("filled".to_owned()) };
        let sources: Vec<NewColumn<'_>> = columns
            .iter()
            .map(|(_, from)| match from {
                Some(from) => NewColumn::Kept(*from),
                None if is_computed => NewColumn::Computed,
                None => NewColumn::Filled(datum(&value, ColumnType::Text)),
            })
            .collect();
        let alteration = before.begin_alteration(Duration::ZERO).unwrap();
        let after = alteration.reshape("t", &schema, &sources, &[]).unwrap();
        let is_logged = if self.random.once_in(3) { !is_logged } else { *is_logged };
        after.set_logged(is_logged);
        let mut altered = Rows::new();
        for (&row, cells) in rows {
            let cell = |(at, (_, from)): (usize, &(Column, Option<usize>))| match from {
                Some(from) => cells[*from].clone(),
                None if is_computed => {
                    let cell = Cell::Text(format!("computed for {row}, which is long"));
                    alteration.compute(&after, row, at, datum(&cell, ColumnType::Text)).unwrap();
                    cell
                }
                None => value.clone(),
            };
            let cells: Row = columns.iter().enumerate().map(cell).collect();
            altered.insert(row, cells);
        }
        let mut transaction = open.transactions.begin(Isolation::Snapshot);
        transaction.log_payload(&(self.states.len() as u64).to_le_bytes()).unwrap();
        let commit = alteration.commit_in(&after, Arc::new(()), transaction).map_err(failed)?;
        let mut state = self.last();
        state.insert(id, Arc::new((schema, altered, is_logged)));
        open.relations.insert(id, after);
        self.committed(open, commit, state);
        Ok(())
    }
}
