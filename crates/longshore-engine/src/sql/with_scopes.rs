//! Which names the WITHs around a place of a statement have defined there, for whoever visits its tree.
//!
//! A name defined by WITH hides a table of the same name, from the definition on (in a recursive WITH, also in the
//! definition). sqlparser visits a query's WITH before its body, so counting the definitions that have ended tells
//! which names are in scope.

use sqlparser::ast::{ObjectName, ObjectNamePart, Query};

use crate::sql::names;

/// The WITHs of the queries around a place, outermost first.
#[derive(Default)]
pub(crate) struct WithScopes(Vec<Scope>);

/// The WITH of one query.
struct Scope {
    defined: Vec<String>,
    /// How many of `defined` are in scope.
    visible: usize,
}

impl WithScopes {
    /// Within a WITH that has defined these names.
    pub(crate) fn within(defined: &[String]) -> Self {
        Self(vec![Scope { defined: defined.to_vec(), visible: defined.len() }])
    }

    /// A query begins.
    pub(crate) fn enter(&mut self, query: &Query) {
        let mut scope = Scope { defined: Vec::new(), visible: 0 };
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|table| names::identifier(&table.alias.name));
            scope.defined = names.map(Result::unwrap_or_default).collect();
            if with.recursive {
                scope.visible = scope.defined.len();
            }
        }
        self.0.push(scope);
    }

    /// A query ends: if it was one of a WITH, what it defines is in scope from now on.
    pub(crate) fn leave(&mut self) {
        self.0.pop();
        if let Some(outer) = self.0.last_mut()
            && outer.visible < outer.defined.len()
        {
            outer.visible += 1;
        }
    }

    /// Whether a relation is one that a WITH has defined.
    pub(crate) fn defines(&self, relation: &ObjectName) -> bool {
        let [ObjectNamePart::Identifier(name)] = relation.0.as_slice() else { return false };
        let Ok(name) = names::identifier(name) else { return false };
        self.0.iter().any(|scope| scope.defined[..scope.visible].contains(&name))
    }
}
