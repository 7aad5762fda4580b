//! Who may do what: owners, privileges and roles put together.
//!
//! Not here: the privileges of an object (`access`, `acl`), who is a member of which role (`roles`), what a statement needs
//! (`statement::rights`).

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

use super::access::{Access, DefaultsFor, DefaultsOf, ObjectClass};
use super::acl::{Acl, AclItem, Privileges};
use super::roles::{RoleId, Roles};
use super::{Catalog, Change, Commented, Definitions, Entry, Origin, SYSTEM_SCHEMAS, Sequence, is_temporary};
use crate::sql::names::{self, SCHEMA};
use crate::{Error, ErrorKind};

impl Definitions {
    /// Who owns something; a column belongs to who owns its table.
    pub(crate) fn owner(&self, of: &Commented) -> RoleId {
        if let Commented::Column(relation, _) | Commented::Index(relation, _) | Commented::Constraint(relation, _) = of
        {
            return self.owner(&Commented::Relation(relation.clone()));
        }
        let said = self.access.get(of).and_then(|access| access.owner);
        said.unwrap_or(match of {
            Commented::Schema(name) if name == SCHEMA => RoleId::DATABASE_OWNER,
            _ => RoleId::SUPERUSER,
        })
    }

    /// The privileges on something.
    pub(crate) fn acl(&self, of: &Commented, class: ObjectClass) -> Cow<'_, Acl> {
        let said = self.access.get(of);
        if let Some(acl) = said.and_then(|access| access.acl.as_ref()) {
            return Cow::Borrowed(acl);
        }
        let owner = self.owner(of);
        let mut acl = class.default_acl(owner);
        if let Commented::Schema(name) = of
            && (name == SCHEMA && said.is_none_or(|access| access.owner.is_none())
                || SYSTEM_SCHEMAS.contains(&name.as_str()))
        {
            let privileges = Privileges::USAGE;
            acl.0.push(AclItem { grantee: RoleId::PUBLIC, grantor: owner, privileges, options: Privileges::NONE });
        }
        Cow::Owned(acl)
    }

    /// What of `wanted` a role may do with something.
    pub(crate) fn granted(&self, role: RoleId, on: &Commented, class: ObjectClass, wanted: Privileges) -> Privileges {
        let roles = &self.roles;
        if roles.is_superuser(role) {
            return wanted;
        }
        if matches!(on, Commented::Schema(name) if is_temporary(&names::in_schema(name, ""))) {
            return wanted;
        }
        let mut found = self.acl(on, class).granted(roles, role, wanted);
        let (read, write) = match class {
            ObjectClass::Table => (Privileges::SELECT, Privileges::INSERT | Privileges::UPDATE | Privileges::DELETE),
            ObjectClass::Sequence => (Privileges::SELECT, Privileges::NONE),
            ObjectClass::Schema => (Privileges::USAGE, Privileges::USAGE),
            _ => return found,
        };
        for (of, privileges) in [(RoleId::READ_ALL_DATA, read), (RoleId::WRITE_ALL_DATA, write)] {
            if !found.has(wanted & privileges) && roles.has_rights_of(role, of) {
                found |= wanted & privileges;
            }
        }
        found
    }

    /// Whether a role may do all of `wanted` with something.
    pub(crate) fn may(&self, role: RoleId, on: &Commented, class: ObjectClass, wanted: Privileges) -> bool {
        self.granted(role, on, class, wanted) == wanted
    }

    /// Whether a role has the rights of who owns something.
    pub(crate) fn owns(&self, role: RoleId, what: &Commented) -> bool {
        self.roles.has_rights_of(role, self.owner(what))
    }

    /// Gives something an owner, and its privileges to that one.
    pub(crate) fn set_owner(&mut self, of: &Commented, owner: RoleId) {
        let old = self.owner(of);
        let access = self.access.entry(of.clone()).or_default();
        access.owner = Some(owner);
        if let Some(acl) = &mut access.acl {
            *acl = acl.with_owner(old, owner);
        }
        let Commented::Relation(name) = of else { return };
        for (on, access) in &mut self.access {
            if matches!(on, Commented::Column(relation, _) if relation == name)
                && let Some(acl) = &mut access.acl
            {
                *acl = acl.with_owner(old, owner);
            }
        }
    }

    /// Changes the privileges on something.
    pub(crate) fn set_acl(&mut self, on: &Commented, acl: Acl) {
        if matches!(on, Commented::Column(..)) && acl.0.is_empty() {
            self.access.remove(on);
        } else {
            self.access.entry(on.clone()).or_default().acl = Some(acl);
        }
    }

    /// The privileges that something new gets by ALTER DEFAULT PRIVILEGES, if these differ from the usual ones.
    fn acl_of_new(&self, creator: RoleId, name: &str, class: ObjectClass) -> Option<Acl> {
        let kind = match class {
            ObjectClass::Table => DefaultsFor::Tables,
            ObjectClass::Sequence => DefaultsFor::Sequences,
            ObjectClass::Schema => DefaultsFor::Schemas,
            ObjectClass::Type => DefaultsFor::Types,
            ObjectClass::Column | ObjectClass::Database => return None,
        };
        let of = |schema: Option<String>| self.defaults.get(&DefaultsOf { creator, schema, kind });
        let schema = (class != ObjectClass::Schema).then(|| names::parts(name).0.to_owned());
        let (everywhere, here) = (of(None), schema.and_then(|schema| of(Some(schema))));
        if everywhere.is_none() && here.is_none() {
            return None;
        }
        let usual = class.default_acl(creator);
        let mut acl = everywhere.cloned().unwrap_or_else(|| usual.clone());
        for item in here.into_iter().flat_map(|here| &here.0) {
            // Nothing is granted back here, so no circle can close.
            let _ = acl.add(&self.roles, *item, creator);
        }
        (acl != usual).then_some(acl)
    }

    /// Changes what new objects grant; `None` for the usual.
    pub(crate) fn set_defaults(&mut self, of: DefaultsOf, acl: Option<Acl>) {
        match acl {
            Some(acl) => drop(self.defaults.insert(of, acl)),
            None => drop(self.defaults.remove(&of)),
        }
    }

    /// Whether something names a role as owner or in its privileges: what, and whether it is the owner.
    pub(crate) fn dependents(&self, role: RoleId) -> Vec<(&Commented, bool)> {
        let mut found = Vec::new();
        for (on, access) in &self.access {
            if access.owner == Some(role) {
                found.push((on, true));
            } else if access.acl.as_ref().is_some_and(|acl| acl.names(role)) {
                found.push((on, false));
            }
        }
        found
    }
}

impl Change {
    /// What this change makes belongs to a role.
    pub(crate) fn created_by(&mut self, creator: RoleId) {
        self.creator = Some(creator);
    }

    /// The roles, to be changed.
    pub(crate) fn roles(&mut self) -> &mut Roles {
        Arc::make_mut(&mut self.definitions.roles)
    }

    /// What messages call the table, view or sequence of a name.
    pub(crate) fn kind_of(&self, name: &str) -> &'static str {
        match self.entries.get(name) {
            Some(entry) => entry.kind(),
            None if self.sequences.contains_key(name) => "sequence",
            None => "relation",
        }
    }

    /// Gives what is new to its creator. Sequences of columns belong to who owns their table.
    pub(super) fn own_new(&mut self, now: &Catalog) {
        let Some(creator) = self.creator else { return };
        let mut new: Vec<(Commented, ObjectClass, RoleId)> = Vec::new();
        let entries = self.entries.keys().filter(|name| now.get(name).is_none());
        new.extend(entries.map(|name| (Commented::Relation(name.clone()), ObjectClass::Table, creator)));
        let known = now.definitions(|known| {
            let schemas: Vec<String> = self.definitions.schemas.difference(&known.schemas).cloned().collect();
            let types = self.definitions.types.keys().filter(|name| !known.types.contains_key(*name));
            (schemas, types.cloned().collect::<Vec<_>>(), known.lacks_public && !self.definitions.lacks_public)
        });
        let (mut schemas, types, makes_public) = known;
        if makes_public {
            schemas.push(SCHEMA.to_owned());
        }
        new.extend(schemas.into_iter().map(|name| (Commented::Schema(name), ObjectClass::Schema, creator)));
        new.extend(types.into_iter().map(|name| (Commented::Type(name), ObjectClass::Type, creator)));
        self.give(new);
        let sequences = self.sequences.iter().filter(|(name, _)| now.sequence(name).is_none());
        let owned = sequences.map(|(name, sequence)| {
            let table = sequence.owner().map(|owner| Commented::Relation(owner.table));
            let owner = table.map_or(creator, |table| self.definitions.owner(&table));
            (Commented::Relation(name.clone()), ObjectClass::Sequence, owner)
        });
        let owned = owned.collect();
        self.give(owned);
    }

    fn give(&mut self, new: Vec<(Commented, ObjectClass, RoleId)>) {
        for (on, class, owner) in new {
            let name = match &on {
                Commented::Relation(name) | Commented::Schema(name) | Commented::Type(name) => name.clone(),
                _ => continue,
            };
            let is_usual = owner == RoleId::SUPERUSER && !matches!(&on, Commented::Schema(name) if name == SCHEMA);
            let access =
                Access { owner: (!is_usual).then_some(owner), acl: self.definitions.acl_of_new(owner, &name, class) };
            if access != Access::default() {
                self.definitions.access.insert(on, access);
            }
        }
    }
}

impl Catalog {
    /// Of which class the table, view or sequence of a name is.
    pub(crate) fn class_of(&self, name: &str) -> Option<ObjectClass> {
        match self.get(name) {
            Some(_) => Some(ObjectClass::Table),
            None => self.sequence(name).map(|_| ObjectClass::Sequence),
        }
    }

    /// What messages call the table, view or sequence of a name.
    pub(crate) fn kind_of(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(Entry::Table(_)) => Some("table"),
            Some(Entry::View(_)) => Some("view"),
            None => self.sequence(name).map(|_| "sequence"),
        }
    }

    /// Refuses a role that has none of some privileges on a table, view or sequence.
    pub(crate) fn permit(&self, role: Option<RoleId>, name: &str, any: Privileges) -> Result<(), Error> {
        let (Some(role), Some(class)) = (role, self.class_of(name)) else { return Ok(()) };
        let on = Commented::Relation(name.to_owned());
        let granted = self.definitions(|definitions| definitions.granted(role, &on, class, any));
        if !granted.is_empty() {
            return Ok(());
        }
        let kind = self.kind_of(name).unwrap_or("relation");
        Err(Error::new(ErrorKind::Privilege, format!("permission denied for {kind} {}", names::own(name))))
    }

    /// Whether a role may take numbers of a sequence by inserting rows: it is that of an identity column of a table that the
    /// role may insert into.
    pub(crate) fn fills_identity(&self, role: Option<RoleId>, sequence: &Sequence) -> bool {
        let (Some(role), Some(owner)) = (role, sequence.owner()) else { return false };
        let Some(table) = self.table(&owner.table) else { return false };
        let is_its =
            |origin: &Origin| matches!(origin, Origin::Identity { sequence: name, .. } if *name == sequence.name);
        let rules = table.rules();
        rules.columns.iter().any(|rule| is_its(&rule.origin))
            && self.definitions(|definitions| {
                let may = |on: &Commented, class| definitions.may(role, on, class, Privileges::INSERT);
                let is_column = |on: &&Commented| matches!(on, Commented::Column(of, _) if *of == table.name);
                may(&Commented::Relation(table.name.clone()), ObjectClass::Table)
                    || definitions.access.keys().filter(is_column).any(|on| may(on, ObjectClass::Column))
            })
    }

    /// Lets the first superuser be called so.
    ///
    /// # Errors
    /// When no role may be called so, or another one is.
    pub(crate) fn name_superuser(&self, name: &str) -> Result<(), Error> {
        if name.is_empty() || name == "public" || name == "none" || name.starts_with("pg_") {
            return Err(Error::new(ErrorKind::ReservedName, format!("role name \"{name}\" is reserved")));
        }
        let mut definitions = self.definitions.write().unwrap_or_else(PoisonError::into_inner);
        let known = definitions.roles.get(RoleId::SUPERUSER);
        if known.is_some_and(|known| known.name == name) {
            return Ok(());
        }
        if definitions.roles.named(name).is_some() {
            return Err(Error::new(
                ErrorKind::DuplicateObject,
                format!("the first superuser cannot be called {name}: another role is"),
            ));
        }
        if let Some(role) = Arc::make_mut(&mut definitions.roles).get_mut(RoleId::SUPERUSER) {
            name.clone_into(&mut role.name);
        }
        Ok(())
    }

    /// All roles.
    pub(crate) fn roles(&self) -> Arc<Roles> {
        self.definitions(|definitions| Arc::clone(&definitions.roles))
    }
}
