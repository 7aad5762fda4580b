//! The shapes of a session's statements: one whose shape came before and needs no planner runs as if it were prepared.
//!
//! Not here: what a shape is (`sql/shape`), running it (`statement/shaped`).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use longshore_load::Control;

use super::Prepared;
use super::point_query::{Done, PointQueryPlan};
use crate::Error;
use crate::catalog::Catalog;
use crate::sql::shape::{Shape, shape};
use crate::transaction::StatementTransaction;

/// Shapes that a session knows, at most; then it forgets all.
const SHAPES_MAX: usize = 512;
/// Rows of an INSERT that are worth to be recognised at once.
const ROWS_MIN: usize = 4;

/// What a session knows of shapes.
#[derive(Default)]
pub(crate) struct Shapes(HashMap<String, Known>);

enum Known {
    /// It came once.
    Once,
    /// It needs the planner, as long as the catalog has this version.
    Planned(u64),
    /// It needs none.
    Prepared(Arc<Prepared>),
}

/// A statement that may need no planner.
pub(crate) struct Shaped<'a> {
    pub(crate) prepared: Arc<Prepared>,
    shape: Shape<'a>,
}

impl Shapes {
    /// What `sql` is, if its shape is known to need no planner, or has many rows.
    pub(crate) fn find<'a>(&mut self, sql: &'a str, catalog: &Catalog) -> Option<Shaped<'a>> {
        let shape = shape(sql)?;
        let version = catalog.version();
        match self.0.get(&shape.text) {
            Some(Known::Prepared(prepared)) => return Some(Shaped { prepared: Arc::clone(prepared), shape }),
            Some(Known::Planned(planned)) if *planned == version => return None,
            None if shape.literals.len() < ROWS_MIN * shape.row.max(1) => {
                self.learn(shape.text, Known::Once);
                return None;
            }
            Some(_) | None => {}
        }
        let prepared = Prepared::parse(&shape.text, catalog).ok();
        let prepared = prepared.filter(|prepared| {
            let parameters = prepared.point_query.as_ref().and_then(|plan| plan.parameters(prepared.parameters));
            parameters.is_some_and(|parameters| parameters.len() == shape.row)
        });
        let Some(prepared) = prepared.map(Arc::new) else {
            self.learn(shape.text, Known::Planned(version));
            return None;
        };
        self.learn(shape.text.clone(), Known::Prepared(Arc::clone(&prepared)));
        Some(Shaped { prepared, shape })
    }

    fn learn(&mut self, text: String, known: Known) {
        if self.0.len() >= SHAPES_MAX {
            self.0.clear();
        }
        self.0.insert(text, known);
    }
}

impl fmt::Debug for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shapes").field("known", &self.0.len()).finish()
    }
}

impl Shaped<'_> {
    /// Runs it in `transaction`, unless it needs the planner.
    pub(crate) fn run(
        &self,
        catalog: &Catalog,
        transaction: &StatementTransaction,
        control: &Control,
    ) -> Result<Done, Error> {
        let run = |plan: &PointQueryPlan| self.prepared.run_literals(plan, transaction, &self.shape.literals, control);
        self.prepared.with_point_query(catalog, transaction, run).unwrap_or(Ok(Done::Planner))
    }
}
