//! What a catalog and a change of it know of schemas, types and comments. Not here: what these are (`definitions`).

use std::sync::Arc;

use super::{Catalog, Change, Commented, Definitions, Entry, UserType};
use crate::error::TEMPORARY;

impl Change {
    /// Lets the comments and privileges on a table, view or sequence and its parts follow it to another name.
    pub(crate) fn move_comments(&mut self, from: &str, to: &str) {
        self.map_comments(|on| if on.relation() == Some(from) { on.renamed(to) } else { on });
    }

    /// Gives what comments and privileges are about to a closure, which may say that it is called otherwise now.
    pub(crate) fn map_comments(&mut self, map: impl Fn(Commented) -> Commented) {
        let comments = std::mem::take(&mut self.definitions.comments);
        self.definitions.comments = comments.into_iter().map(|(on, text)| (map(on), text)).collect();
        let access = std::mem::take(&mut self.definitions.access);
        self.definitions.access = access.into_iter().map(|(on, access)| (map(on), access)).collect();
    }

    /// Forgets comments and privileges on what is not there any more.
    pub(super) fn drop_lost_comments(&mut self) {
        let mut comments = std::mem::take(&mut self.definitions.comments);
        comments.retain(|on, _| self.has(on));
        self.definitions.comments = comments;
        let mut access = std::mem::take(&mut self.definitions.access);
        access.retain(|on, _| self.has(on));
        self.definitions.access = access;
    }

    fn has(&self, on: &Commented) -> bool {
        let table = |name: &str| match self.entries.get(name) {
            Some(Entry::Table(table)) => Some(table),
            _ => None,
        };
        match on {
            Commented::Database => true,
            Commented::Schema(name) => self.definitions.has_schema(name),
            Commented::Relation(name) => self.entries.contains_key(name) || self.sequences.contains_key(name),
            Commented::Index(of, name) => {
                table(of).is_some_and(|table| self.rules_of(table).keys.iter().any(|key| key.name == *name))
            }
            Commented::Column(of, name) => match self.entries.get(of) {
                Some(Entry::Table(table)) => table.relation.schema().index_of(name).is_some(),
                Some(Entry::View(_)) => true,
                None => false,
            },
            Commented::Constraint(of, name) => table(of).is_some_and(|table| self.rules_of(table).has_constraint(name)),
            Commented::Type(name) => self.definitions.types.contains_key(name),
        }
    }
}

impl Catalog {
    /// Schemas and comments.
    pub(crate) fn definitions<R>(&self, act: impl FnOnce(&Definitions) -> R) -> R {
        act(&self.definitions.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether there is such a schema, where those of the system and of temporary tables count.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        self.definitions(|definitions| definitions.has_schema(name)) || name.starts_with(TEMPORARY)
    }

    /// Whether it has nothing but the schema `public`, so that a name without a schema can mean one thing only.
    pub(crate) fn has_one_schema(&self) -> bool {
        self.definitions(|definitions| definitions.schemas.is_empty() && !definitions.lacks_public)
    }

    /// Whether users made types.
    pub(crate) fn has_types(&self) -> bool {
        self.definitions(|definitions| !definitions.types.is_empty())
    }

    /// A type that a user made.
    pub(crate) fn user_type(&self, name: &str) -> Option<Arc<UserType>> {
        self.definitions(|definitions| definitions.types.get(name).cloned())
    }
}
