//! The expressions of a query itself, as opposed to those of queries within it, which have names of their own; and all
//! queries of a statement.

use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{Expr, Query, VisitorMut};

/// Gives each expression of `node` to `act`, behind its parts, but none of the queries within.
///
/// # Errors
/// The first of `act`, which ends it.
pub(crate) fn each_own<E>(node: &mut impl VisitMut, act: impl FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
    match node.visit(&mut Own { act, depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Gives each query of `node`, those within others too, to `act`, before its parts.
///
/// # Errors
/// The first of `act`, which ends it.
pub(crate) fn each_query<E>(node: &mut impl VisitMut, act: impl FnMut(&mut Query) -> Result<(), E>) -> Result<(), E> {
    match node.visit(&mut Queries(act)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Queries<F>(F);

impl<E, F: FnMut(&mut Query) -> Result<(), E>> VisitorMut for Queries<F> {
    type Break = E;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<E> {
        flow((self.0)(query))
    }
}

struct Own<F> {
    act: F,
    /// Queries that the visitor is within.
    depth: usize,
}

impl<E, F: FnMut(&mut Expr) -> Result<(), E>> VisitorMut for Own<F> {
    type Break = E;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<E> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<E> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<E> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        flow((self.act)(expr))
    }
}

/// `Continue` for what is well.
pub(crate) fn flow<E>(result: Result<(), E>) -> ControlFlow<E> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}
