//! Views that read a table which is altered.
//!
//! A view is a query as text, planned anew whenever it is read. So those that read the table are planned before and
//! after: what can be planned no more, or has other columns because the table lost one or has one of another type,
//! depends on what went. (In PostgreSQL, a view knows columns by their numbers: there it follows the rename of a column, and
//! does not see a column that was added.) Views follow a table to another name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{TableAlias, TableFactor, VisitMut, VisitorMut};

use super::draft::{Draft, Values};
use crate::catalog::{Entry, View};
use crate::sql::{self, build, names};
use crate::statement::{Context, view};
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind};

/// The views that go with what `draft` drops. `after` sees the table as it will be.
pub(super) async fn dependents(
    context: &Context<'_>,
    draft: &Draft,
    before: &Arc<StatementTransaction>,
    after: &Arc<StatementTransaction>,
) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let loses = draft.columns.iter().any(|column| column.is_dropped);
    let changes = loses
        || draft.columns.iter().zip(draft.before.relation.schema().columns()).any(|(column, before)| {
            matches!(column.values, Values::Converted(_)) || column.column.column_type != before.column_type
        });
    for view in readers(context, &draft.before.name) {
        let planned = async |transaction: &Arc<StatementTransaction>| {
            let context = Context {
                database: context.database,
                control: context.control,
                transaction,
                parameters: None,
                with: None,
                named: &[],
            };
            let schema = view::schema(&context, &view).await?;
            let columns = schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone()));
            Ok::<_, Error>(columns.collect::<Vec<_>>())
        };
        let Ok(columns) = planned(before).await else { continue };
        let is_same = match planned(after).await {
            Ok(after) => after == columns || !changes,
            Err(_) => false,
        };
        if is_same {
            continue;
        }
        if loses && draft.cascades {
            found.push(view.name.clone());
            continue;
        }
        let (what, cascade) = if loses { ("dropping a column", ", or use CASCADE to drop both") } else { ("this", "") };
        return Err(Error::new(
            ErrorKind::Dependent,
            format!(
                "{what} would break view {}, which reads table {}; drop the view first{cascade}",
                view.name, draft.before.name
            ),
        ));
    }
    Ok(found)
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

/// The views that read `name`, directly or through others.
fn readers(context: &Context<'_>, name: &str) -> Vec<Arc<View>> {
    let views = context.database.catalog.entries().into_iter().filter_map(|entry| match entry {
        Entry::View(view) => Some(view),
        Entry::Table(_) => None,
    });
    let views: Vec<Arc<View>> = views.collect();
    let mut names = BTreeSet::from([name.to_owned()]);
    let mut found: Vec<Arc<View>> = Vec::new();
    loop {
        let new = views.iter().filter(|view| !names.contains(&view.name));
        let new: Vec<_> = new.filter(|view| view.reads.iter().any(|read| names.contains(read))).cloned().collect();
        if new.is_empty() {
            return found;
        }
        names.extend(new.iter().map(|view| view.name.clone()));
        found.extend(new);
    }
}
