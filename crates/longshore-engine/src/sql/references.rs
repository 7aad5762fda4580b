//! Which tables and views a query reads. Not here: what WITH defines (`with_scopes`).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Query, Statement, Visitor};

use crate::sql::names;
use crate::sql::visit::{Visit, visit_relations};
use crate::sql::with_scopes::WithScopes;

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
    let _ = visit_relations(statement, |name| {
        found.extend(names::relation(name));
        ControlFlow::<()>::Continue(())
    });
    found
}

#[derive(Default)]
struct Collector {
    names: BTreeSet<String>,
    scopes: WithScopes,
}

impl Visitor for Collector {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.scopes.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if !self.scopes.defines(relation)
            && let Ok(name) = names::written(relation)
        {
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
