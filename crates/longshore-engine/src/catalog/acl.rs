//! Access control lists: who may do what with one object, by whose grant, as PostgreSQL keeps and shows them.
//!
//! An item says what a grantee got from a grantor, and what of it the grantee may grant further. The owner of an object has
//! every grant option without an item. An item lives as long as its grantor has the grant option: to revoke that revokes what
//! hangs on it (`CASCADE`), or is refused.
//!
//! Not here: which objects have lists (`access`), who is a member of which role (`roles`).

use std::fmt::Write;
use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

use super::roles::{RoleId, Roles};
use crate::{Error, ErrorKind};

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Privileges(pub(crate) u16);

/// Privileges, their letters in the text of a list and their names, in PostgreSQL's order.
const NAMED: [(Privileges, char, &str); 11] = [
    (Privileges::INSERT, 'a', "INSERT"),
    (Privileges::SELECT, 'r', "SELECT"),
    (Privileges::UPDATE, 'w', "UPDATE"),
    (Privileges::DELETE, 'd', "DELETE"),
    (Privileges::TRUNCATE, 'D', "TRUNCATE"),
    (Privileges::REFERENCES, 'x', "REFERENCES"),
    (Privileges::TRIGGER, 't', "TRIGGER"),
    (Privileges::USAGE, 'U', "USAGE"),
    (Privileges::CREATE, 'C', "CREATE"),
    (Privileges::TEMPORARY, 'T', "TEMPORARY"),
    (Privileges::CONNECT, 'c', "CONNECT"),
];

impl Privileges {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const INSERT: Self = Self(1);
    pub(crate) const SELECT: Self = Self(1 << 1);
    pub(crate) const UPDATE: Self = Self(1 << 2);
    pub(crate) const DELETE: Self = Self(1 << 3);
    pub(crate) const TRUNCATE: Self = Self(1 << 4);
    pub(crate) const REFERENCES: Self = Self(1 << 5);
    pub(crate) const TRIGGER: Self = Self(1 << 6);
    pub(crate) const USAGE: Self = Self(1 << 8);
    pub(crate) const CREATE: Self = Self(1 << 9);
    pub(crate) const TEMPORARY: Self = Self(1 << 10);
    pub(crate) const CONNECT: Self = Self(1 << 11);

    /// What there is to grant on columns.
    pub(crate) const OF_COLUMN: Self = Self(Self::INSERT.0 | Self::SELECT.0 | Self::UPDATE.0 | Self::REFERENCES.0);

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn has(self, all: Self) -> bool {
        self & all == all
    }

    /// The privilege of a name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("temp") { "TEMPORARY" } else { name };
        NAMED.into_iter().find(|(_, _, known)| known.eq_ignore_ascii_case(name)).map(|(privilege, ..)| privilege)
    }

    /// The names of what is in the set.
    pub(crate) fn names(self) -> impl Iterator<Item = (Self, &'static str)> {
        NAMED.into_iter().filter(move |(one, ..)| self.has(*one)).map(|(one, _, name)| (one, name))
    }
}

impl BitOr for Privileges {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Privileges {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Privileges {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Privileges {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// What a grantee got from a grantor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AclItem {
    /// [`RoleId::PUBLIC`] for everybody.
    pub(crate) grantee: RoleId,
    pub(crate) grantor: RoleId,
    pub(crate) privileges: Privileges,
    /// What of it may be granted further.
    pub(crate) options: Privileges,
}

/// Whether to revoke what hangs on a grant option that is revoked, or to refuse that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    Restrict,
    Cascade,
}

/// An access control list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acl(pub(crate) Vec<AclItem>);

impl Acl {
    /// What of `wanted` a role has: by itself, by the roles whose rights it has, or as anybody.
    pub(crate) fn granted(&self, roles: &Roles, role: RoleId, wanted: Privileges) -> Privileges {
        let mut found = Privileges::NONE;
        for item in &self.0 {
            if !(item.privileges & wanted).is_empty()
                && (item.grantee == RoleId::PUBLIC || roles.has_rights_of(role, item.grantee))
            {
                found |= item.privileges & wanted;
            }
        }
        found
    }

    /// What of `wanted` a role may grant further.
    pub(crate) fn grantable(&self, roles: &Roles, role: RoleId, owner: RoleId, wanted: Privileges) -> Privileges {
        if roles.has_rights_of(role, owner) {
            return wanted;
        }
        let mut found = Privileges::NONE;
        for item in self.0.iter().filter(|item| !(item.options & wanted).is_empty()) {
            if roles.has_rights_of(role, item.grantee) {
                found |= item.options & wanted;
            }
        }
        found
    }

    /// The same for what a role has by itself alone.
    fn grantable_directly(&self, role: RoleId, owner: RoleId, wanted: Privileges) -> Privileges {
        if role == owner {
            return wanted;
        }
        let own = self.0.iter().filter(|item| item.grantee == role);
        own.fold(Privileges::NONE, |found, item| found | item.options & wanted)
    }

    /// As whom a role grants `wanted`: the owner, if it has the owner's rights, or the one of its roles that may grant the
    /// most; and what of it that one may grant.
    pub(crate) fn best_grantor(
        &self,
        roles: &Roles,
        role: RoleId,
        owner: RoleId,
        wanted: Privileges,
    ) -> (RoleId, Privileges) {
        if roles.has_rights_of(role, owner) {
            return (owner, wanted);
        }
        let mut best = (role, Privileges::NONE);
        for candidate in roles.with_rights(role) {
            let options = self.grantable_directly(candidate, owner, wanted);
            if options == wanted {
                return (candidate, options);
            }
            if options.0.count_ones() > best.1.0.count_ones() {
                best = (candidate, options);
            }
        }
        best
    }

    /// Adds what an item says.
    ///
    /// # Errors
    /// When the grant options would go in a circle.
    pub(crate) fn add(&mut self, roles: &Roles, item: AclItem, owner: RoleId) -> Result<(), Error> {
        if !item.options.is_empty() {
            self.check_circle(roles, item, owner)?;
        }
        let known = self.0.iter_mut().find(|known| known.grantee == item.grantee && known.grantor == item.grantor);
        match known {
            Some(known) => {
                known.privileges |= item.privileges;
                known.options |= item.options;
            }
            None if item.privileges.is_empty() && item.options.is_empty() => {}
            None => self.0.push(item),
        }
        Ok(())
    }

    /// Takes away what an item says, and what hangs on that.
    ///
    /// # Errors
    /// When something hangs on it, and that is not to be revoked.
    pub(crate) fn remove(
        &mut self,
        roles: &Roles,
        item: AclItem,
        owner: RoleId,
        behavior: Behavior,
    ) -> Result<(), Error> {
        let known = self.0.iter().position(|known| known.grantee == item.grantee && known.grantor == item.grantor);
        let Some(at) = known else { return Ok(()) };
        let known = &mut self.0[at];
        let lost = known.options & item.options;
        known.privileges = known.privileges & !item.privileges;
        known.options = known.options & !item.options;
        if known.privileges.is_empty() && known.options.is_empty() {
            self.0.remove(at);
        }
        if lost.is_empty() { Ok(()) } else { self.remove_dependent(roles, item.grantee, lost, owner, behavior) }
    }

    /// Takes away what a role has granted that has lost the option to.
    fn remove_dependent(
        &mut self,
        roles: &Roles,
        grantor: RoleId,
        lost: Privileges,
        owner: RoleId,
        behavior: Behavior,
    ) -> Result<(), Error> {
        if grantor == owner {
            return Ok(());
        }
        let lost = lost & !self.grantable(roles, grantor, owner, lost);
        if lost.is_empty() {
            return Ok(());
        }
        let depends = |item: &AclItem| item.grantor == grantor && !(item.privileges & lost).is_empty();
        while let Some(dependent) = self.0.iter().find(|item| depends(item)).copied() {
            if behavior == Behavior::Restrict {
                return Err(Error::new(
                    ErrorKind::Dependent,
                    "dependent privileges exist; use CASCADE to revoke them too",
                ));
            }
            self.remove(roles, AclItem { privileges: lost, options: lost, ..dependent }, owner, behavior)?;
        }
        Ok(())
    }

    /// Refuses a grant of grant options to somebody on whose options the grantor's hang.
    fn check_circle(&self, roles: &Roles, item: AclItem, owner: RoleId) -> Result<(), Error> {
        if item.grantor == owner {
            return Ok(());
        }
        let mut without = self.clone();
        let is_its = |known: &AclItem| known.grantee == item.grantee && !known.options.is_empty();
        while let Some(known) = without.0.iter().find(|known| is_its(known)).copied() {
            without.remove(roles, known, owner, Behavior::Cascade)?;
        }
        if without.grantable(roles, item.grantor, owner, item.options) == item.options {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Coded("0LP01"), "grant options cannot be granted back to your own grantor"))
    }

    /// The same list once the object belongs to somebody else.
    pub(crate) fn with_owner(&self, old: RoleId, new: RoleId) -> Self {
        let renamed = |role: RoleId| if role == old { new } else { role };
        let mut merged: Vec<AclItem> = Vec::with_capacity(self.0.len());
        for item in &self.0 {
            let item = AclItem { grantee: renamed(item.grantee), grantor: renamed(item.grantor), ..*item };
            match merged.iter_mut().find(|known| known.grantee == item.grantee && known.grantor == item.grantor) {
                Some(known) => {
                    known.privileges |= item.privileges;
                    known.options |= item.options;
                }
                None => merged.push(item),
            }
        }
        Self(merged)
    }

    /// Whether it names a role.
    pub(crate) fn names(&self, role: RoleId) -> bool {
        self.0.iter().any(|item| item.grantee == role || item.grantor == role)
    }

    /// The list as PostgreSQL shows it: an item such as `a=arw*/b` for each.
    pub(crate) fn shown(&self, roles: &Roles) -> Vec<String> {
        let name = |role: RoleId| {
            let name = roles.name(role);
            let is_plain = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
            if is_plain { name } else { format!("\"{}\"", name.replace('"', "\"\"")) }
        };
        let item = |item: &AclItem| {
            let mut text = if item.grantee == RoleId::PUBLIC { String::new() } else { name(item.grantee) };
            text.push('=');
            for (privilege, letter, _) in NAMED {
                if item.privileges.has(privilege) {
                    text.push(letter);
                    if item.options.has(privilege) {
                        text.push('*');
                    }
                }
            }
            let _ = write!(text, "/{}", name(item.grantor));
            text
        };
        self.0.iter().map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::roles::RoleDefinition;

    fn roles() -> (Roles, [RoleId; 4]) {
        let mut roles = Roles::default();
        let ids = ["o", "a", "b", "c"].map(|name| roles.add(RoleDefinition::new(name)));
        (roles, ids)
    }

    fn item(grantor: RoleId, grantee: RoleId, privileges: Privileges, options: Privileges) -> AclItem {
        AclItem { grantee, grantor, privileges, options }
    }

    #[test]
    fn what_hangs_on_a_grant_option_goes_with_it() {
        let (roles, [owner, a, b, c]) = roles();
        let select = Privileges::SELECT;
        let mut acl = Acl::default();
        acl.add(&roles, item(owner, a, select, select), owner).unwrap();
        acl.add(&roles, item(a, b, select, select), owner).unwrap();
        acl.add(&roles, item(b, c, select, Privileges::NONE), owner).unwrap();
        assert_eq!(acl.shown(&roles), ["a=r*/o", "b=r*/a", "c=r/b"]);
        assert!(acl.add(&roles, item(b, a, select, select), owner).is_err());
        let whole = item(owner, a, select, select);
        assert!(acl.clone().remove(&roles, whole, owner, Behavior::Restrict).is_err());
        acl.remove(&roles, whole, owner, Behavior::Cascade).unwrap();
        assert_eq!(acl, Acl::default());
    }

    #[test]
    fn a_list_follows_its_object_to_another_owner() {
        let (roles, [owner, a, b, _]) = roles();
        let (select, insert) = (Privileges::SELECT, Privileges::INSERT);
        let mut acl = Acl(vec![item(owner, owner, select | insert, Privileges::NONE)]);
        acl.add(&roles, item(owner, a, select, Privileges::NONE), owner).unwrap();
        acl.add(&roles, item(owner, b, insert, insert), owner).unwrap();
        assert_eq!(acl.with_owner(owner, a).shown(&roles), ["a=ar/a", "b=a*/a"]);
    }
}
