//! Windows that are named: `OVER w`, `OVER (w ORDER BY k)`, `WINDOW w2 AS (w1 ORDER BY k)`.
//!
//! The planner knows the first of these in the select list only, and drops the name in the others. So every window is
//! written out where it is used, by PostgreSQL's rules: who takes a window over may add an order and a frame to it, but
//! takes its parts as they are.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, Function, Ident, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Query, Select, SetExpr,
    Statement, VisitorMut, WindowSpec, WindowType,
};

use crate::sql::expressions::{each_own, flow};
use crate::sql::names;
use crate::sql::visit::VisitMut;
use crate::{Error, ErrorKind};

/// Writes out the windows of all queries in `statement`.
pub(crate) fn written_out(statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Queries) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Queries;

impl VisitorMut for Queries {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let Query { body, order_by, .. } = query;
        let SetExpr::Select(select) = body.as_mut() else { return ControlFlow::Continue(()) };
        let keys = order_by.as_mut().map(|order_by| &mut order_by.kind);
        let written = match keys {
            Some(OrderByKind::Expressions(keys)) => Windows::of(select).and_then(|windows| windows.write_out(keys)),
            _ => Ok(()),
        };
        flow(written)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        let written = Windows::of(select).and_then(|windows| {
            windows.write_out(&mut select.projection)?;
            windows.write_out(&mut select.qualify)?;
            match &mut select.distinct {
                Some(Distinct::On(exprs)) => windows.write_out(exprs),
                _ => Ok(()),
            }
        });
        flow(written)
    }
}

/// The windows that one SELECT names, each written out.
struct Windows {
    named: Vec<(String, WindowSpec)>,
}

impl Windows {
    fn of(select: &Select) -> Result<Self, Error> {
        let mut windows = Self { named: Vec::new() };
        for NamedWindowDefinition(name, definition) in &select.named_window {
            let spec = match definition {
                NamedWindowExpr::NamedWindow(base) => windows.get(base)?.clone(),
                NamedWindowExpr::WindowSpec(spec) => windows.resolved(spec)?,
            };
            let name = names::identifier(name)?;
            if windows.named.iter().any(|(other, _)| *other == name) {
                return Err(Error::new(ErrorKind::Syntax, format!("window \"{name}\" is already defined")));
            }
            windows.named.push((name, spec));
        }
        Ok(windows)
    }

    /// Writes out the windows of `node`, but not of queries within it, which do not know these.
    fn write_out(&self, node: &mut impl VisitMut) -> Result<(), Error> {
        each_own(node, |expr| {
            let Expr::Function(Function { over: Some(over), .. }) = expr else { return Ok(()) };
            let spec = match over {
                WindowType::NamedWindow(name) => self.get(name)?.clone(),
                WindowType::WindowSpec(spec) if spec.window_name.is_some() => self.resolved(spec)?,
                WindowType::WindowSpec(_) => return Ok(()),
            };
            *over = WindowType::WindowSpec(spec);
            Ok(())
        })
    }

    fn get(&self, name: &Ident) -> Result<&WindowSpec, Error> {
        let name = names::identifier(name)?;
        let found = self.named.iter().find(|(other, _)| *other == name);
        found.map(|(_, spec)| spec).ok_or_else(|| Error::no_object(format!("window \"{name}\" does not exist")))
    }

    /// `spec` with what it takes over.
    fn resolved(&self, spec: &WindowSpec) -> Result<WindowSpec, Error> {
        let Some(base) = &spec.window_name else { return Ok(spec.clone()) };
        let taken = self.get(base)?;
        let overridden =
            |clause| Error::syntax(format!("cannot override {clause} clause of window \"{}\"", base.value));
        if !spec.partition_by.is_empty() {
            return Err(overridden("PARTITION BY"));
        }
        if !spec.order_by.is_empty() && !taken.order_by.is_empty() {
            return Err(overridden("ORDER BY"));
        }
        if taken.window_frame.is_some() {
            return Err(Error::syntax(format!(
                "cannot copy window \"{}\" because it has a frame clause; write OVER {base} without parentheses, or the \
                 window in full",
                base.value
            )));
        }
        let order_by = if spec.order_by.is_empty() { &taken.order_by } else { &spec.order_by };
        Ok(WindowSpec {
            window_name: None,
            partition_by: taken.partition_by.clone(),
            order_by: order_by.clone(),
            window_frame: spec.window_frame.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    fn shown(sql: &str) -> Result<String, String> {
        let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
        match written_out(&mut statement) {
            Ok(()) => Ok(statement.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn windows_are_written_out_where_they_are_used() {
        let with = " FROM t WINDOW w AS (PARTITION BY g), W2 AS (w ORDER BY k)";
        for (sql, expected) in [
            ("SELECT sum(k) OVER w", "SELECT sum(k) OVER (PARTITION BY g)"),
            ("SELECT sum(k) OVER (w)", "SELECT sum(k) OVER (PARTITION BY g)"),
            ("SELECT sum(k) OVER (W ORDER BY v)", "SELECT sum(k) OVER (PARTITION BY g ORDER BY v)"),
            ("SELECT 1 + sum(k) OVER w2", "SELECT 1 + sum(k) OVER (PARTITION BY g ORDER BY k)"),
            (
                "SELECT sum(k) OVER (w2 ROWS 1 PRECEDING)",
                "SELECT sum(k) OVER (PARTITION BY g ORDER BY k ROWS 1 PRECEDING)",
            ),
        ] {
            let found = shown(&format!("{sql}{with} ORDER BY rank() OVER w2"));
            let found = found.unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(found.starts_with(&format!("{expected} FROM t")), "{found}");
            assert!(found.ends_with(" ORDER BY rank() OVER (PARTITION BY g ORDER BY k)"), "{found}");
        }
    }

    #[test]
    fn what_a_window_has_stays_as_it_is() {
        for (sql, error) in [
            ("SELECT sum(k) OVER (w PARTITION BY k) FROM t WINDOW w AS ()", "override PARTITION BY clause"),
            ("SELECT sum(k) OVER (w ORDER BY k) FROM t WINDOW w AS (ORDER BY g)", "override ORDER BY clause"),
            ("SELECT sum(k) OVER (w) FROM t WINDOW w AS (ROWS 1 PRECEDING)", "because it has a frame clause"),
            ("SELECT sum(k) OVER v FROM t WINDOW w AS ()", "window \"v\" does not exist"),
            ("SELECT (SELECT sum(k) OVER w FROM u) FROM t WINDOW w AS ()", "window \"w\" does not exist"),
            ("SELECT 1 FROM t WINDOW w AS (), w AS ()", "is already defined"),
            ("SELECT 1 FROM t WINDOW w AS (v), v AS ()", "window \"v\" does not exist"),
        ] {
            assert!(shown(sql).is_err_and(|found| found.contains(error)), "{sql}");
        }
    }
}
