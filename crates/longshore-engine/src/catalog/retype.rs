//! How a type that a user made becomes another one, and the columns of it follow.
//!
//! A label that a transaction block adds to an enumeration from before it is kept back until the block commits, as in
//! PostgreSQL: statements of the block see it in the system tables, and may give it another name, but no value is one.

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::ColumnType;
use sqlparser::ast::Expr;

use super::{Catalog, Change, Check, Commented, Entry, Origin, Table, UserType};
use crate::Error;
use crate::sql::{build, enum_types, names};

impl Catalog {
    /// The tables with columns of a type, and these columns.
    pub(crate) fn users_of_type(&self, name: &str) -> Vec<(Arc<Table>, Vec<usize>)> {
        self.read(|entries| users(entries, name))
    }

    /// The labels of an enumeration, with those that are kept back, if any are.
    pub(crate) fn labels_with_new(&self, name: &str) -> Option<Vec<String>> {
        self.definitions(|definitions| definitions.new_labels.get(name).cloned())
    }

    /// Lets labels be used that the transaction block has kept back which has the catalog to itself.
    pub(super) fn admit_labels(&self) -> Result<(), Error> {
        if self.definitions(|definitions| definitions.new_labels.is_empty()) {
            return Ok(());
        }
        self.change(|change| {
            for (name, labels) in std::mem::take(&mut change.definitions.new_labels) {
                change.set_type(&name, &name, UserType::Enum(labels));
            }
            Ok(())
        })
    }
}

fn users(entries: &BTreeMap<String, Entry>, name: &str) -> Vec<(Arc<Table>, Vec<usize>)> {
    let tables = entries.values().filter_map(Entry::table);
    let users = tables.map(|table| {
        let columns = table.rules().columns_of_type(name);
        (table, columns)
    });
    users.filter(|(_, columns)| !columns.is_empty()).collect()
}

/// Where a column of a type has its values from if it does not say so.
fn default_of(user_type: &UserType) -> Origin {
    match user_type {
        UserType::Domain(domain) => {
            domain.default.clone().map_or(Origin::Null, |value| Origin::Default(Box::new(value)))
        }
        UserType::Enum(_) => Origin::Null,
    }
}

impl Change {
    /// Lets what was called `from` be this type, called `to`, and the columns of it obey that. Domains over an enumeration know
    /// its labels.
    pub(crate) fn set_type(&mut self, from: &str, to: &str, user_type: UserType) {
        let before = self.definitions.types.get(from).map_or(Origin::Null, |before| default_of(before));
        let default = default_of(&user_type);
        for (table, columns) in users(&self.entries, from) {
            let described = table.relation.schema().columns();
            let rules = self.rules(&table);
            rules.checks.retain(|check| check.user_type().is_none_or(|(of, _)| of != from));
            for column in columns {
                let value = Expr::Identifier(build::quoted(&described[column].name));
                let origin = &mut rules.columns[column].origin;
                // One that a column has of its own stays.
                if before != default
                    && *origin == before
                    && !matches!(described[column].column_type, ColumnType::Array(..))
                {
                    origin.clone_from(&default);
                }
                for (name, condition) in user_type.column_checks(to, &value, described[column].column_type) {
                    rules.add_check(Check { name, condition, columns: vec![column], is_valid: true });
                }
            }
        }
        let user_type = Arc::new(user_type);
        let types = &mut self.definitions.types;
        types.remove(from);
        types.insert(to.to_owned(), Arc::clone(&user_type));
        if from != to {
            self.map_comments(|on| match on {
                Commented::Type(name) if name == from => Commented::Type(to.to_owned()),
                other => other,
            });
            if let Some(labels) = self.definitions.new_labels.remove(from) {
                self.definitions.new_labels.insert(to.to_owned(), labels);
            }
        }
        let UserType::Enum(labels) = user_type.as_ref() else { return };
        let shown = names::shown_name(from);
        let over: Vec<(String, UserType)> = self
            .definitions
            .types
            .iter()
            .filter_map(|(name, of)| match of.as_ref() {
                UserType::Domain(domain) if enum_types::labels(&domain.base).is_some_and(|(of, _)| of == shown) => {
                    let mut domain = domain.clone();
                    domain.base = enum_types::with_labels(build::written(to), &names::shown_name(to), labels);
                    Some((name.clone(), UserType::Domain(domain)))
                }
                _ => None,
            })
            .collect();
        for (name, domain) in over {
            self.set_type(&name, &name, domain);
        }
    }
}
