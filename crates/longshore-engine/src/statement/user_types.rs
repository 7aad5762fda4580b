//! CREATE TYPE ... AS ENUM, CREATE DOMAIN, and what alters and drops them.
//!
//! Where a statement names such a type for a column or in a cast, the type below it is put there with what values must be
//! ([`expand`], [`cast`]), before anybody looks at the statement. Not here: what they are (`catalog::user_types`).

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::ColumnType;
use sqlparser::ast::{
    AlterType, AlterTypeAddValuePosition, AlterTypeOperation, Expr, Ident, ObjectName, UserDefinedTypeRepresentation,
};

use crate::catalog::{Catalog, Check, Domain, Entry, Table, UserType, about, columns_read, every_element};
use crate::sql::domain::{DomainStatement, DomainVerb};
use crate::sql::{build, enum_types, names};
use crate::statement::Context;
use crate::statement::alter::domains::set_not_null;
use crate::statement::alter::make::validate;
use crate::statement::own_types::{find, innermost};
use crate::{Error, ErrorKind, Outcome};

fn exists(name: &str) -> Error {
    Error::new(ErrorKind::DuplicateObject, format!("type \"{name}\" already exists"))
}

fn missing(name: &str) -> Error {
    Error::no_object(format!("type \"{name}\" does not exist"))
}

/// Labels as PostgreSQL takes them.
const LABEL_BYTES_MAX: usize = 63;

fn check_label(label: &str) -> Result<(), Error> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(Error::new(
            ErrorKind::InvalidName,
            format!("invalid enum label \"{label}\": labels must be {LABEL_BYTES_MAX} bytes or less"),
        ));
    }
    Ok(())
}

/// CREATE TYPE.
pub(crate) fn create_type(
    context: &Context<'_>,
    name: &ObjectName,
    representation: Option<&UserDefinedTypeRepresentation>,
) -> Result<Outcome, Error> {
    make(context, &names::relation(name)?, enumeration(representation)?)?;
    Ok(Outcome::done("CREATE TYPE"))
}

/// The enumeration that a statement describes.
pub(crate) fn enumeration(representation: Option<&UserDefinedTypeRepresentation>) -> Result<UserType, Error> {
    let Some(UserDefinedTypeRepresentation::Enum { labels }) = representation else {
        return Err(Error::unsupported("CREATE TYPE makes enumerations only: CREATE TYPE name AS ENUM ('a', 'b')"));
    };
    let labels: Vec<String> = labels.iter().map(|label| label.value.clone()).collect();
    for (at, label) in labels.iter().enumerate() {
        check_label(label)?;
        if labels[..at].contains(label) {
            return Err(Error::new(ErrorKind::Duplicate, format!("enum label \"{label}\" used more than once")));
        }
    }
    Ok(UserType::Enum(labels))
}

fn make(context: &Context<'_>, name: &str, user_type: UserType) -> Result<(), Error> {
    context.database.catalog.change(|change| {
        change.created_by(context.creator());
        if change.definitions.types.contains_key(name) || change.entries.contains_key(name) {
            return Err(exists(name));
        }
        change.definitions.types.insert(name.to_owned(), Arc::new(user_type));
        Ok(())
    })
}

/// CREATE DOMAIN and ALTER DOMAIN.
pub(crate) async fn domain(context: &Context<'_>, statement: DomainStatement) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    if matches!(statement.verb, DomainVerb::Create { .. }) {
        let types = catalog.definitions(|definitions| definitions.types.clone());
        let (key, made) = made_domain(statement, &types)?;
        make(context, &key, made)?;
        return Ok(Outcome::done("CREATE DOMAIN"));
    }
    let DomainStatement { name, verb } = statement;
    let key = names::relation(&name)?;
    let _alone = catalog.lock_ddl().await;
    let found = catalog.definitions(|definitions| definitions.types.get(&key).cloned());
    let mut domain = match found.as_deref() {
        Some(UserType::Domain(domain)) => domain.as_ref().clone(),
        Some(UserType::Enum(_)) => {
            return Err(Error::new(ErrorKind::WrongObject, format!("\"{key}\" is not a domain")));
        }
        None => return Err(missing(&key)),
    };
    let mut notices = Vec::new();
    match verb {
        DomainVerb::Create { .. } => return Err(Error::internal("it was made")),
        DomainVerb::SetDefault(default) => domain.default = default,
        DomainVerb::SetNotNull(not_null) => {
            if not_null && !domain.not_null {
                set_not_null(context, users(catalog, &key)).await?;
            } else if not_null != domain.not_null && !users(catalog, &key).is_empty() {
                return Err(Error::unsupported(format!(
                    "NOT NULL of domain {key} is not dropped while tables have columns of it; ALTER TABLE ... ALTER COLUMN \
                     ... DROP NOT NULL changes the columns"
                )));
            }
            domain.not_null = not_null;
        }
        DomainVerb::AddCheck { name, condition, is_valid } => {
            add_check(&key, &mut domain, name.as_ref(), condition)?;
            if is_valid && let Some((constraint, condition)) = domain.checks.last() {
                check_rows(context, &key, constraint, condition).await?;
            }
        }
        DomainVerb::DropConstraint { name, if_exists } => {
            let name = names::identifier(&name)?;
            let before = domain.checks.len();
            domain.checks.retain(|(known, _)| *known != name);
            if domain.checks.len() == before {
                let problem = format!("constraint \"{name}\" of domain \"{}\" does not exist", names::shown_name(&key));
                if !if_exists {
                    return Err(Error::no_object(problem));
                }
                notices.push(format!("{problem}, skipping"));
            }
        }
        DomainVerb::RenameConstraint { from, to } => {
            let (from, to) = (names::identifier(&from)?, names::identifier(&to)?);
            let found = domain.checks.iter_mut().find(|(known, _)| *known == from);
            let no_such = || Error::no_object(format!("constraint \"{from}\" for domain {key} does not exist"));
            found.ok_or_else(no_such)?.0 = to;
        }
        DomainVerb::Validate(name) => {
            let name = names::identifier(&name)?;
            let found = domain.checks.iter().find(|(known, _)| *known == name);
            let no_such = || Error::no_object(format!("constraint \"{name}\" of domain \"{key}\" does not exist"));
            let (constraint, condition) = found.ok_or_else(no_such)?;
            check_rows(context, &key, constraint, condition).await?;
        }
    }
    become_type(catalog, &key, UserType::Domain(Box::new(domain)))?;
    Ok(Outcome::done("ALTER DOMAIN").with_notices(notices))
}

/// The domain that CREATE DOMAIN describes, which may be over one of `types`.
pub(crate) fn made_domain(
    statement: DomainStatement,
    types: &BTreeMap<String, Arc<UserType>>,
) -> Result<(String, UserType), Error> {
    let key = names::relation(&statement.name)?;
    let DomainVerb::Create { base, default, not_null, checks } = statement.verb else {
        return Err(Error::unsupported(format!("ALTER DOMAIN {} does not belong here", statement.name)));
    };
    let mut domain = Domain { base, default, not_null, checks: Vec::new() };
    match find(types, &domain.base)? {
        Some((_, UserType::Domain(below))) => {
            domain.base = below.base;
            domain.default = domain.default.or(below.default);
            domain.not_null |= below.not_null;
            domain.checks = below.checks;
        }
        Some((name, UserType::Enum(labels))) => {
            domain.base = enum_types::with_labels(build::written(&name), &names::shown_name(&name), &labels);
        }
        None => drop(crate::sql::types::column_type(&domain.base)?),
    }
    for (name, condition) in checks {
        add_check(&key, &mut domain, name.as_ref(), condition)?;
    }
    Ok((key, UserType::Domain(Box::new(domain))))
}

fn add_check(key: &str, domain: &mut Domain, name: Option<&Ident>, condition: Expr) -> Result<(), Error> {
    let has = |domain: &Domain, name: &str| domain.checks.iter().any(|(known, _)| known == name);
    let name = match name {
        Some(name) => names::identifier(name)?,
        None => names::unused(&format!("{}_check", names::own(key)), |name| has(domain, name)),
    };
    if has(domain, &name) {
        return Err(Error::new(
            ErrorKind::DuplicateObject,
            format!("constraint \"{name}\" for domain \"{key}\" already exists"),
        ));
    }
    domain.checks.push((name, condition));
    Ok(())
}

/// The tables with columns of a type, and these columns.
fn users(catalog: &Catalog, key: &str) -> Vec<(Arc<Table>, Vec<usize>)> {
    let tables = catalog.entries().into_iter().filter_map(|entry| match entry {
        Entry::Table(table) => Some(table),
        Entry::View(_) => None,
    });
    let users = tables.map(|table| {
        let columns = table.rules().columns_of_type(key);
        (table, columns)
    });
    users.filter(|(_, columns)| !columns.is_empty()).collect()
}

/// Looks whether all values of a domain are as a constraint wants them.
async fn check_rows(context: &Context<'_>, key: &str, constraint: &str, condition: &Expr) -> Result<(), Error> {
    let look = context.transaction.beside(&context.database.transactions, None);
    for (table, columns) in users(&context.database.catalog, key) {
        let described = table.relation.schema().columns();
        for column in columns {
            if table.rules().checks.iter().any(|check| every_element(&check.condition).is_some()) {
                return Err(Error::unsupported(format!(
                    "constraints of domain {key} cannot be added while table {} has a column of arrays of it",
                    table.name
                )));
            }
            let name = Expr::Identifier(build::quoted(&described[column].name));
            let condition = about(condition, &name);
            let columns = columns_read(&condition, described);
            let check = Check { name: constraint.to_owned(), condition, columns, is_valid: true };
            Box::pin(validate(context, &table, &check, &look)).await.map_err(|error| {
                if error.kind() != ErrorKind::Check {
                    return error;
                }
                let column = &described[column].name;
                Error::new(
                    ErrorKind::Check,
                    format!(
                        "column \"{column}\" of table \"{}\" contains values that violate the new constraint",
                        table.name
                    ),
                )
            })?;
        }
    }
    Ok(())
}

/// What a column of a type must be, which may be one of arrays.
fn checks_of(user_type: &UserType, key: &str, value: &Expr, column_type: ColumnType) -> Vec<(String, Expr)> {
    let dimensions = if let ColumnType::Array(_, dimensions) = column_type { dimensions.into() } else { 0_usize };
    match dimensions.saturating_sub(innermost(&user_type.base()).1) {
        0 => user_type.checks(key, value),
        dimensions => user_type.array_checks(key, value, dimensions),
    }
}

/// Lets a type become another one, and the columns of it obey that.
fn become_type(catalog: &Catalog, key: &str, user_type: UserType) -> Result<(), Error> {
    let users = users(catalog, key);
    catalog.change(|change| {
        for (table, columns) in &users {
            let described = table.relation.schema().columns();
            let rules = change.rules(table);
            rules.checks.retain(|check| check.user_type().is_none_or(|(of, _)| of != key));
            for column in columns {
                let value = Expr::Identifier(build::quoted(&described[*column].name));
                for (name, condition) in checks_of(&user_type, key, &value, described[*column].column_type) {
                    rules.add_check(Check { name, condition, columns: vec![*column], is_valid: true });
                }
            }
        }
        change.definitions.types.insert(key.to_owned(), Arc::new(user_type));
        Ok(())
    })
}

/// ALTER TYPE.
pub(crate) async fn alter_type(context: &Context<'_>, alter: &AlterType) -> Result<Outcome, Error> {
    let (catalog, key) = (&context.database.catalog, names::relation(&alter.name)?);
    let _alone = catalog.lock_ddl().await;
    let found = catalog.definitions(|definitions| definitions.types.get(&key).cloned()).ok_or_else(|| missing(&key))?;
    let mut labels = match (found.as_ref(), &alter.operation) {
        (_, AlterTypeOperation::Rename(rename)) => {
            let to = names::in_schema(names::parts(&key).0, &names::identifier(&rename.new_name)?);
            rename_type(catalog, &key, &to, UserType::clone(&found))?;
            return Ok(Outcome::done("ALTER TYPE"));
        }
        (UserType::Enum(labels), _) => labels.clone(),
        (UserType::Domain(_), _) => {
            return Err(Error::new(ErrorKind::WrongObject, format!("\"{key}\" is not an enum")));
        }
    };
    match &alter.operation {
        AlterTypeOperation::Rename(_) => {}
        AlterTypeOperation::AddValue(add) => {
            let label = add.value.value.clone();
            check_label(&label)?;
            if labels.contains(&label) {
                let problem = format!("enum label \"{label}\" already exists");
                if add.if_not_exists {
                    return Ok(Outcome::done("ALTER TYPE").with_notices(vec![format!("{problem}, skipping")]));
                }
                return Err(Error::new(ErrorKind::DuplicateObject, problem));
            }
            let place = |neighbour: &Ident| {
                let found = labels.iter().position(|label| *label == neighbour.value);
                let problem = || Error::invalid(format!("\"{}\" is not an existing enum label", neighbour.value));
                found.ok_or_else(problem)
            };
            let at = match &add.position {
                None => labels.len(),
                Some(AlterTypeAddValuePosition::Before(neighbour)) => place(neighbour)?,
                Some(AlterTypeAddValuePosition::After(neighbour)) => place(neighbour)? + 1,
            };
            labels.insert(at, label);
        }
        AlterTypeOperation::RenameValue(rename) => {
            if labels.contains(&rename.to.value) {
                return Err(Error::new(
                    ErrorKind::DuplicateObject,
                    format!("enum label \"{}\" already exists", rename.to.value),
                ));
            }
            let at = labels.iter().position(|label| *label == rename.from.value);
            let problem = || Error::invalid(format!("\"{}\" is not an existing enum label", rename.from.value));
            let at = at.ok_or_else(problem)?;
            if let Some((table, _)) = users(catalog, &key).first() {
                return Err(Error::unsupported(format!(
                    "RENAME VALUE of type {key} is not supported while table {} has a column of it; ADD VALUE the new label, \
                     and UPDATE the rows",
                    table.name
                )));
            }
            labels[at].clone_from(&rename.to.value);
        }
    }
    become_type(catalog, &key, UserType::Enum(labels))?;
    Ok(Outcome::done("ALTER TYPE"))
}

/// Gives a type another name, in the columns of it as well.
pub(crate) fn rename_type(catalog: &Catalog, from: &str, to: &str, user_type: UserType) -> Result<(), Error> {
    if catalog.definitions(|definitions| definitions.types.contains_key(to)) {
        return Err(exists(to));
    }
    let users = users(catalog, from);
    catalog.change(|change| {
        for (table, columns) in &users {
            let described = table.relation.schema().columns();
            let rules = change.rules(table);
            rules.checks.retain(|check| check.user_type().is_none_or(|(of, _)| of != from));
            for column in columns {
                let value = Expr::Identifier(build::quoted(&described[*column].name));
                for (name, condition) in checks_of(&user_type, to, &value, described[*column].column_type) {
                    rules.add_check(Check { name, condition, columns: vec![*column], is_valid: true });
                }
            }
        }
        change.definitions.types.remove(from);
        change.definitions.types.insert(to.to_owned(), Arc::new(user_type));
        change.map_comments(|on| match on {
            crate::catalog::Commented::Type(name) if name == from => crate::catalog::Commented::Type(to.to_owned()),
            other => other,
        });
        Ok(())
    })
}

/// DROP TYPE and DROP DOMAIN.
pub(crate) fn drop_types(
    context: &Context<'_>,
    if_exists: bool,
    dropped: &[ObjectName],
    tag: &str,
) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let mut notices = Vec::new();
    let keys = dropped.iter().map(names::relation).collect::<Result<Vec<_>, _>>()?;
    catalog.change(|change| {
        for key in &keys {
            if let Some((table, columns)) = users(catalog, key).first() {
                let column = &table.relation.schema().columns()[columns[0]].name;
                return Err(Error::new(
                    ErrorKind::Dependent,
                    format!(
                        "cannot drop type {key} because other objects depend on it: column {column} of table {} depends on \
                         type {key}; drop that column, or give it another type first",
                        table.name
                    ),
                ));
            }
            if change.definitions.types.remove(key).is_none() {
                if !if_exists {
                    return Err(missing(key));
                }
                notices.push(format!("type \"{}\" does not exist, skipping", names::shown_name(key)));
            }
        }
        Ok(())
    })?;
    Ok(Outcome::done(tag).with_notices(notices))
}
