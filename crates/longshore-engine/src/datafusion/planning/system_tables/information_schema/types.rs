//! What `information_schema` tells of types, and `domains`.

use super::super::SystemCatalog;
use super::super::expression_text::of_domain_default;
use super::super::objects::{Constrains, Objects, TypeObject};
use super::super::rows::{Cell, Rows, text};
use super::super::type_ref::TypeRef;
use super::super::types::{self, of_domain};
use super::{CONSTRAINT, beside, place, yes};
use crate::catalog::UserType;
use crate::sql::names::{self, CATALOG};

/// Bytes of a text, at most, and of a character.
const OCTETS_MAX: i64 = 1 << 30;
const CHARACTER_OCTETS: i64 = 4;

/// The domain that a type is, with what it is over.
pub(super) fn domain(objects: &Objects, of: TypeRef) -> Option<(&TypeObject, TypeRef)> {
    let known = objects.user_type(|known| known.oid == of.oid)?;
    matches!(*known.user_type, UserType::Domain(_)).then(|| (known, of_domain(objects, &known.user_type)))
}

/// The columns that a type has in several views: its name, its measures, and its name within the system. A domain is told as
/// what it is over.
pub(super) fn told(objects: &Objects, of: TypeRef) -> Vec<(&'static str, Cell)> {
    let of = domain(objects, of).map_or(of, |(_, base)| base);
    let shown = types::shown(objects, of.oid, None).unwrap_or_default();
    let of_user = objects.user_type(|known| known.oid == of.oid || known.array_oid == of.oid);
    let is_array = shown.ends_with("[]");
    let data_type = match of_user {
        _ if is_array => "ARRAY".to_owned(),
        Some(_) => "USER-DEFINED".to_owned(),
        None => shown,
    };
    let (schema, own) = if let Some(known) = of_user {
        let (schema, own) = names::parts(&known.name);
        (schema.to_owned(), if known.array_oid == of.oid { format!("_{own}") } else { own.to_owned() })
    } else {
        let own = types::system_type(|known| known.oid == of.oid).map_or_else(String::new, |known| known.name.clone());
        (super::super::PG_CATALOG.to_owned(), own)
    };
    let mut cells = measures(&own, of.modifier);
    cells.extend([
        ("data_type", data_type.into()),
        ("udt_catalog", CATALOG.into()),
        ("udt_schema", schema.into()),
        ("udt_name", own.into()),
    ]);
    cells
}

/// Lengths and precisions of a type.
fn measures(name: &str, modifier: i32) -> Vec<(&'static str, Cell)> {
    let given = (modifier >= 0).then(|| i64::from(modifier));
    let numbers = |precision: i64, scale: Option<i64>| {
        vec![
            ("numeric_precision", precision.into()),
            ("numeric_precision_radix", 2.into()),
            ("numeric_scale", scale.into()),
        ]
    };
    let digits = |digits: i64| vec![("datetime_precision", digits.into())];
    match name {
        "text" => vec![("character_octet_length", OCTETS_MAX.into())],
        "bpchar" | "varchar" => {
            let characters = given.map(|modifier| modifier - 4);
            let octets = characters.map_or(OCTETS_MAX, |characters| characters * CHARACTER_OCTETS);
            vec![("character_maximum_length", characters.into()), ("character_octet_length", octets.into())]
        }
        "int2" => numbers(16, Some(0)),
        "int4" => numbers(32, Some(0)),
        "int8" => numbers(64, Some(0)),
        "float4" => numbers(24, None),
        "float8" => numbers(53, None),
        "numeric" => {
            let modifier = given.map(|modifier| modifier - 4);
            let scale = modifier.map(|modifier| ((modifier & 0x7ff) ^ 1024) - 1024);
            vec![
                ("numeric_precision", modifier.map(|modifier| (modifier >> 16) & 0xffff).into()),
                ("numeric_precision_radix", 10.into()),
                ("numeric_scale", scale.into()),
            ]
        }
        "date" => digits(0),
        "time" | "timetz" | "timestamp" | "timestamptz" => digits(given.unwrap_or(6)),
        "interval" => digits(given.map(|modifier| modifier & 0xffff).filter(|digits| *digits != 0xffff).unwrap_or(6)),
        _ => Vec::new(),
    }
}

const DOMAIN: [&str; 3] = ["domain_catalog", "domain_schema", "domain_name"];

/// The columns that name the domain that a type is.
pub(super) fn named_domain(objects: &Objects, of: TypeRef) -> Vec<(&'static str, Cell)> {
    domain(objects, of).map_or_else(Vec::new, |(known, _)| place(DOMAIN, &known.name).into())
}

pub(super) fn domains(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for known in &objects.types {
        let UserType::Domain(domain) = known.user_type.as_ref() else { continue };
        let default = domain.default.as_ref().map(|expr| of_domain_default(objects, &known.user_type, expr));
        let of = of_domain(objects, &known.user_type);
        let further = [("domain_default", default.into()), ("dtd_identifier", "1".into())];
        rows.row(place(DOMAIN, &known.name).into_iter().chain(told(objects, of)).chain(further));
    }
}

pub(super) fn domain_constraints(catalog: &SystemCatalog, rows: &mut Rows<'_>) {
    let objects = catalog.objects();
    for constraint in &objects.constraints {
        let Constrains::Domain(at, _) = constraint.of else { continue };
        let domain = &objects.types[at];
        let further = [("is_deferrable", yes(false)), ("initially_deferred", yes(false))];
        let own = place(CONSTRAINT, &beside(&domain.name, &constraint.name));
        rows.row(own.into_iter().chain(place(DOMAIN, &domain.name)).chain(further));
    }
}

/// A number as the text that the standard wants it to be.
pub(super) fn number(number: i64) -> Cell {
    text(&number.to_string())
}

/// Texts are of one character set.
pub(super) fn character_sets(_: &SystemCatalog, rows: &mut Rows<'_>) {
    rows.row([
        ("character_set_name", "UTF8".into()),
        ("character_repertoire", "UCS".into()),
        ("form_of_use", "UTF8".into()),
        ("default_collate_catalog", CATALOG.into()),
        ("default_collate_schema", super::super::PG_CATALOG.into()),
        ("default_collate_name", "ucs_basic".into()),
    ]);
}
