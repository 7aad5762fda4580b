//! What a database has beside tables, views and sequences: schemas, types that users made, and what people have said of its objects (COMMENT ON).
//!
//! Not here: which schemas a session looks through (`search_path`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Catalog, Change, Entry, UserType};
use crate::error::TEMPORARY;
use crate::sql::names::{self, SCHEMA};

/// The schemas that there always are and that hold no tables of users.
pub(crate) const SYSTEM_SCHEMAS: [&str; 2] = ["information_schema", "pg_catalog"];

/// Whether what has this name is temporary.
pub(crate) fn is_temporary(name: &str) -> bool {
    names::parts(name).0.starts_with(TEMPORARY)
}

/// Schemas and comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definitions {
    /// All but `public`, those of the system, and those of temporary tables.
    pub(crate) schemas: BTreeSet<String>,
    /// Whether `public` was dropped.
    pub(crate) lacks_public: bool,
    /// Types that users made.
    pub(crate) types: BTreeMap<String, Arc<UserType>>,
    pub(crate) comments: BTreeMap<Commented, String>,
}

/// What a comment is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Commented {
    Database,
    Schema(String),
    /// A table, view or sequence.
    Relation(String),
    /// An index, by the table that it is of.
    Index(String, String),
    /// A column of a table or view.
    Column(String, String),
    /// A constraint of a table.
    Constraint(String, String),
    Type(String),
}

impl Definitions {
    /// Whether there is such a schema, where those of the system count.
    pub(crate) fn has_schema(&self, name: &str) -> bool {
        self.schemas.contains(name) || name == SCHEMA && !self.lacks_public || SYSTEM_SCHEMAS.contains(&name)
    }
}

impl Commented {
    /// The table or view that it is part of.
    fn relation(&self) -> Option<&str> {
        match self {
            Self::Relation(name) | Self::Index(name, _) | Self::Column(name, _) | Self::Constraint(name, _) => {
                Some(name)
            }
            Self::Database | Self::Schema(_) | Self::Type(_) => None,
        }
    }

    /// The same about what is called `to` now.
    fn renamed(self, to: &str) -> Self {
        let to = to.to_owned();
        match self {
            Self::Relation(_) => Self::Relation(to),
            Self::Index(_, name) => Self::Index(to, name),
            Self::Column(_, name) => Self::Column(to, name),
            Self::Constraint(_, name) => Self::Constraint(to, name),
            other => other,
        }
    }
}

impl Change {
    /// Lets the comments on a table, view or sequence and its parts follow it to another name.
    pub(crate) fn move_comments(&mut self, from: &str, to: &str) {
        self.map_comments(|on| if on.relation() == Some(from) { on.renamed(to) } else { on });
    }

    /// Gives what comments are about to a closure, which may say that it is called otherwise now.
    pub(crate) fn map_comments(&mut self, map: impl Fn(Commented) -> Commented) {
        let comments = std::mem::take(&mut self.definitions.comments);
        self.definitions.comments = comments.into_iter().map(|(on, text)| (map(on), text)).collect();
    }

    /// Forgets comments on what is not there any more.
    pub(super) fn drop_lost_comments(&mut self) {
        let mut comments = std::mem::take(&mut self.definitions.comments);
        comments.retain(|on, _| self.has(on));
        self.definitions.comments = comments;
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

    /// The comment on something.
    pub(crate) fn comment(&self, on: &Commented) -> Option<String> {
        self.definitions(|definitions| definitions.comments.get(on).cloned())
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
