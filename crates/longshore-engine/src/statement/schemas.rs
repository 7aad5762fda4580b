//! CREATE SCHEMA, DROP SCHEMA, ALTER SCHEMA ... RENAME, and what sessions set of the search path.

use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart, SchemaName, SqlOption, Value};

use crate::catalog::{Catalog, Entry, SearchPath};
use crate::sql::names;
use crate::sql::objects::{ObjectChange, ObjectKind};
use crate::statement::{Context, drop, renames, role_names, sequence};
use crate::{Error, ErrorKind, Outcome};

/// The one name that the name of a schema consists of.
pub(crate) fn name_of(name: &ObjectName) -> Result<String, Error> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(only)] => names::identifier(only),
        _ => Err(Error::syntax(format!("{name} is not the name of a schema"))),
    }
}

/// The name that CREATE SCHEMA says, or that of the owner.
pub(crate) fn name_said(schema: &SchemaName) -> Result<String, Error> {
    match schema {
        SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => name_of(name),
        SchemaName::UnnamedAuthorization(owner) => names::identifier(owner),
    }
}

/// CREATE SCHEMA.
pub(crate) fn create(
    context: &Context<'_>,
    schema: &SchemaName,
    if_not_exists: bool,
    further: &[Option<&Vec<SqlOption>>],
) -> Result<Outcome, Error> {
    let mut notices = Vec::new();
    let name = name_said(schema)?;
    let catalog = &context.database.catalog;
    let mut creator = context.creator();
    if let SchemaName::NamedAuthorization(_, owner) | SchemaName::UnnamedAuthorization(owner) = schema {
        let role = role_names::named(context, &role_names::owner_named(owner)?)?;
        let all = catalog.roles();
        if !all.is_member_of(creator, role) {
            return Err(role_names::denied(format!("must be member of role \"{}\"", all.name(role))));
        }
        creator = role;
    }
    if further.iter().any(Option::is_some) {
        return Err(Error::unsupported("CREATE SCHEMA takes a name and AUTHORIZATION only"));
    }
    if name.starts_with("pg_") {
        return Err(Error::new(
            ErrorKind::ReservedName,
            format!("unacceptable schema name \"{name}\": the prefix \"pg_\" is reserved for system schemas"),
        ));
    }
    if catalog.has_schema(&name) {
        if if_not_exists {
            notices.push(format!("schema \"{name}\" already exists, skipping"));
            return Ok(Outcome::done("CREATE SCHEMA").with_notices(notices));
        }
        return Err(Error::new(ErrorKind::SchemaExists, format!("schema \"{name}\" already exists")));
    }
    catalog.change(|change| {
        change.created_by(creator);
        if name == names::SCHEMA {
            change.definitions.lacks_public = false;
        } else {
            change.definitions.schemas.insert(name);
        }
        Ok(())
    })?;
    Ok(Outcome::done("CREATE SCHEMA").with_notices(notices))
}

/// The tables, views and sequences of a schema.
fn objects_of(catalog: &Catalog, schema: &str) -> (Vec<Entry>, Vec<String>) {
    let is_in = |name: &str| names::parts(name).0 == schema;
    let entries = catalog.entries().into_iter().filter(|entry| is_in(entry.name())).collect();
    let sequences = catalog.sequences().into_iter().map(|sequence| sequence.name.clone()).filter(|name| is_in(name));
    (entries, sequences.collect())
}

/// DROP SCHEMA: all of `names` or none that is empty, with CASCADE with what is in them.
pub(crate) fn drop_schemas(
    context: &Context<'_>,
    if_exists: bool,
    dropped: &[ObjectName],
    cascade: bool,
) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let (mut found, mut notices) = (Vec::new(), Vec::new());
    for name in dropped {
        let name = name_of(name)?;
        if crate::catalog::SYSTEM_SCHEMAS.contains(&name.as_str()) {
            return Err(Error::new(
                ErrorKind::Dependent,
                format!("cannot drop schema {name} because it is required by the database system"),
            ));
        }
        if catalog.has_schema(&name) {
            found.push(name);
        } else if if_exists {
            notices.push(format!("schema \"{name}\" does not exist, skipping"));
        } else {
            return Err(Error::new(ErrorKind::NoSchema, format!("schema \"{name}\" does not exist")));
        }
    }
    for schema in &found {
        let (entries, sequences) = objects_of(catalog, schema);
        let first = entries.first().map(|entry| format!("{} {}", entry.kind(), entry.name()));
        let first = first.or_else(|| sequences.first().map(|name| format!("sequence {name}")));
        if let Some(first) = first.filter(|_| !cascade) {
            return Err(Error::new(
                ErrorKind::Dependent,
                format!(
                    "cannot drop schema {schema} because other objects depend on it: {first} depends on schema {schema}; \
                     use DROP ... CASCADE to drop the dependent objects too"
                ),
            ));
        }
    }
    // What is dropped is freed after the catalog is open to others again.
    let dropped = catalog.change(|change| {
        let mut gone = Vec::new();
        for schema in &found {
            let (entries, sequences) = objects_of(catalog, schema);
            gone.extend(entries.iter().filter_map(|entry| change.entries.remove(entry.name())));
            let lost: Vec<_> = sequences.iter().filter_map(|name| change.sequences.get(name).cloned()).collect();
            sequence::release(change, &lost, true)?;
            change.definitions.types.retain(|name, _| names::parts(name).0 != schema);
            if schema == names::SCHEMA {
                change.definitions.lacks_public = true;
            } else {
                change.definitions.schemas.remove(schema);
            }
        }
        drop::finish(catalog, change, &mut gone, true)?;
        Ok(gone)
    })?;
    drop::empty_in_block(context, dropped.iter())?;
    Ok(Outcome::done("DROP SCHEMA").with_notices(notices))
}

/// ALTER SCHEMA ... RENAME TO, which is done to schemas that hold nothing but views and sequences of their own.
pub(crate) async fn rename(context: &Context<'_>, name: &ObjectName, to: &Ident) -> Result<(), Error> {
    let (name, to) = (name_of(name)?, names::identifier(to)?);
    let catalog = &context.database.catalog;
    if !catalog.definitions(|definitions| definitions.schemas.contains(&name)) {
        return Err(if catalog.has_schema(&name) {
            Error::unsupported(format!("schema {name} cannot be renamed"))
        } else {
            Error::new(ErrorKind::NoSchema, format!("schema \"{name}\" does not exist"))
        });
    }
    if catalog.has_schema(&to) {
        return Err(Error::new(ErrorKind::SchemaExists, format!("schema \"{to}\" already exists")));
    }
    let (entries, sequences) = objects_of(catalog, &name);
    if entries.iter().any(|entry| matches!(entry, Entry::Table(_))) {
        return Err(Error::unsupported(format!(
            "ALTER SCHEMA {name} RENAME is not supported for a schema with tables; make schema {to}, and move them by ALTER \
             TABLE ... SET SCHEMA"
        )));
    }
    catalog.change(|change| {
        change.definitions.schemas.insert(to.clone());
        Ok(())
    })?;
    let moved = ObjectChange::Schema(crate::sql::build::quoted(&to));
    for entry in entries {
        renames::change(context, ObjectKind::View, entry.name(), &moved).await?;
    }
    for sequence in sequences {
        renames::change(context, ObjectKind::Sequence, &sequence, &moved).await?;
    }
    catalog.change(|change| {
        change.definitions.schemas.remove(&name);
        change.map_comments(|on| match on {
            crate::catalog::Commented::Schema(of) if of == name => crate::catalog::Commented::Schema(to.clone()),
            other => other,
        });
        Ok(())
    })
}

/// The text that `search_path` is shown as where it is set to a list of words and texts.
pub(crate) fn path_text(values: &[Expr]) -> Option<String> {
    let quoted = |name: &str| {
        let is_plain = !name.is_empty()
            && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
    };
    let part = |value: &Expr| match value {
        Expr::Identifier(word) => names::identifier(word).ok().map(|name| quoted(&name)),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(quoted(text)),
            _ => None,
        },
        _ => None,
    };
    let parts: Option<Vec<String>> = values.iter().map(part).collect();
    parts.map(|parts| parts.join(", "))
}

/// The schemas that a text of `search_path` names.
pub(crate) fn path_of(text: &str) -> Result<Vec<String>, Error> {
    let problem = || Error::invalid(format!("invalid value for parameter \"search_path\": \"{text}\""));
    let mut schemas = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next() {
                    None => return Err(problem()),
                    Some((at, '"')) if quoted[at + 1..].starts_with('"') => {
                        chars.next();
                        name.push('"');
                    }
                    Some((at, '"')) => break at + 1,
                    Some((_, other)) => name.push(other),
                }
            };
            (name, &quoted[end..])
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            (rest[..end].to_lowercase(), &rest[end..])
        };
        schemas.push(name);
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(next) if !next.trim().is_empty() => next.trim_start(),
            None if behind.is_empty() => behind,
            _ => return Err(problem()),
        };
    }
    schemas.retain(|schema| !schema.is_empty());
    Ok(schemas)
}

/// The search path that a session has when `search_path` is this text.
pub(crate) fn search_path(before: &SearchPath, text: &str) -> Result<SearchPath, Error> {
    Ok(SearchPath { said: path_of(text)?, ..before.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_list_of_names() {
        for (text, expected) in [
            ("", &[][..]),
            ("\"\"", &[]),
            ("a", &["a"]),
            ("\"$user\", public", &["$user", "public"]),
            (" A ,\"B c\",\"d\"\"e\" ", &["a", "B c", "d\"e"]),
        ] {
            assert_eq!(path_of(text).unwrap(), expected, "{text}");
        }
        for text in ["a,", ",", "a b", "\"a"] {
            assert!(path_of(text).is_err(), "{text}");
        }
    }
}
