//! RENAME of the table, of a column, of a constraint or index.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, ObjectName, VisitMut, VisitorMut};

use super::draft::Draft;
use crate::Error;
use crate::sql::names;
use crate::statement::Context;
use crate::statement::index::owner;

impl Draft {
    pub(super) fn rename_column(&mut self, context: &Context<'_>, from: &Ident, to: &Ident) -> Result<(), Error> {
        let (at, from) = self.column(from)?;
        let to = names::identifier(to)?;
        if self.position(&to).is_some() {
            return Err(Error::exists(format!(
                "column {to} of table {} exists already; choose another name",
                self.name
            )));
        }
        self.refuse_own_sequences(context)?;
        for check in &mut self.checks {
            rename(&mut check.check.condition, |parts| {
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

    pub(super) fn rename_table(&mut self, context: &Context<'_>, to: &ObjectName) -> Result<(), Error> {
        let to = names::relation(to)?;
        if context.database.catalog.is_taken(&to) {
            return Err(Error::exists(format!("the name {to} is taken; choose another one")));
        }
        self.refuse_own_sequences(context)?;
        let before = self.name.clone();
        for check in &mut self.checks {
            rename(&mut check.check.condition, |parts| {
                if let [table, _] = parts
                    && names::identifier(table).is_ok_and(|name| name == before)
                {
                    *table = ident(&to);
                }
            });
        }
        self.each_reference_to_it(|reference| reference.table.clone_from(&to));
        self.name = to;
        Ok(())
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
            *name = to;
            return Ok(());
        }
        Err(Error::no_object(format!("constraint {from} of table {} does not exist", self.name)))
    }

    /// Refuses to rename what sequences know by its name.
    fn refuse_own_sequences(&self, context: &Context<'_>) -> Result<(), Error> {
        match context.database.catalog.sequences_of(&self.name, None).first() {
            Some(sequence) => Err(Error::unsupported(format!(
                "sequence {} belongs to table {}, whose names cannot change therefore",
                sequence.name, self.name
            ))),
            None => Ok(()),
        }
    }

    /// Renames a key and its index.
    pub(super) fn rename_key(&mut self, context: &Context<'_>, from: &str, to: &str) -> Result<(), Error> {
        if self.has_constraint(to) || owner(&context.database.catalog, to).is_some() {
            return Err(taken(to, &self.name));
        }
        for key in self.keys.iter_mut().filter(|key| key.key.name == from) {
            to.clone_into(&mut key.key.name);
        }
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
