//! Sees to it that foreign keys hold at the end of a statement.
//!
//! What a statement has done is in the write set: rows that went, rows that came, columns that changed. So nothing is
//! noted while it runs, whatever it is, and relations without foreign keys pay nothing. At its end
//! ([`Transaction::run_foreign_key_actions`]) first the actions are taken, round by round, since an action may call for
//! another one: the keys that went in a round are gathered, and the rows that refer to them found all at once
//! (`children.rs`). RESTRICT is an action that fails. Then what must not be referred to any more is checked (NO ACTION:
//! unless the key is there again), and then whether all rows that came refer to some row (`parents.rs`).
//!
//! Since rows are looked for as the transaction sees them, what was relied on is remembered until the commit
//! (`foreign_key_reads.rs`). What a statement puts off is checked later in the same way (`deferral.rs`). A commit first runs the actions of the changes since the last call.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::deferral::Checked;
use super::foreign_key_reads::ForeignKeyReads;
use super::{Isolation, Transaction};
use crate::datum::Datum;
use crate::error::{ForeignKeyError, ForeignKeyProblem, TransactionError, check_cancelled};
use crate::index::{Index, IsCancelled, Key};
use crate::manager::{Write, WriteKind};
use crate::relation::{Relation, first_violation};
use crate::row_id::RowId;
use crate::table::{ForeignKey, ReferenceAction, ReferenceRules, Table};
use crate::typed::Input;
use crate::visibility::{Time, View};

mod children;
mod early_checks;
mod parents;

pub use early_checks::ReferenceChecks;

/// Rows that a foreign key's action (CASCADE, SET NULL, SET DEFAULT) has changed.
#[derive(Debug)]
pub struct ActionRows {
    /// The foreign key, of the relation that they are rows of.
    pub key: Arc<ForeignKey>,
    /// Where they are now.
    pub rows: Vec<RowId>,
}

/// Keys that went.
struct GoneKeys {
    /// The number of each in `rows`.
    by_bytes: HashMap<Box<[u8]>, usize>,
    rows: Vec<GoneRow>,
}

/// A row whose key went.
struct GoneRow {
    row: RowId,
    key: Key,
    /// The row that took its place, with another key.
    successor: Option<RowId>,
}

impl Transaction {
    /// Adds a foreign key as [`Relation::add_foreign_key`] does, of which one relation has no rows yet or is what this
    /// transaction has altered. The transaction goes on to change both relations, which it could not after others had added
    /// one. Unless it `is_trusted`, it is checked on what is committed by now and what the transaction has changed itself.
    ///
    /// # Errors
    ///
    /// As [`Relation::add_foreign_key_unless`].
    ///
    /// # Panics
    ///
    /// As [`Relation::add_foreign_key`].
    pub fn add_foreign_key(
        &mut self,
        rules: ReferenceRules,
        (relation, parent): (&Relation, &Relation),
        index: &Arc<Index>,
        is_trusted: bool,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Arc<ForeignKey>, TransactionError> {
        let mut known = std::mem::take(&mut self.known_references);
        let start = self.view.start;
        let key = relation.attach(rules, parent, index, &mut |table, before, time| {
            if before <= known_until(&known, table, start) {
                known.push((Arc::clone(table), time));
            }
        });
        self.known_references = known;
        if !is_trusted {
            let view = View { start: self.manager.now(), ..self.view };
            let (child, parent) = (relation.table(), parent.table());
            let found = first_violation(&key, child, parent, view, self.manager.stamps(), is_cancelled);
            if let Some(error) = found.transpose().map(|found| found.map(|missing| missing.error(&key, child, parent)))
            {
                relation.drop_foreign_key(&key);
                return Err(error.map_or_else(|error| error, Into::into));
            }
        }
        Ok(key)
    }

    /// Up to when it knows the foreign keys of a relation.
    pub(super) fn references_known(&self, table: &Arc<Table>) -> Time {
        known_until(&self.known_references, table, self.view.start)
    }

    /// Sees to it that the foreign keys hold after all changes since the last call: runs their actions and checks the
    /// rest, as at the end of a statement. Says which rows an action has changed, for those who have rules of their own
    /// for them. Rows that were inserted by such changes may refer to each other.
    ///
    /// # Errors
    ///
    /// When a foreign key does not hold, or an action fails; then the changes stand, to be undone.
    pub fn run_foreign_key_actions(&mut self) -> Result<Vec<ActionRows>, TransactionError> {
        self.run_foreign_key_actions_unless(&|| false)
    }

    /// As [`Transaction::run_foreign_key_actions`], unless `is_cancelled`, which is asked now and then.
    ///
    /// # Errors
    ///
    /// As [`Transaction::run_foreign_key_actions`], and [`TransactionError::Cancelled`]; then the changes stand, to be
    /// undone.
    pub fn run_foreign_key_actions_unless(
        &mut self,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Vec<ActionRows>, TransactionError> {
        let from = self.foreign_keys_checked.min(self.set.writes.len());
        let is_referencing = |write: &Write| self.set.tables[write.table as usize].references().is_some();
        let concerns = self.set.tables.iter().any(|table| table.references().is_some());
        if !concerns || !self.set.writes[from..].iter().any(is_referencing) {
            self.foreign_keys_checked = self.set.writes.len();
            return Ok(Vec::new());
        }
        // Who cannot commit need not go on.
        self.check_rules()?;
        let mut action_rows = Vec::new();
        if let Err(error) = self.run_foreign_key_actions_from(from, &mut action_rows, is_cancelled) {
            // Who has given up learns nothing of what was read.
            if !matches!(error, TransactionError::Cancelled) {
                self.log_referring(from)?;
            }
            return Err(error);
        }
        self.foreign_keys_checked = self.set.writes.len();
        Ok(action_rows)
    }

    fn run_foreign_key_actions_from(
        &mut self,
        from: usize,
        action_rows: &mut Vec<ActionRows>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let mut done = from;
        while done < self.set.writes.len() {
            let until = self.set.writes.len();
            self.act(done..until, action_rows, is_cancelled)?;
            done = until;
        }
        let all = from..self.set.writes.len();
        self.check_gone(all.clone(), Checked::Now, None, is_cancelled)?;
        self.check_new(all, Checked::Now, None, is_cancelled)
    }

    fn foreign_key_reads(&mut self) -> &mut ForeignKeyReads {
        self.foreign_key_reads.get_or_insert_default()
    }

    /// The tables of the write set that other rows refer to, or that refer to others.
    pub(super) fn referencing_tables(&self) -> Vec<(u32, Arc<Table>)> {
        let tables = self.set.tables.iter().enumerate().filter(|(_, table)| table.references().is_some());
        tables.map(|(at, table)| (at as u32, Arc::clone(table))).collect()
    }

    /// Takes the actions that some changes call for.
    fn act(
        &mut self,
        range: Range<usize>,
        action_rows: &mut Vec<ActionRows>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        for (at, table) in self.referencing_tables() {
            let Some(references) = table.references() else { continue };
            for key in &references.incoming {
                if self.ends(key) {
                    continue;
                }
                let (on_delete, on_update) = (key.rules().on_delete, key.rules().on_update);
                for (action, is_update) in [(on_delete, false), (on_update, true)] {
                    if action == ReferenceAction::NoAction {
                        continue;
                    }
                    let mut gone = self.gone_keys(key, &table, at, range.clone(), Some(is_update), is_cancelled)?;
                    if !is_update && action != ReferenceAction::Restrict {
                        self.forget_back(key, &table, &mut gone);
                    }
                    if !gone.by_bytes.is_empty() {
                        self.act_on(key, &table, action, &gone, action_rows, is_cancelled)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn act_on(
        &mut self,
        key: &Arc<ForeignKey>,
        parent: &Arc<Table>,
        action: ReferenceAction,
        gone: &GoneKeys,
        action_rows: &mut Vec<ActionRows>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let Some(child) = key.child() else { return Ok(()) };
        let found = self.children(key, &child, gone, action == ReferenceAction::Restrict, is_cancelled)?;
        if action == ReferenceAction::Restrict {
            return match found.first() {
                Some(&(_, at)) => Err(still_referenced(key, parent, &child, &gone.rows[at])),
                None => Ok(()),
            };
        }
        let is_own = self.set.table_swaps().iter().any(|swap| Arc::ptr_eq(swap.after(), &child));
        if child.is_pending() && !is_own && !found.is_empty() {
            // Nobody else writes to what may yet be given up.
            return Err(child.altered(self.view.start));
        }
        let relation = Relation::of(&child, &self.manager);
        let mut rows = Vec::with_capacity(found.len());
        for (row, at) in found {
            check_cancelled(is_cancelled)?;
            let successor = gone.rows[at].successor;
            match (action, successor) {
                (ReferenceAction::Cascade, None) => self.delete(&relation, row)?,
                (ReferenceAction::Cascade, Some(successor)) => {
                    let values = parent.stored(successor, key.index().columns())?;
                    rows.push(self.refer_to(key, &relation, row, &values)?);
                }
                (ReferenceAction::SetDefault, _) => {
                    let values = defaults(key, &child)?;
                    rows.push(self.refer_to(key, &relation, row, &values)?);
                }
                _ => rows.push(self.refer_to(key, &relation, row, &vec![Input::Null; key.columns().len()])?),
            }
        }
        if !rows.is_empty() {
            action_rows.push(ActionRows { key: Arc::clone(key), rows });
        }
        Ok(())
    }

    /// Lets a row refer to something else; says where it is then.
    fn refer_to(
        &mut self,
        key: &ForeignKey,
        relation: &Relation,
        row: RowId,
        values: &[Input<'_>],
    ) -> Result<RowId, TransactionError> {
        let types = key.columns().iter().map(|&column| relation.schema().all_columns()[column].column_type);
        let each = key.columns().iter().zip(values).zip(types);
        let values: Vec<(usize, Datum<'_>)> =
            each.map(|((&column, value), column_type)| (column, value.datum(column_type))).collect();
        self.update(relation, row, &values)
    }

    /// The keys of a table that some changes took away: those of rows that were deleted, or of rows that were replaced,
    /// or of both.
    fn gone_keys(
        &self,
        key: &ForeignKey,
        table: &Table,
        at: u32,
        range: Range<usize>,
        is_update: Option<bool>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<GoneKeys, TransactionError> {
        let mut gone = GoneKeys { by_bytes: HashMap::new(), rows: Vec::new() };
        for number in range {
            let write = self.set.writes[number];
            let successor = match write.kind {
                WriteKind::Delete => None,
                // The insert of the row that takes its place follows.
                WriteKind::Replace => self.set.writes.get(number + 1).map(|next| next.row),
                _ => continue,
            };
            if write.table != at || is_update.is_some_and(|is_update| is_update != successor.is_some()) {
                continue;
            }
            check_cancelled(is_cancelled)?;
            let found = table.key_of(key.index(), write.row)?;
            let keeps_key = match successor {
                Some(successor) => table.key_of(key.index(), successor)? == found,
                None => false,
            };
            if found.has_null() || keeps_key {
                continue;
            }
            let bytes = found.referred().to_boxed();
            // Of rows that had the same key by and by, the first is the one that others may refer to.
            let rows = &mut gone.rows;
            gone.by_bytes.entry(bytes).or_insert_with(|| {
                rows.push(GoneRow { row: write.row, key: found, successor });
                rows.len() - 1
            });
        }
        Ok(gone)
    }

    /// The rows of a table whose keys some changes took away, whoever has them now.
    pub(super) fn gone_rows(
        &self,
        key: &ForeignKey,
        table: &Table,
        at: u32,
        range: Range<usize>,
    ) -> Result<Vec<RowId>, TransactionError> {
        let gone = self.gone_keys(key, table, at, range, None, &|| false)?;
        Ok(gone.rows.iter().map(|gone| gone.row).collect())
    }

    /// Checks that nobody refers to keys that went, and sees to it that nobody will when this commits.
    pub(super) fn check_gone(
        &mut self,
        range: Range<usize>,
        checked: Checked,
        only: Option<&Arc<ForeignKey>>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let mut gone_keys = ForeignKeyReads::default();
        for (at, table) in self.referencing_tables() {
            let Some(references) = table.references() else { continue };
            let truncated = self.set.writes[range.clone()]
                .iter()
                .any(|write| write.table == at && write.kind == WriteKind::Truncate);
            for key in &references.incoming {
                let Some(child) = key.child() else { continue };
                if !self.is_checked_now(key, checked, only, range.start) {
                    continue;
                }
                if truncated {
                    self.check_all(key, &child, &table, is_cancelled)?;
                    gone_keys.forbid_all(key);
                    continue;
                }
                let mut gone = self.gone_keys(key, &table, at, range.clone(), None, is_cancelled)?;
                self.forget_back(key, &table, &mut gone);
                if gone.by_bytes.is_empty() {
                    continue;
                }
                if let Some(&(_, at)) = self.children(key, &child, &gone, true, is_cancelled)?.first() {
                    return Err(still_referenced(key, &table, &child, &gone.rows[at]));
                }
                gone_keys.forbid(key, gone.by_bytes.into_keys());
            }
        }
        self.forbid(gone_keys, is_cancelled)
    }

    /// Sees to it that nobody refers to keys when this commits. At READ COMMITTED somebody may have begun to, and have
    /// committed, after the statement began and before it took the keys away: the statement is to run again then.
    fn forbid(
        &mut self,
        mut gone_keys: ForeignKeyReads,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        if gone_keys.is_empty() {
            return Ok(());
        }
        let start = self.view.start;
        if self.isolation == Isolation::ReadCommitted && self.manager.now() != start {
            for committed in self.manager.recent_after(start) {
                gone_keys.check(&committed, self.manager.stamps(), is_cancelled)?;
            }
        }
        self.foreign_key_reads().forbid_as(gone_keys);
        Ok(())
    }

    /// Leaves keys out that another row has by now: what is there again was not taken away.
    fn forget_back(&self, key: &ForeignKey, table: &Table, gone: &mut GoneKeys) {
        let is_back = |gone: &GoneRow| self.finds(key, table, gone.key.referred()).is_some();
        let rows = &gone.rows;
        gone.by_bytes.retain(|_, at| !is_back(&rows[*at]));
    }

    /// Checks that all rows refer to some row, of a table that was emptied.
    fn check_all(
        &self,
        key: &ForeignKey,
        child: &Table,
        parent: &Table,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        match first_violation(key, child, parent, self.view, self.manager.stamps(), is_cancelled)? {
            None => Ok(()),
            Some(missing) => {
                let key_shown = missing.key_shown(key, parent);
                Err(ForeignKeyError {
                    constraint: key.name().to_owned(),
                    relation: parent.name(),
                    row: missing.row,
                    problem: ForeignKeyProblem::StillReferenced { key: key_shown, referencing: child.name() },
                }
                .into())
            }
        }
    }
}

/// Up to when the foreign keys of a relation are known to who knows those at `start`, and some later ones.
fn known_until(known: &[(Arc<Table>, Time)], table: &Arc<Table>, start: Time) -> Time {
    known.iter().rev().find(|(of, _)| Arc::ptr_eq(of, table)).map_or(start, |(_, time)| *time)
}

/// The defaults of the columns that refer.
fn defaults(key: &ForeignKey, child: &Table) -> Result<Vec<Input<'static>>, TransactionError> {
    let Some(defaults) = &key.rules().defaults else { return Ok(vec![Input::Null; key.columns().len()]) };
    let of = |&column: &usize| {
        let mut taken = Ok(Input::Null);
        let mut take = |value: Datum<'_>| taken = child.input(column, value).map(Input::into_owned);
        let found = defaults(column, &mut take);
        found.map_err(|reason| TransactionError::Default {
            relation: child.name(),
            column: child.schema().all_columns()[column].name.clone(),
            reason,
        })?;
        taken
    };
    key.columns().iter().map(of).collect()
}

fn still_referenced(key: &ForeignKey, parent: &Table, child: &Table, gone: &GoneRow) -> TransactionError {
    let names = ForeignKey::names(parent, key.index().columns());
    ForeignKeyError {
        constraint: key.name().to_owned(),
        relation: parent.name(),
        row: gone.row,
        problem: ForeignKeyProblem::StillReferenced {
            key: format!("({names})={}", key.index().describe(&gone.key)),
            referencing: child.name(),
        },
    }
    .into()
}
