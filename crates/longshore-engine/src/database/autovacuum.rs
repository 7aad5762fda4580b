//! The thread that packs again what was changed and then left alone (the thesis, 7.1: cold chunks are frozen).
//!
//! It looks through all tables from time to time, and packs the chunks that are full enough and that nobody changed since
//! the last look. Nobody waits for it: a chunk's latch is held only to take its values, and to put the packed ones in their
//! place. It ends with the database.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;

use longshore_storage::{Freeze, Storage};

use crate::catalog::{Catalog, Entry};
use crate::panics;

/// Rows that a chunk has at least to be packed: more are likely to follow those of a smaller one.
const ROWS_MIN: usize = 8192;

/// Ends the thread when it is dropped.
pub(super) struct Autovacuum {
    _running: Sender<()>,
}

impl Autovacuum {
    /// Starts the thread, which looks at the tables of a catalog once in an interval. `None` where the system gives no
    /// thread: the database works without.
    pub(super) fn start(catalog: &Arc<Catalog>, interval: Duration) -> Option<Autovacuum> {
        let (running, ended) = mpsc::channel();
        let catalog = Arc::downgrade(catalog);
        let work = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // A bug costs one look, and nobody a statement.
                let _ = panics::caught(|| {
                    look(&catalog);
                    Ok(())
                });
            }
        };
        std::thread::Builder::new().name("autovacuum".to_owned()).spawn(work).ok()?;
        Some(Autovacuum { _running: running })
    }
}

/// Looks at all tables once.
fn look(catalog: &Weak<Catalog>) {
    let Some(catalog) = catalog.upgrade() else { return };
    for entry in catalog.entries() {
        let Entry::Table(table) = entry else { continue };
        if table.relation.storage() != Storage::Packed {
            continue;
        }
        let is_last = || Arc::strong_count(&catalog) == 1;
        // Short of memory, it stays as it is until the next look.
        let _ = table.relation.freeze(Freeze::Unchanged, ROWS_MIN, &is_last);
        if is_last() {
            break;
        }
    }
}
