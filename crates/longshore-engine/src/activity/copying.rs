//! A COPY that runs, and how far it is.

use std::sync::Arc;

use longshore_load::Control;

use super::{Activity, lock};

/// What is copied, and by what its progress is told.
#[derive(Clone, Debug)]
pub(crate) struct CopyProgress {
    /// The identity of the table; `None` if a query is copied.
    pub(crate) table: Option<i64>,
    pub(crate) kind: CopyKind,
    pub(crate) by: PipedFrom,
    pub(crate) control: Arc<Control>,
}

/// Which way it copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyKind {
    From,
    To,
}

/// Where the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipedFrom {
    File,
    Client,
    Query,
}

/// A COPY that runs, until it is dropped.
#[must_use]
pub(crate) struct Copying<'a>(&'a Activity);

impl Activity {
    /// A COPY begins.
    pub(crate) fn copies(&self, progress: CopyProgress) -> Copying<'_> {
        *lock(&self.copying) = Some(progress);
        Copying(self)
    }

    /// The COPY that runs.
    pub(crate) fn copying(&self) -> Option<CopyProgress> {
        lock(&self.copying).clone()
    }
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        *lock(&self.0.copying) = None;
    }
}
