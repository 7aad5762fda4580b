//! Foreign keys that are checked when the transaction ends, or when it says so.
//!
//! The write set has all changes of a transaction. So what a statement leaves unchecked is only where the first such change
//! is ([`PutOff::from`]): the changes from there on are checked as those of one long statement.
//!
//! Not here: how changes are checked (`references.rs`).

use std::sync::Arc;

use super::{Isolation, Transaction};
use crate::error::TransactionError;
use crate::index::IsCancelled;
use crate::table::{ForeignKey, ReferenceTiming};

/// What a transaction has put off, and what it says of that: nothing, of most.
#[derive(Default)]
pub(super) struct Deferral(Option<Box<PutOff>>);

#[derive(Default)]
struct PutOff {
    /// What it has said, the last one last: of one foreign key, or of all.
    said: Vec<(Option<Arc<ForeignKey>>, bool)>,
    /// The first change of which some foreign key was not checked.
    from: Option<usize>,
}

/// How far a [`Deferral`] was at a savepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deferred {
    /// How much was said.
    said: usize,
    from: Option<usize>,
}

/// Which foreign keys are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// Those that are not deferred.
    Now,
    /// Those that were deferred and are not to be any longer.
    Deferred,
}

impl Deferral {
    /// Whether a foreign key is checked later.
    pub(super) fn defers(&self, key: &Arc<ForeignKey>) -> bool {
        let timing = key.rules().timing;
        if timing == ReferenceTiming::Immediate {
            return false;
        }
        let mut said = self.0.iter().flat_map(|put_off| put_off.said.iter().rev());
        let said = said.find(|(of, _)| of.as_ref().is_none_or(|of| Arc::ptr_eq(of, key)));
        said.map_or(timing == ReferenceTiming::Deferred, |(_, deferred)| *deferred)
    }

    /// How far it is.
    pub(super) fn at(&self) -> Deferred {
        self.0
            .as_ref()
            .map_or_else(Deferred::default, |put_off| Deferred { said: put_off.said.len(), from: put_off.from })
    }

    /// Forgets what was said and done since. What was checked since counts as unchecked: the changes that made a foreign key
    /// hold may be undone.
    pub(super) fn go_back(&mut self, to: Deferred) {
        if let Some(put_off) = &mut self.0 {
            put_off.said.truncate(to.said);
            put_off.from = to.from;
        }
    }

    /// The first change of which some foreign key was not checked.
    fn from(&self) -> Option<usize> {
        self.0.as_ref()?.from
    }

    fn put_off(&mut self) -> &mut PutOff {
        self.0.get_or_insert_default()
    }
}

impl Transaction {
    /// Says of a foreign key that can be deferred, or of all, whether it is checked when the transaction ends. If not, what
    /// was put off is checked now.
    ///
    /// # Errors
    ///
    /// When such a foreign key does not hold; then it stays deferred.
    pub fn set_deferred(
        &mut self,
        key: Option<&Arc<ForeignKey>>,
        deferred: bool,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        if !deferred && let Err(error) = self.check_deferred(key, is_cancelled) {
            // Who has given up learns nothing of what was read.
            if let (Some(from), false) = (self.deferral.from(), matches!(error, TransactionError::Cancelled)) {
                self.log_referring(from)?;
            }
            return Err(error);
        }
        self.deferral.put_off().said.push((key.map(Arc::clone), deferred));
        Ok(())
    }

    /// Checks what was put off, of one foreign key or of all.
    pub(super) fn check_deferred(
        &mut self,
        key: Option<&Arc<ForeignKey>>,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(), TransactionError> {
        let Some(from) = self.deferral.from() else { return Ok(()) };
        if self.isolation == Isolation::ReadCommitted {
            // What holds by now counts, not what held when the last statement began.
            self.renew_view()?;
        }
        let range = from..self.set.writes.len();
        if !range.is_empty() {
            self.check_rules()?;
            self.check_gone(range.clone(), Checked::Deferred, key, is_cancelled)?;
            self.check_new(range, Checked::Deferred, key, is_cancelled)?;
        }
        if key.is_none() {
            self.deferral.put_off().from = None;
        }
        Ok(())
    }

    /// Whether a foreign key is among those that are checked; notes what is put off of the changes from `from` on.
    pub(super) fn is_checked_now(
        &mut self,
        key: &Arc<ForeignKey>,
        checked: Checked,
        only: Option<&Arc<ForeignKey>>,
        from: usize,
    ) -> bool {
        if self.ends(key) {
            return false;
        }
        let is_deferred = self.deferral.defers(key);
        match checked {
            Checked::Now if is_deferred => {
                self.deferral.put_off().from.get_or_insert(from);
                false
            }
            Checked::Now => true,
            Checked::Deferred => is_deferred && only.is_none_or(|only| Arc::ptr_eq(only, key)),
        }
    }
}
