//! What the options of a COPY FROM say, whichever way it goes.

use longshore_load::Tuning;
use longshore_storage::MergeKind;

use crate::sql::options::{CheckTime, ConflictOptions, MergeMode, Options, RejectOptions};
use crate::statement::Context;

/// The options that a load and an INSERT share.
pub(super) struct Settings {
    /// `None` leaves the choice to the way.
    pub(super) merge: Option<MergeKind>,
    pub(super) merge_mode: MergeMode,
    /// `None` for all there are.
    pub(super) threads: Option<usize>,
    pub(super) tuning: Tuning,
    pub(super) rejects: RejectOptions,
    pub(super) conflict: ConflictOptions,
    /// When foreign keys are checked; `None` where nothing was said.
    pub(super) references: Option<CheckTime>,
}

impl Settings {
    pub(super) fn new(context: &Context<'_>, options: &Options) -> Self {
        Self {
            merge: options.merge,
            merge_mode: options.merge_mode,
            threads: options.threads,
            tuning: options.tuned(context.database.config.tuning()),
            rejects: options.rejects.clone(),
            conflict: options.conflict.clone(),
            references: options.references,
        }
    }
}
