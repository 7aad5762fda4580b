//! What a database has beside tables, views and sequences: schemas, types that users made, roles, who may do what, and what
//! people have said of its objects (COMMENT ON).
//!
//! Not here: which schemas a session looks through (`search_path`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::access::{Access, DefaultsOf};
use super::acl::Acl;
use super::{Roles, UserType};
use crate::error::TEMPORARY;
use crate::sql::names::{self, SCHEMA};

/// The schemas that there always are and that hold no tables of users.
pub(crate) const SYSTEM_SCHEMAS: [&str; 2] = ["information_schema", "pg_catalog"];

/// Whether what has this name is temporary.
pub(crate) fn is_temporary(name: &str) -> bool {
    names::parts(name).0.starts_with(TEMPORARY)
}

/// Schemas, types, roles, privileges and comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definitions {
    /// All but `public`, those of the system, and those of temporary tables.
    pub(crate) schemas: BTreeSet<String>,
    /// Whether `public` was dropped.
    pub(crate) lacks_public: bool,
    /// Types that users made.
    pub(crate) types: BTreeMap<String, Arc<UserType>>,
    /// All labels of enumerations to which a transaction block has added some that are kept back until it commits (`retype`).
    pub(crate) new_labels: BTreeMap<String, Vec<String>>,
    pub(crate) comments: BTreeMap<Commented, String>,
    pub(crate) roles: Arc<Roles>,
    /// Owners and privileges, where they are not the usual ones.
    pub(crate) access: BTreeMap<Commented, Access>,
    /// What new objects grant, where it is not the usual.
    pub(crate) defaults: BTreeMap<DefaultsOf, Acl>,
}

/// What a comment is about, or privileges are on.
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
    pub(super) fn relation(&self) -> Option<&str> {
        match self {
            Self::Relation(name) | Self::Index(name, _) | Self::Column(name, _) | Self::Constraint(name, _) => {
                Some(name)
            }
            Self::Database | Self::Schema(_) | Self::Type(_) => None,
        }
    }

    /// The same about what is called `to` now.
    pub(super) fn renamed(self, to: &str) -> Self {
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
