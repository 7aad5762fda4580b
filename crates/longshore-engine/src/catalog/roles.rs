//! Roles: who there is, what each may do beside what objects grant it, whose members they are, and which settings their
//! sessions begin with.
//!
//! Roles have numbers, which stay when they are renamed; owners and grants name these. The first superuser and the
//! predefined roles have PostgreSQL's numbers and are always there. Not here: what objects grant (`acl`, `access`), the
//! statements (`statement::roles`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sql::names::USER;

/// The number of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RoleId(pub(crate) u32);

impl RoleId {
    /// Everybody.
    pub(crate) const PUBLIC: Self = Self(0);
    /// The first superuser.
    pub(crate) const SUPERUSER: Self = Self(10);
    pub(crate) const DATABASE_OWNER: Self = Self(6171);
    pub(crate) const READ_ALL_DATA: Self = Self(6181);
    pub(crate) const WRITE_ALL_DATA: Self = Self(6182);
    pub(crate) const READ_SERVER_FILES: Self = Self(4569);
    pub(crate) const WRITE_SERVER_FILES: Self = Self(4570);
    pub(crate) const MONITOR: Self = Self(3373);
    pub(crate) const READ_ALL_STATS: Self = Self(3375);
    pub(crate) const SIGNAL_BACKEND: Self = Self(4200);
    /// Below it are those of the system.
    const FIRST: Self = Self(16384);

    /// Whether it is there without having been made.
    pub(crate) fn is_of_system(self) -> bool {
        self < Self::FIRST
    }
}

/// Roles that are always there beside the first superuser, none of which may log in.
const PREDEFINED: [(RoleId, &str); 11] = [
    (RoleId::MONITOR, "pg_monitor"),
    (RoleId(3374), "pg_read_all_settings"),
    (RoleId::READ_ALL_STATS, "pg_read_all_stats"),
    (RoleId(3377), "pg_stat_scan_tables"),
    (RoleId::SIGNAL_BACKEND, "pg_signal_backend"),
    (RoleId(4544), "pg_checkpoint"),
    (RoleId::READ_SERVER_FILES, "pg_read_server_files"),
    (RoleId::WRITE_SERVER_FILES, "pg_write_server_files"),
    (RoleId::DATABASE_OWNER, "pg_database_owner"),
    (RoleId::READ_ALL_DATA, "pg_read_all_data"),
    (RoleId::WRITE_ALL_DATA, "pg_write_all_data"),
];

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the attributes of a role, each of its own")]
pub(crate) struct RoleDefinition {
    pub(crate) name: String,
    pub(crate) is_superuser: bool,
    /// Whether it has the rights of the roles that it is a member of without SET ROLE.
    pub(crate) inherits: bool,
    pub(crate) creates_roles: bool,
    pub(crate) creates_databases: bool,
    pub(crate) logs_in: bool,
    pub(crate) replicates: bool,
    pub(crate) bypasses_row_security: bool,
    /// How many sessions it may have at a time; below 0 as many as it likes.
    pub(crate) connection_limit: i32,
    /// What a password is verified by (`SCRAM-SHA-256$...`).
    pub(crate) password: Option<String>,
    /// When the password ends, in microseconds since 1970-01-01 UTC; the largest number is never.
    pub(crate) valid_until: Option<i64>,
}

impl RoleDefinition {
    /// One with nothing but a name.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_superuser: false,
            inherits: true,
            creates_roles: false,
            creates_databases: false,
            logs_in: false,
            replicates: false,
            bypasses_row_security: false,
            connection_limit: -1,
            password: None,
            valid_until: None,
        }
    }
}

/// How a member came to a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) grantor: RoleId,
    /// Whether the member may make others members.
    pub(crate) admin: bool,
}

/// Which sessions begin with some settings: those of a role or of all, in this database or in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SettingsOf {
    pub(crate) role: Option<RoleId>,
    pub(crate) in_database: bool,
}

/// All roles.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the roles are what they are")]
pub(crate) struct Roles {
    pub(super) roles: BTreeMap<RoleId, RoleDefinition>,
    /// By role and member.
    pub(super) members: BTreeMap<(RoleId, RoleId), Membership>,
    /// Names and values, in the order in which they were set.
    pub(super) settings: BTreeMap<SettingsOf, Vec<(String, String)>>,
    /// Above the numbers of all roles that there were: a session may be one of a role that is gone.
    pub(super) next: u32,
}

impl Default for Roles {
    /// The first superuser and the predefined roles.
    fn default() -> Self {
        let superuser = RoleDefinition {
            is_superuser: true,
            creates_roles: true,
            creates_databases: true,
            logs_in: true,
            replicates: true,
            bypasses_row_security: true,
            ..RoleDefinition::new(USER)
        };
        let predefined = PREDEFINED.map(|(id, name)| (id, RoleDefinition::new(name)));
        let monitors = [3374, 3375, 3377]
            .map(|id| ((RoleId(id), RoleId::MONITOR), Membership { grantor: RoleId::SUPERUSER, admin: false }));
        Self {
            roles: [(RoleId::SUPERUSER, superuser)].into_iter().chain(predefined).collect(),
            members: monitors.into(),
            settings: BTreeMap::new(),
            next: RoleId::FIRST.0,
        }
    }
}

impl Roles {
    /// A role by its number.
    pub(crate) fn get(&self, role: RoleId) -> Option<&RoleDefinition> {
        self.roles.get(&role)
    }

    pub(crate) fn get_mut(&mut self, role: RoleId) -> Option<&mut RoleDefinition> {
        self.roles.get_mut(&role)
    }

    /// All roles, by their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (RoleId, &RoleDefinition)> {
        self.roles.iter().map(|(id, role)| (*id, role))
    }

    /// The number of the role of a name.
    pub(crate) fn named(&self, name: &str) -> Option<RoleId> {
        self.all().find(|(_, role)| role.name == name).map(|(id, _)| id)
    }

    /// The name of a role; of one that is gone, its number.
    pub(crate) fn name(&self, role: RoleId) -> String {
        self.get(role).map_or_else(|| role.0.to_string(), |role| role.name.clone())
    }

    /// Adds a role and gives it a number.
    pub(crate) fn add(&mut self, role: RoleDefinition) -> RoleId {
        static NEXT: AtomicU32 = AtomicU32::new(RoleId::FIRST.0);
        // A block that is rolled back gives no number back: its session may still act as the role.
        NEXT.fetch_max(self.next, Ordering::Relaxed);
        let id = RoleId(NEXT.fetch_add(1, Ordering::Relaxed));
        self.next = id.0 + 1;
        self.roles.insert(id, role);
        id
    }

    /// Forgets a role, its memberships and its settings.
    pub(crate) fn remove(&mut self, role: RoleId) {
        self.roles.remove(&role);
        self.remove_memberships(role);
        self.settings.retain(|of, _| of.role != Some(role));
    }

    /// Forgets who a role is a member of, and who is a member of it.
    pub(crate) fn remove_memberships(&mut self, role: RoleId) {
        self.members.retain(|(of, member), _| *of != role && *member != role);
    }

    pub(crate) fn is_superuser(&self, role: RoleId) -> bool {
        self.get(role).is_some_and(|role| role.is_superuser)
    }

    /// Whether it may make and change roles.
    pub(crate) fn creates_roles(&self, role: RoleId) -> bool {
        self.get(role).is_some_and(|role| role.is_superuser || role.creates_roles)
    }

    /// The members of roles: role, member, and how that came.
    pub(crate) fn memberships(&self) -> impl Iterator<Item = (RoleId, RoleId, Membership)> {
        self.members.iter().map(|((role, member), how)| (*role, *member, *how))
    }

    pub(crate) fn membership(&self, role: RoleId, member: RoleId) -> Option<Membership> {
        self.members.get(&(role, member)).copied()
    }

    pub(crate) fn set_membership(&mut self, role: RoleId, member: RoleId, how: Option<Membership>) {
        match how {
            Some(how) => drop(self.members.insert((role, member), how)),
            None => drop(self.members.remove(&(role, member))),
        }
    }

    /// A role and all roles that it is a member of, directly or by others; if `by_rights`, only those whose rights it has
    /// without SET ROLE.
    fn reached(&self, role: RoleId, by_rights: bool) -> Vec<RoleId> {
        let mut found = vec![role];
        let mut waiting = VecDeque::from([role]);
        while let Some(member) = waiting.pop_front() {
            if by_rights && !self.get(member).is_some_and(|role| role.inherits) {
                continue;
            }
            let direct = self.members.keys().filter(|(_, of)| *of == member).map(|(role, _)| *role);
            let owns = (member == RoleId::SUPERUSER).then_some(RoleId::DATABASE_OWNER);
            for next in direct.chain(owns) {
                if !found.contains(&next) {
                    found.push(next);
                    waiting.push_back(next);
                }
            }
        }
        found
    }

    /// The roles whose rights a role has, itself first.
    pub(crate) fn with_rights(&self, role: RoleId) -> Vec<RoleId> {
        self.reached(role, true)
    }

    /// All roles that a role is a member of, itself first.
    pub(crate) fn with_memberships(&self, role: RoleId) -> Vec<RoleId> {
        self.reached(role, false)
    }

    /// Whether a role has the rights of another one.
    pub(crate) fn has_rights_of(&self, role: RoleId, of: RoleId) -> bool {
        role == of || self.is_superuser(role) || self.reached(role, true).contains(&of)
    }

    /// Whether a role may become another one.
    pub(crate) fn is_member_of(&self, role: RoleId, of: RoleId) -> bool {
        self.is_superuser(role) || self.is_plain_member_of(role, of)
    }

    /// The same, with superusers as all others.
    pub(crate) fn is_plain_member_of(&self, role: RoleId, of: RoleId) -> bool {
        role == of || self.reached(role, false).contains(&of)
    }

    /// Whether a role may make others members of `of`.
    pub(crate) fn is_admin_of(&self, role: RoleId, of: RoleId) -> bool {
        let may = |member: &RoleId| self.membership(of, *member).is_some_and(|how| how.admin);
        self.is_superuser(role) || self.reached(role, false).iter().any(may)
    }

    /// What sessions of some kind begin with.
    pub(crate) fn settings(&self, of: SettingsOf) -> &[(String, String)] {
        self.settings.get(&of).map_or(&[], Vec::as_slice)
    }

    /// All of these.
    pub(crate) fn all_settings(&self) -> impl Iterator<Item = (SettingsOf, &[(String, String)])> {
        self.settings.iter().map(|(of, settings)| (*of, settings.as_slice()))
    }

    /// Lets sessions of some kind begin with another value of a setting, or with none of it.
    pub(crate) fn set(&mut self, of: SettingsOf, name: &str, value: Option<String>) {
        let settings = self.settings.entry(of).or_default();
        let known = settings.iter().position(|(known, _)| known == name);
        match (known, value) {
            (Some(at), Some(value)) => settings[at].1 = value,
            (Some(at), None) => drop(settings.remove(at)),
            (None, Some(value)) => settings.push((name.to_owned(), value)),
            (None, None) => {}
        }
        if settings.is_empty() {
            self.settings.remove(&of);
        }
    }

    /// Forgets all settings that sessions of some kind begin with.
    pub(crate) fn reset(&mut self, of: SettingsOf) {
        self.settings.remove(&of);
    }

    /// What a session of a role begins with: what is said last overrides what is said before.
    pub(crate) fn settings_of_session(&self, role: RoleId) -> Vec<(String, String)> {
        let of = [(None, false), (None, true), (Some(role), false), (Some(role), true)];
        let mut settings: Vec<(String, String)> = Vec::new();
        for (role, in_database) in of {
            for (name, value) in self.settings(SettingsOf { role, in_database }) {
                settings.retain(|(known, _)| known != name);
                settings.push((name.clone(), value.clone()));
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_come_by_roles_that_inherit() {
        let mut roles = Roles::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| roles.add(RoleDefinition::new(name)));
        let how = Membership { grantor: RoleId::SUPERUSER, admin: false };
        roles.set_membership(a, b, Some(how));
        roles.set_membership(b, c, Some(how));
        assert!(roles.has_rights_of(c, a) && roles.is_member_of(c, a) && !roles.has_rights_of(a, c));
        roles.get_mut(b).unwrap().inherits = false;
        assert!(!roles.has_rights_of(c, a) && roles.is_member_of(c, a) && roles.has_rights_of(c, b));
        assert!(!roles.is_admin_of(c, a));
        roles.set_membership(a, b, Some(Membership { admin: true, ..how }));
        assert!(roles.is_admin_of(c, a));
        roles.remove(b);
        assert!(!roles.is_member_of(c, a));
    }

    #[test]
    fn settings_of_a_role_in_the_database_count_most() {
        let mut roles = Roles::default();
        let role = roles.add(RoleDefinition::new("a"));
        for (of, value) in [(Some(role), "role"), (None, "all")] {
            roles.set(SettingsOf { role: of, in_database: false }, "x", Some(value.to_owned()));
        }
        assert_eq!(roles.settings_of_session(role), [("x".to_owned(), "role".to_owned())]);
        roles.set(SettingsOf { role: Some(role), in_database: true }, "x", Some("both".to_owned()));
        assert_eq!(roles.settings_of_session(role), [("x".to_owned(), "both".to_owned())]);
        roles.set(SettingsOf { role: Some(role), in_database: true }, "x", None);
        roles.reset(SettingsOf { role: Some(role), in_database: false });
        assert_eq!(roles.settings_of_session(role), [("x".to_owned(), "all".to_owned())]);
    }
}
