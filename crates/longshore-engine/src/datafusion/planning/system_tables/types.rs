//! Types as system tables know them: their OIDs and modifiers, and how SQL spells them.

use std::sync::LazyLock;

use sqlparser::ast::DataType;

use super::fixed;
use super::objects::Objects;
use super::rows::Cell;
use super::type_ref::{TypeRef, of_column, of_sql};
use crate::builtin_types::{BUILTIN_TYPES, BuiltinType};
use crate::catalog::UserType;
use crate::datafusion::functions::quoted_identifier;
use crate::sql::{in_text, names};

/// A type that there is beside those of users.
pub(in crate::datafusion::planning) struct SystemType {
    pub(in crate::datafusion::planning) oid: u32,
    pub(in crate::datafusion::planning) name: String,
    /// Of what it holds arrays, and what holds arrays of it; or 0.
    element: u32,
    array: u32,
    pub(super) layout: Layout,
}

/// How PostgreSQL would store values of a type: what `pg_attribute` and `pg_type` tell of that.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) length: i64,
    pub(super) by_value: bool,
    pub(super) align: Cell,
    pub(super) storage: Cell,
    pub(super) collation: i64,
}

impl Layout {
    /// That of a type; values of an enumeration are OIDs of labels in PostgreSQL.
    pub(super) fn of(objects: &Objects, oid: u32) -> Self {
        if let Some(known) = system_type(|known| known.oid == oid) {
            return known.layout.clone();
        }
        let domain = objects.user_type(|known| known.oid == oid && matches!(*known.user_type, UserType::Domain(_)));
        if let Some(domain) = domain {
            return Self::of(objects, of_domain(objects, &domain.user_type).oid);
        }
        if objects.user_type(|known| known.oid == oid).is_some() {
            return Self { length: 4, by_value: true, align: 'i'.into(), storage: 'p'.into(), collation: 0 };
        }
        Self { length: -1, by_value: false, align: 'i'.into(), storage: 'x'.into(), collation: 0 }
    }
}

static SYSTEM_TYPES: LazyLock<Vec<SystemType>> = LazyLock::new(|| {
    let rows = fixed::table("pg_type").map_or(&[][..], |table| &table.rows);
    let place = |name| fixed::place("pg_type", name);
    let number = |cell: &Cell| if let Cell::Int(value) = cell { *value } else { 0 };
    let oid = |cell: &Cell| u32::try_from(number(cell)).unwrap_or(0);
    let text = |cell: &Cell| if let Cell::Text(text) = cell { text.to_string() } else { String::new() };
    let read = |row: &Vec<Cell>| SystemType {
        oid: oid(&row[place("oid")]),
        name: text(&row[place("typname")]),
        element: oid(&row[place("typelem")]),
        array: oid(&row[place("typarray")]),
        layout: Layout {
            length: number(&row[place("typlen")]),
            by_value: row[place("typbyval")] == Cell::Bool(true),
            align: row[place("typalign")].clone(),
            storage: row[place("typstorage")].clone(),
            collation: number(&row[place("typcollation")]),
        },
    };
    rows.iter().map(read).collect()
});

/// Types that PostgreSQL has and nobody can use here: OIDs, names, and what SQL calls them.
///
/// `pg_type` does not list them. But `'xml'::regtype` is what many a program compares a type with.
const OTHER_TYPES: &str = include_str!("other_types.txt");

fn other_types() -> impl Iterator<Item = (u32, &'static str, &'static str)> {
    OTHER_TYPES.lines().filter_map(|line| {
        let mut parts = line.split('\t');
        Some((parts.next()?.parse().ok()?, parts.next()?, parts.next()?))
    })
}

/// The system's type of which this holds.
pub(in crate::datafusion::planning) fn system_type(is_it: impl Fn(&SystemType) -> bool) -> Option<&'static SystemType> {
    SYSTEM_TYPES.iter().find(|known| is_it(known))
}

/// What SQL calls the type of an OID, with its modifier (`format_type`); `None` if there is no such type.
pub(in crate::datafusion::planning) fn shown(objects: &Objects, oid: u32, modifier: Option<i32>) -> Option<String> {
    if oid == 0 {
        return Some("-".to_owned());
    }
    let of_user = objects.user_type(|known| known.oid == oid || known.array_oid == oid);
    if let Some(known) = of_user {
        let visible = objects.type_is_visible(&known.name);
        let name =
            if visible { quoted_identifier(names::own(&known.name)) } else { super::objects::qualified(&known.name) };
        return Some(if known.array_oid == oid { format!("{name}[]") } else { name });
    }
    let Some(known) = system_type(|known| known.oid == oid) else {
        return other_types().find(|(known, ..)| *known == oid).map(|(.., shown)| shown.to_owned());
    };
    let element = system_type(|element| element.array == oid && known.element == element.oid);
    match element {
        Some(element) => Some(format!("{}[]", shown_builtin(element, modifier))),
        None => Some(shown_builtin(known, modifier)),
    }
}

fn shown_builtin(known: &SystemType, modifier: Option<i32>) -> String {
    let name =
        BuiltinType::named(&known.name).map_or_else(|| quoted_identifier(&known.name), |of| of.sql_name.to_owned());
    let given = modifier.filter(|modifier| *modifier >= 0);
    let digits = |modifier: i32| format!("({modifier})");
    match (known.name.as_str(), given) {
        // `format_type` without a modifier tells the type of columns without one from `character`, which has one.
        ("bpchar", None) if modifier.is_some() => "bpchar".to_owned(),
        ("bpchar" | "varchar", Some(modifier)) => format!("{name}({})", modifier - 4),
        ("numeric", Some(modifier)) => {
            let modifier = modifier - 4;
            let scale = ((modifier & 0x7ff) ^ 1024) - 1024;
            format!("{name}({},{scale})", (modifier >> 16) & 0xffff)
        }
        ("time" | "timestamp" | "timetz" | "timestamptz", Some(modifier)) => {
            let (first, rest) = name.split_once(' ').unwrap_or((&name, ""));
            format!("{first}{} {rest}", digits(modifier))
        }
        ("interval", Some(modifier)) if modifier & 0xffff != 0xffff => format!("{name}{}", digits(modifier & 0xffff)),
        _ => name,
    }
}

/// The OID of the type that a text names, as `regtype` reads it; `None` if there is none.
pub(in crate::datafusion::planning) fn named(objects: &Objects, text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some((oid, ..)) = other_types().find(|(_, name, shown)| *name == text || *shown == text) {
        return Some(oid);
    }
    if let Some(element) = text.strip_suffix("[]") {
        return array_of(objects, named(objects, element.trim_end().trim_end_matches("[]"))?);
    }
    if let Some(known) = system_type(|known| known.name == text) {
        return Some(known.oid);
    }
    let written = in_text::written(text).ok();
    if let Some(written) = written {
        let (schema, own) = match written.split_once(names::SEPARATOR) {
            Some((schema, own)) => (Some(schema), own),
            None => (None, written.as_str()),
        };
        if schema.is_none_or(|schema| schema == super::PG_CATALOG)
            && let Some(known) = system_type(|known| known.name == own)
        {
            return Some(known.oid);
        }
        let candidates: Vec<String> = match schema {
            Some(schema) => vec![names::in_schema(schema, own)],
            None => objects.path.iter().map(|schema| names::in_schema(schema, own)).collect(),
        };
        let found = candidates.iter().find_map(|name| objects.user_type(|known| known.name == *name));
        if let Some(found) = found {
            return Some(found.oid);
        }
        let of_arrays = |name: &String| {
            let (schema, own) = names::parts(name);
            let element = names::in_schema(schema, own.strip_prefix('_')?);
            objects.user_type(|known| known.name == element)
        };
        if let Some(found) = candidates.iter().find_map(of_arrays) {
            return Some(found.array_oid);
        }
    }
    match in_text::column_type(text) {
        Ok(column_type) => Some(of_column(column_type).oid),
        Err(_) => BUILTIN_TYPES.iter().find(|known| known.sql_name == text).map(|known| known.oid),
    }
}

/// The OID of arrays of a type.
pub(in crate::datafusion::planning) fn array_of(objects: &Objects, oid: u32) -> Option<u32> {
    if let Some(known) = objects.user_type(|known| known.oid == oid) {
        return Some(known.array_oid);
    }
    system_type(|known| known.oid == oid).map(|known| known.array).filter(|array| *array != 0)
}

/// What a domain is over: its type, or that of another user's type.
pub(in crate::datafusion::planning) fn of_domain(objects: &Objects, user_type: &UserType) -> TypeRef {
    let base = user_type.base();
    let of_labels = enumeration(objects, &base).map(|oid| TypeRef { oid, length: 4, modifier: -1, dimensions: 0 });
    of_labels.unwrap_or_else(|| of_sql(&base))
}

/// The OID of the enumeration that a type is.
pub(super) fn enumeration(objects: &Objects, data_type: &DataType) -> Option<u32> {
    let (name, _) = crate::sql::enum_types::labels(data_type)?;
    objects.user_type(|known| names::shown_name(&known.name) == name).map(|known| known.oid)
}
