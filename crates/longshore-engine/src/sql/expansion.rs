//! How large and how deep the queries of a statement are once definitions in WITH stand where they are read.
//!
//! The planner puts them there, and walks all of them again and again while it does: a statement of thirty lines, each of
//! which reads the one before it twice, would keep it busy for years. So what would grow too much is refused before. Not
//! here: nesting in the text (`depth`), and views, whose plans are looked at (`datafusion::complexity`).

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Statement, TableFactor, Visitor};

use crate::sql::names;
use crate::sql::visit::Visit;
use crate::{Error, ErrorKind};

/// Relations that are read, at most. Those of subqueries in expressions count twice for each level of them, since the
/// planner looks at them twice.
const RELATIONS_MAX: usize = 5000;
/// Levels of queries, at most.
const LEVELS_MAX: usize = 500;

/// Refuses `statement` if its queries are too large or too deep.
///
/// # Errors
/// [`ErrorKind::TooComplex`].
pub(crate) fn check(statement: &Statement) -> Result<(), Error> {
    match statement.visit(&mut Sizer::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(what) => Err(Error::new(
            ErrorKind::TooComplex,
            format!(
                "the statement is too complex: {what} are not supported, where definitions in WITH count as often as they \
                 are read, and subqueries twice for each level of them; put a part of it into a table with CREATE TABLE AS"
            ),
        )),
    }
}

#[derive(Clone, Copy, Default)]
struct Size {
    relations: usize,
    levels: usize,
}

/// A query that the visitor is within.
#[derive(Default)]
struct Scope {
    size: Size,
    /// The names of its definitions in WITH that have not ended yet, the next one last.
    to_come: Vec<String>,
    definitions: HashMap<String, Size>,
    /// Expressions of it that the visitor is within.
    expressions: usize,
}

impl Scope {
    fn add(&mut self, part: Size, times: usize) {
        let relations = part.relations.saturating_mul(times);
        self.size.relations = self.size.relations.saturating_add(relations);
        self.size.levels = self.size.levels.max(part.levels);
    }
}

#[derive(Default)]
struct Sizer {
    scopes: Vec<Scope>,
}

impl Visitor for Sizer {
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = tables.map(|table| names::identifier(&table.alias.name).unwrap_or_default());
        let mut to_come: Vec<String> = names.collect();
        to_come.reverse();
        self.scopes.push(Scope { to_come, ..Scope::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
        let Some(Scope { mut size, .. }) = self.scopes.pop() else { return ControlFlow::Continue(()) };
        size.levels += 1;
        if size.relations > RELATIONS_MAX {
            return ControlFlow::Break(format!("more than {RELATIONS_MAX} relations"));
        }
        if size.levels > LEVELS_MAX {
            return ControlFlow::Break(format!("more than {LEVELS_MAX} levels of queries"));
        }
        let Some(outer) = self.scopes.last_mut() else { return ControlFlow::Continue(()) };
        // Definitions are visited before all else.
        match outer.to_come.pop() {
            Some(name) => _ = outer.definitions.insert(name, size),
            None => outer.add(size, if outer.expressions > 0 { 2 } else { 1 }),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<String> {
        let TableFactor::Table { name, .. } = factor else { return ControlFlow::Continue(()) };
        let defined = names::relation(name).ok();
        let defined = defined.and_then(|name| self.scopes.iter().rev().find_map(|scope| scope.definitions.get(&name)));
        let size = defined.copied().unwrap_or(Size { relations: 1, levels: 0 });
        if let Some(scope) = self.scopes.last_mut() {
            scope.add(size, 1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<String> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.expressions += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<String> {
        if let Some(scope) = self.scopes.last_mut() {
            scope.expressions -= 1;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    /// A chain of definitions, each of which is `step` over the one before it.
    fn chain(step: impl Fn(usize) -> String, length: usize) -> String {
        let mut tables = vec!["c0 AS (SELECT a FROM t)".to_owned()];
        tables.extend((1..length).map(|number| format!("c{number} AS ({})", step(number - 1))));
        format!("WITH {} SELECT a FROM c{}", tables.join(", "), length - 1)
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        let once = |number| format!("SELECT a FROM c{number}");
        let twice = |number| format!("SELECT x.a FROM c{number} AS x JOIN c{number} AS y ON x.a = y.a");
        let within = |number| format!("SELECT a FROM t WHERE a IN (SELECT a FROM c{number})");
        let hidden =
            |number| format!("WITH c{number} AS (SELECT a FROM t) SELECT x.a FROM c{number} AS x, c{number} AS y");
        for (sql, refused) in [
            (chain(once, 499), None),
            (chain(once, 501), Some("more than 500 levels of queries")),
            (chain(twice, 13), None),
            (chain(twice, 14), Some("more than 5000 relations")),
            (chain(twice, 100), Some("more than 5000 relations")),
            (chain(within, 11), None),
            (chain(within, 13), Some("more than 5000 relations")),
            (chain(hidden, 400), None),
        ] {
            let Ok(Parsed::Sql(statement)) = parse(&sql) else { panic!("{sql}") };
            let found = check(&statement).err().map(|error| (error.kind(), error.to_string()));
            let is_due = match (&found, refused) {
                (None, None) => true,
                (Some((kind, text)), Some(refused)) => *kind == ErrorKind::TooComplex && text.contains(refused),
                _ => false,
            };
            assert!(is_due, "{sql}: {found:?}");
        }
    }
}
