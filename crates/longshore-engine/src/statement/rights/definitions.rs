//! What statements need that make, alter or drop something: CREATE on the schema, REFERENCES, or to own it.

use sqlparser::ast::{
    AlterTableOperation, ColumnOption, CreateTable, CreateTableLikeKind, ForeignKeyConstraint, LockTableMode,
    ObjectName, ObjectType, Statement, TableConstraint,
};

use super::uses::Uses;
use super::{Rights, denied};
use crate::Error;
use crate::catalog::{Commented, ObjectClass, Privileges};
use crate::sql::alter::{Action, AlterTable};
use crate::sql::domain::{DomainStatement, DomainVerb};
use crate::sql::names;
use crate::sql::objects::{ObjectChange, ObjectKind, ObjectStatement, Upkeep};
use crate::sql::sequence::{SequenceStatement, Verb};
use crate::statement::schemas;

impl Rights<'_> {
    /// A statement that neither reads nor changes rows.
    pub(super) fn definition(self, statement: &Statement) -> Result<(), Error> {
        match statement {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateView(create) => {
                self.create(&names::relation(&create.name)?, create.or_replace)?;
                // It is planned now, though its rows are read later, with the rights of its owner.
                let mut uses = Uses::default();
                uses.look_at(create.query.as_ref());
                self.files(&uses)?;
                uses.relations.iter().try_for_each(|name| self.look_into(name))
            }
            Statement::CreateIndex(create) => {
                let table = names::relation(&create.table_name)?;
                self.own_relation(&table)?;
                self.in_schema(names::parts(&table).0, Privileges::CREATE)
            }
            Statement::AlterIndex { name, .. } => self.own_index(name),
            Statement::Drop { object_type, names, .. } => {
                names.iter().try_for_each(|name| self.drop_object(object_type, name))
            }
            Statement::Truncate(truncate) => truncate.table_names.iter().try_for_each(|target| {
                let name = names::relation(&target.name)?;
                self.write(&name, Privileges::TRUNCATE, None)
            }),
            Statement::Lock(lock) => lock.tables.iter().try_for_each(|target| {
                let name = names::relation(&target.name)?;
                let changes = [Privileges::UPDATE, Privileges::DELETE, Privileges::TRUNCATE];
                let also = match lock.lock_mode {
                    Some(LockTableMode::AccessShare) => Some(Privileges::SELECT),
                    Some(LockTableMode::RowExclusive) => Some(Privileges::INSERT),
                    _ => None,
                };
                let may = self.catalog.class_of(&name).is_none()
                    || changes.into_iter().chain(also).any(|wanted| self.may(&name, wanted));
                if may { Ok(()) } else { Err(self.denied_on(&name)) }
            }),
            Statement::CreateSchema { .. } => {
                let on = Commented::Database;
                let may = self.catalog.definitions(|definitions| {
                    definitions.may(self.role, &on, ObjectClass::Database, Privileges::CREATE)
                });
                if may { Ok(()) } else { Err(denied(format!("permission denied for database {}", names::CATALOG))) }
            }
            Statement::CreateType { name, .. } => self.create(&names::relation(name)?, false),
            Statement::AlterType(alter) => self.own_type(&alter.name),
            Statement::DropDomain(drop) => self.drop_object(&ObjectType::Type, &drop.name),
            _ => Ok(()),
        }
    }

    fn create_table(self, create: &CreateTable) -> Result<(), Error> {
        self.create(&names::relation(&create.name)?, create.or_replace)?;
        if let Some(query) = &create.query {
            self.query(query, &[])?;
        }
        if let Some(CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like)) = &create.like {
            self.like(&like.name)?;
        }
        for column in &create.columns {
            if let Some(table) = crate::sql::like::table_in(column) {
                self.like(table)?;
            }
            for option in &column.options {
                if let ColumnOption::ForeignKey(key) = &option.option {
                    self.reference(key)?;
                }
            }
        }
        create.constraints.iter().try_for_each(|constraint| self.constraint(constraint))
    }

    fn like(self, table: &ObjectName) -> Result<(), Error> {
        let mut uses = Uses::default();
        uses.add_table(&names::relation(table)?, &[]);
        self.reads(&uses)
    }

    fn constraint(self, constraint: &TableConstraint) -> Result<(), Error> {
        match constraint {
            TableConstraint::ForeignKey(key) => self.reference(key),
            _ => Ok(()),
        }
    }

    /// Whether a foreign key may refer to a table.
    fn reference(self, key: &ForeignKeyConstraint) -> Result<(), Error> {
        let table = names::relation(&key.foreign_table)?;
        let columns: Vec<String> =
            key.referred_columns.iter().filter_map(|column| names::identifier(column).ok()).collect();
        if self.catalog.class_of(&table).is_none() {
            return Ok(());
        }
        self.look_into(&table)?;
        let columns = if columns.is_empty() { self.primary_key(&table) } else { columns };
        if self.may_on_columns(&table, Privileges::REFERENCES, Some(&columns)) {
            return Ok(());
        }
        Err(self.denied_on(&table))
    }

    fn primary_key(self, table: &str) -> Vec<String> {
        let Some(table) = self.catalog.table(table) else { return Vec::new() };
        let (columns, rules) = (table.relation.schema().columns(), table.rules());
        let primary = rules.keys.iter().find(|key| key.role == crate::catalog::Role::Primary);
        primary.map_or_else(Vec::new, |key| key.columns.iter().map(|at| columns[*at].name.clone()).collect())
    }

    fn own_index(self, name: &ObjectName) -> Result<(), Error> {
        let key = names::relation(name)?;
        let Some(table) = self.catalog.owner_of_index(&key) else { return Ok(()) };
        self.look_into(&key)?;
        self.own(&Commented::Relation(table.name.clone()), "index", names::own(&key))
    }

    fn own_type(self, name: &ObjectName) -> Result<(), Error> {
        let key = names::relation(name)?;
        if self.catalog.user_type(&key).is_none() {
            return Ok(());
        }
        self.look_into(&key)?;
        self.own(&Commented::Type(key.clone()), "type", &key)
    }

    fn own_schema(self, name: &str) -> Result<(), Error> {
        if !self.catalog.has_schema(name) {
            return Ok(());
        }
        self.own(&Commented::Schema(name.to_owned()), "schema", name)
    }

    /// Who owns a schema may drop what is in it.
    fn drop_object(self, object_type: &ObjectType, name: &ObjectName) -> Result<(), Error> {
        if *object_type == ObjectType::Schema {
            return self.own_schema(&schemas::name_of(name)?);
        }
        let key = names::relation(name)?;
        if self.owns(&Commented::Schema(names::parts(&key).0.to_owned())) {
            return Ok(());
        }
        match object_type {
            ObjectType::Index => self.own_index(name),
            ObjectType::Type => self.own_type(name),
            _ => self.own_relation(&key),
        }
    }

    pub(super) fn sequence(self, statement: &SequenceStatement) -> Result<(), Error> {
        match statement.verb {
            Verb::Create { .. } => self.create(&statement.name, false)?,
            Verb::Alter { .. } => self.own_relation(&statement.name)?,
        }
        match &statement.options.owned_by {
            Some(Some((table, _))) => self.own_relation(table),
            _ => Ok(()),
        }
    }

    pub(super) fn domain(self, statement: &DomainStatement) -> Result<(), Error> {
        match statement.verb {
            DomainVerb::Create { .. } => self.create(&names::relation(&statement.name)?, false),
            _ => self.own_type(&statement.name),
        }
    }

    pub(super) fn alter_table(self, alter: &AlterTable) -> Result<(), Error> {
        let name = names::relation(&alter.name)?;
        if self.catalog.class_of(&name).is_none() {
            return Ok(());
        }
        self.own_relation(&name)?;
        for action in &alter.actions {
            match action {
                Action::Schema(schema) => self.in_schema(&names::identifier(schema)?, Privileges::CREATE)?,
                Action::Plain(operation) => match operation.as_ref() {
                    AlterTableOperation::AddConstraint { constraint, .. } => self.constraint(constraint)?,
                    AlterTableOperation::AddColumn { column_def, .. } => {
                        for option in &column_def.options {
                            if let ColumnOption::ForeignKey(key) = &option.option {
                                self.reference(key)?;
                            }
                        }
                    }
                    AlterTableOperation::RenameTable { .. } => {
                        self.in_schema(names::parts(&name).0, Privileges::CREATE)?;
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn object(self, statement: &ObjectStatement) -> Result<(), Error> {
        match statement {
            ObjectStatement::Alter(alter) => {
                self.own_object(alter.kind, &alter.name, None)?;
                match &alter.change {
                    ObjectChange::Schema(schema) => self.in_schema(&names::identifier(schema)?, Privileges::CREATE),
                    _ => Ok(()),
                }
            }
            ObjectStatement::Comment(comment) => self.own_object(comment.kind, &comment.name, comment.of.as_ref()),
            // It leaves out what belongs to others.
            ObjectStatement::Upkeep(Upkeep { tables, .. }) => {
                tables.iter().try_for_each(|(name, _)| self.look_into(&names::relation(name)?))
            }
        }
    }

    fn own_object(self, kind: ObjectKind, name: &ObjectName, of: Option<&ObjectName>) -> Result<(), Error> {
        match kind {
            ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => self.own_relation(&names::relation(name)?),
            ObjectKind::Index => self.own_index(name),
            ObjectKind::Schema => self.own_schema(&schemas::name_of(name)?),
            ObjectKind::Type | ObjectKind::Domain => self.own_type(name),
            ObjectKind::Database => self.own(&Commented::Database, "database", names::CATALOG),
            ObjectKind::Column => {
                let mut of = name.clone();
                of.0.pop();
                let of = names::relation(&of)?;
                self.look_into(&of)?;
                self.own(&Commented::Relation(of.clone()), "relation", names::own(&of))
            }
            ObjectKind::Constraint => match of {
                Some(of) => self.own_relation(&names::relation(of)?),
                None => Ok(()),
            },
            ObjectKind::Other(_) => Ok(()),
        }
    }
}
