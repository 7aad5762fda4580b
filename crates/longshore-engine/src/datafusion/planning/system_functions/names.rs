//! `regclass`, `regtype` and their like: from names to OIDs and back.

use super::Gives::{Text, Typed};
use super::{Entry, Takes, Value, entry};
use crate::catalog::Catalog;
use crate::datafusion::functions::quoted_identifier;
use crate::datafusion::planning::system_tables::objects::{Objects, qualified};
use crate::datafusion::planning::system_tables::{
    INFORMATION_SCHEMA, PG_CATALOG, SystemCatalog, roles, system_rows, type_named, type_shown,
};
use crate::sql::{in_text, names};
use crate::{Error, ErrorKind};

/// Makes a text of an `int2vector` or `oidvector`.
pub(in crate::datafusion::planning) const SHOWN_VECTOR: &str = "shown vector";

/// The functions that make a text of an OID, by the type that it is of.
const SHOWN: [(&str, &str); 7] = [
    ("regclass", "shown regclass"),
    ("regtype", "shown regtype"),
    ("regproc", "shown regproc"),
    ("regprocedure", "shown regprocedure"),
    ("regnamespace", "shown regnamespace"),
    ("regrole", "shown regrole"),
    ("regoper", "shown regoper"),
];

/// The function that makes a text of a value of a type; `None` if values are shown as they are.
pub(in crate::datafusion::planning) fn shown(type_name: &str) -> Option<&'static str> {
    match type_name {
        "int2vector" | "oidvector" => Some(SHOWN_VECTOR),
        "regoperator" => shown("regoper"),
        "regcollation" | "regconfig" | "regdictionary" => None,
        other => SHOWN.iter().find(|(known, _)| *known == other).map(|(_, function)| *function),
    }
}

pub(super) const ENTRIES: &[Entry] = &[
    entry("oid", &[Takes::Either], Typed("oid"), |_, args| match &args[0] {
        Value::Text(text) => match text.trim().parse::<u32>() {
            Ok(oid) => Ok(oid.into()),
            Err(_) => Err(Error::new(ErrorKind::InvalidText, format!("invalid input syntax for type oid: \"{text}\""))),
        },
        other => Ok(other.clone()),
    }),
    entry("xid", &[Takes::Either], Typed("xid"), |_, args| Ok(args[0].int().into())),
    entry("regclass", &[Takes::Either], Typed("regclass"), |catalog, args| {
        read(&args[0], |text| {
            relation(catalog, text)?
                .ok_or_else(|| Error::not_found(format!("relation \"{}\" does not exist", told(text))))
        })
    }),
    entry("to_regclass", &[Takes::Text], Typed("regclass"), |catalog, args| {
        Ok(relation(catalog, args[0].text()).ok().flatten().into())
    }),
    entry("regtype", &[Takes::Either], Typed("regtype"), |catalog, args| {
        read(&args[0], |text| {
            type_named(catalog, text).ok_or_else(|| Error::no_object(format!("type \"{}\" does not exist", told(text))))
        })
    }),
    entry("to_regtype", &[Takes::Text], Typed("regtype"), |catalog, args| {
        Ok(type_named(catalog, args[0].text()).into())
    }),
    entry("regnamespace", &[Takes::Either], Typed("regnamespace"), |catalog, args| {
        read(&args[0], |text| {
            schema(catalog.objects(), text)
                .ok_or_else(|| Error::new(ErrorKind::NoSchema, format!("schema \"{}\" does not exist", told(text))))
        })
    }),
    entry("to_regnamespace", &[Takes::Text], Typed("regnamespace"), |catalog, args| {
        Ok(schema(catalog.objects(), args[0].text()).into())
    }),
    entry("regrole", &[Takes::Either], Typed("regrole"), |catalog, args| {
        read(&args[0], |text| {
            role(catalog, text).ok_or_else(|| Error::no_object(format!("role \"{}\" does not exist", told(text))))
        })
    }),
    entry("to_regrole", &[Takes::Text], Typed("regrole"), |catalog, args| Ok(role(catalog, args[0].text()).into())),
    entry("regproc", &[Takes::Either], Typed("regproc"), |_, args| read(&args[0], function)),
    entry("regprocedure", &[Takes::Either], Typed("regprocedure"), |_, args| read(&args[0], function)),
    entry("to_regproc", &[Takes::Text], Typed("regproc"), |_, args| Ok(function(args[0].text()).ok().into())),
    entry("regoper", &[Takes::Either], Typed("regoper"), |_, args| read(&args[0], operator)),
    entry("regoperator", &[Takes::Either], Typed("regoperator"), |_, args| read(&args[0], operator)),
    entry("shown regclass", &[Takes::Int], Text, |catalog, args| {
        Ok(shown_or_number(&args[0], shown_relation(catalog, args[0].oid())))
    }),
    entry("shown regtype", &[Takes::Int], Text, |catalog, args| {
        Ok(shown_or_number(&args[0], type_shown(catalog, args[0].oid(), None)))
    }),
    entry("shown regproc", &[Takes::Int], Text, |_, args| {
        Ok(shown_or_number(&args[0], system_rows("pg_proc", "proname", args[0].oid())))
    }),
    entry("shown regprocedure", &[Takes::Int], Text, |_, args| {
        Ok(shown_or_number(&args[0], system_rows("pg_proc", "proname", args[0].oid())))
    }),
    entry("shown regnamespace", &[Takes::Int], Text, |catalog, args| {
        let schemas = &catalog.objects().schemas;
        let found = schemas.iter().find(|(oid, _)| *oid == args[0].oid()).map(|(_, name)| quoted_identifier(name));
        Ok(shown_or_number(&args[0], found))
    }),
    entry("shown regrole", &[Takes::Int], Text, |catalog, args| {
        let found = roles(catalog).into_iter().find(|role| role.oid == args[0].oid());
        Ok(shown_or_number(&args[0], found.map(|role| quoted_identifier(&role.name))))
    }),
    entry("shown regoper", &[Takes::Int], Text, |_, args| {
        Ok(shown_or_number(&args[0], system_rows("pg_operator", "oprname", args[0].oid())))
    }),
    entry(SHOWN_VECTOR, &[Takes::Ints], Text, |_, args| {
        let Value::Ints(ints) = &args[0] else { return Ok(Value::Null) };
        Ok(ints.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ").into())
    }),
    entry("pg_get_userbyid", &[Takes::Int], Typed("name"), |catalog, args| {
        let found = roles(catalog).into_iter().find(|role| role.oid == args[0].oid());
        Ok(found.map_or_else(|| format!("unknown (OID={})", args[0].int()), |role| role.name).into())
    }),
    entry("pg_my_temp_schema", &[], Typed("oid"), |catalog, _| {
        let path = catalog.transaction.numbers().path();
        Ok(catalog.objects().schema_oid(&path.temporary).into())
    }),
];

/// A number as it is, a text of digits as that number, another text as `find` reads it.
fn read(value: &Value, find: impl Fn(&str) -> Result<u32, Error>) -> Result<Value, Error> {
    match value {
        Value::Text(text) if text == "-" => Ok(0_u32.into()),
        Value::Text(text) => match text.parse::<u32>() {
            Ok(oid) => Ok(oid.into()),
            Err(_) => find(text).map(Value::from),
        },
        other => Ok(other.clone()),
    }
}

/// What there is no name for is shown as its number, and 0 as a dash.
fn shown_or_number(value: &Value, shown: Option<String>) -> Value {
    match shown {
        Some(shown) => shown.into(),
        None if value.int() == 0 => "-".into(),
        None => value.int().to_string().into(),
    }
}

/// A name as a message tells it.
fn told(text: &str) -> String {
    in_text::written(text).map_or_else(|_| text.to_owned(), |name| name.replace(names::SEPARATOR, "."))
}

/// The OID of the table, view, sequence or index that a text names.
pub(super) fn relation(catalog: &SystemCatalog, text: &str) -> Result<Option<u32>, Error> {
    let written = in_text::written(text)?;
    let objects = catalog.objects();
    if let Some((schema, own)) = written.split_once(names::SEPARATOR) {
        let path = catalog.transaction.numbers().path();
        let schema = if schema == "pg_temp" { &*path.temporary } else { schema };
        if !catalog.catalog.has_schema(schema) {
            return Err(no_schema(&catalog.catalog, schema));
        }
        let found = objects.relation_named(&names::in_schema(schema, own)).map(|relation| relation.oid);
        return Ok(found.or_else(|| of_system(schema, own)));
    }
    let found = objects.path.iter().find_map(|schema| {
        let found = objects.relation_named(&names::in_schema(schema, &written)).map(|relation| relation.oid);
        found.or_else(|| of_system(schema, &written))
    });
    Ok(found)
}

fn no_schema(_: &Catalog, schema: &str) -> Error {
    Error::new(ErrorKind::NoSchema, format!("schema \"{schema}\" does not exist"))
}

/// The OID of a system table.
fn of_system(schema: &str, name: &str) -> Option<u32> {
    if schema != PG_CATALOG && schema != INFORMATION_SCHEMA {
        return None;
    }
    let mut known = crate::datafusion::planning::system_tables::relations();
    known.find(|known| known.schema == schema && known.name == name).map(|known| known.oid)
}

/// The name of the relation of an OID, with its schema where that is needed.
fn shown_relation(catalog: &SystemCatalog, oid: u32) -> Option<String> {
    let objects = catalog.objects();
    if let Some(relation) = objects.relation(oid) {
        return Some(objects.shown_relation(&relation.name));
    }
    let mut known = crate::datafusion::planning::system_tables::relations();
    let known = known.find(|known| known.oid == oid)?;
    let is_visible = objects.path.iter().any(|schema| schema == known.schema);
    Some(if is_visible { known.name.to_owned() } else { qualified(&names::in_schema(known.schema, known.name)) })
}

pub(super) fn schema(objects: &Objects, text: &str) -> Option<u32> {
    let name = in_text::written(text).ok()?;
    Some(objects.schema_oid(&name)).filter(|oid| *oid != 0)
}

pub(super) fn role(catalog: &SystemCatalog, text: &str) -> Option<u32> {
    let name = in_text::written(text).ok()?;
    roles(catalog).into_iter().find(|role| role.name == name).map(|role| role.oid)
}

/// The OID of a function of the system.
fn function(text: &str) -> Result<u32, Error> {
    let name = text.split('(').next().unwrap_or(text).trim();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let found = crate::datafusion::planning::system_tables::system_oid("pg_proc", "proname", name);
    found.ok_or_else(|| Error::new(ErrorKind::NoFunction, format!("function \"{text}\" does not exist")))
}

fn operator(text: &str) -> Result<u32, Error> {
    let name = text.split('(').next().unwrap_or(text).trim();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let found = crate::datafusion::planning::system_tables::system_oid("pg_operator", "oprname", name);
    found.ok_or_else(|| Error::new(ErrorKind::NoFunction, format!("operator does not exist: {text}")))
}
