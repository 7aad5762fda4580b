//! `pg_get_indexdef`, `pg_get_constraintdef`, `pg_get_viewdef` and `pg_get_expr`: objects as SQL.

use super::Gives::Text;
use super::names::relation;
use super::{Entry, Takes, Value, entry};
use crate::Error;
use crate::catalog::ObjectId;
use crate::datafusion::planning::system_tables::objects::{Body, qualified};
use crate::datafusion::planning::system_tables::{SystemCatalog, constraint_text, index_text, prettier, view_text};
use crate::sql::names;

pub(super) const ENTRIES: &[Entry] = &[
    entry("pg_get_indexdef", &[Takes::Int, Takes::Int, Takes::Bool], Text, |catalog, args| {
        let objects = catalog.objects();
        let Some(index) = objects.relation(args[0].oid()) else { return Ok(Value::Null) };
        let pretty = args.get(2) == Some(&Value::Bool(true));
        Ok(match args.get(1).map_or(0, Value::int) {
            0 => index_text::definition(objects, index, pretty).into(),
            number => index_text::column(objects, index, number, pretty).into(),
        })
    })
    .least(1),
    entry("pg_get_constraintdef", &[Takes::Int, Takes::Bool], Text, |catalog, args| {
        let objects = catalog.objects();
        let found = objects.constraint(args[0].oid());
        let pretty = args.get(1) == Some(&Value::Bool(true));
        Ok(found.and_then(|found| constraint_text::definition(objects, found, pretty)).into())
    })
    .least(1),
    entry("pg_get_viewdef", &[Takes::Either, Takes::Bool], Text, |catalog, args| {
        let oid = match &args[0] {
            Value::Text(text) if text.parse::<u32>().is_err() => {
                relation(catalog, text)?.ok_or_else(|| no_relation(text))?
            }
            other => other.oid(),
        };
        Ok(view(catalog, oid, args.get(1) == Some(&Value::Bool(true))))
    })
    .least(1),
    entry("pg_get_ruledef", &[Takes::Int, Takes::Bool], Text, |catalog, args| {
        Ok(rule(catalog, args[0].oid(), args.get(1) == Some(&Value::Bool(true))).into())
    })
    .least(1),
    entry("pg_get_expr", &[Takes::Text, Takes::Int, Takes::Bool], Text, |catalog, args| {
        let pretty = args.get(2) == Some(&Value::Bool(true));
        let prettier = pretty.then(|| prettier(catalog.objects(), args[1].oid(), args[0].text())).flatten();
        Ok(prettier.map_or_else(|| args[0].clone(), Value::from))
    })
    .least(2),
    entry("pg_get_serial_sequence", &[Takes::Text, Takes::Text], Text, serial_sequence),
];

fn no_relation(text: &str) -> Error {
    Error::not_found(format!("relation \"{text}\" does not exist"))
}

fn view(catalog: &SystemCatalog, oid: u32, pretty: bool) -> Value {
    match catalog.objects().relation(oid).map(|relation| &relation.body) {
        Some(Body::View(view)) => view_text::definition(catalog.objects(), view, pretty).into(),
        _ => Value::Null,
    }
}

/// The rule that a view is.
fn rule(catalog: &SystemCatalog, oid: u32, pretty: bool) -> Option<String> {
    let objects = catalog.objects();
    objects.relations.iter().find_map(|relation| {
        let Body::View(view) = &relation.body else { return None };
        if catalog.catalog.oid(ObjectId::Rule(view.name.clone())) != oid {
            return None;
        }
        let name = if pretty { objects.shown_relation(&relation.name) } else { qualified(&relation.name) };
        let query = view_text::definition(objects, view, pretty);
        Some(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {name} DO INSTEAD {query}"))
    })
}

/// The name of the sequence that a column of a table has for itself.
fn serial_sequence(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (table, column) = (args[0].text(), args[1].text());
    let oid = relation(catalog, table)?.ok_or_else(|| no_relation(table))?;
    let Some(found) = catalog.objects().relation(oid) else { return Ok(Value::Null) };
    if catalog.column_place(found, column).is_none() {
        return Err(Error::no_column(format!(
            "column \"{column}\" of relation \"{}\" does not exist",
            names::own(&found.name)
        )));
    }
    let sequences = catalog.catalog.sequences_of(&found.name, Some(column));
    Ok(sequences.first().map(|sequence| qualified(&sequence.name)).into())
}
