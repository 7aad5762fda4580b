//! What is done to objects as wholes: OWNER TO, SET SCHEMA, RENAME of views and sequences, COMMENT ON, VACUUM and ANALYZE, and
//! who may do what. There is one user, who owns everything and may do everything.
//!
//! Not here: tables (`alter`), schemas (`schemas`).

use std::sync::Arc;

use sqlparser::ast::{Grant, Grantee, GranteeName, ObjectName, Revoke};

use crate::catalog::{Catalog, Commented, Entry, Origin, Sequence, UserType, View};
use crate::sql::names::{self, USER};
use crate::sql::objects::{AlterObject, CommentStatement, ObjectChange, ObjectKind, ObjectStatement, Upkeep};
use crate::statement::alter::follow_rename;
use crate::statement::resolve::check_schema;
use crate::statement::{Context, schemas, storage, user_types, view};
use crate::{Error, ErrorKind, Outcome};

/// Does what a statement says of an object.
pub(crate) async fn run(context: &Context<'_>, statement: ObjectStatement) -> Result<Outcome, Error> {
    match statement {
        ObjectStatement::Alter(alter) => alter_object(context, &alter).await,
        ObjectStatement::Comment(comment) => comment_on(context, &comment),
        ObjectStatement::Upkeep(upkeep) => keep_up(context, &upkeep).await,
    }
}

/// What there is to say of an owner that is not the one that there is.
pub(crate) fn owner_notice(owner: &str) -> Option<String> {
    let is_known =
        [USER, "current_user", "session_user", "current_role"].iter().any(|known| owner.eq_ignore_ascii_case(known));
    (!is_known).then(|| format!("role {owner} does not exist; everything belongs to {USER}, the only user"))
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
    if let ObjectChange::Owner(owner) = what {
        return Ok(Outcome::done(tag).with_notices(owner_notice(&owner.value).into_iter().collect()));
    }
    change(context, *kind, &key, what).await?;
    Ok(Outcome::done(tag))
}

fn wrong_kind(name: &str, is: &str, wanted: ObjectKind) -> Error {
    Error::new(ErrorKind::WrongObject, format!("\"{name}\" is a {is}, not a {}", wanted.name()))
}

/// Renames a view or sequence, or moves it to another schema.
pub(crate) async fn change(
    context: &Context<'_>,
    kind: ObjectKind,
    name: &str,
    change: &ObjectChange,
) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    let (schema, own) = names::parts(name);
    let to = match change {
        ObjectChange::Rename(to) => names::in_schema(schema, &names::identifier(to)?),
        ObjectChange::Schema(schema) => {
            let schema = names::identifier(schema)?;
            check_schema(catalog, &schema)?;
            names::in_schema(&schema, own)
        }
        ObjectChange::RenameColumn(from, to) if kind == ObjectKind::View => {
            return rename_column_of_view(context, name, &names::identifier(from)?, &names::identifier(to)?).await;
        }
        ObjectChange::RenameColumn(..) | ObjectChange::Owner(_) => {
            return Err(Error::unsupported(format!("{} {name} cannot be altered so", kind.name())));
        }
    };
    if let (ObjectKind::Type | ObjectKind::Domain, Some(user_type)) = (kind, catalog.user_type(name)) {
        return user_types::rename_type(catalog, name, &to, UserType::clone(&user_type));
    }
    if to == name {
        return match change {
            ObjectChange::Schema(_) => Ok(()),
            _ => Err(Error::exists(format!("relation \"{to}\" already exists"))),
        };
    }
    if catalog.is_taken(&to) {
        return Err(Error::exists(format!("relation \"{to}\" already exists")));
    }
    match kind {
        ObjectKind::View => catalog.change(|change| {
            let Some(Entry::View(view)) = change.entries.remove(name) else {
                return Err(Error::not_found(format!("view {name} does not exist")));
            };
            let renamed = View { name: to.clone(), ..View::clone(&view) };
            change.entries.insert(to.clone(), Entry::View(Arc::new(renamed)));
            follow_rename(&mut change.entries, name, &to)?;
            change.move_comments(name, &to);
            Ok(())
        }),
        ObjectKind::Sequence => {
            let sequence = catalog.sequence(name);
            let sequence = sequence.ok_or_else(|| Error::not_found(format!("sequence {name} does not exist")))?;
            if matches!(change, ObjectChange::Schema(_)) && sequence.owner().is_some() {
                return Err(Error::unsupported(format!(
                    "cannot move an owned sequence into another schema: {name} belongs to a table, and goes with it"
                )));
            }
            rename_sequence(catalog, &sequence, &to)
        }
        _ => Err(Error::unsupported(format!("{} {name} cannot be altered so", kind.name()))),
    }
}

/// Gives a sequence another name, in the defaults that take numbers of it as well.
pub(crate) fn rename_sequence(catalog: &Catalog, sequence: &Arc<Sequence>, to: &str) -> Result<(), Error> {
    let from = sequence.name.as_str();
    catalog.change(|change| {
        if change.entries.contains_key(to) || change.sequences.contains_key(to) {
            return Err(Error::exists(format!("relation \"{to}\" already exists")));
        }
        change.sequences.remove(from);
        change.sequences.insert(to.to_owned(), Arc::new(sequence.renamed(to)));
        let tables: Vec<_> = change.entries.values().filter_map(Entry::table).collect();
        for table in tables {
            let rules = table.rules();
            for (column, rule) in rules.columns.iter().enumerate() {
                if rule.origin.sequences().iter().any(|name| name == from) {
                    let origin = &mut change.rules(&table).columns[column].origin;
                    match origin {
                        Origin::Identity { sequence, .. } => to.clone_into(sequence),
                        Origin::Default(expr) => crate::catalog::rename_sequence(expr, from, to),
                        Origin::Null | Origin::Generated(_) => {}
                    }
                }
            }
        }
        change.move_comments(from, to);
        Ok(())
    })
}

/// Gives a column of a view another name, which it keeps whatever its query calls it.
async fn rename_column_of_view(context: &Context<'_>, name: &str, from: &str, to: &str) -> Result<(), Error> {
    let catalog = &context.database.catalog;
    let Some(Entry::View(view)) = catalog.get(name) else {
        return Err(Error::not_found(format!("view {name} does not exist")));
    };
    let schema = view::schema(context, &view).await?;
    let mut columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    if columns.iter().any(|column| column == to) {
        return Err(Error::duplicate_column(&format!("view {name}"), to));
    }
    let Some(at) = columns.iter().position(|column| column == from) else {
        return Err(Error::no_column(format!("column \"{from}\" does not exist")));
    };
    to.clone_into(&mut columns[at]);
    catalog.change(|change| {
        let renamed = View { columns, ..View::clone(&view) };
        change.entries.insert(name.to_owned(), Entry::View(Arc::new(renamed)));
        change.map_comments(|on| match on {
            Commented::Column(of, column) if of == name && column == from => Commented::Column(of, to.to_owned()),
            other => other,
        });
        Ok(())
    })
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
        ObjectKind::Other(kind) => Err(Error::no_object(format!("{kind} \"{name}\" does not exist"))),
    }
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
    if upkeep.is_vacuum {
        let names: Vec<&ObjectName> = upkeep.tables.iter().map(|(name, _)| name).collect();
        return storage::vacuum(context, &names).await;
    }
    // What there is to know of a table is gathered as its rows come.
    Ok(Outcome::done("ANALYZE"))
}

/// GRANT, which gives the only user what it has anyway.
pub(crate) fn grant(grant: &Grant) -> Result<Outcome, Error> {
    allowed(&grant.grantees, "GRANT")
}

/// REVOKE, which the owner of everything does not feel.
pub(crate) fn revoke(revoke: &Revoke) -> Result<Outcome, Error> {
    allowed(&revoke.grantees, "REVOKE")
}

fn allowed(grantees: &[Grantee], tag: &str) -> Result<Outcome, Error> {
    for grantee in grantees {
        let name = match &grantee.name {
            Some(GranteeName::ObjectName(name)) => name.to_string(),
            _ => continue,
        };
        let is_known = name.eq_ignore_ascii_case("public") || owner_notice(&name).is_none();
        if !is_known {
            return Err(Error::no_object(format!("role \"{name}\" does not exist; there is one user, {USER}")));
        }
    }
    let notice = format!("{tag} has no effect: there is one user, {USER}, who may do everything");
    Ok(Outcome::done(tag).with_notices(vec![notice]))
}
