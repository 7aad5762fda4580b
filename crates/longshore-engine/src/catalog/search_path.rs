//! Which schemas a session looks through for a name that says none, and in which one it makes what says none.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::definitions::SYSTEM_SCHEMAS;
use super::{Catalog, Commented, Entry, ObjectClass, Privileges, RoleId};
use crate::error::TEMPORARY;
use crate::sql::names::{self, SCHEMA, USER};
use crate::{Error, ErrorKind};

/// The number of the next session that has temporary tables.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(1);

/// The schemas of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchPath {
    /// As `search_path` says, those that do not exist included.
    pub(crate) said: Vec<String>,
    /// The schema of its temporary tables.
    pub(crate) temporary: Arc<str>,
    /// The role that the session acts as, which `$user` stands for.
    pub(crate) user: Arc<str>,
    /// The same if it may not look into every schema.
    pub(crate) role: Option<RoleId>,
}

impl Default for SearchPath {
    /// That of a new session.
    fn default() -> Self {
        let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = format!("{TEMPORARY}{number}").into();
        Self { said: Self::default_schemas(), temporary, user: USER.into(), role: None }
    }
}

impl SearchPath {
    /// What `search_path` is at first.
    pub(crate) fn default_schemas() -> Vec<String> {
        vec!["$user".to_owned(), SCHEMA.to_owned()]
    }

    /// Whether a name that says no schema can mean nothing but what `public` holds.
    pub(crate) fn is_plain(&self, catalog: &Catalog) -> bool {
        catalog.has_one_schema() && !catalog.has_types() && self.is_public(catalog)
    }

    /// Whether a name that says no schema means what `public` holds, whatever else there is.
    pub(crate) fn is_public(&self, catalog: &Catalog) -> bool {
        self.said == Self::default_schemas()
            && catalog
                .definitions(|definitions| !definitions.lacks_public && !definitions.schemas.contains(&*self.user))
            && !self.has_temporary(catalog)
            && self.may_look_into(catalog, SCHEMA)
    }

    /// Whether the session has temporary tables, views or sequences.
    pub(crate) fn has_temporary(&self, catalog: &Catalog) -> bool {
        catalog.has_names_from(&names::in_schema(&self.temporary, ""))
    }

    /// Whether the session finds what a schema holds.
    fn may_look_into(&self, catalog: &Catalog, schema: &str) -> bool {
        let Some(role) = self.role else { return true };
        let on = Commented::Schema(schema.to_owned());
        catalog.definitions(|definitions| definitions.may(role, &on, ObjectClass::Schema, Privileges::USAGE))
    }

    /// The schemas that are there, in the order of the path. That of temporary tables comes first, unless it is named.
    pub(crate) fn schemas(&self, catalog: &Catalog, with_implicit: bool) -> Vec<String> {
        let own = |schema: &String| match schema.as_str() {
            "pg_temp" => self.temporary.to_string(),
            "$user" => self.user.to_string(),
            _ => schema.clone(),
        };
        let mut schemas: Vec<String> = Vec::new();
        let is_named = self.said.iter().any(|schema| schema == "pg_temp");
        if with_implicit && !is_named && self.has_temporary(catalog) {
            schemas.push(self.temporary.to_string());
        }
        if with_implicit && !self.said.iter().any(|schema| schema == SYSTEM_SCHEMAS[1]) {
            schemas.push(SYSTEM_SCHEMAS[1].to_owned());
        }
        for schema in self.said.iter().map(own) {
            let is_there = catalog.has_schema(&schema) && (schema != *self.temporary || self.has_temporary(catalog));
            if is_there && !schemas.contains(&schema) && self.may_look_into(catalog, &schema) {
                schemas.push(schema);
            }
        }
        schemas
    }

    /// What a name that says no schema stands for: the first of its schemas in which `has` finds it.
    pub(crate) fn find(&self, catalog: &Catalog, name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
        self.schemas(catalog, true).into_iter().map(|schema| names::in_schema(&schema, name)).find(|name| has(name))
    }

    /// The schema in which something is made that says none.
    pub(crate) fn creation(&self, catalog: &Catalog) -> Result<String, Error> {
        let own = self.said.first().is_some_and(|schema| schema == "pg_temp");
        if own {
            return Ok(self.temporary.to_string());
        }
        let said = self.said.iter().filter(|schema| *schema != "pg_temp");
        let mut said = said.map(|schema| if schema == "$user" { &*self.user } else { schema.as_str() });
        said.find(|schema| catalog.has_schema(schema) && self.may_look_into(catalog, schema))
            .map(str::to_owned)
            .ok_or_else(|| Error::new(ErrorKind::NoSchema, "no schema has been selected to create in"))
    }

    /// Whether a session with this path sees what has this name: what is temporary only if it is its own.
    pub(crate) fn may_see(&self, name: &str) -> bool {
        let (schema, _) = names::parts(name);
        !schema.starts_with(TEMPORARY) || schema == &*self.temporary
    }
}

impl Catalog {
    /// Whether a table, view or sequence has this name, or a table of its schema has an index of it.
    pub(crate) fn has_object(&self, name: &str) -> bool {
        self.get(name).is_some() || self.sequence(name).is_some()
    }

    /// Whether a table, view or sequence has a name that begins so.
    fn has_names_from(&self, first: &str) -> bool {
        let begins = |name: Option<&String>| name.is_some_and(|name| name.starts_with(first));
        let from = (Bound::Included(first), Bound::Unbounded);
        self.read(|entries| begins(entries.range::<str, _>(from).next().map(|(name, _)| name)))
            || begins(
                self.read_sequences(|sequences| sequences.range::<str, _>(from).next().map(|(name, _)| name.clone()))
                    .as_ref(),
            )
    }

    /// The table in whose schema there is an index of this name.
    pub(crate) fn owner_of_index(&self, index: &str) -> Option<Arc<super::Table>> {
        let (schema, own) = names::parts(index);
        self.entries().into_iter().find_map(|entry| match entry {
            Entry::Table(table) => {
                let is_its =
                    names::parts(&table.name).0 == schema && table.rules().keys.iter().any(|key| key.name == own);
                is_its.then_some(table)
            }
            Entry::View(_) => None,
        })
    }
}
