//! Databases that are open, found by a number: for drivers that take texts only.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use longshore_engine::{Database, Error};

static SHARED: LazyLock<Mutex<HashMap<u64, Weak<Database>>>> = LazyLock::new(Mutex::default);

/// A number by which [`shared`] finds the database as long as it is open.
pub(crate) fn share(database: &Arc<Database>) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.retain(|_, database| database.strong_count() > 0);
    shared.insert(number, Arc::downgrade(database));
    number
}

/// The database of a number, if it is open still.
pub(crate) fn shared(number: u64) -> Option<Arc<Database>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner).get(&number)?.upgrade()
}

/// Closes the database if nobody else has it open.
///
/// # Errors
/// Whatever its directory gives.
pub(crate) fn close(database: Arc<Database>) -> Result<(), Error> {
    match Arc::try_unwrap(database) {
        Ok(database) => Arc::new(database).close(),
        Err(_) => Ok(()),
    }
}
