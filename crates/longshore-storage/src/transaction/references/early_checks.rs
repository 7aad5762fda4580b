//! Checks the rows of a load by the foreign keys to other relations while it goes on (*unified* in the analysis of Dziedzic
//! et al., section 5).
//!
//! What was found is told to the transaction when the load becomes a part of it, or fails: rows that must stay, and keys
//! that were not there, which the transaction has read then.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, PoisonError};

use crate::buffer::PartitionBuffer;
use crate::chunk::stored_value;
use crate::error::{ForeignKeyError, TransactionError};
use crate::manager::Transactions;
use crate::relation::{Finder, Missing, Relation, RowSet};
use crate::row_id::RowId;
use crate::sync::Mutex;
use crate::table::{ForeignKey, Table};
use crate::transaction::foreign_key_reads::CheckedAppend;
use crate::transaction::{KEYS_LOGGED_MAX, Transaction};
use crate::typed::Input;
use crate::visibility::View;

impl Transaction {
    /// Whether an append was checked as it went on.
    pub(super) fn is_checked(&self, write: usize, key: &Arc<ForeignKey>) -> bool {
        let has_it = |checked: &&CheckedAppend| checked.writes.contains(&write);
        let found =
            self.foreign_key_reads.as_ref().and_then(|foreign_key_reads| foreign_key_reads.checked.iter().find(has_it));
        found.is_some_and(|checked| checked.keys.iter().any(|known| Arc::ptr_eq(known, key)))
    }

    /// What is to be checked of rows that are going to be appended to a relation, as this transaction sees it now: the
    /// foreign keys to other relations. `None` if there are none.
    #[must_use]
    pub fn reference_checks(&self, relation: &Relation) -> Option<ReferenceChecks> {
        let references = relation.table().references()?;
        let of = |key: &&Arc<ForeignKey>| !key.is_reflexive() && !self.ends(key) && !self.deferral.defers(key);
        let keys: Vec<_> = references.outgoing.iter().filter(of).map(Arc::clone).collect();
        let parents: Option<Vec<_>> = keys.iter().map(|key| key.parent()).collect();
        let found = keys.iter().map(|_| Mutex::default()).collect();
        (!keys.is_empty()).then_some(())?;
        Some(ReferenceChecks {
            child: Arc::clone(relation.table()),
            parents: parents?,
            keys,
            view: self.view,
            manager: Arc::clone(&self.manager),
            found,
        })
    }

    /// Takes note that all rows that were appended since it had made so many changes were checked, as they are.
    ///
    /// # Errors
    ///
    /// When at READ COMMITTED another transaction is changing what they refer to.
    pub fn note_checked(&mut self, since: usize, checks: &ReferenceChecks) -> Result<(), TransactionError> {
        let writes = since..self.set.writes.len();
        self.note_missing(checks);
        for ((key, parent), found) in checks.keys.iter().zip(&checks.parents).zip(&checks.found) {
            let kept = std::mem::take(&mut found.lock().unwrap_or_else(PoisonError::into_inner).kept);
            self.keep_all_referred(key, parent, kept)?;
        }
        self.foreign_key_reads().checked.push(CheckedAppend { writes, keys: checks.keys.clone() });
        Ok(())
    }

    /// Takes note of the keys that were looked for and not found, of a load that leaves rows out for that, or fails.
    pub fn note_missing(&mut self, checks: &ReferenceChecks) {
        for ((key, parent), found) in checks.keys.iter().zip(&checks.parents).zip(&checks.found) {
            let missing = std::mem::take(&mut found.lock().unwrap_or_else(PoisonError::into_inner).missing);
            let (columns, types) = (key.index().columns(), parent.schema().all_columns());
            if missing.len() > KEYS_LOGGED_MAX {
                self.log_all_keys(parent, columns);
                continue;
            }
            for values in missing {
                let each = columns.iter().zip(&values).map(|(&column, value)| value.datum(types[column].column_type));
                self.log_key(parent, columns, &each.collect::<Vec<_>>());
            }
        }
    }
}

/// Checks the rows of a load by the foreign keys to other relations, while it goes on. The transaction that it began
/// with must be active, and is the one to commit the load.
pub struct ReferenceChecks {
    child: Arc<Table>,
    keys: Vec<Arc<ForeignKey>>,
    /// One for each key.
    parents: Vec<Arc<Table>>,
    view: View,
    manager: Arc<Transactions>,
    /// One for each key.
    found: Vec<Mutex<Found>>,
}

/// What the rows of a load refer to by one foreign key.
#[derive(Default)]
struct Found {
    /// The rows that are there.
    kept: RowSet,
    /// The keys that are not, as far as they are few; of more it is enough to know that there are.
    missing: Vec<Vec<Input<'static>>>,
}

impl std::fmt::Debug for ReferenceChecks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReferenceChecks").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl ReferenceChecks {
    /// How many foreign keys are checked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Gives the rows `range` of a buffer that refer to rows that are not there to a closure, in their order, once for
    /// each foreign key, by row number; until the closure says `Break`. Threads may call this side by side.
    pub fn each_missing(
        &self,
        buffer: &PartitionBuffer,
        range: Range<usize>,
        one_is_enough: bool,
    ) -> Vec<(usize, ForeignKeyError)> {
        let mut found = Vec::new();
        for ((key, parent), all) in self.keys.iter().zip(&self.parents).zip(&self.found) {
            let finder = Finder { key, parent, view: self.view, stamps: self.manager.stamps() };
            let (mut kept, mut missing_keys) = (RowSet::default(), Vec::new());
            finder.each_missing(buffer, range.clone(), &mut kept, |row, shown| {
                if missing_keys.len() <= KEYS_LOGGED_MAX && shown.is_some() {
                    let values = key.columns().iter().map(|&column| stored_value(buffer, row, column));
                    missing_keys.push(values.collect());
                }
                let missing = Missing { row: RowId(row as u64), key: shown };
                found.push((row, missing.error(key, &self.child, parent)));
                if one_is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.kept.extend(kept);
            let room = (KEYS_LOGGED_MAX + 1).saturating_sub(all.missing.len());
            all.missing.extend(missing_keys.into_iter().take(room));
        }
        // Of one row the first constraint comes first.
        found.sort_by_key(|(row, _)| *row);
        found
    }
}
