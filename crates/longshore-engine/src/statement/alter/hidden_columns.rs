//! The hidden columns of unique indexes over expressions or about some of the rows, in a table that is altered.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, VisitorMut};

use super::draft::{Draft, DraftColumn, Values};
use crate::Error;
use crate::catalog::columns_read;
use crate::sql::visit::VisitMut;
use crate::sql::{build, names};
use crate::statement::Context;
use crate::statement::hidden_columns::{HiddenColumn, Part};

impl Draft {
    /// Gives indexes the hidden columns that they lack, and drops those that no index needs any more.
    pub(super) fn settle_hidden_columns(&mut self, context: &Context<'_>) -> Result<(), Error> {
        for at in 0..self.keys.len() {
            let key = &self.keys[at].key;
            let Some(parts) = Part::all(key).filter(|_| key.columns.is_empty()) else { continue };
            let columns =
                parts.iter().map(|part| self.column_of(context, part)).collect::<Result<Vec<usize>, Error>>()?;
            self.keys[at].key.columns = columns;
        }
        let keys = &self.keys;
        let is_needed = |at: usize| keys.iter().any(|key| key.key.columns.contains(&at));
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.is_dropped |= column.column.is_hidden() && !is_needed(at);
        }
        Ok(())
    }

    /// The number of the column that holds a part of an index, which may be a new one.
    fn column_of(&mut self, context: &Context<'_>, part: &Part) -> Result<usize, Error> {
        if let Part::Column(name) = part {
            return Ok(self.column(name)?.0);
        }
        let is_taken = |name: &str| self.columns.iter().any(|column| column.column.name == name);
        let hidden = HiddenColumn::new(context, (&self.name, &self.schema()), part, is_taken)?;
        let hidden = hidden.ok_or_else(|| Error::internal("what is no column is hidden in one"))?;
        let values = build::cast(self.over_former(&hidden.value), hidden.column.column_type);
        let rule = hidden.rule();
        let values = Values::Converted(Box::new(values));
        self.columns.push(DraftColumn { column: hidden.column, rule, values, is_dropped: false });
        Ok(self.columns.len() - 1)
    }

    /// An expression over the columns as they are to be, over those of the table as it was.
    fn over_former(&self, expr: &Expr) -> Expr {
        struct Former<'a>(&'a Draft);
        impl VisitorMut for Former<'_> {
            type Break = ();

            fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                let name = match expr {
                    Expr::Identifier(name) => name,
                    Expr::CompoundIdentifier(parts) if !parts.is_empty() => &parts[parts.len() - 1],
                    _ => return ControlFlow::Continue(()),
                };
                let at = names::identifier(name).ok().and_then(|name| self.0.position(&name));
                if let Some(Values::Converted(former)) = at.map(|at| &self.0.columns[at].values) {
                    *expr = Expr::Nested(former.clone());
                }
                ControlFlow::Continue(())
            }
        }
        let mut expr = expr.clone();
        let _ = expr.visit(&mut Former(self));
        expr
    }

    /// Has the hidden columns made anew that are computed from a column, whose type changes.
    pub(super) fn unsettle_hidden_columns(&mut self, at: usize) {
        let described = self.described();
        for key in &mut self.keys {
            let reads = |expr: &Expr| columns_read(expr, &described).contains(&at);
            if key.key.hides().is_some_and(|definition| definition.expressions().any(reads)) {
                key.key.columns.clear();
                key.from = None;
            }
        }
    }
}
