//! Indexes as PostgreSQL writes them out: `CREATE INDEX i ON public.t USING btree (a, lower(b))`.

use longshore_storage::IndexKind;
use sqlparser::ast::Expr;

use super::expression_text::{of_table, type_over_table};
use super::objects::{Body, Objects, RelationObject, number, qualified};
use super::type_ref::TypeRef;
use super::types;
use crate::catalog::{Key, Rules, Table};
use crate::datafusion::functions::quoted_identifier;
use crate::sql::names;

/// A part of an index: a column, by its place in the table, or an expression.
enum Part<'a> {
    Column(usize),
    Expression(&'a Expr),
}

/// What an index is of.
#[expect(clippy::struct_field_names, reason = "the parts are what they are")]
struct Parts<'a> {
    table: &'a Table,
    rules: &'a Rules,
    key: &'a Key,
    parts: Vec<Part<'a>>,
    /// How many of these are keys, and not merely included.
    keys: usize,
    pretty: bool,
}

impl<'a> Parts<'a> {
    fn of(objects: &'a Objects, relation: &'a RelationObject, pretty: bool) -> Option<Self> {
        let Body::Index(place, at) = relation.body else { return None };
        let (table, rules) = objects.table(place)?;
        let key = rules.keys.get(at)?;
        let column = |expr: &'a Expr| match expr {
            Expr::Identifier(name) => {
                let name = names::identifier(name).ok();
                let at = name.and_then(|name| table.relation.schema().index_of(&name));
                at.map_or(Part::Expression(expr), Part::Column)
            }
            other => Part::Expression(other),
        };
        let (parts, keys): (Vec<_>, usize) = match &key.definition {
            None => (key.columns.iter().map(|at| Part::Column(*at)).collect(), key.columns.len()),
            Some(definition) => {
                let all = definition.parts.iter().chain(&definition.include).map(column);
                (all.collect(), definition.parts.len())
            }
        };
        Some(Self { table, rules, key, parts, keys, pretty })
    }

    fn text(&self, objects: &Objects, part: &Part<'_>) -> String {
        match part {
            Part::Column(at) => quoted_identifier(&self.table.relation.schema().columns()[*at].name),
            Part::Expression(expr) => {
                let text = of_table(objects, self.table, self.rules, expr, self.pretty);
                if matches!(expr, Expr::Function(_)) { text } else { format!("({text})") }
            }
        }
    }
}

/// The names and types of the columns that an index has.
pub(super) fn columns(objects: &Objects, relation: &RelationObject) -> Vec<(String, TypeRef)> {
    let Some(of) = Parts::of(objects, relation, false) else { return Vec::new() };
    let mut columns: Vec<(String, TypeRef)> = Vec::new();
    for part in &of.parts {
        let (name, type_ref) = match part {
            Part::Column(at) => {
                let name = of.table.relation.schema().columns()[*at].name.clone();
                (name, objects.type_of(of.table, of.rules, *at))
            }
            Part::Expression(expr) => {
                let name = match expr {
                    Expr::Function(function) => function.name.to_string().to_lowercase(),
                    _ => "expr".to_owned(),
                };
                let known = type_over_table(objects, of.table, of.rules, expr);
                let oid = known.and_then(|known| types::named(objects, &known)).unwrap_or(0);
                (name, TypeRef { oid, length: -1, modifier: -1, dimensions: 0 })
            }
        };
        let unused = names::unused(&name, |name| columns.iter().any(|(known, _)| known == name));
        columns.push((unused, type_ref));
    }
    columns
}

/// The numbers of its columns in the table, 0 for an expression.
pub(in crate::datafusion::planning) fn numbers(objects: &Objects, relation: &RelationObject) -> Vec<i64> {
    let Some(of) = Parts::of(objects, relation, false) else { return Vec::new() };
    let number = |part: &Part<'_>| match part {
        Part::Column(at) => number(*at),
        Part::Expression(_) => 0,
    };
    of.parts.iter().map(number).collect()
}

/// How many of its columns are keys, and not merely included.
pub(in crate::datafusion::planning) fn keys(objects: &Objects, relation: &RelationObject) -> usize {
    Parts::of(objects, relation, false).map_or(0, |of| of.keys)
}

/// Its expressions, if it has any.
pub(super) fn expressions(objects: &Objects, relation: &RelationObject) -> Option<String> {
    let of = Parts::of(objects, relation, false)?;
    let texts = of.parts.iter().filter_map(|part| match part {
        Part::Column(_) => None,
        Part::Expression(expr) => Some(of_table(objects, of.table, of.rules, expr, false)),
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The condition of rows that are in it.
pub(super) fn predicate(objects: &Objects, relation: &RelationObject, pretty: bool) -> Option<String> {
    let of = Parts::of(objects, relation, pretty)?;
    let predicate = of.key.definition.as_ref()?.predicate.as_ref()?;
    Some(of_table(objects, of.table, of.rules, predicate, pretty))
}

/// The statement that makes an index.
pub(in crate::datafusion::planning) fn definition(
    objects: &Objects,
    relation: &RelationObject,
    pretty: bool,
) -> Option<String> {
    let of = Parts::of(objects, relation, pretty)?;
    let unique = if of.key.role.is_unique() { "UNIQUE " } else { "" };
    let method = match of.key.index {
        IndexKind::Art => "btree",
        IndexKind::Hash => "hash",
    };
    let list = |parts: &[Part<'_>]| parts.iter().map(|part| of.text(objects, part)).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "CREATE {unique}INDEX {} ON {} USING {method} ({})",
        quoted_identifier(&of.key.name),
        if pretty { objects.shown_relation(&of.table.name) } else { qualified(&of.table.name) },
        list(&of.parts[..of.keys])
    );
    if of.keys < of.parts.len() {
        text = format!("{text} INCLUDE ({})", list(&of.parts[of.keys..]));
    }
    if of.key.nulls_are_equal {
        text.push_str(" NULLS NOT DISTINCT");
    }
    match predicate(objects, relation, pretty) {
        Some(predicate) => Some(format!("{text} WHERE {predicate}")),
        None => Some(text),
    }
}

/// One column of an index, by its number from 1; an empty text where there is none.
pub(in crate::datafusion::planning) fn column(
    objects: &Objects,
    relation: &RelationObject,
    number: i64,
    pretty: bool,
) -> Option<String> {
    let of = Parts::of(objects, relation, pretty)?;
    let part = usize::try_from(number).ok().and_then(|number| of.parts.get(number.checked_sub(1)?));
    Some(part.map_or_else(String::new, |part| of.text(objects, part)))
}
