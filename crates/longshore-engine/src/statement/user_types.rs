//! CREATE TYPE ... AS ENUM, CREATE DOMAIN, and what alters and drops them.
//!
//! Where a statement names such a type for a column or in a cast, the type below it is put there with what values must be
//! ([`expand`], [`cast`]), before anybody looks at the statement. Not here: what they are (`catalog::user_types`).

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::TableLock;
use sqlparser::ast::{
    AlterType, AlterTypeAddValue, AlterTypeAddValuePosition, AlterTypeOperation, Expr, Ident, ObjectName,
    UserDefinedTypeRepresentation,
};

use crate::catalog::{Catalog, Check, Domain, Table, UserType, about, columns_read, every_element};
use crate::sql::domain::{DomainStatement, DomainVerb};
use crate::sql::{build, enum_types, names};
use crate::statement::Context;
use crate::statement::alter::domains::set_not_null;
use crate::statement::alter::make::validate;
use crate::statement::own_types::find;
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
                set_not_null(context, catalog.users_of_type(&key)).await?;
            } else if not_null != domain.not_null && !catalog.users_of_type(&key).is_empty() {
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

/// Looks whether all values of a domain are as a constraint wants them.
async fn check_rows(context: &Context<'_>, key: &str, constraint: &str, condition: &Expr) -> Result<(), Error> {
    let look = context.transaction.beside(&context.database.transactions, None);
    for (table, columns) in context.database.catalog.users_of_type(key) {
        let mut reader = &look;
        if let Some(block) = context.block_transaction() {
            // What others write waits for the end of the block, which may have changed rows itself.
            block.with(|transaction| transaction.lock_table(&table.relation, TableLock::Share))?;
            let has_changed = block.with(|transaction| Ok(transaction.has_changed(&table.relation)))?;
            reader = if has_changed { block } else { &look };
        }
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
            let checked = Box::pin(validate(context, &table, &check, reader)).await;
            checked.map_err(|error| violated(error, &table, &described[column].name))?;
        }
    }
    Ok(())
}

/// Why a constraint cannot be added to a domain of which a table has values.
fn violated(error: Error, table: &Table, column: &str) -> Error {
    if error.kind() != ErrorKind::Check {
        return error;
    }
    let problem =
        format!("column \"{column}\" of table \"{}\" contains values that violate the new constraint", table.name);
    Error::new(ErrorKind::Check, problem)
}

/// Lets a type become another one, and the columns of it obey that.
fn become_type(catalog: &Catalog, key: &str, user_type: UserType) -> Result<(), Error> {
    catalog.change(|change| {
        change.set_type(key, key, user_type);
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
    let mut all = catalog.labels_with_new(&key).unwrap_or_else(|| labels.clone());
    match &alter.operation {
        AlterTypeOperation::Rename(_) => {}
        AlterTypeOperation::AddValue(add) => {
            if !add_label(&mut all, add)? {
                let notice = format!("enum label \"{}\" already exists, skipping", add.value.value);
                return Ok(Outcome::done("ALTER TYPE").with_notices(vec![notice]));
            }
            if !catalog.keeps_labels_back(&key) {
                labels.clone_from(&all);
            }
        }
        AlterTypeOperation::RenameValue(rename) => {
            let (from, to) = (&rename.from.value, &rename.to.value);
            check_label(to)?;
            if all.contains(to) {
                return Err(label_exists(to));
            }
            let Some(label) = all.iter_mut().find(|label| *label == from) else { return Err(no_label(from)) };
            if labels.contains(from)
                && let Some((table, _)) = catalog.users_of_type(&key).first()
            {
                return Err(Error::unsupported(format!(
                    "RENAME VALUE of type {key} is not supported while table {} has a column of it; ADD VALUE the new label, \
                     and UPDATE the rows",
                    table.name
                )));
            }
            label.clone_from(to);
            labels.iter_mut().filter(|label| *label == from).for_each(|label| label.clone_from(to));
        }
    }
    catalog.change(|change| {
        if all != labels {
            change.definitions.new_labels.insert(key.clone(), all);
        }
        if *found != UserType::Enum(labels.clone()) {
            change.set_type(&key, &key, UserType::Enum(labels));
        }
        Ok(())
    })?;
    Ok(Outcome::done("ALTER TYPE"))
}

/// Adds a label where ADD VALUE wants it; `false` if it is there already and that is said to be fine.
fn add_label(labels: &mut Vec<String>, add: &AlterTypeAddValue) -> Result<bool, Error> {
    let label = add.value.value.clone();
    check_label(&label)?;
    if labels.contains(&label) {
        return if add.if_not_exists { Ok(false) } else { Err(label_exists(&label)) };
    }
    let place = |neighbour: &Ident| {
        labels.iter().position(|label| *label == neighbour.value).ok_or_else(|| no_label(&neighbour.value))
    };
    let at = match &add.position {
        None => labels.len(),
        Some(AlterTypeAddValuePosition::Before(neighbour)) => place(neighbour)?,
        Some(AlterTypeAddValuePosition::After(neighbour)) => place(neighbour)? + 1,
    };
    labels.insert(at, label);
    Ok(true)
}

fn label_exists(label: &str) -> Error {
    Error::new(ErrorKind::DuplicateObject, format!("enum label \"{label}\" already exists"))
}

fn no_label(label: &str) -> Error {
    Error::invalid(format!("\"{label}\" is not an existing enum label"))
}

/// Gives a type another name, in the columns of it as well.
pub(crate) fn rename_type(catalog: &Catalog, from: &str, to: &str, user_type: UserType) -> Result<(), Error> {
    if catalog.definitions(|definitions| definitions.types.contains_key(to)) {
        return Err(exists(to));
    }
    catalog.change(|change| {
        change.set_type(from, to, user_type);
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
            if let Some((table, columns)) = catalog.users_of_type(key).first() {
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
            change.definitions.new_labels.remove(key);
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
