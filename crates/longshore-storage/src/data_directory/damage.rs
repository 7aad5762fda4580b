//! What recovery takes note of where it goes on behind damage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use super::error::DirectoryError;
use crate::sync::brief::Mutex;
use crate::table::RelationId;

/// What recovery has found that is damaged.
#[derive(Clone, Debug, Default)]
pub(super) struct Salvage(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    damage: Vec<DirectoryError>,
    lost: BTreeMap<RelationId, BTreeSet<u32>>,
}

impl Salvage {
    /// Takes note of damage, if recovery goes on behind it.
    pub(super) fn take(salvage: Option<&Salvage>, error: DirectoryError) -> Result<(), DirectoryError> {
        match (salvage, error) {
            (None, error) | (_, error @ DirectoryError::OutOfMemory(_)) => Err(error),
            (Some(salvage), error) => {
                salvage.note(error);
                Ok(())
            }
        }
    }

    pub(super) fn note(&self, error: DirectoryError) {
        self.with(|found| found.damage.push(error));
    }

    pub(super) fn lose(&self, lost: BTreeMap<RelationId, BTreeSet<u32>>) {
        self.with(|found| found.lost = lost);
    }

    /// What was found: all that is damaged, and the places of the chunks that are missing.
    pub(super) fn found(&self) -> (Vec<DirectoryError>, BTreeMap<RelationId, BTreeSet<u32>>) {
        let Found { damage, lost } = self.with(std::mem::take);
        (damage, lost)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Found) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
