//! Whether a role may execute a statement. Superusers are not asked: who is none pays for a look at the statement's tree, once
//! for a plan that is kept.
//!
//! A statement is looked at when its names are resolved and before anything is planned, so that nothing that is denied is
//! read, not even a file. Columns matter only where a role has no privilege on the whole table; then every column counts
//! that the statement may mean (`uses`). Views are read with the rights of their owner. Statements about roles and privileges
//! look themselves who may execute them (`roles`, `grants`), and so do functions that name objects by texts.
//!
//! Not here: who has which privileges (`catalog::access`).

mod changes;
mod definitions;
mod uses;

use sqlparser::ast::{DescribeAlias, ObjectNamePart, Query, SetExpr, Statement};

use crate::catalog::{Catalog, Commented, Entry, ObjectClass, Privileges, RoleId, View, is_temporary};
use crate::prepared::Prepared;
use crate::sql::copy::{CopyFrom, CopySource, CopyTarget, CopyTo, CopyWhat};
use crate::sql::grants::{PrivilegeStatement, Target};
use crate::sql::options::{OptionItem, OptionValue};
use crate::sql::pivot::Turn;
use crate::sql::{self, Parsed, names};
use crate::statement::{SessionContext, settings};
use crate::transaction::Block;
use crate::{Database, Error, ErrorKind};
use uses::Uses;

/// Refuses what the role that the session acts as may not do.
pub(super) fn check_session(session: &SessionContext<'_>, parsed: &Parsed) -> Result<(), Error> {
    let catalog = &session.database.catalog;
    match session.block.numbers().checked_role(catalog) {
        None => Ok(()),
        Some(role) => check(parsed, catalog, role),
    }
}

/// The same for a prepared statement, which is looked at once for each role and state of the catalog.
pub(super) fn check_prepared(database: &Database, block: &Block, prepared: &Prepared) -> Result<(), Error> {
    let catalog = &database.catalog;
    match block.numbers().checked_role(catalog) {
        None => Ok(()),
        Some(role) => {
            prepared.allow(role, catalog.version(), |statement| Rights { catalog, role }.statement(statement, &[]))
        }
    }
}

/// Refuses a statement that a role may not execute.
fn check(parsed: &Parsed, catalog: &Catalog, role: RoleId) -> Result<(), Error> {
    let rights = Rights { catalog, role };
    match parsed {
        Parsed::Empty
        | Parsed::SchemaElements(_)
        | Parsed::SetConstraints(_)
        | Parsed::Notification(_)
        | Parsed::Role(_)
        | Parsed::Identity(_)
        | Parsed::Cursor(_) => Ok(()),
        Parsed::Privilege(statement) => rights.finds(statement),
        Parsed::CopyFrom(copy) => rights.copy_from(copy),
        Parsed::CopyTo(copy) => rights.copy_to(copy),
        Parsed::CreateFrom(create) => {
            rights.read_files("read files")?;
            rights.write_rejects(&create.options)?;
            rights.create(&create.table, create.or_replace)
        }
        Parsed::Export(_) => superuser_only("export the database"),
        Parsed::Import(_) => superuser_only("import a database"),
        Parsed::Backup(_) => superuser_only("back the database up"),
        Parsed::Checkpoint => rights.checkpoint(),
        Parsed::Sequence(statement) => rights.sequence(statement),
        Parsed::AlterTable(alter) => rights.alter_table(alter),
        Parsed::Object(statement) => rights.object(statement),
        Parsed::Domain(statement) => rights.domain(statement),
        Parsed::Summarize(query) => rights.query(query, &[]),
        Parsed::Pivot(pivot) => {
            let mut uses = Uses::default();
            uses.look_at(&pivot.relation);
            uses.look_at(&pivot.order_by);
            uses.look_at(&pivot.limit);
            if let Turn::Pivot { on, using, group_by } = &pivot.what {
                for (expr, values) in on {
                    uses.look_at(expr);
                    uses.look_at(values);
                }
                uses.look_at(using);
                uses.look_at(group_by);
            }
            uses.all = true;
            rights.reads(&uses)
        }
        Parsed::Sql(statement) => rights.statement(statement, &[]),
    }
}

/// Refuses a setting that only superusers may change, since it concerns others.
pub(super) fn check_set(name: &str) -> Result<(), Error> {
    let name = name.to_ascii_lowercase();
    let is_limit = matches!(name.as_str(), "session_replication_role" | "query_memory_limit" | "temp_file_limit");
    if settings::is_of_database(&name) || is_limit || name.starts_with("log_") {
        return Err(denied(format!("permission denied to set parameter \"{name}\"")));
    }
    Ok(())
}

/// What one role may do.
#[derive(Clone, Copy)]
struct Rights<'a> {
    catalog: &'a Catalog,
    role: RoleId,
}

/// Refuses the tables of the system that have passwords.
fn of_system(name: &str) -> Result<(), Error> {
    match names::own(name) {
        "pg_authid" => Err(denied("permission denied for table pg_authid")),
        "pg_shadow" => Err(denied("permission denied for view pg_shadow")),
        _ => Ok(()),
    }
}

fn denied(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Privilege, message)
}

impl Rights<'_> {
    /// Looks at a statement; `defined` are the names that a WITH around it has defined.
    fn statement(self, statement: &Statement, defined: &[String]) -> Result<(), Error> {
        match statement {
            Statement::Query(query) => self.query(query, defined),
            Statement::Insert(insert) => self.insert(insert, defined),
            Statement::Update(update) => self.update(update, defined),
            Statement::Delete(delete) => self.delete(delete, defined),
            Statement::Merge(merge) => self.merge(merge, defined),
            Statement::Explain { describe_alias, statement, .. } => match statement.as_ref() {
                Statement::Query(query) if matches!(describe_alias, DescribeAlias::Describe | DescribeAlias::Desc) => {
                    let mut uses = Uses::within(defined);
                    uses.look_at(query.as_ref());
                    self.files(&uses)
                }
                inner => self.statement(inner, defined),
            },
            Statement::ExplainTable { table_name, .. } => {
                let is_file = matches!(table_name.0.as_slice(), [ObjectNamePart::Identifier(name)]
                    if name.quote_style == Some('\''));
                if is_file { self.read_files("read files") } else { Ok(()) }
            }
            Statement::Execute { parameters, .. } => {
                let mut uses = Uses::default();
                uses.look_at(parameters);
                self.reads(&uses)
            }
            Statement::Set(sqlparser::ast::Set::SingleAssignment { variable, .. }) => check_set(&variable.to_string()),
            Statement::Reset(sqlparser::ast::ResetStatement {
                reset: sqlparser::ast::Reset::ConfigurationParameter(name),
            }) => check_set(&name.to_string()),
            other => self.definition(other),
        }
    }

    /// A query, and the statements in its WITH that change rows.
    fn query(self, query: &Query, defined: &[String]) -> Result<(), Error> {
        sql::row_locks::locked_tables(query)?.iter().try_for_each(|name| self.lock_rows(name))?;
        let has_changes = sql::is_change(query) || super::with_changes::has_changes(query);
        if !has_changes {
            let mut uses = Uses::within(defined);
            uses.look_at(query);
            return self.reads(&uses);
        }
        let mut defined = defined.to_vec();
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&cte.query, &defined)?;
            defined.push(names::identifier(&cte.alias.name)?);
        }
        match query.body.as_ref() {
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Merge(change) => {
                self.statement(change, &defined)
            }
            _ => {
                let mut uses = Uses::within(&defined);
                uses.look_at(&Query { with: None, ..query.clone() });
                self.reads(&uses)
            }
        }
    }

    /// Whether a query may read what it uses.
    fn reads(self, uses: &Uses) -> Result<(), Error> {
        self.files(uses)?;
        uses.relations.iter().try_for_each(|name| self.read(name, uses))
    }

    /// Whether rows of a table may be locked.
    fn lock_rows(self, name: &str) -> Result<(), Error> {
        let is_known = self.catalog.class_of(name).is_some();
        let may = || self.may(name, Privileges::UPDATE) || !self.columns_with(name, Privileges::UPDATE).is_empty();
        if is_known && !may() { Err(self.denied_on(name)) } else { Ok(()) }
    }

    /// Whether the role finds what privileges are on.
    fn finds(self, statement: &PrivilegeStatement) -> Result<(), Error> {
        let PrivilegeStatement::Grant(grant) = statement else { return Ok(()) };
        match &grant.on {
            Target::Tables(objects) | Target::Sequences(objects) | Target::Types(objects) => {
                objects.iter().try_for_each(|name| self.look_into(&names::relation(name)?))
            }
            _ => Ok(()),
        }
    }

    fn files(self, uses: &Uses) -> Result<(), Error> {
        if uses.reads_files { self.read_files("read files") } else { Ok(()) }
    }

    /// Whether a table, view or sequence may be read as a query uses it.
    fn read(self, name: &str, uses: &Uses) -> Result<(), Error> {
        if self.catalog.class_of(name).is_none() {
            return of_system(name);
        }
        self.look_into(name)?;
        if !self.may(name, Privileges::SELECT) {
            let granted = self.columns_with(name, Privileges::SELECT);
            if granted.is_empty() {
                return Err(self.denied_on(name));
            }
            match uses.columns_of(self.catalog, name) {
                // Any column will do where none is named.
                Some(columns) if columns.iter().all(|column| granted.contains(column)) => {}
                _ => return Err(self.denied_on(name)),
            }
        }
        if uses.locks && !self.may_on_columns(name, Privileges::UPDATE, Some(&[])) {
            return Err(self.denied_on(name));
        }
        match self.catalog.get(name) {
            Some(Entry::View(view)) => self.through_view(&view, |owner| {
                let mut query = sql::parse_query(&view.sql)?;
                if uses.locks {
                    query.locks.push(sql::row_locks::for_update());
                }
                owner.query(&query, &[])
            }),
            _ => Ok(()),
        }
    }

    /// Does something with the rights of the owner of a view, unless that one may do everything.
    fn through_view(self, view: &View, act: impl FnOnce(Self) -> Result<(), Error>) -> Result<(), Error> {
        let on = Commented::Relation(view.name.clone());
        let (owner, is_superuser) = self.catalog.definitions(|definitions| {
            let owner = definitions.owner(&on);
            (owner, definitions.roles.is_superuser(owner))
        });
        if is_superuser { Ok(()) } else { act(Self { role: owner, ..self }) }
    }

    /// Whether the role has all of `wanted` on a table, view or sequence as a whole.
    fn may(self, name: &str, wanted: Privileges) -> bool {
        let class = self.catalog.class_of(name).unwrap_or(ObjectClass::Table);
        let on = Commented::Relation(name.to_owned());
        self.catalog.definitions(|definitions| definitions.may(self.role, &on, class, wanted))
    }

    /// The columns of a table or view on which the role has a privilege by themselves.
    fn columns_with(self, name: &str, wanted: Privileges) -> Vec<String> {
        self.catalog.definitions(|definitions| {
            let column = |on: &Commented| match on {
                Commented::Column(of, column) if of == name => Some(column.clone()),
                _ => None,
            };
            let named = definitions.access.keys().filter_map(column);
            let may = |column: &String| {
                let on = Commented::Column(name.to_owned(), column.clone());
                definitions.may(self.role, &on, ObjectClass::Column, wanted)
            };
            named.filter(may).collect()
        })
    }

    /// Whether the role has a privilege on a table as a whole, or on each of these columns; of none, on any.
    fn may_on_columns(self, name: &str, wanted: Privileges, columns: Option<&[String]>) -> bool {
        if self.may(name, wanted) {
            return true;
        }
        let granted = self.columns_with(name, wanted);
        if let Some(columns) = columns {
            !granted.is_empty() && columns.iter().all(|column| granted.contains(column))
        } else {
            let all = uses::all_columns(self.catalog, name);
            !granted.is_empty() && all.is_some_and(|all| all.iter().all(|column| granted.contains(column)))
        }
    }

    fn denied_on(self, name: &str) -> Error {
        let kind = self.catalog.kind_of(name).unwrap_or("table");
        denied(format!("permission denied for {kind} {}", names::own(name)))
    }

    /// Whether the role may look into the schema of something.
    fn look_into(self, name: &str) -> Result<(), Error> {
        self.in_schema(names::parts(name).0, Privileges::USAGE)
    }

    fn in_schema(self, schema: &str, wanted: Privileges) -> Result<(), Error> {
        let on = Commented::Schema(schema.to_owned());
        let may = self.catalog.definitions(|definitions| definitions.may(self.role, &on, ObjectClass::Schema, wanted));
        if may || !self.catalog.has_schema(schema) {
            return Ok(());
        }
        Err(denied(format!("permission denied for schema {schema}")))
    }

    /// Whether something of this name may be made; if it may take the place of what is there, that must be the role's.
    fn create(self, name: &str, or_replace: bool) -> Result<(), Error> {
        if is_temporary(name) {
            let may = self.catalog.definitions(|definitions| {
                definitions.may(self.role, &Commented::Database, ObjectClass::Database, Privileges::TEMPORARY)
            });
            return if may {
                Ok(())
            } else {
                Err(denied(format!("permission denied to create temporary tables in database \"{}\"", names::CATALOG)))
            };
        }
        self.in_schema(names::parts(name).0, Privileges::CREATE)?;
        if or_replace && self.catalog.class_of(name).is_some() { self.own_relation(name) } else { Ok(()) }
    }

    fn owns(self, what: &Commented) -> bool {
        self.catalog.definitions(|definitions| definitions.owns(self.role, what))
    }

    /// Refuses who does not own a table, view or sequence.
    fn own_relation(self, name: &str) -> Result<(), Error> {
        let Some(kind) = self.catalog.kind_of(name) else { return Ok(()) };
        self.look_into(name)?;
        self.own(&Commented::Relation(name.to_owned()), kind, names::own(name))
    }

    fn own(self, what: &Commented, kind: &str, name: &str) -> Result<(), Error> {
        if self.owns(what) {
            return Ok(());
        }
        Err(denied(format!("must be owner of {kind} {name}")))
    }

    fn checkpoint(self) -> Result<(), Error> {
        let roles = self.catalog.roles();
        let may = roles.named("pg_checkpoint").is_some_and(|checkpoint| roles.has_rights_of(self.role, checkpoint));
        if may {
            return Ok(());
        }
        Err(denied("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT"))
    }

    fn has_role(self, of: RoleId) -> bool {
        self.catalog.definitions(|definitions| definitions.roles.has_rights_of(self.role, of))
    }

    /// Whether the role may read files on this machine, and by it from others.
    fn read_files(self, what: &str) -> Result<(), Error> {
        if self.has_role(RoleId::READ_SERVER_FILES) {
            return Ok(());
        }
        Err(denied(format!(
            "must be superuser or have privileges of the pg_read_server_files role to {what} on the server; anyone can COPY \
             from stdin, and \\copy of the client's shell works for anyone"
        )))
    }

    fn write_files(self, what: &str) -> Result<(), Error> {
        if self.has_role(RoleId::WRITE_SERVER_FILES) {
            return Ok(());
        }
        Err(denied(format!(
            "must be superuser or have privileges of the pg_write_server_files role to {what} on the server; anyone can COPY \
             to stdout, and \\copy of the client's shell works for anyone"
        )))
    }

    /// Where records that a load leaves out may be written.
    fn write_rejects(self, options: &[OptionItem]) -> Result<(), Error> {
        for option in options {
            let OptionValue::Named(kind, name) = &option.value else { continue };
            if kind == "file" {
                self.write_files("write a file of rejects")?;
            } else if kind == "table" {
                match self.catalog.class_of(name) {
                    Some(_) if self.may(name, Privileges::INSERT) => {}
                    Some(_) => return Err(self.denied_on(name)),
                    None => self.create(name, false)?,
                }
            }
        }
        Ok(())
    }

    fn copy_from(self, copy: &CopyFrom) -> Result<(), Error> {
        match &copy.source {
            CopySource::Files(_) => self.read_files("COPY from a file")?,
            CopySource::Stdin => {}
            CopySource::Query(query) => self.query(query, &[])?,
        }
        self.write_rejects(&copy.options)?;
        let name = &names::plain(&copy.table);
        if self.catalog.class_of(name).is_none() {
            return self.create(name, false);
        }
        let columns = (!copy.columns.is_empty()).then_some(copy.columns.as_slice());
        self.write(name, Privileges::INSERT, columns)?;
        if let Some(condition) = &copy.condition {
            let mut uses = Uses::default();
            uses.look_at(condition);
            self.reads(&uses)?;
        }
        Ok(())
    }

    fn copy_to(self, copy: &CopyTo) -> Result<(), Error> {
        if matches!(copy.target, CopyTarget::File(_)) {
            self.write_files("COPY to a file")?;
        }
        match &copy.what {
            CopyWhat::Query(query) => self.query(query, &[]),
            CopyWhat::Table { name, columns } => {
                let name = names::plain(name);
                let mut uses = Uses::default();
                uses.add_table(&name, columns);
                self.reads(&uses)
            }
        }
    }
}

/// The error of who does what only superusers may.
fn superuser_only(what: &str) -> Result<(), Error> {
    Err(denied(format!("must be superuser to {what}")))
}
