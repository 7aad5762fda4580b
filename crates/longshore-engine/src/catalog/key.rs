//! The keys and indexes of a table.
//!
//! Not here: how statements make them (`statement::create`), how they find rows (`longshore-storage`).

use longshore_storage::{Column, IndexKind};

use crate::sql::names;

/// A PRIMARY KEY or UNIQUE constraint, or an index that is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The constraint's or the index's.
    pub(crate) name: String,
    pub(crate) columns: Vec<usize>,
    pub(crate) index: IndexKind,
    pub(crate) role: Role,
}

impl Key {
    /// The key with its name, role, kind and columns, for instance `t_pkey PRIMARY KEY, art (a, b)`.
    pub(crate) fn described(&self, columns: &[Column]) -> String {
        let role = match self.role {
            Role::Primary => "PRIMARY KEY, ",
            Role::Unique => "UNIQUE CONSTRAINT, ",
            Role::UniqueIndex => "UNIQUE, ",
            Role::Index => "",
        };
        let names: Vec<String> = self.columns.iter().map(|column| names::quoted(&columns[*column].name)).collect();
        format!("{} {role}{} ({})", names::quoted(&self.name), kind_name(self.index), names.join(", "))
    }
}

/// How SQL spells the kind of an index.
pub(crate) fn kind_name(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Art => "art",
        IndexKind::Hash => "hash",
    }
}

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Primary,
    Unique,
    /// Made by CREATE UNIQUE INDEX.
    UniqueIndex,
    /// Made by CREATE INDEX.
    Index,
}

impl Role {
    pub(crate) fn is_unique(self) -> bool {
        self != Role::Index
    }
}
