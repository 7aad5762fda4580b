//! The keys and indexes of a table.
//!
//! Not here: how statements make them (`statement::create`), how they find rows (`longshore-storage`).

use longshore_storage::{Column, IndexKind, Uniqueness};
use sqlparser::ast::Expr;

use crate::sql::names;

/// A PRIMARY KEY or UNIQUE constraint, or an index that is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The constraint's or the index's.
    pub(crate) name: String,
    /// Those that the index of the relation is about; of none, there is no such index. Of a unique index over expressions
    /// or with WHERE, some are hidden columns: one for each part that is no column, and one behind all parts that says of
    /// which rows the index is.
    pub(crate) columns: Vec<usize>,
    pub(crate) index: IndexKind,
    pub(crate) role: Role,
    /// Whether a value that is NULL equals another one: NULLS NOT DISTINCT.
    pub(crate) nulls_are_equal: bool,
    /// What else was said of an index that is more than a list of columns.
    pub(crate) definition: Option<Box<IndexDefinition>>,
}

/// An index over expressions, over some of the rows, or with further columns, as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexDefinition {
    /// Columns and expressions.
    pub(crate) parts: Vec<Expr>,
    /// Which rows it is about; `None` for all.
    pub(crate) predicate: Option<Expr>,
    /// INCLUDE.
    pub(crate) include: Vec<Expr>,
}

impl IndexDefinition {
    /// Whether it is about all rows, and about columns alone.
    pub(crate) fn is_of_columns(&self) -> bool {
        self.predicate.is_none() && self.parts.iter().all(|part| matches!(part, Expr::Identifier(_)))
    }

    /// All expressions in it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts.iter().chain(&self.predicate).chain(&self.include)
    }

    /// The same, to be changed.
    pub(crate) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.parts.iter_mut().chain(&mut self.predicate).chain(&mut self.include)
    }
}

impl Key {
    /// A key of columns.
    pub(crate) fn of_columns(name: String, columns: Vec<usize>, index: IndexKind, role: Role) -> Self {
        Self { name, columns, index, role, nulls_are_equal: false, definition: None }
    }

    /// How many rows may have the same values.
    pub(crate) fn uniqueness(&self) -> Uniqueness {
        match (self.role.is_unique(), self.nulls_are_equal) {
            (false, _) => Uniqueness::Multiple,
            (true, false) => Uniqueness::Unique,
            (true, true) => Uniqueness::UniqueNulls,
        }
    }

    /// Its definition, if the table needs hidden columns for it.
    pub(crate) fn hides(&self) -> Option<&IndexDefinition> {
        self.definition.as_deref().filter(|definition| self.role.is_unique() && !definition.is_of_columns())
    }

    /// The key with its name, role, kind and columns, for instance `t_pkey PRIMARY KEY, art (a, b)`.
    pub(crate) fn described(&self, columns: &[Column]) -> String {
        let role = match self.role {
            Role::Primary => "PRIMARY KEY, ",
            Role::Unique => "UNIQUE CONSTRAINT, ",
            Role::UniqueIndex => "UNIQUE, ",
            Role::Index => "",
        };
        format!("{} {role}{} {}", names::quoted(&self.name), kind_name(self.index), self.parts(columns))
    }

    /// What it is about, as a constraint says it or CREATE INDEX does: `NULLS NOT DISTINCT (a)` or `(a, lower(b)) INCLUDE (c)
    /// NULLS NOT DISTINCT WHERE a > 0`.
    pub(crate) fn parts(&self, columns: &[Column]) -> String {
        let nulls = if self.nulls_are_equal { "NULLS NOT DISTINCT" } else { "" };
        let Some(definition) = &self.definition else {
            let names: Vec<String> = self.columns.iter().map(|column| names::quoted(&columns[*column].name)).collect();
            let list = format!("({})", names.join(", "));
            return match self.role {
                _ if nulls.is_empty() => list,
                Role::Unique => format!("{nulls} {list}"),
                _ => format!("{list} {nulls}"),
            };
        };
        let part = |expr: &Expr| match expr {
            Expr::Identifier(_) | Expr::Function(_) => expr.to_string(),
            other => format!("({other})"),
        };
        let list = |exprs: &[Expr]| exprs.iter().map(part).collect::<Vec<_>>().join(", ");
        let mut text = format!("({})", list(&definition.parts));
        if !definition.include.is_empty() {
            text = format!("{text} INCLUDE ({})", list(&definition.include));
        }
        if !nulls.is_empty() {
            text = format!("{text} {nulls}");
        }
        match &definition.predicate {
            Some(predicate) => format!("{text} WHERE {predicate}"),
            None => text,
        }
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
