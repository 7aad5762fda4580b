//! The shapes of a session's statements: one whose shape came before and needs no planner runs as if it were prepared.
//!
//! Not here: what a shape is (`sql/shape`), running it (`statement/shaped`).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use longshore_load::Control;

use super::Prepared;
use super::point_query::{Done, PointQueryPlan, Surroundings};
use crate::Error;
use crate::catalog::{Catalog, SearchPath};
use crate::sql::shape::{Shape, shape};

/// Shapes that a session knows, at most; then it forgets all.
const SHAPES_MAX: usize = 512;
/// Rows of an INSERT that are worth to be recognised at once.
const ROWS_MIN: usize = 4;

/// What a session knows of shapes.
#[derive(Default)]
pub(crate) struct Shapes {
    known: HashMap<String, Known>,
    /// The schemas that names were looked for in.
    path: Option<Arc<SearchPath>>,
}

/// A shape, and the version of the catalog that it was looked at in.
enum Known {
    /// It came once.
    Once,
    /// It needs the planner.
    Planned(u64),
    /// It needs none.
    Prepared(u64, Arc<Prepared>),
}

/// A statement that may need no planner.
pub(crate) struct Shaped<'a> {
    pub(crate) prepared: Arc<Prepared>,
    shape: Shape<'a>,
}

impl Shapes {
    /// What `sql` is to who looks for names in `path`, if its shape is known to need no planner, or has many rows; `prepare`
    /// prepares the text of a statement.
    pub(crate) fn find<'a>(
        &mut self,
        sql: &'a str,
        catalog: &Catalog,
        path: &Arc<SearchPath>,
        prepare: impl FnOnce(&str) -> Result<Prepared, Error>,
    ) -> Option<Shaped<'a>> {
        let shape = shape(sql)?;
        if !self.path.as_ref().is_some_and(|known| Arc::ptr_eq(known, path)) {
            self.known.clear();
            self.path = Some(Arc::clone(path));
        }
        // Asked before the catalog is, so that no change is missed.
        let version = catalog.version();
        match self.known.get(&shape.text) {
            Some(Known::Prepared(known, prepared)) if *known == version => {
                return Some(Shaped { prepared: Arc::clone(prepared), shape });
            }
            Some(Known::Planned(known)) if *known == version => return None,
            None if shape.literals.len() < ROWS_MIN * shape.row.max(1) => {
                self.learn(shape.text, Known::Once);
                return None;
            }
            Some(_) | None => {}
        }
        let prepared = prepare(&shape.text).ok().filter(|prepared| {
            let parameters = prepared.point_query.as_ref().and_then(PointQueryPlan::parameters);
            parameters.is_some_and(|parameters| parameters.len() == shape.row)
        });
        let Some(prepared) = prepared.map(Arc::new) else {
            self.learn(shape.text, Known::Planned(version));
            return None;
        };
        self.learn(shape.text.clone(), Known::Prepared(version, Arc::clone(&prepared)));
        Some(Shaped { prepared, shape })
    }

    fn learn(&mut self, text: String, known: Known) {
        if self.known.len() >= SHAPES_MAX {
            self.known.clear();
        }
        self.known.insert(text, known);
    }
}

impl fmt::Debug for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shapes").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Shaped<'_> {
    /// Runs it in `transaction`, unless it needs the planner.
    pub(crate) fn run(&self, surroundings: Surroundings<'_>, control: &Control) -> Result<Done, Error> {
        let Surroundings { transaction, catalog, .. } = surroundings;
        let run = |plan: &PointQueryPlan| self.prepared.run_literals(plan, surroundings, &self.shape.literals, control);
        self.prepared.with_point_query(catalog, transaction, run).unwrap_or(Ok(Done::Planner))
    }
}
