//! Which schemas a session looks through for a name that says none, and in which one it makes what says none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::definitions::{SYSTEM_SCHEMAS, TEMPORARY};
use super::{Catalog, Entry};
use crate::sql::names::{self, SCHEMA};
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
}

impl Default for SearchPath {
    /// That of a new session.
    fn default() -> Self {
        let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
        Self { said: Self::default_schemas(), temporary: format!("{TEMPORARY}{number}").into() }
    }
}

impl SearchPath {
    /// What `search_path` is at first.
    pub(crate) fn default_schemas() -> Vec<String> {
        vec!["$user".to_owned(), SCHEMA.to_owned()]
    }

    /// Whether a name that says no schema can mean nothing but what `public` holds.
    pub(crate) fn is_plain(&self, catalog: &Catalog) -> bool {
        self.said == Self::default_schemas() && catalog.has_one_schema() && !self.has_temporary(catalog)
    }

    /// Whether the session has temporary tables, views or sequences.
    pub(crate) fn has_temporary(&self, catalog: &Catalog) -> bool {
        let first = names::in_schema(&self.temporary, "");
        catalog.read(|entries| entries.range(first.clone()..).next().is_some_and(|(name, _)| name.starts_with(&first)))
            || catalog.sequences().iter().any(|sequence| sequence.name.starts_with(&first))
    }

    /// The schemas that are there, in the order of the path. That of temporary tables comes first, unless it is named.
    pub(crate) fn schemas(&self, catalog: &Catalog, with_implicit: bool) -> Vec<String> {
        let own = |schema: &String| if schema == "pg_temp" { self.temporary.to_string() } else { schema.clone() };
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
            if is_there && !schemas.contains(&schema) {
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
        let mut said = self.said.iter().filter(|schema| *schema != "pg_temp");
        said.find(|schema| catalog.has_schema(schema))
            .cloned()
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
