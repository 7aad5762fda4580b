//! `has_table_privilege` and its like, and `pg_has_role`: who may do what.
//!
//! Of what is the system's, everybody may read what there is. Functions, languages and other objects that users do not make are
//! there for all.

use super::Gives::Bool;
use super::names::{relation, schema};
use super::{Entry, Takes, Value, entry};
use crate::catalog::{Commented, Definitions, ObjectClass, Privileges, RoleId};
use crate::datafusion::planning::system_tables::objects::{Body, DATABASE_OID};
use crate::datafusion::planning::system_tables::{SystemCatalog, columns_of, relations, type_named};
use crate::sql::names::{self, CATALOG};
use crate::{Error, ErrorKind};

/// Arguments of the longest form: the role, the object, a column of it, and the privilege.
const WITH_COLUMN: &[Takes] = &[Takes::Either, Takes::Either, Takes::Either, Takes::Text];
const OF_OBJECT: &[Takes] = &[Takes::Either, Takes::Either, Takes::Text];

pub(super) const ENTRIES: &[Entry] = &[
    entry("has_table_privilege", OF_OBJECT, Bool, |catalog, args| on_relation(catalog, args, ObjectClass::Table))
        .least(2),
    entry("has_sequence_privilege", OF_OBJECT, Bool, |catalog, args| on_relation(catalog, args, ObjectClass::Sequence))
        .least(2),
    entry("has_any_column_privilege", OF_OBJECT, Bool, on_any_column).least(2),
    entry("has_column_privilege", WITH_COLUMN, Bool, on_column).least(3),
    entry("has_schema_privilege", OF_OBJECT, Bool, on_schema).least(2),
    entry("has_database_privilege", OF_OBJECT, Bool, on_database).least(2),
    entry("has_type_privilege", OF_OBJECT, Bool, on_type).least(2),
    entry("has_function_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_language_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_tablespace_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_parameter_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_foreign_data_wrapper_privilege", OF_OBJECT, Bool, may).least(2),
    entry("has_server_privilege", OF_OBJECT, Bool, may).least(2),
    entry("pg_has_role", OF_OBJECT, Bool, has_role).least(2),
    entry("row_security_active", &[Takes::Either], Bool, |_, _| Ok(false.into())),
];

#[expect(clippy::unnecessary_wraps, reason = "one of many functions of a table")]
fn may(_: &SystemCatalog, _: &[Value]) -> Result<Value, Error> {
    Ok(true.into())
}

/// Privileges of which one is asked for: the privilege, and whether it may be granted further.
type Asked = Vec<(Privileges, bool)>;

/// The privileges that a text names, with commas between them.
fn asked(text: &str, class: ObjectClass) -> Result<Asked, Error> {
    let one = |part: &str| {
        let upper = part.to_ascii_uppercase();
        let (name, grantable) = match upper.strip_suffix(" WITH GRANT OPTION") {
            Some(name) => (name, true),
            None => (upper.as_str(), false),
        };
        let found = Privileges::named(name).filter(|found| class.privileges().has(*found));
        found
            .map(|found| (found, grantable))
            .ok_or_else(|| Error::invalid(format!("unrecognized privilege type: \"{part}\"")))
    };
    text.split(',').map(str::trim).map(one).collect()
}

fn any(definitions: &Definitions, role: RoleId, on: &Commented, class: ObjectClass, asked: &Asked) -> bool {
    asked.iter().any(|(privilege, grantable)| {
        if *grantable {
            let acl = definitions.acl(on, class);
            !acl.grantable(&definitions.roles, role, definitions.owner(on), *privilege).is_empty()
        } else {
            !definitions.granted(role, on, class, *privilege).is_empty()
        }
    })
}

/// The role that a call is about, and its other arguments: the one that the session acts as, if none is named.
fn of_role<'v>(catalog: &SystemCatalog, args: &'v [Value], others: usize) -> Result<(RoleId, &'v [Value]), Error> {
    if args.len() <= others {
        return Ok((catalog.transaction.numbers().identity().current, args));
    }
    Ok((role(catalog, &args[0], true)?, &args[1..]))
}

fn role(catalog: &SystemCatalog, value: &Value, with_public: bool) -> Result<RoleId, Error> {
    let Value::Text(name) = value else { return Ok(RoleId(value.oid())) };
    if with_public && name == "public" {
        return Ok(RoleId::PUBLIC);
    }
    let found = catalog.catalog.roles().named(name);
    found.ok_or_else(|| Error::no_object(format!("role \"{name}\" does not exist")))
}

/// A table, view or sequence of a user, or what is the system's.
enum Found {
    Of(String, ObjectClass),
    System,
}

/// The table, view or sequence that an argument is; `None` where there is none of the number.
fn found(catalog: &SystemCatalog, value: &Value) -> Result<Option<Found>, Error> {
    let oid = match value {
        Value::Text(text) => {
            let oid = relation(catalog, text)?;
            oid.ok_or_else(|| Error::not_found(format!("relation \"{text}\" does not exist")))?
        }
        number => number.oid(),
    };
    if let Some(known) = catalog.objects().relation(oid) {
        let class = if matches!(known.body, Body::Sequence(_)) { ObjectClass::Sequence } else { ObjectClass::Table };
        return Ok(Some(Found::Of(known.name.clone(), class)));
    }
    let is_of_system = relations().any(|known| known.oid == oid);
    Ok(is_of_system.then_some(Found::System))
}

fn of_system(catalog: &SystemCatalog, role: RoleId, asked: &Asked) -> Value {
    let reads = asked.iter().any(|(privilege, grantable)| *privilege == Privileges::SELECT && !grantable);
    (reads || catalog.catalog.roles().is_superuser(role)).into()
}

fn on_relation(catalog: &SystemCatalog, args: &[Value], class: ObjectClass) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 2)?;
    let found = found(catalog, &args[0])?;
    if let (Some(Found::Of(name, ObjectClass::Table)), ObjectClass::Sequence) = (&found, class) {
        let own = names::own(name);
        return Err(Error::new(ErrorKind::WrongObject, format!("\"{own}\" is not a sequence")));
    }
    let asked = asked(args[1].text(), class)?;
    Ok(match found {
        None => Value::Null,
        Some(Found::System) => of_system(catalog, role, &asked),
        Some(Found::Of(name, class)) => {
            let on = Commented::Relation(name);
            catalog.catalog.definitions(|definitions| any(definitions, role, &on, class, &asked)).into()
        }
    })
}

fn on_any_column(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 2)?;
    on_columns(catalog, role, &args[0], None, args[1].text())
}

fn on_column(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 3)?;
    on_columns(catalog, role, &args[0], Some(&args[1]), args[2].text())
}

/// Whether a role may do something with a column, or with any if none is named.
fn on_columns(
    catalog: &SystemCatalog,
    role: RoleId,
    object: &Value,
    column: Option<&Value>,
    privileges: &str,
) -> Result<Value, Error> {
    let asked = asked(privileges, ObjectClass::Column)?;
    let (name, class) = match found(catalog, object)? {
        None => return Ok(Value::Null),
        Some(Found::System) => return Ok(of_system(catalog, role, &asked)),
        Some(Found::Of(name, class)) => (name, class),
    };
    let columns = columns_of(catalog, &name);
    let column = match column {
        None => None,
        Some(Value::Text(column)) if columns.contains(column) => Some(column.clone()),
        Some(Value::Text(column)) => {
            let own = names::own(&name);
            return Err(Error::no_column(format!("column \"{column}\" of relation \"{own}\" does not exist")));
        }
        Some(number) => {
            let at = usize::try_from(number.int()).ok().and_then(|number| number.checked_sub(1));
            match at.and_then(|at| columns.get(at)) {
                Some(column) => Some(column.clone()),
                None => return Ok(Value::Null),
            }
        }
    };
    let whole = Commented::Relation(name.clone());
    let may = catalog.catalog.definitions(|definitions| {
        let is_meant = |on: &&Commented| match on {
            Commented::Column(of, known) => *of == name && column.as_ref().is_none_or(|column| column == known),
            _ => false,
        };
        let mut columns = definitions.access.keys().filter(is_meant);
        any(definitions, role, &whole, class, &asked)
            || columns.any(|on| any(definitions, role, on, ObjectClass::Column, &asked))
    });
    Ok(may.into())
}

fn on_schema(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 2)?;
    let objects = catalog.objects();
    let oid = match &args[0] {
        Value::Text(text) => schema(objects, text)
            .ok_or_else(|| Error::new(ErrorKind::NoSchema, format!("schema \"{text}\" does not exist")))?,
        number => number.oid(),
    };
    let asked = asked(args[1].text(), ObjectClass::Schema)?;
    let Some((_, name)) = objects.schemas.iter().find(|(known, _)| *known == oid) else { return Ok(Value::Null) };
    let on = Commented::Schema(name.clone());
    Ok(catalog.catalog.definitions(|definitions| any(definitions, role, &on, ObjectClass::Schema, &asked)).into())
}

fn on_database(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 2)?;
    let asked = asked(args[1].text(), ObjectClass::Database)?;
    match &args[0] {
        Value::Text(text) if text == CATALOG => {}
        Value::Text(text) => {
            return Err(Error::new(ErrorKind::Coded("3D000"), format!("database \"{text}\" does not exist")));
        }
        number if number.oid() == DATABASE_OID => {}
        _ => return Ok(Value::Null),
    }
    let on = Commented::Database;
    Ok(catalog.catalog.definitions(|definitions| any(definitions, role, &on, ObjectClass::Database, &asked)).into())
}

fn on_type(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (role, args) = of_role(catalog, args, 2)?;
    let asked = asked(args[1].text(), ObjectClass::Type)?;
    let oid = match &args[0] {
        Value::Text(text) => {
            type_named(catalog, text).ok_or_else(|| Error::no_object(format!("type \"{text}\" does not exist")))?
        }
        number => number.oid(),
    };
    // Those of the system are for everybody.
    let Some(known) = catalog.objects().user_type(|known| known.oid == oid || known.array_oid == oid) else {
        return Ok(true.into());
    };
    let on = Commented::Type(known.name.clone());
    Ok(catalog.catalog.definitions(|definitions| any(definitions, role, &on, ObjectClass::Type, &asked)).into())
}

fn has_role(catalog: &SystemCatalog, args: &[Value]) -> Result<Value, Error> {
    let (member, args) = match args {
        [member, rest @ ..] if rest.len() == 2 => (role(catalog, member, false)?, rest),
        _ => (catalog.transaction.numbers().identity().current, args),
    };
    let of = role(catalog, &args[0], false)?;
    let roles = catalog.catalog.roles();
    let mut found = false;
    for part in args[1].text().split(',').map(str::trim) {
        found |= match part.to_ascii_uppercase().as_str() {
            "MEMBER" => roles.is_member_of(member, of),
            "USAGE" => roles.has_rights_of(member, of),
            "MEMBER WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION"
            | "USAGE WITH GRANT OPTION"
            | "USAGE WITH ADMIN OPTION" => roles.is_admin_of(member, of),
            _ => return Err(Error::invalid(format!("unrecognized privilege type: \"{part}\""))),
        };
    }
    Ok(found.into())
}
