//! Views and sequences under another name or in another schema, and what follows them. Not here: tables (`alter`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{TableAlias, TableFactor, VisitorMut};

use crate::Error;
use crate::catalog::{Catalog, Commented, Entry, Origin, Sequence, View};
use crate::sql::names;
use crate::sql::objects::{ObjectChange, ObjectKind};
use crate::sql::visit::VisitMut;
use crate::sql::{self, build};
use crate::statement::resolve::check_schema;
use crate::statement::sequence::take_over;
use crate::statement::{Context, view};

/// Renames a view or sequence, or moves it to another schema.
pub(crate) async fn change(
    context: &Context<'_>,
    kind: ObjectKind,
    name: &str,
    change: &ObjectChange,
) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    if let (ObjectChange::RenameColumn(from, to), ObjectKind::View) = (change, kind) {
        return rename_column_of_view(context, name, &names::identifier(from)?, &names::identifier(to)?).await;
    }
    let to = renamed(catalog, name, change)?;
    if to == name {
        return match change {
            ObjectChange::Schema(_) => Ok(()),
            _ => Err(Error::exists(format!("relation \"{to}\" already exists"))),
        };
    }
    if catalog.is_taken(&to) {
        return Err(Error::exists(format!("relation \"{to}\" already exists")));
    }
    match kind {
        ObjectKind::View => catalog.change(|change| {
            let Some(Entry::View(view)) = change.entries.remove(name) else {
                return Err(Error::not_found(format!("view {name} does not exist")));
            };
            let renamed = View { name: to.clone(), ..View::clone(&view) };
            change.entries.insert(to.clone(), Entry::View(Arc::new(renamed)));
            follow_rename(&mut change.entries, name, &to)?;
            change.move_comments(name, &to);
            Ok(())
        }),
        ObjectKind::Sequence => {
            let sequence = catalog.sequence(name);
            let sequence = sequence.ok_or_else(|| Error::not_found(format!("sequence {name} does not exist")))?;
            if matches!(change, ObjectChange::Schema(_)) && sequence.owner().is_some() {
                return Err(Error::unsupported(format!(
                    "cannot move an owned sequence into another schema: {name} belongs to a table, and goes with it"
                )));
            }
            rename_sequence(context, &sequence, &to)
        }
        _ => Err(Error::unsupported(format!("{} {name} cannot be altered so", kind.name()))),
    }
}

/// What something is called after a change.
pub(crate) fn renamed(catalog: &Catalog, name: &str, change: &ObjectChange) -> Result<String, Error> {
    let (schema, own) = names::parts(name);
    match change {
        ObjectChange::Rename(to) => Ok(names::in_schema(schema, &names::identifier(to)?)),
        ObjectChange::Schema(schema) => {
            let schema = names::identifier(schema)?;
            check_schema(catalog, &schema)?;
            Ok(names::in_schema(&schema, own))
        }
        ObjectChange::RenameColumn(..) | ObjectChange::Owner(_) => {
            Err(Error::unsupported(format!("{name} cannot be altered so")))
        }
    }
}

/// Gives a sequence another name, in the defaults that take numbers of it as well.
pub(crate) fn rename_sequence(context: &Context<'_>, sequence: &Arc<Sequence>, to: &str) -> Result<(), Error> {
    let (catalog, from) = (&context.database.catalog, sequence.name.as_str());
    catalog.change(|change| {
        if change.entries.contains_key(to) || change.sequences.contains_key(to) {
            return Err(Error::exists(format!("relation \"{to}\" already exists")));
        }
        if catalog.is_fork() {
            take_over(context, change, sequence, to)?;
        } else {
            change.sequences.remove(from);
            change.sequences.insert(to.to_owned(), Arc::new(sequence.renamed(to)));
        }
        let tables: Vec<_> = change.entries.values().filter_map(Entry::table).collect();
        for table in tables {
            let rules = table.rules();
            for (column, rule) in rules.columns.iter().enumerate() {
                if rule.origin.sequences().iter().any(|name| name == from) {
                    let origin = &mut change.rules(&table).columns[column].origin;
                    match origin {
                        Origin::Identity { sequence, .. } => to.clone_into(sequence),
                        Origin::Default(expr) => crate::catalog::rename_sequence(expr, from, to),
                        Origin::Null | Origin::Generated(_) => {}
                    }
                }
            }
        }
        change.move_comments(from, to);
        Ok(())
    })
}

/// Gives a column of a view another name, which it keeps whatever its query calls it.
async fn rename_column_of_view(context: &Context<'_>, name: &str, from: &str, to: &str) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    let Some(Entry::View(view)) = catalog.get(name) else {
        return Err(Error::not_found(format!("view {name} does not exist")));
    };
    let schema = view::schema(context, &view).await?;
    let mut columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if columns.iter().any(|column| column == to) {
        return Err(Error::duplicate_column(&format!("view {name}"), to));
    }
    let Some(at) = columns.iter().position(|column| column == from) else {
        return Err(Error::no_column(format!("column \"{from}\" does not exist")));
    };
    to.clone_into(&mut columns[at]);
    catalog.change(|change| {
        let renamed = View { columns, ..View::clone(&view) };
        change.entries.insert(name.to_owned(), Entry::View(Arc::new(renamed)));
        change.map_comments(|on| match on {
            Commented::Column(of, column) if of == name && column == from => Commented::Column(of, to.to_owned()),
            other => other,
        });
        Ok(())
    })
}

/// Lets the views that read what was called `from` read it as `to`.
pub(crate) fn follow_rename(entries: &mut BTreeMap<String, Entry>, from: &str, to: &str) -> Result<(), Error> {
    struct Relations<'a>(&'a str, &'a str);
    impl VisitorMut for Relations<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, alias, args: None, .. } = factor
                && names::relation(name).is_ok_and(|name| name == self.0)
            {
                *name = build::written(self.1);
                // Columns are known by what the table was called.
                if alias.is_none() && names::own(self.0) != names::own(self.1) {
                    let name = build::quoted(names::own(self.0));
                    *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
                }
            }
            ControlFlow::Continue(())
        }
    }
    let reads = |view: &View| view.reads.iter().any(|read| read == from);
    for entry in entries.values_mut() {
        let Entry::View(view) = entry else { continue };
        if !reads(view) {
            continue;
        }
        let mut query = sql::parse_query(&view.sql)?;
        let _ = query.visit(&mut Relations(from, to));
        let reads = view.reads.iter().map(|read| if read == from { to.to_owned() } else { read.clone() });
        let renamed = View { sql: query.to_string(), reads: reads.collect(), ..View::clone(view) };
        *view = Arc::new(renamed);
    }
    Ok(())
}
