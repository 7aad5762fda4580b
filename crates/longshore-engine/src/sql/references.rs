//! Which tables and views a query reads.
//!
//! A name defined by WITH hides a table of the same name, from the definition on (in a recursive WITH, also in the
//! definition). sqlparser visits a query's WITH before its body, so counting the definitions that have ended tells
//! which names are in scope.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, ObjectNamePart, Query, Statement, Visit, Visitor};

use crate::sql::names;

/// Names of the relations that `query` reads, except those that it defines itself. A file in FROM is not a name.
pub(crate) fn relations_read(query: &Query) -> BTreeSet<String> {
    names_read(query).iter().map(|written| names::plain(written)).collect()
}

/// The same names as they are written: with the schema `public`, where that is said.
pub(crate) fn names_read(query: &Query) -> BTreeSet<String> {
    let mut collector = Collector::default();
    let _ = query.visit(&mut collector);
    collector.names
}

/// All names of relations in `statement`, also those that it changes or defines itself.
pub(crate) fn relations_named(statement: &Statement) -> Vec<String> {
    let mut found = Vec::new();
    let _ = sqlparser::ast::visit_relations(statement, |name| {
        found.extend(names::relation(name));
        ControlFlow::<()>::Continue(())
    });
    found
}

#[derive(Default)]
struct Collector {
    names: BTreeSet<String>,
    scopes: Vec<Scope>,
}

/// The WITH of one query.
struct Scope {
    defined: Vec<String>,
    /// How many of `defined` are in scope.
    visible: usize,
}

impl Visitor for Collector {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut scope = Scope { defined: Vec::new(), visible: 0 };
        if let Some(with) = &query.with {
            let names = with.cte_tables.iter().map(|table| names::identifier(&table.alias.name));
            scope.defined = names.map(Result::unwrap_or_default).collect();
            if with.recursive {
                scope.visible = scope.defined.len();
            }
        }
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut()
            && outer.visible < outer.defined.len()
        {
            outer.visible += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let Ok(name) = names::written(relation) else {
            return ControlFlow::Continue(());
        };
        let defined_here = matches!(relation.0.as_slice(), [ObjectNamePart::Identifier(_)])
            && self.scopes.iter().any(|scope| scope.defined[..scope.visible].contains(&name));
        if !defined_here {
            self.names.insert(name);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;

    use super::*;
    use crate::sql::{Parsed, parse};

    fn reads(sql: &str) -> Vec<String> {
        match parse(sql).unwrap() {
            Parsed::Sql(statement) => match *statement {
                Statement::Query(query) => relations_read(&query).into_iter().collect(),
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn finds_relations_everywhere() {
        assert_eq!(
            reads("SELECT (SELECT max(x) FROM A) FROM b JOIN \"C\" USING (x) WHERE y IN (SELECT y FROM public.d)"),
            ["C", "a", "b", "d"]
        );
        assert_eq!(reads("SELECT * FROM t UNION ALL (SELECT * FROM u)"), ["t", "u"]);
        assert_eq!(reads("SELECT * FROM 'file.csv'"), Vec::<String>::new());
    }

    #[test]
    fn with_hides_tables_from_its_definition_on() {
        assert_eq!(reads("WITH t AS (SELECT * FROM u) SELECT * FROM t"), ["u"]);
        assert_eq!(reads("WITH t AS (SELECT * FROM t) SELECT * FROM t"), ["t"]);
        assert_eq!(
            reads("WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT * FROM t"),
            Vec::<String>::new()
        );
        assert_eq!(reads("WITH a AS (SELECT 1), b AS (SELECT * FROM a, c) SELECT * FROM b, d"), ["c", "d"]);
        assert_eq!(reads("SELECT * FROM (WITH t AS (SELECT 1) SELECT * FROM t) x, t"), ["t"]);
        assert_eq!(reads("WITH a AS (SELECT * FROM (SELECT * FROM b) x), b AS (SELECT 1) SELECT * FROM b"), ["b"]);
        assert_eq!(reads("WITH t AS (SELECT 1) SELECT * FROM public.t"), ["t"]);
    }
}
