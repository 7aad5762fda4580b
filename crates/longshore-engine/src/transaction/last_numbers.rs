//! The numbers that sequences gave a session last: what `currval` and `lastval` answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::catalog::Sequence;
use crate::{Error, ErrorKind};

/// The last number of each sequence that a session took one of.
#[derive(Default)]
pub(crate) struct LastNumbers(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    of: BTreeMap<String, (Weak<Sequence>, i64)>,
    /// The one that a number was taken of last.
    latest: Option<(Weak<Sequence>, i64)>,
}

impl LastNumbers {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the session took `number`.
    pub(crate) fn taken(&self, sequence: &Arc<Sequence>, number: i64) {
        let mut numbers = self.numbers();
        numbers.latest = Some((Arc::downgrade(sequence), number));
        numbers.of.insert(sequence.name.clone(), (Arc::downgrade(sequence), number));
    }

    /// Notes that the session set the sequence to `number`, as if it had been taken; `lastval` stays with its sequence.
    pub(crate) fn set(&self, sequence: &Arc<Sequence>, number: i64) {
        let mut numbers = self.numbers();
        let is_it = |weak: &Weak<Sequence>| weak.ptr_eq(&Arc::downgrade(sequence));
        if let Some((_, latest)) = numbers.latest.as_mut().filter(|(weak, _)| is_it(weak)) {
            *latest = number;
        }
        numbers.of.insert(sequence.name.clone(), (Arc::downgrade(sequence), number));
    }

    /// The last number of a sequence.
    pub(crate) fn of(&self, sequence: &Arc<Sequence>) -> Result<i64, Error> {
        let numbers = self.numbers();
        let found = numbers.of.get(&sequence.name).filter(|(weak, _)| weak.ptr_eq(&Arc::downgrade(sequence)));
        found.map(|(_, number)| *number).ok_or_else(|| {
            Error::new(
                ErrorKind::State,
                format!(
                    "currval of sequence \"{}\" is not yet defined in this session; nextval takes a number",
                    sequence.name
                ),
            )
        })
    }

    /// The last number of all.
    pub(crate) fn latest(&self) -> Result<i64, Error> {
        let numbers = self.numbers();
        let found = numbers.latest.as_ref().filter(|(sequence, _)| sequence.strong_count() > 0);
        found.map(|(_, number)| *number).ok_or_else(|| {
            Error::new(ErrorKind::State, "lastval is not yet defined in this session; nextval takes a number")
        })
    }
}
