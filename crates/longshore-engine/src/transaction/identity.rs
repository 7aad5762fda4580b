//! Who a session acts as: who signed in, whom SET SESSION AUTHORIZATION has put in the place of that one, and the role that
//! SET ROLE has chosen. Privileges are those of the last.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::catalog::{Catalog, RoleId};

/// The roles of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Who signed in.
    pub(crate) authenticated: RoleId,
    pub(crate) session: RoleId,
    pub(crate) current: RoleId,
}

impl Identity {
    /// A role that has signed in.
    pub(crate) fn of(role: RoleId) -> Self {
        Self { authenticated: role, session: role, current: role }
    }
}

/// No state of the roles has this number.
const NO_VERSION: u64 = u64::MAX;

/// The identity of a session, and whether it is known to be a superuser.
#[derive(Debug)]
pub(super) struct SessionIdentity {
    identity: Mutex<Identity>,
    /// In which state of the roles it was found to be a superuser.
    superuser_in: AtomicU64,
}

impl Default for SessionIdentity {
    /// The first superuser, who always is one: no look at the roles is needed before they change.
    fn default() -> Self {
        Self { identity: Mutex::new(Identity::of(RoleId::SUPERUSER)), superuser_in: AtomicU64::new(0) }
    }
}

impl SessionIdentity {
    pub(super) fn get(&self) -> Identity {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, identity: Identity) {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) = identity;
        self.superuser_in.store(NO_VERSION, Ordering::Relaxed);
    }

    /// The role whose privileges are to be checked; `None` for a superuser.
    pub(super) fn checked_role(&self, catalog: &Catalog) -> Option<RoleId> {
        let version = catalog.roles_version();
        if self.superuser_in.load(Ordering::Relaxed) == version {
            return None;
        }
        let role = self.get().current;
        if !catalog.definitions(|definitions| definitions.roles.is_superuser(role)) {
            return Some(role);
        }
        self.superuser_in.store(version, Ordering::Relaxed);
        None
    }
}
