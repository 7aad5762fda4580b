//! RENAME of the table, of a column, of a constraint or index.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, VisitorMut};

use super::draft::Draft;
use crate::Error;
use crate::catalog::Origin;
use crate::sql::names;
use crate::sql::visit::VisitMut;
use crate::statement::Context;
use crate::statement::resolve::check_schema;

impl Draft {
    pub(super) fn rename_column(&mut self, from: &Ident, to: &Ident) -> Result<(), Error> {
        let (at, from) = self.column(from)?;
        let to = names::identifier(to)?;
        if self.position(&to).is_some() {
            return Err(Error::exists(format!(
                "column {to} of table {} exists already; choose another name",
                self.name
            )));
        }
        for expr in self.expressions_over_it() {
            rename(expr, |parts| {
                if let Some(last) =
                    parts.last_mut().filter(|last| names::identifier(last).is_ok_and(|name| name == from))
                {
                    *last = ident(&to);
                }
            });
        }
        self.each_reference_to_it(|reference| {
            for name in reference.referenced.iter_mut().filter(|name| **name == from) {
                name.clone_from(&to);
            }
        });
        self.columns[at].column.name = to;
        Ok(())
    }

    pub(super) fn rename_table(&mut self, context: &Context<'_>, to: String) -> Result<(), Error> {
        if context.database.catalog.is_taken(&to) {
            return Err(Error::exists(format!("the name {to} is taken; choose another one")));
        }
        let before = self.name.clone();
        for expr in self.expressions_over_it() {
            rename(expr, |parts| {
                if let [table, _] = parts
                    && names::identifier(table).is_ok_and(|name| name == names::own(&before))
                {
                    *table = ident(names::own(&to));
                }
            });
        }
        self.each_reference_to_it(|reference| reference.table.clone_from(&to));
        self.name = to;
        Ok(())
    }

    /// Moves the table, and the sequences that it has for itself, to another schema.
    pub(super) fn set_schema(&mut self, context: &Context<'_>, schema: &Ident) -> Result<(), Error> {
        let schema = names::identifier(schema)?;
        check_schema(&context.database.catalog, &schema)?;
        let to = names::in_schema(&schema, names::own(&self.name));
        if to == self.name { Ok(()) } else { self.rename_table(context, to) }
    }

    pub(super) fn rename_constraint(&mut self, context: &Context<'_>, from: &Ident, to: &Ident) -> Result<(), Error> {
        let (from, to) = (names::identifier(from)?, names::identifier(to)?);
        if self.keys.iter().any(|key| key.key.name == from) {
            return self.rename_key(context, &from, &to);
        }
        if self.has_constraint(&to) {
            return Err(taken(&to, &self.name));
        }
        let checks = self.checks.iter_mut().map(|check| &mut check.check.name);
        let columns = self.columns.iter_mut().filter_map(|column| column.rule.not_null.as_mut());
        let references = self.references.iter_mut().map(|own| &mut own.reference.name);
        if let Some(name) = checks.chain(columns).chain(references).find(|name| **name == from) {
            name.clone_from(&to);
            self.renamed.push((from, to));
            return Ok(());
        }
        Err(Error::no_object(format!("constraint {from} of table {} does not exist", self.name)))
    }

    /// Whether another table of its schema has an index of this name.
    pub(super) fn other_owner(&self, context: &Context<'_>, index: &str) -> bool {
        let (schema, _) = names::parts(&self.name);
        let owner = context.database.catalog.owner_of_index(&names::in_schema(schema, index));
        owner.is_some_and(|owner| owner.name != self.before.name)
    }

    /// Renames a key and its index.
    pub(super) fn rename_key(&mut self, context: &Context<'_>, from: &str, to: &str) -> Result<(), Error> {
        if self.has_constraint(to) || self.other_owner(context, to) {
            return Err(taken(to, &self.name));
        }
        for key in self.keys.iter_mut().filter(|key| key.key.name == from) {
            to.clone_into(&mut key.key.name);
        }
        self.renamed.push((from.to_owned(), to.to_owned()));
        Ok(())
    }
}

fn taken(name: &str, table: &str) -> Error {
    Error::exists(format!("{name} is the name of another constraint or index of table {table}; choose another one"))
}

fn ident(name: &str) -> Ident {
    // Quoted where it must be.
    let quoted = names::quoted(name);
    if quoted == name { Ident::new(name) } else { Ident::with_quote('"', name) }
}

impl Draft {
    /// All expressions over columns of the table.
    fn expressions_over_it(&mut self) -> impl Iterator<Item = &mut Expr> {
        let generated = self.columns.iter_mut().filter_map(|column| match &mut column.rule.origin {
            Origin::Generated(expr) => Some(expr.as_mut()),
            _ => None,
        });
        let checks = self.checks.iter_mut().map(|check| &mut check.check.condition);
        let definitions = self.keys.iter_mut().filter_map(|key| key.key.definition.as_mut());
        let indexes = definitions.flat_map(|definition| definition.expressions_mut());
        checks.chain(generated).chain(indexes)
    }
}

/// Lets `change` work on all names of columns in an expression, part by part.
fn rename(expr: &mut Expr, change: impl FnMut(&mut [Ident])) {
    struct Names<F>(F);
    impl<F: FnMut(&mut [Ident])> VisitorMut for Names<F> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(name) => (self.0)(std::slice::from_mut(name)),
                Expr::CompoundIdentifier(parts) => (self.0)(parts),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let _ = VisitMut::visit(expr, &mut Names(change));
}
