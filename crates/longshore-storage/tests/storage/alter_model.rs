//! Random alterations between the steps of several transactions, against a model: vectors of rows that the alteration is
//! done to, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::support::{
    Cell, Row, all_types, buffers, check_statistics, datum, id_and_text, random_rows, relation, rows_in, rows_of,
};
use longshore_storage::{
    Arena, Column, Datum, Freeze, IndexKind, Isolation, KeptIndex, MergeKind, NewColumn, Relation, RowId, Schema,
    Snapshot, Time, Transaction, TransactionError, Uniqueness, key,
};
use longshore_testing::{Random, share};

pub(crate) type Rows = BTreeMap<RowId, Row>;

struct Active {
    transaction: Transaction,
    /// What it found under the name of the relation.
    relation: Arc<Relation>,
    sees: Rows,
    wrote: BTreeSet<RowId>,
    start: u64,
}

pub(crate) struct World {
    random: Random,
    /// All that the relation has been.
    shapes: Vec<Arc<Relation>>,
    committed: Rows,
    /// After each commit that has changed something, if the relation is logged: its time, the columns and the rows.
    pub(crate) states: Vec<(u64, Arc<Schema>, Rows)>,
    changed: BTreeMap<RowId, u64>,
    commits: u64,
    active: Vec<Active>,
    held: Vec<(Arc<Snapshot>, Rows)>,
    next_id: i64,
    alterations: usize,
    refused: usize,
}

/// The rows that are seen, in the order of the pieces, which is not that of their ids: slots are taken again in any.
fn seen(snapshot: &Snapshot) -> Vec<(RowId, Row)> {
    let schema = snapshot.schema();
    let mut rows = Vec::new();
    for piece in snapshot.pieces() {
        let visible = piece.visible(0, piece.rows());
        let arrays = (0..schema.columns().len()).map(|column| piece.array(column, 0, piece.rows())).collect();
        let batch = arrow_array::RecordBatch::try_new(schema.arrow(), arrays).unwrap();
        let found = rows_of(schema, &batch).into_iter().enumerate();
        let seen = found.filter(|(row, _)| visible.as_ref().is_none_or(|bits| bits.value(*row)));
        rows.extend(seen.map(|(row, cells)| (piece.row_id(row), cells)));
    }
    rows
}

fn check(snapshot: &Snapshot, expected: &Rows) {
    let seen = seen(snapshot);
    assert!(rows_in(snapshot).iter().eq(seen.iter().map(|(_, row)| row)), "the settled chunks show the same");
    assert!(seen.into_iter().collect::<Rows>() == *expected, "the pieces show what is to be seen");
    check_statistics(snapshot, &expected.values().cloned().collect::<Vec<_>>());
}

impl World {
    pub(crate) fn new(seed: u64, relation: Relation) -> World {
        let schema = Arc::clone(relation.schema());
        let id = schema.index_of("id").unwrap();
        let kind = [IndexKind::Hash, IndexKind::Art][seed as usize / 2 % 2];
        relation.create_index("pk", &[id], kind, Uniqueness::Unique).unwrap();
        World {
            random: Random::new(seed),
            shapes: vec![Arc::new(relation)],
            committed: Rows::new(),
            states: Vec::new(),
            changed: BTreeMap::new(),
            commits: 0,
            active: Vec::new(),
            held: Vec::new(),
            next_id: 0,
            alterations: 0,
            refused: 0,
        }
    }

    /// Takes note of a commit.
    fn remember(&mut self, time: Time) {
        if self.now().relation_id().is_some() {
            self.states.push((time.get(), Arc::clone(self.now().schema()), self.committed.clone()));
        }
    }

    fn now(&self) -> &Arc<Relation> {
        self.shapes.last().unwrap()
    }

    fn begin(&mut self) {
        let transaction = self.now().transactions().begin(Isolation::Snapshot);
        let standing: Vec<_> =
            self.shapes.iter().filter(|shape| shape.is_current_at(transaction.view().start())).collect();
        let [relation] = standing.as_slice() else { panic!("one shape stands at a time") };
        assert!(Arc::ptr_eq(relation, self.now()), "who begins sees the newest");
        let relation = Arc::clone(relation);
        let (sees, start) = (self.committed.clone(), self.commits);
        self.active.push(Active { transaction, relation, sees, wrote: BTreeSet::new(), start });
    }

    fn is_outdated(&self, at: usize) -> bool {
        !Arc::ptr_eq(&self.active[at].relation, self.now())
    }

    fn is_contested(&self, at: usize, row: RowId) -> bool {
        let mut others = self.active.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, active)| active.wrote.contains(&row))
            || self.changed.get(&row).is_some_and(|&commit| commit > self.active[at].start)
    }

    fn pick(&mut self, at: usize) -> Option<RowId> {
        let sees = &self.active[at].sees;
        let nth = self.random.below(sees.len().max(1));
        sees.keys().nth(nth).copied()
    }

    fn insert(&mut self, at: usize) {
        let is_outdated = self.is_outdated(at);
        let schema = Arc::clone(self.active[at].relation.schema());
        let row = random_rows(&mut self.random, &schema, self.next_id, 1).remove(0);
        self.next_id += 1;
        let types = schema.columns().iter().map(|column| column.column_type);
        let datums: Vec<Datum<'_>> = row.iter().zip(types).map(|(cell, of)| datum(cell, of)).collect();
        let active = &mut self.active[at];
        match active.transaction.insert(&active.relation, &datums) {
            Ok(new) => {
                assert!(!is_outdated, "nobody would see the row");
                active.wrote.insert(new);
                assert_eq!(active.sees.insert(new, row), None, "a row takes the place of none that is seen");
            }
            Err(error) => {
                assert!(is_outdated, "{error}");
                assert!(matches!(error, TransactionError::Altered { retry: true, .. }), "{error}");
            }
        }
    }

    fn update_or_delete(&mut self, at: usize, deletes: bool) {
        let Some(row) = self.pick(at) else { return };
        let (is_contested, is_outdated) = (self.is_contested(at, row), self.is_outdated(at));
        let schema = Arc::clone(self.active[at].relation.schema());
        let column = self.random.below(schema.columns().len());
        let described = &schema.columns()[column];
        if described.name == "id" && !deletes {
            return;
        }
        let fresh = random_rows(&mut self.random, &schema, 0, 1).remove(0).swap_remove(column);
        let active = &mut self.active[at];
        let written = if deletes {
            active.transaction.delete(&active.relation, row)
        } else {
            let value = datum(&fresh, described.column_type);
            active.transaction.update(&active.relation, row, &[(column, value)]).map(|at| assert_eq!(at, row))
        };
        match written {
            Ok(()) => {
                assert!(!is_contested && !is_outdated);
                active.wrote.insert(row);
                if deletes {
                    active.sees.remove(&row);
                } else {
                    active.sees.get_mut(&row).unwrap()[column] = fresh;
                }
            }
            Err(error) => assert!(error.is_conflict() && (is_contested || is_outdated), "{error}"),
        }
    }

    fn read(&mut self, at: usize) {
        let Some(row) = self.pick(at) else { return };
        let active = &mut self.active[at];
        let schema = active.relation.schema();
        let column = self.random.below(schema.columns().len());
        let column_type = schema.columns()[column].column_type;
        let expected = &active.sees[&row];
        let is_equal = active
            .transaction
            .get_datum(&active.relation, row, column, |found| found == datum(&expected[column], column_type))
            .unwrap();
        assert!(is_equal, "row {row}, column {column}");
        let Cell::Integer(id) = expected[schema.index_of("id").unwrap()] else { panic!("an id is an integer") };
        let pk = active.relation.indexes().into_iter().find(|index| index.name() == "pk").unwrap();
        assert_eq!(active.transaction.find(&active.relation, &pk, key![id]).unwrap(), Some(row));
    }

    fn append(&mut self, at: usize) {
        let count = [1, 20, 100, 9_000][self.random.below(4) * usize::from(self.random.below(8) == 0)];
        let relation = Arc::clone(&self.active[at].relation);
        let rows = random_rows(&mut self.random, relation.schema(), self.next_id, count);
        self.next_id += count as i64;
        let mut arena = Arena::new(Arc::clone(relation.memory()), 1 << 20);
        let append = relation.begin_append([MergeKind::Insert, MergeKind::Copy, MergeKind::Chunk][count % 3]);
        append.merge(0, buffers(relation.schema(), &rows, &mut arena)).unwrap();
        let is_outdated = self.is_outdated(at);
        let active = &mut self.active[at];
        let appended = append.commit_in(&mut active.transaction);
        if is_outdated {
            assert!(matches!(appended, Err(TransactionError::Altered { retry: true, .. })));
            return;
        }
        appended.unwrap();
        let found = seen(&active.transaction.snapshot(&relation));
        let new: Vec<(RowId, Row)> = found.into_iter().filter(|(row, _)| !active.sees.contains_key(row)).collect();
        assert!(new.iter().map(|(_, row)| row).eq(&rows), "the rows are there in their order");
        active.wrote.extend(new.iter().map(|(row, _)| *row));
        active.sees.extend(new);
    }

    fn truncate(&mut self, at: usize) {
        // Of no rows it marks the pieces all the same, of which the model knows nothing.
        if self.active[at].sees.is_empty() && self.committed.is_empty() {
            return;
        }
        let is_outdated = self.is_outdated(at);
        let others = self.active.iter().enumerate().any(|(other, active)| other != at && !active.wrote.is_empty());
        let active = &mut self.active[at];
        let later = self.changed.values().any(|&commit| commit > active.start);
        match active.transaction.truncate(&active.relation) {
            Ok(()) => {
                assert!(!is_outdated || active.relation.snapshot().rows() == 0 && active.sees.is_empty());
                if is_outdated {
                    // Nothing to remove there; rows that came since are not in what it sees.
                    return;
                }
                active.wrote.extend(active.sees.keys());
                active.wrote.extend(self.committed.keys());
                active.sees.clear();
            }
            Err(error) => assert!(error.is_conflict() && (is_outdated || others || later), "{error}"),
        }
    }

    fn end(&mut self, at: usize, commits: bool) {
        let active = self.active.swap_remove(at);
        if !commits {
            return active.transaction.rollback();
        }
        let commit = active.transaction.commit().unwrap();
        if active.wrote.is_empty() {
            return;
        }
        self.commits += 1;
        for row in active.wrote {
            self.changed.insert(row, self.commits);
            match active.sees.get(&row) {
                Some(cells) => drop(self.committed.insert(row, cells.clone())),
                None => drop(self.committed.remove(&row)),
            }
        }
        self.remember(commit.time);
    }

    /// Adds, drops and renames columns, and changes whether they may be NULL.
    fn alter(&mut self) {
        if self.random.below(3) > 0 {
            while let Some(at) = self.active.iter().position(|active| !active.wrote.is_empty()) {
                self.end(at, true);
            }
        }
        let before = Arc::clone(self.now());
        let mut columns: Vec<(Column, Option<usize>, Cell)> = before
            .schema()
            .columns()
            .iter()
            .enumerate()
            .map(|(at, column)| (column.clone(), Some(at), Cell::Null))
            .collect();
        for _ in 0..=self.random.below(3) {
            let at = self.random.below(columns.len());
            match self.random.below(4) {
                0 if columns.len() > 2 && columns[at].0.name != "id" => drop(columns.remove(at)),
                1 if columns[at].0.name != "id" => columns[at].0.nullable ^= true,
                2 if columns[at].0.name != "id" => columns[at].0.name = format!("r{}", self.next_id),
                _ => {
                    let types = all_types();
                    let of = types.columns()[self.random.below(types.columns().len() - 1)].column_type;
                    let column = Column::new(format!("a{}", self.next_id), of, true);
                    let value =
                        random_rows(&mut self.random, &Schema::new(vec![column.clone()]), 0, 1).remove(0).remove(0);
                    columns.insert(at, (column, None, value));
                }
            }
            self.next_id += 1;
        }
        let schema = Arc::new(Schema::new(columns.iter().map(|(column, ..)| column.clone()).collect()));
        let begun = before.begin_alteration(Duration::ZERO);
        if self.active.iter().any(|active| !active.wrote.is_empty()) {
            assert!(begun.unwrap_err().is_conflict(), "somebody has not ended what he writes");
            return;
        }
        let alteration = begun.unwrap();
        assert!(before.begin_alteration(Duration::ZERO).unwrap_err().is_conflict(), "one at a time");
        let is_computed: Vec<bool> =
            columns.iter().map(|(_, from, _)| from.is_none() && self.random.below(3) == 0).collect();
        let sources: Vec<NewColumn<'_>> = columns
            .iter()
            .zip(&is_computed)
            .map(|((column, from, value), is_computed)| match from {
                Some(from) => NewColumn::Kept(*from),
                None if *is_computed => NewColumn::Computed,
                None => NewColumn::Filled(datum(value, column.column_type)),
            })
            .collect();
        let id = [schema.index_of("id").unwrap()];
        let kept = [KeptIndex { from: "pk", name: "pk", columns: &id }];
        let mut altered = Rows::new();
        for (&id, row) in &self.committed {
            let computed = random_rows(&mut self.random, &schema, 0, 1).remove(0);
            let each = columns.iter().zip(is_computed.iter().zip(computed));
            let cell =
                |((_, from, value), (is_computed, computed)): (&(Column, Option<usize>, Cell), (&bool, Cell))| {
                    from.map_or(if *is_computed { computed } else { value.clone() }, |from| row[from].clone())
                };
            altered.insert(id, each.map(cell).collect());
        }
        let is_missing =
            |cells: &Row| columns.iter().zip(cells).any(|(of, cell)| !of.0.nullable && *cell == Cell::Null);
        let missing = altered.iter().find(|(_, cells)| is_missing(cells)).map(|(row, _)| *row);
        match alteration.reshape("t", &schema, &sources, &kept) {
            Ok(after) => {
                assert_eq!(missing, None);
                let after = Arc::new(after);
                for column in (0..columns.len()).filter(|column| is_computed[*column]) {
                    for (row, cells) in &altered {
                        let value = datum(&cells[column], schema.columns()[column].column_type);
                        alteration.compute(&after, *row, column, value).unwrap();
                    }
                }
                check(&after.snapshot(), &altered);
                assert!(!self.shapes.iter().any(|shape| Arc::ptr_eq(shape, &after)));
                if self.random.below(5) == 0 {
                    // Given up after all.
                    return;
                }
                let time = alteration.commit(&after, Arc::new(()));
                self.shapes.push(after);
                self.committed = altered;
                self.remember(time);
                self.commits += 1;
                self.changed.clear();
                self.alterations += 1;
            }
            Err(TransactionError::HasNull { row, .. }) => {
                assert_eq!(Some(row), missing);
                self.refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn step(&mut self) {
        if self.active.len() < 2 || self.active.len() < 4 && self.random.below(8) == 0 {
            self.begin();
        }
        if self.random.below(8) == 0 {
            let rows_min = self.random.below(20);
            self.now().freeze(Freeze::All, rows_min, &|| false).unwrap();
        }
        let at = self.random.below(self.active.len());
        match self.random.below(64) {
            0..12 => self.insert(at),
            12..24 => self.update_or_delete(at, false),
            24..32 => self.update_or_delete(at, true),
            32..38 => self.read(at),
            38..40 => self.append(at),
            40 => self.truncate(at),
            41..50 => self.alter(),
            50..61 => self.end(at, true),
            61 => self.end(at, false),
            62 => self.held.push((self.now().snapshot(), self.committed.clone())),
            _ => {
                let active = &self.active[at];
                self.held.push((active.transaction.snapshot(&active.relation), active.sees.clone()));
            }
        }
    }

    /// As many steps as are worth it, and the end of all transactions.
    pub(crate) fn run(&mut self) {
        for step in 0..250 {
            self.step();
            if step % 25 == 0 {
                self.check();
            }
        }
        while let Some(at) = self.active.len().checked_sub(1) {
            self.end(at, at % 2 == 0);
            self.check();
        }
    }

    fn check(&mut self) {
        check(&self.now().snapshot(), &self.committed);
        for active in &self.active {
            check(&active.transaction.snapshot(&active.relation), &active.sees);
        }
        for (snapshot, expected) in self.held.split_off(self.held.len().saturating_sub(3)) {
            check(&snapshot, &expected);
        }
        self.held.clear();
    }
}

#[test]
fn alterations_between_transactions_do_what_the_model_says() {
    let (mut alterations, mut refused) = (0, 0);
    let seeds = share(12);
    for seed in 0..seeds {
        let schema = if seed % 2 == 0 { all_types() } else { id_and_text() };
        let mut world = World::new(seed as u64, relation(&schema).with_name("t"));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            world.run();
            let pk = &world.now().indexes()[0];
            assert_eq!(pk.rows(), world.committed.len(), "the index has the rows that there are, no others");
        }));
        assert!(result.is_ok(), "seed {seed}");
        alterations += world.alterations;
        refused += world.refused;
    }
    assert!(
        alterations > 8 * seeds as usize && refused > seeds as usize / 2,
        "{alterations} alterations, {refused} refused"
    );
}
