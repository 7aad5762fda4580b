//! What is done to objects as wholes: OWNER TO, SET SCHEMA, RENAME of views and sequences, COMMENT ON, VACUUM and ANALYZE.
//!
//! Not here: tables (`alter`), schemas (`schemas`), who owns what (`owners`).

use sqlparser::ast::ObjectName;

use crate::catalog::{Catalog, Commented, Entry, UserType};
use crate::sql::objects::{AlterObject, CommentStatement, ObjectChange, ObjectKind, ObjectStatement, Upkeep};
use crate::sql::{build, names};
use crate::statement::renames::{change, renamed};
use crate::statement::role_names::owner_named;
use crate::statement::{Context, owner, schemas, storage, user_types};
use crate::{Error, ErrorKind, Outcome};

/// Does what a statement says of an object.
pub(crate) async fn run(context: &Context<'_>, statement: ObjectStatement) -> Result<Outcome, Error> {
    match statement {
        ObjectStatement::Alter(alter) => alter_object(context, &alter).await,
        ObjectStatement::Comment(comment) => comment_on(context, &comment),
        ObjectStatement::Upkeep(upkeep) => keep_up(context, &upkeep).await,
    }
}

async fn alter_object(context: &Context<'_>, alter: &AlterObject) -> Result<Outcome, Error> {
    let AlterObject { kind, if_exists, name, change: what } = alter;
    let tag = format!("ALTER {}", kind.name().to_uppercase());
    let _alone = context.database.catalog.lock_ddl().await;
    if let ObjectKind::Other(kind) = kind {
        return Err(Error::unsupported(format!("ALTER {}: there are no objects of this kind", kind.to_uppercase())));
    }
    if let (ObjectKind::Schema, ObjectChange::Rename(to)) = (kind, what) {
        schemas::rename(context, name, to).await?;
        return Ok(Outcome::done(tag));
    }
    let catalog = &context.database.catalog;
    let key = names::relation(name)?;
    let is_there = match kind {
        ObjectKind::View => matches!(catalog.get(&key), Some(Entry::View(_))),
        ObjectKind::Sequence => catalog.sequence(&key).is_some(),
        ObjectKind::Index => catalog.owner_of_index(&key).is_some(),
        ObjectKind::Schema => catalog.has_schema(&schemas::name_of(name)?),
        ObjectKind::Database => true,
        ObjectKind::Type | ObjectKind::Domain => catalog.user_type(&key).is_some(),
        _ => return Err(Error::unsupported(format!("{tag} {name} is not supported"))),
    };
    if !is_there {
        let shown = names::shown_name(&key);
        if *if_exists {
            let notice = format!("relation \"{shown}\" does not exist, skipping");
            return Ok(Outcome::done(tag).with_notices(vec![notice]));
        }
        return Err(match catalog.get(&key) {
            Some(entry) => wrong_kind(&key, entry.kind(), *kind),
            None if *kind == ObjectKind::Schema => {
                Error::new(ErrorKind::NoSchema, format!("schema \"{shown}\" does not exist"))
            }
            None if matches!(kind, ObjectKind::Type | ObjectKind::Domain) => {
                Error::no_object(format!("type \"{shown}\" does not exist"))
            }
            None => Error::not_found(format!("{} {shown} does not exist", kind.name())),
        });
    }
    if let ObjectChange::Owner(to) = what {
        let what = match kind {
            ObjectKind::Schema => Commented::Schema(schemas::name_of(name)?),
            ObjectKind::Database => Commented::Database,
            ObjectKind::Type | ObjectKind::Domain => Commented::Type(key),
            // An index belongs to who owns its table.
            ObjectKind::Index => return Ok(Outcome::done(tag)),
            _ => Commented::Relation(key),
        };
        owner::change(context, &what, &owner_named(to)?)?;
        return Ok(Outcome::done(tag));
    }
    if let Some(user_type) = catalog.user_type(&key) {
        let to = renamed(catalog, &key, what)?;
        user_types::rename_type(catalog, &key, &to, UserType::clone(&user_type))?;
        return Ok(Outcome::done(tag));
    }
    change(context, *kind, &key, what).await?;
    Ok(Outcome::done(tag))
}

fn wrong_kind(name: &str, is: &str, wanted: ObjectKind) -> Error {
    Error::new(ErrorKind::WrongObject, format!("\"{name}\" is a {is}, not a {}", wanted.name()))
}

pub(crate) fn comment_on(context: &Context<'_>, statement: &CommentStatement) -> Result<Outcome, Error> {
    let catalog = &context.database.catalog;
    let on = commented(catalog, statement)?;
    catalog.change(|change| {
        match &statement.text {
            // An empty comment is none, as in PostgreSQL.
            Some(text) if !text.is_empty() => drop(change.definitions.comments.insert(on, text.clone())),
            _ => drop(change.definitions.comments.remove(&on)),
        }
        Ok(())
    })?;
    Ok(Outcome::done("COMMENT"))
}

/// What a comment is about, which must be there.
fn commented(catalog: &Catalog, statement: &CommentStatement) -> Result<Commented, Error> {
    let CommentStatement { kind, name, of, .. } = statement;
    let kind_of = |key: &str| match catalog.get(key) {
        Some(entry) => Some(entry.kind()),
        None => catalog.sequence(key).map(|_| "sequence"),
    };
    let relation = |name: &ObjectName| {
        let key = names::relation(name)?;
        match kind_of(&key) {
            Some(found) => Ok((key, found)),
            None => Err(Error::not_found(format!("relation \"{key}\" does not exist"))),
        }
    };
    match kind {
        ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => {
            let (key, found) = relation(name)?;
            if found == kind.name() { Ok(Commented::Relation(key)) } else { Err(wrong_kind(&key, found, *kind)) }
        }
        ObjectKind::Index => {
            let key = names::relation(name)?;
            let table = catalog.owner_of_index(&key);
            let table = table.ok_or_else(|| Error::not_found(format!("relation \"{key}\" does not exist")))?;
            Ok(Commented::Index(table.name.clone(), names::own(&key).to_owned()))
        }
        ObjectKind::Column => {
            let mut of = name.clone();
            let column = of.0.pop().and_then(|part| part.as_ident().cloned());
            let column = column.ok_or_else(|| Error::syntax(format!("{name} is not the name of a column")))?;
            let ((key, _), column) = (relation(&of)?, names::identifier(&column)?);
            let has_column = match catalog.get(&key) {
                Some(Entry::Table(table)) => table.relation.schema().index_of(&column).is_some(),
                Some(Entry::View(_)) => true,
                None => false,
            };
            if !has_column {
                return Err(Error::no_column(format!("column \"{column}\" of relation \"{key}\" does not exist")));
            }
            Ok(Commented::Column(key, column))
        }
        ObjectKind::Constraint => {
            let of = of.as_ref().ok_or_else(|| Error::internal("a constraint is of a table"))?;
            let ((key, _), constraint) = (relation(of)?, names::relation(name)?);
            let has_it = catalog.table(&key).is_some_and(|table| table.rules().has_constraint(&constraint));
            if !has_it {
                return Err(Error::no_object(format!(
                    "constraint \"{constraint}\" for table \"{key}\" does not exist"
                )));
            }
            Ok(Commented::Constraint(key, constraint))
        }
        ObjectKind::Schema => {
            let name = schemas::name_of(name)?;
            if !catalog.has_schema(&name) {
                return Err(Error::new(ErrorKind::NoSchema, format!("schema \"{name}\" does not exist")));
            }
            Ok(Commented::Schema(name))
        }
        ObjectKind::Database => Ok(Commented::Database),
        ObjectKind::Type | ObjectKind::Domain => {
            let key = names::relation(name)?;
            if catalog.user_type(&key).is_none() {
                return Err(Error::no_object(format!("type \"{key}\" does not exist")));
            }
            Ok(Commented::Type(key))
        }
        ObjectKind::Other("role") if has_role(catalog, name) => {
            Err(Error::unsupported("COMMENT ON ROLE is not supported"))
        }
        ObjectKind::Other(kind) => Err(Error::no_object(format!("{kind} \"{name}\" does not exist"))),
    }
}

fn has_role(catalog: &Catalog, name: &ObjectName) -> bool {
    let name = name.0.last().and_then(|part| part.as_ident()).and_then(|name| names::identifier(name).ok());
    name.is_some_and(|name| catalog.roles().all().any(|(_, role)| role.name == name))
}

async fn keep_up(context: &Context<'_>, upkeep: &Upkeep) -> Result<Outcome, Error> {
    for (name, columns) in &upkeep.tables {
        let key = names::relation(name)?;
        let table = match context.entry(&key) {
            Some(Entry::Table(table)) => table,
            Some(Entry::View(_)) => return Err(Error::invalid(format!("{key} is a view, not a table"))),
            None => return Err(Error::not_found(format!("table {key} does not exist"))),
        };
        for column in columns {
            let column = names::identifier(column)?;
            if table.relation.schema().index_of(&column).is_none() {
                return Err(Error::no_column(format!("column \"{column}\" of relation \"{key}\" does not exist")));
            }
        }
    }
    let catalog = &context.database.catalog;
    let (mut own, mut notices) = (upkeep.tables.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), Vec::new());
    if let Some(role) = context.transaction.numbers().checked_role(catalog) {
        if own.is_empty() {
            let tables = context.entries().into_iter().filter(|entry| matches!(entry, Entry::Table(_)));
            own.extend(tables.map(|entry| build::written(entry.name())));
        }
        let verb = if upkeep.is_vacuum { "vacuum" } else { "analyze" };
        own.retain(|name| {
            let name = names::relation(name).unwrap_or_default();
            let is_own = catalog.definitions(|known| known.owns(role, &Commented::Relation(name.clone())));
            if !is_own {
                let name = names::own(&name);
                notices.push(format!("skipping \"{name}\" --- only table or database owner can {verb} it"));
            }
            is_own
        });
        if own.is_empty() {
            return Ok(Outcome::done(verb.to_uppercase()).with_notices(notices));
        }
    }
    if upkeep.is_vacuum {
        let names: Vec<&ObjectName> = own.iter().collect();
        return storage::vacuum(context, &names).await.map(|outcome| outcome.with_notices(notices));
    }
    // What there is to know of a table is gathered as its rows come.
    Ok(Outcome::done("ANALYZE").with_notices(notices))
}
