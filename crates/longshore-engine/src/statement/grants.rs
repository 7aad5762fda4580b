//! GRANT, REVOKE and ALTER DEFAULT PRIVILEGES.
//!
//! Who grants acts as the owner of the object, or as the one of its roles that may grant most of what is asked for; what that
//! one may not grant is left out, with a notice. Not here: lists of privileges (`catalog::acl`).

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::catalog::{
    Acl, AclItem, Behavior, Catalog, Change, Commented, DefaultsFor, DefaultsOf, Entry, ObjectClass, Privileges,
    RoleId, Roles,
};
use crate::sql::grants::{DefaultsStatement, GrantStatement, NamedPrivilege, PrivilegeStatement, Target};
use crate::sql::names::{self, CATALOG};
use crate::sql::roles::RoleSpec;
use crate::statement::role_names::{denied, named};
use crate::statement::{Context, roles, view};
use crate::{Error, ErrorKind, Outcome};

/// Does what a statement says of privileges.
pub(crate) async fn run(context: &Context<'_>, statement: &PrivilegeStatement) -> Result<Outcome, Error> {
    match statement {
        PrivilegeStatement::Grant(grant) => Box::pin(grant_on_objects(context, grant)).await,
        PrivilegeStatement::Membership(membership) => roles::memberships(context, membership),
        PrivilegeStatement::Defaults(defaults) => alter_defaults(context, defaults),
    }
}

/// How privileges come or go.
struct Granting {
    is_grant: bool,
    option: bool,
    behavior: Behavior,
    grantees: Vec<RoleId>,
    by: RoleId,
}

impl Granting {
    fn of<T>(context: &Context<'_>, grant: &GrantStatement<T>) -> Result<Self, Error> {
        let by = context.transaction.numbers().identity().current;
        if let Some(said) = &grant.granted_by
            && named(context, said)? != by
        {
            return Err(Error::unsupported("grantor must be current user"));
        }
        let grantee = |role: &RoleSpec| match role {
            RoleSpec::Public => Ok(RoleId::PUBLIC),
            role => named(context, role),
        };
        let grantees = grant.roles.iter().map(grantee).collect::<Result<Vec<_>, _>>()?;
        let behavior = if grant.cascade { Behavior::Cascade } else { Behavior::Restrict };
        Ok(Self { is_grant: grant.is_grant, option: grant.option, behavior, grantees, by })
    }

    /// Changes a list as a grantor.
    fn apply(
        &self,
        acl: &mut Acl,
        roles: &Roles,
        privileges: Privileges,
        grantor: RoleId,
        owner: RoleId,
    ) -> Result<(), Error> {
        for grantee in &self.grantees {
            if self.is_grant && self.option && *grantee == RoleId::PUBLIC {
                return Err(Error::new(ErrorKind::Coded("0LP01"), "grant options can only be granted to roles"));
            }
            let part = |is: bool| if is { privileges } else { Privileges::NONE };
            let item = AclItem {
                grantee: *grantee,
                grantor,
                privileges: part(self.is_grant || !self.option),
                options: part(!self.is_grant || self.option),
            };
            if self.is_grant {
                acl.add(roles, item, owner)?;
            } else {
                acl.remove(roles, item, owner, self.behavior)?;
            }
        }
        Ok(())
    }

    /// What there is to say of what could not be granted.
    fn notice(&self, what: &str, wanted: Privileges, done: Privileges, is_all: bool) -> Option<String> {
        let verb = if self.is_grant { "were granted" } else { "could be revoked" };
        if done.is_empty() {
            return Some(format!("no privileges {verb} for {what}"));
        }
        (!is_all && done != wanted).then(|| format!("not all privileges {verb} for {what}"))
    }
}

/// What is asked for on something: privileges on the whole, or on columns of it.
struct Wanted {
    whole: Privileges,
    is_all: bool,
    columns: Vec<(String, Privileges)>,
}

impl Wanted {
    fn of(asked: &[NamedPrivilege], class: ObjectClass) -> Result<Self, Error> {
        let mut wanted = Self { whole: Privileges::NONE, is_all: false, columns: Vec::new() };
        for NamedPrivilege { name, columns } in asked {
            let is_of_columns = !columns.is_empty();
            if is_of_columns && class != ObjectClass::Table {
                return Err(Error::new(ErrorKind::Coded("0LP01"), "column privileges are only valid for relations"));
            }
            let all = if is_of_columns { Privileges::OF_COLUMN } else { class.privileges() };
            let privileges = match name {
                None => all,
                Some(name) => privilege(name, all, if is_of_columns { ObjectClass::Column } else { class })?,
            };
            if !is_of_columns {
                wanted.whole |= privileges;
                wanted.is_all |= name.is_none();
            }
            for column in columns {
                let column = names::identifier(column)?;
                match wanted.columns.iter_mut().find(|(known, _)| *known == column) {
                    Some((_, known)) => *known |= privileges,
                    None => wanted.columns.push((column, privileges)),
                }
            }
        }
        Ok(wanted)
    }
}

/// The privilege of a name, which must be one of `all`.
fn privilege(name: &str, all: Privileges, class: ObjectClass) -> Result<Privileges, Error> {
    let found = Privileges::named(name);
    let found = found.ok_or_else(|| Error::syntax(format!("unrecognized privilege type \"{name}\"")))?;
    if all.has(found) {
        return Ok(found);
    }
    let kind = match class {
        // PostgreSQL finds out later that a table is no sequence.
        ObjectClass::Table if found != Privileges::USAGE => "relation",
        other => other.name(),
    };
    let name = name.to_uppercase();
    Err(Error::new(ErrorKind::Coded("0LP01"), format!("invalid privilege type {name} for {kind}")))
}

async fn grant_on_objects(context: &Context<'_>, grant: &GrantStatement) -> Result<Outcome, Error> {
    let tag = if grant.is_grant { "GRANT" } else { "REVOKE" };
    let granting = Granting::of(context, grant)?;
    let targets = targets(context, &grant.on)?;
    let mut all = Vec::with_capacity(targets.len());
    for (on, class) in targets {
        let wanted = Wanted::of(&grant.privileges, class)?;
        if !wanted.columns.is_empty()
            && let Commented::Relation(name) = &on
        {
            let columns = columns_of(context, name).await?;
            if let Some((lost, _)) = wanted.columns.iter().find(|(column, _)| !columns.contains(column)) {
                return Err(Error::no_column(format!(
                    "column \"{lost}\" of relation \"{}\" does not exist",
                    names::own(name)
                )));
            }
        }
        all.push((on, class, wanted));
    }
    let notices = context.database.catalog.change(|change| {
        let mut notices = Vec::new();
        for (on, class, wanted) in &all {
            if !wanted.whole.is_empty() {
                notices.extend(on_whole(change, &granting, (on, *class), wanted)?);
            }
            for (column, privileges) in &wanted.columns {
                notices.extend(on_column(change, &granting, on, column, *privileges)?);
            }
        }
        Ok(notices)
    })?;
    Ok(Outcome::done(tag).with_notices(notices))
}

/// The columns of a table or view.
pub(crate) async fn columns_of(context: &Context<'_>, name: &str) -> Result<Vec<String>, Error> {
    Ok(match context.database.catalog.get(name) {
        Some(Entry::Table(table)) => {
            table.relation.schema().columns().iter().map(|column| column.name.clone()).collect()
        }
        Some(Entry::View(view)) => {
            let schema = view::schema(context, &view).await?;
            schema.fields().iter().map(|field| field.name().clone()).collect()
        }
        None => Vec::new(),
    })
}

fn on_whole(
    change: &mut Change,
    granting: &Granting,
    (on, class): (&Commented, ObjectClass),
    wanted: &Wanted,
) -> Result<Option<String>, Error> {
    let roles = Arc::clone(&change.definitions.roles);
    let owner = change.definitions.owner(on);
    let mut acl = change.definitions.acl(on, class).into_owned();
    let (grantor, available) = acl.best_grantor(&roles, granting.by, owner, wanted.whole);
    let name = match on {
        Commented::Database => CATALOG,
        Commented::Relation(name) | Commented::Schema(name) | Commented::Type(name) => name.as_str(),
        _ => return Err(Error::internal("privileges are on a table, sequence, schema, type or database")),
    };
    if available.is_empty() {
        let all = class.privileges();
        let has_any =
            !acl.granted(&roles, grantor, all).is_empty() || !acl.grantable(&roles, grantor, owner, all).is_empty();
        if !has_any {
            let kind = match on {
                Commented::Relation(name) => change.kind_of(name),
                _ => class.name(),
            };
            return Err(denied(format!("permission denied for {kind} {}", names::own(name))));
        }
    }
    let privileges = wanted.whole & available;
    let name = names::own(name);
    let notice = granting.notice(&format!("\"{name}\""), wanted.whole, privileges, wanted.is_all);
    granting.apply(&mut acl, &roles, privileges, grantor, owner)?;
    change.definitions.set_acl(on, acl);
    // What is revoked of the whole is revoked of each column.
    let of_columns = privileges & Privileges::OF_COLUMN;
    if !granting.is_grant
        && !of_columns.is_empty()
        && let Commented::Relation(relation) = on
    {
        let columns: Vec<String> = change
            .definitions
            .access
            .keys()
            .filter_map(|known| match known {
                Commented::Column(of, column) if of == relation => Some(column.clone()),
                _ => None,
            })
            .collect();
        for column in columns {
            on_column(change, granting, on, &column, of_columns)?;
        }
    }
    Ok(notice)
}

fn on_column(
    change: &mut Change,
    granting: &Granting,
    relation: &Commented,
    column: &str,
    wanted: Privileges,
) -> Result<Option<String>, Error> {
    let Commented::Relation(name) = relation else {
        return Err(Error::internal("columns are of relations"));
    };
    let roles = Arc::clone(&change.definitions.roles);
    let owner = change.definitions.owner(relation);
    let on = Commented::Column(name.clone(), column.to_owned());
    let mut acl = change.definitions.acl(&on, ObjectClass::Column).into_owned();
    let mut both = change.definitions.acl(relation, ObjectClass::Table).into_owned();
    both.0.extend(&acl.0);
    let (grantor, available) = both.best_grantor(&roles, granting.by, owner, wanted);
    let what = format!("column \"{column}\" of relation \"{}\"", names::own(name));
    if available.is_empty() {
        let all = Privileges::OF_COLUMN;
        let has_any =
            !both.granted(&roles, grantor, all).is_empty() || !both.grantable(&roles, grantor, owner, all).is_empty();
        if !has_any {
            return Err(denied(format!("permission denied for {what}")));
        }
    }
    let privileges = wanted & available;
    let notice = granting.notice(&what, wanted, privileges, wanted == Privileges::OF_COLUMN);
    granting.apply(&mut acl, &roles, privileges, grantor, owner)?;
    change.definitions.set_acl(&on, acl);
    Ok(notice)
}

/// What privileges are on, which must be there.
fn targets(context: &Context<'_>, on: &Target) -> Result<Vec<(Commented, ObjectClass)>, Error> {
    let catalog = &context.database.catalog;
    match on {
        Target::Tables(names) => names.iter().map(|name| relation(catalog, name)).collect(),
        Target::Sequences(names) => names
            .iter()
            .map(|name| match relation(catalog, name)? {
                found @ (_, ObjectClass::Sequence) => Ok(found),
                _ => Err(Error::new(
                    ErrorKind::WrongObject,
                    format!("\"{}\" is not a sequence", names::own(&names::relation(name)?)),
                )),
            })
            .collect(),
        Target::Types(names) => names
            .iter()
            .map(|name| {
                let name = names::relation(name)?;
                match catalog.user_type(&name) {
                    Some(_) => Ok((Commented::Type(name), ObjectClass::Type)),
                    None => Err(Error::no_object(format!("type \"{name}\" does not exist"))),
                }
            })
            .collect(),
        Target::Schemas(names) => {
            let schema = |name: &String| {
                check_schema(catalog, name)?;
                Ok((Commented::Schema(name.clone()), ObjectClass::Schema))
            };
            names.iter().map(schema).collect()
        }
        Target::Databases(names) => names
            .iter()
            .map(|name| match name.as_str() {
                CATALOG => Ok((Commented::Database, ObjectClass::Database)),
                _ => Err(Error::new(ErrorKind::Coded("3D000"), format!("database \"{name}\" does not exist"))),
            })
            .collect(),
        Target::TablesIn(schemas) | Target::SequencesIn(schemas) => {
            let class = if matches!(on, Target::TablesIn(_)) { ObjectClass::Table } else { ObjectClass::Sequence };
            schemas.iter().try_for_each(|schema| check_schema(catalog, schema))?;
            let all: Vec<String> = match class {
                ObjectClass::Table => catalog.names(),
                _ => catalog.sequences().iter().map(|sequence| sequence.name.clone()).collect(),
            };
            let is_in = |name: &String| schemas.iter().any(|schema| schema == names::parts(name).0);
            Ok(all.into_iter().filter(is_in).map(|name| (Commented::Relation(name), class)).collect())
        }
        Target::Other(kind) => Err(Error::unsupported(format!(
            "privileges on {} are not supported: there are no such objects of users",
            kind.to_uppercase()
        ))),
    }
}

fn check_schema(catalog: &Catalog, schema: &str) -> Result<(), Error> {
    if catalog.has_schema(schema) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NoSchema, format!("schema \"{schema}\" does not exist")))
}

fn relation(catalog: &Catalog, name: &ObjectName) -> Result<(Commented, ObjectClass), Error> {
    let name = names::relation(name)?;
    match catalog.class_of(&name) {
        Some(class) => Ok((Commented::Relation(name), class)),
        None => Err(Error::not_found(format!("relation \"{name}\" does not exist"))),
    }
}

/// ALTER DEFAULT PRIVILEGES.
fn alter_defaults(context: &Context<'_>, statement: &DefaultsStatement) -> Result<Outcome, Error> {
    let DefaultsStatement { creators, schemas, grant } = statement;
    let granting = Granting::of(context, grant)?;
    let (kind, class) = match grant.on.as_str() {
        "tables" => (DefaultsFor::Tables, ObjectClass::Table),
        "sequences" => (DefaultsFor::Sequences, ObjectClass::Sequence),
        "types" => (DefaultsFor::Types, ObjectClass::Type),
        "schemas" => (DefaultsFor::Schemas, ObjectClass::Schema),
        other => {
            return Err(Error::unsupported(format!(
                "default privileges on {} are not supported: there are no such objects of users",
                other.to_uppercase()
            )));
        }
    };
    if kind == DefaultsFor::Schemas && !schemas.is_empty() {
        return Err(Error::new(
            ErrorKind::Coded("0LP01"),
            "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS",
        ));
    }
    let wanted = Wanted::of(&grant.privileges, class)?;
    if !wanted.columns.is_empty() {
        return Err(Error::new(ErrorKind::Coded("0LP01"), "default privileges cannot be set for columns"));
    }
    let catalog = &context.database.catalog;
    schemas.iter().try_for_each(|schema| check_schema(catalog, schema))?;
    let creators = match creators.as_slice() {
        [] => vec![granting.by],
        named_ones => named_ones.iter().map(|role| named(context, role)).collect::<Result<Vec<_>, _>>()?,
    };
    let places: Vec<Option<String>> =
        if schemas.is_empty() { vec![None] } else { schemas.iter().cloned().map(Some).collect() };
    catalog.change(|change| {
        let roles = Arc::clone(&change.definitions.roles);
        for creator in creators {
            if !roles.is_member_of(granting.by, creator) {
                return Err(denied(format!("must be member of role \"{}\"", roles.name(creator))));
            }
            for schema in &places {
                let usual = if schema.is_none() { class.default_acl(creator) } else { Acl::default() };
                let of = DefaultsOf { creator, schema: schema.clone(), kind };
                let mut acl = change.definitions.defaults.get(&of).unwrap_or(&usual).clone();
                granting.apply(&mut acl, &roles, wanted.whole, creator, creator)?;
                change.definitions.set_defaults(of, (acl != usual).then_some(acl));
            }
        }
        Ok(())
    })?;
    Ok(Outcome::done("ALTER DEFAULT PRIVILEGES"))
}
