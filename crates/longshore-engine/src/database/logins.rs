//! How sessions of roles begin: what sign-in has to know of a role, and how many sessions each has.
//!
//! Not here: how somebody proves who he is, which is up to the server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::Database;
use crate::catalog::{Commented, ObjectClass, Privileges, RoleId};
use crate::sql::names::CATALOG;
use crate::{Error, ErrorKind};

/// What sign-in has to know of a role.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// What the password is verified by, as PostgreSQL keeps it: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`,
    /// the last three in Base64. `None` if the role has no password, so that none is right.
    pub verifier: Option<String>,
    /// Whether the role may log in. [`Database::session_as`] looks at it as well.
    pub may_log_in: bool,
    /// Until when the password is valid; `None` if it does not end. It says nothing of other ways to sign in.
    pub valid_until: Option<SystemTime>,
    /// How many sessions the role may have at a time; `None` for as many as it likes. [`Database::session_as`] counts them.
    pub connection_limit: Option<u32>,
    /// Whether it is a superuser, for whom connections may be kept free.
    pub is_superuser: bool,
}

impl Login {
    /// Whether the password is still valid at a time.
    #[must_use]
    pub fn is_password_valid_at(&self, time: SystemTime) -> bool {
        self.valid_until.is_none_or(|until| time < until)
    }
}

impl fmt::Debug for Login {
    /// Without the verifier.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("has_verifier", &self.verifier.is_some())
            .field("may_log_in", &self.may_log_in)
            .field("valid_until", &self.valid_until)
            .field("connection_limit", &self.connection_limit)
            .field("is_superuser", &self.is_superuser)
            .finish()
    }
}

impl Database {
    /// What sign-in has to know of a role; `None` if there is none of this name. To look something up takes about the same time
    /// whether there is one or not.
    #[must_use]
    pub fn login(&self, role: &str) -> Option<Login> {
        let roles = self.catalog.roles();
        let role = roles.get(roles.named(role)?)?;
        Some(Login {
            verifier: role.password.clone(),
            may_log_in: role.logs_in,
            valid_until: role.valid_until.and_then(time_of),
            connection_limit: u32::try_from(role.connection_limit).ok(),
            is_superuser: role.is_superuser,
        })
    }

    /// Lets a session of a role begin, if the role may have one more.
    pub(crate) fn log_in(&self, name: &str) -> Result<(RoleId, OpenSession), Error> {
        let authorization = |message: String| Error::new(ErrorKind::Coded("28000"), message);
        let roles = self.catalog.roles();
        let id = roles.named(name);
        let id = id.ok_or_else(|| authorization(format!("role \"{name}\" does not exist")))?;
        let role = roles.get(id).ok_or_else(|| authorization(format!("role \"{name}\" does not exist")))?;
        if !role.logs_in {
            return Err(authorization(format!("role \"{name}\" is not permitted to log in")));
        }
        if role.is_superuser {
            return Ok((id, self.sessions.open(id)));
        }
        let may_connect = self.catalog.definitions(|definitions| {
            definitions.may(id, &Commented::Database, ObjectClass::Database, Privileges::CONNECT)
        });
        if !may_connect {
            return Err(Error::new(
                ErrorKind::Privilege,
                format!("permission denied for database \"{CATALOG}\": the user does not have the CONNECT privilege"),
            ));
        }
        let open = self.sessions.open(id);
        let is_too_many = usize::try_from(role.connection_limit).is_ok_and(|limit| self.sessions.count(id) > limit);
        if is_too_many {
            return Err(Error::new(ErrorKind::Coded("53300"), format!("too many connections for role \"{name}\"")));
        }
        Ok((id, open))
    }
}

/// A time in microseconds since 1970-01-01 UTC; `None` if it never comes.
fn time_of(micros: i64) -> Option<SystemTime> {
    if micros == i64::MAX {
        return None;
    }
    let distance = Duration::from_micros(micros.unsigned_abs());
    let time = if micros < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    Some(time.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// How many sessions each role has that has signed in.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<RoleId, usize>>);

impl Sessions {
    fn open(self: &Arc<Self>, role: RoleId) -> OpenSession {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(role).or_default() += 1;
        OpenSession { role, of: Arc::clone(self) }
    }

    fn count(&self, role: RoleId) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&role).copied().unwrap_or_default()
    }
}

/// A session of a role counts as long as this lives.
#[derive(Debug)]
pub(crate) struct OpenSession {
    role: RoleId,
    of: Arc<Sessions>,
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        let mut counts = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.role) {
            *count = count.saturating_sub(1);
        }
    }
}
