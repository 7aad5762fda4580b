//! CREATE VIEW, and what a view reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use sqlparser::ast::CreateView;

use crate::catalog::{Entry, View};
use crate::sql::check_option::CheckOption;
use crate::sql::{self, headings, names, references, repeated, secrets};
use crate::statement::create::is_sequence;
use crate::statement::{Context, refuse};
use crate::{Error, Outcome};

/// Makes a view of a query that could run now.
pub(crate) async fn create_view(context: &Context<'_>, create: CreateView) -> Result<Outcome, Error> {
    refuse_clauses(&create)?;
    let view = parsed(&create)?;
    let catalog = &context.database.catalog;
    if let Some(existing) = catalog.get(&view.name) {
        if create.if_not_exists {
            return Ok(Outcome::done("CREATE VIEW"));
        }
        check_replaceable(&existing, create.or_replace)?;
    }
    refuse_cycle(&view, |name| match catalog.get(name) {
        Some(Entry::View(view)) => Some(view.reads.clone()),
        _ => None,
    })?;
    refuse::unless_reads_only(&create.query)?;
    if view.columns.is_empty() {
        repeated::refuse(&create.query, &format!("view {}", view.name))?;
    }
    schema(context, &view).await?;
    catalog.change(|change| {
        change.created_by(context.creator());
        let entries = &mut change.entries;
        if let Some(existing) = entries.get(&view.name) {
            check_replaceable(existing, create.or_replace)?;
        }
        if catalog.sequence(&view.name).is_some() {
            return Err(is_sequence(&view.name, "view"));
        }
        entries.insert(view.name.clone(), Entry::View(Arc::new(view)));
        Ok(())
    })?;
    Ok(Outcome::done("CREATE VIEW"))
}

/// The view that a statement describes.
pub(crate) fn parsed(create: &CreateView) -> Result<View, Error> {
    let sql = create.query.to_string();
    if secrets::without_secrets(&sql) != sql {
        return Err(Error::unsupported(
            "a view would keep and show the secret in it; set AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN in the \
             environment instead",
        ));
    }
    if *sql::parse_query(&sql)? != *create.query {
        return Err(Error::unsupported(
            "this query cannot be kept as a view: its text would read back differently; write it in another way",
        ));
    }
    let columns = create.columns.iter().map(|column| names::identifier(&column.name));
    Ok(View {
        name: names::relation(&create.name)?,
        sql: CheckOption::behind(&sql, CheckOption::of(create)?),
        columns: columns.collect::<Result<_, _>>()?,
        reads: references::relations_read(&create.query).into_iter().collect(),
    })
}

/// Names and types of the columns of `view`, with the names that the view gives them.
pub(crate) async fn schema(context: &Context<'_>, view: &View) -> Result<SchemaRef, Error> {
    let mut query = sql::parse_query(&view.sql)?;
    repeated::name_for(&mut query, !view.columns.is_empty());
    let schema = context.database.queries.query_schema(&query, &context.execution()).await?;
    if view.columns.len() > schema.fields().len() {
        return Err(Error::syntax(format!(
            "view {}: {} column names are given, but the query has {} columns",
            view.name,
            view.columns.len(),
            schema.fields().len()
        )));
    }
    let fields = schema.fields().iter().enumerate().map(|(index, field)| match view.columns.get(index) {
        Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
        None => match headings::shown(field.name()) {
            Some(shown) => Arc::new(field.as_ref().clone().with_name(shown)),
            None => Arc::clone(field),
        },
    });
    let schema = Schema::new(fields.collect::<Vec<Arc<Field>>>());
    let mut seen = BTreeSet::new();
    for field in schema.fields() {
        if !seen.insert(field.name()) {
            return Err(Error::duplicate_column(&format!("view {}", view.name), field.name()));
        }
    }
    Ok(Arc::new(schema))
}

fn check_replaceable(existing: &Entry, or_replace: bool) -> Result<(), Error> {
    let name = existing.name();
    match existing {
        Entry::View(_) if or_replace => Ok(()),
        Entry::View(_) => {
            Err(Error::exists(format!("view {name} exists already; use CREATE OR REPLACE VIEW, or drop it first")))
        }
        Entry::Table(_) => {
            Err(Error::exists(format!("{name} is a table; choose another name for the view, or drop the table first")))
        }
    }
}

/// Refuses a view that would read itself, directly or through the views that `reads_of` knows.
pub(crate) fn refuse_cycle(view: &View, reads_of: impl Fn(&str) -> Option<Vec<String>>) -> Result<(), Error> {
    let mut to_visit = view.reads.clone();
    let mut visited = Vec::new();
    while let Some(name) = to_visit.pop() {
        if visited.contains(&name) {
            continue;
        }
        // A view that is not there yet cannot have been read by another one.
        if let Some(reads) = reads_of(&name) {
            if name == view.name {
                return Err(Error::invalid(format!("view {name} would read itself; give the new view another name")));
            }
            to_visit.extend(reads);
        }
        visited.push(name);
    }
    Ok(())
}

/// Refuses whatever goes beyond `CREATE [OR REPLACE] VIEW [IF NOT EXISTS] v [(columns)] AS query`.
fn refuse_clauses(create: &CreateView) -> Result<(), Error> {
    let typed = create.columns.iter().any(|column| column.data_type.is_some() || column.options.is_some());
    let clause = if create.materialized {
        "MATERIALIZED"
    } else if create.temporary {
        "TEMPORARY"
    } else if typed {
        "types of columns"
    } else if create.or_alter
        || create.secure
        || create.comment.is_some()
        || create.copy_grants
        || create.params.is_some()
        || create.to.is_some()
        || !create.cluster_by.is_empty()
        || create.with_no_schema_binding
    {
        "such a clause"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(format!("CREATE VIEW with {clause} is not supported; leave it out")))
}
