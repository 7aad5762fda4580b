//! Decides how a relation is altered while others work on it: another one takes its place.
//!
//! The columns of a relation never change. To alter it is to make another relation, which shares the memory of the
//! columns that stay, has the rows under the same ids, and shares the indexes of columns that stay; and to let it take
//! the place of the first with a commit.
//!
//! Definitions. An alteration *closes* a relation: what is written to it is refused, row by row under the latch of the
//! slot, until the alteration is given up. A relation *stands* from the commit that put it in its place, or from the
//! start, to the commit that puts another one there.
//!
//! Invariants.
//! 1. When a relation is altered, every change of it is committed: it is closed first, and then waited for.
//! 2. Rows are written to at most one of the two: to the one before until it is closed, to the other after the commit.
//! 3. Who began before the commit reads the one before, which has his versions; who begins later reads the other, in
//!    which all rows were always there. Which it is, the caller finds out by [`super::Relation::stands_at`].
//! 4. What somebody who may write has read of the one before is no longer held against what others write: he fails at
//!    his commit.
//! 5. The foreign keys of what takes the place are added before the commit, and those of the one before end with it; who
//!    began before and has changed rows at their other ends fails at his commit (`references.rs`).
//! 6. Shared indexes lose an entry only when nobody sees its row in either relation. So a row that was deleted in the
//!    one before, and is not yet reclaimed there, is never taken by another one in the other.
//!
//! Not here: the columns of a slot (`chunk/hot/reshape.rs`), whose name stands for what (the catalog above).

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Relation, Table};
use crate::chunk::hot::{HotChunk, Source};
use crate::datum::{Datum, RowId};
use crate::index::described_row;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::sleep;
use crate::transaction::{ConflictKind, Isolation, Time, TransactionError};
use crate::typed;
use crate::types::Schema;

/// How often it is looked whether somebody has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// When a relation stands.
pub(super) struct Tenure {
    since: AtomicU64,
    /// [`OPEN`], [`CLOSED`], or the time of the commit that put another one in its place.
    until: AtomicU64,
}

/// The commit has not come.
const PENDING: u64 = u64::MAX;
/// Nobody alters it.
const OPEN: u64 = u64::MAX;
/// It is being altered.
const CLOSED: u64 = u64::MAX - 1;

impl Default for Tenure {
    fn default() -> Tenure {
        Tenure { since: AtomicU64::new(0), until: AtomicU64::new(OPEN) }
    }
}

impl Tenure {
    fn pending() -> Tenure {
        Tenure { since: AtomicU64::new(PENDING), ..Tenure::default() }
    }

    /// Whether it stands for who sees what was committed up to a time.
    pub(super) fn stands_at(&self, time: Time) -> bool {
        self.since.load(Ordering::Acquire) <= time.0 && self.lasts_at(time)
    }

    /// Whether no other one stands by then.
    pub(super) fn lasts_at(&self, time: Time) -> bool {
        time.0 < self.until.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.until.load(Ordering::Acquire) != OPEN
    }

    /// Says whether nobody else has closed it.
    fn close(&self) -> bool {
        self.until.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn reopen(&self) {
        self.until.store(OPEN, Ordering::Release);
    }
}

/// An append that has begun and may yet be committed.
pub(super) struct UnderWay<'r>(&'r Table);

impl<'r> UnderWay<'r> {
    pub(super) fn new(table: &'r Table) -> UnderWay<'r> {
        table.appends.fetch_add(1, Ordering::AcqRel);
        UnderWay(table)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.appends.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A relation takes the place of another one.
pub(crate) struct Succession {
    before: Arc<Table>,
    after: Arc<Table>,
    /// Kept until nobody reads the one before.
    _keep: Arc<dyn Any + Send + Sync>,
}

impl Succession {
    pub(crate) fn before(&self) -> &Table {
        &self.before
    }

    /// With the commit of this time, which nobody sees yet.
    pub(crate) fn take_place(&self, time: Time) {
        self.after.tenure.since.store(time.0, Ordering::Release);
        self.before.tenure.until.store(time.0, Ordering::Release);
        self.before.end_references(time);
    }
}

/// Where a column of an altered relation comes from.
#[derive(Clone, Copy, Debug)]
pub enum NewColumn<'a> {
    /// It is the column of this number, whose values are stored alike ([`crate::ColumnType::is_stored_as`]), and suit its type.
    Kept(usize),
    /// Every row has this value.
    Filled(Datum<'a>),
    /// Every row gets a value of its own by [`Alteration::compute`].
    Computed,
}

/// An index that an altered relation keeps.
#[derive(Clone, Copy, Debug)]
pub struct KeptIndex<'a> {
    /// Its name.
    pub from: &'a str,
    /// Its name in the altered relation.
    pub name: &'a str,
    /// Its columns, by their numbers in the altered relation.
    pub columns: &'a [usize],
}

/// A relation that nobody writes to, because it is being altered. Dropped without a commit, it is given back as it was.
pub struct Alteration {
    table: Arc<Table>,
    is_done: bool,
}

impl fmt::Debug for Alteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alteration").field("relation", &self.table.name()).finish_non_exhaustive()
    }
}

impl Alteration {
    pub(super) fn begin(table: &Arc<Table>, patience: Duration) -> Result<Alteration, TransactionError> {
        if !table.tenure.close() {
            return Err(table.altered(table.transactions().now()));
        }
        let alteration = Alteration { table: Arc::clone(table), is_done: false };
        let deadline = Instant::now() + patience;
        table.wait_for_indexes();
        table.slots.close(true);
        for (_, slot) in table.slots.iter() {
            slot.write().close(true);
        }
        let stamps = table.transactions().stamps();
        for (at, slot) in table.slots.iter() {
            loop {
                // Without the latch while it sleeps: who is waited for may need it to undo what he did.
                let uncommitted = slot.read().uncommitted(stamps);
                let Some(row) = uncommitted else { break };
                if Instant::now() >= deadline {
                    return Err(table.conflict(RowId::new(at, row), ConflictKind::Uncommitted));
                }
                sleep(PAUSE);
            }
        }
        while table.appends.load(Ordering::Acquire) > 0 {
            if Instant::now() >= deadline {
                return Err(TransactionError::Appending { relation: table.name() });
            }
            sleep(PAUSE);
        }
        Ok(alteration)
    }

    /// A relation of other columns with the same rows, which nobody sees before [`Alteration::commit`].
    ///
    /// # Errors
    ///
    /// When a row is NULL where it must not be, when a value does not suit its column, when rows have the same key in an
    /// index that had to be built anew, or when memory runs out.
    ///
    /// # Panics
    ///
    /// When there are more or fewer columns than the schema has, when a column that is kept is stored otherwise, or when
    /// there is no such column or index.
    pub fn reshape(
        &self,
        name: &str,
        schema: &Arc<Schema>,
        columns: &[NewColumn<'_>],
        indexes: &[KeptIndex<'_>],
    ) -> Result<Relation, TransactionError> {
        assert_eq!(columns.len(), schema.columns().len(), "one source per column");
        let relation = self.empty(name, schema);
        let table = relation.table();
        let mut sources = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            sources.push(match column {
                NewColumn::Kept(kept) => {
                    let (from, to) = (&self.table.schema().columns()[*kept], &schema.columns()[at]);
                    assert!(
                        from.column_type.is_stored_as(to.column_type),
                        "values of {} {} stay as they are stored, which is not as {} is",
                        from.column_type,
                        from.name,
                        to.column_type
                    );
                    Source::kept(*kept)
                }
                NewColumn::Computed => Source::computed(),
                NewColumn::Filled(Datum::Null) => Source::filled(typed::Input::Null),
                NewColumn::Filled(value) => Source::filled(typed::input(table, at, *value)?),
            });
        }
        // No slot is added since the relation is closed. A place that becomes vacant from here on stays empty in the other
        // relation: until then somebody may have its rows in the indexes.
        let layout = self.table.slots.layout();
        let (mut slots, mut roomy) = (Vec::new(), Vec::new());
        for (at, slot) in self.table.slots.iter() {
            let mut slot = slot.write();
            if let Some((column, row)) = slot.missing(schema, &sources) {
                let values = described_row(self.table.schema(), |column| slot.datum(row, column));
                return Err(self.has_null(schema, column, RowId::new(at, row), values));
            }
            let reshaped = slot.reshaped(schema, &mut sources, table.memory());
            slots.push((at, reshaped.map_err(|error| table.failed(RowId::new(at, 0), error))?));
            if slot.listed || slot.has_free() {
                roomy.push(at);
            }
        }
        table.slots.adopt(layout, slots, || HotChunk::gone(schema));
        for at in roomy.into_iter().chain(table.slots.last()) {
            table.list(at);
        }
        // Not locked while indexes are built: that may reclaim what others have committed, which reads the list.
        let before = self.table.indexes().clone();
        for KeptIndex { from, name, columns } in indexes {
            let index = before.iter().find(|index| index.name() == *from);
            table.adopt_index(index.expect("the index that is kept exists"), name, columns)?;
        }
        Ok(relation)
    }

    /// Gives a row of what [`Alteration::reshape`] has made a value of a column that is computed. No index of the column
    /// may be there yet.
    ///
    /// # Errors
    ///
    /// When the column does not take it, when there is no such row, or when memory runs out.
    pub fn compute(
        &self,
        after: &Relation,
        row: RowId,
        column: usize,
        value: Datum<'_>,
    ) -> Result<(), TransactionError> {
        let table = after.table();
        if value == Datum::Null && !table.schema().columns()[column].nullable {
            let values = self.table.described(row)?;
            return Err(self.has_null(table.schema(), column, row, values));
        }
        let input = typed::input(table, column, value)?;
        let computed = table.slot(row)?.write().compute(row.row(), column, &input, table.memory());
        computed.map_err(|error| table.failed(row, error))
    }

    /// An empty relation of other columns.
    fn empty(&self, name: &str, schema: &Arc<Schema>) -> Relation {
        let (memory, transactions) = (Arc::clone(self.table.memory()), Arc::clone(self.table.transactions()));
        let mut table = Table::new(Arc::clone(schema), memory, transactions);
        table.tenure = Tenure::pending();
        Relation { table: Arc::new(table) }.with_name(name)
    }

    /// Lets `after` take the place of the relation, and says since when. `keep` is kept as long as somebody may read what
    /// was before.
    ///
    /// # Panics
    ///
    /// When it was not made for this.
    pub fn commit(mut self, after: &Relation, keep: Arc<dyn Any + Send + Sync>) -> Time {
        let after = Arc::clone(after.table());
        assert_eq!(after.tenure.since.load(Ordering::Acquire), PENDING, "what takes the place has not stood before");
        let mut transaction = self.table.transactions().begin(Isolation::Snapshot);
        transaction.succeed(Succession { before: Arc::clone(&self.table), after, _keep: keep });
        self.is_done = true;
        transaction.commit().expect("without reads nothing is validated")
    }

    fn has_null(&self, schema: &Schema, column: usize, row: RowId, values: String) -> TransactionError {
        let column = schema.columns()[column].name.clone();
        TransactionError::HasNull { relation: self.table.name(), column, row, values }
    }
}

impl Drop for Alteration {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.table.slots.close(false);
        for (_, slot) in self.table.slots.iter() {
            slot.write().close(false);
        }
        self.table.tenure.reopen();
    }
}

impl Table {
    /// Whether it has not taken the place yet of the one that it was made of.
    pub(crate) fn is_pending(&self) -> bool {
        self.tenure.since.load(Ordering::Acquire) == PENDING
    }

    /// The newest values of a row, whoever wrote them, for instance `(1, 'two', NULL)`.
    pub(super) fn described(&self, row: RowId) -> Result<String, TransactionError> {
        let slot = self.slot(row)?.read();
        if row.row() >= slot.len() {
            return Err(self.no_such_row(row));
        }
        Ok(described_row(self.schema(), |column| slot.datum(row.row(), column)))
    }
}
