//! The names of what is made and altered.

use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ColumnDef, ColumnOption, CreateTable, DataType, ObjectName,
    ObjectNamePart, RenameTableNameKind, TableConstraint,
};

use super::Resolver;
use crate::Error;
use crate::catalog::{innermost, is_temporary};
use crate::sql::alter::{Action, AlterTable};
use crate::sql::domain::{DomainStatement, DomainVerb};
use crate::sql::grants::{PrivilegeStatement, Target};
use crate::sql::objects::{ObjectKind, ObjectStatement};
use crate::sql::sequence::{SequenceStatement, Verb};
use crate::sql::{build, like, names};
use crate::statement::own_types;

impl Resolver<'_> {
    pub(super) fn create_table(&mut self, create: &mut CreateTable) -> Result<(), Error> {
        let said = names::written(&create.name)?;
        self.create(&mut create.name, create.temporary)?;
        create.temporary = is_temporary(&names::relation(&create.name)?);
        self.made = Some((said, names::relation(&create.name)?));
        self.columns(&mut create.columns)?;
        self.foreign_tables(&mut create.columns, &mut create.constraints)?;
        let name = std::mem::replace(&mut create.name, ObjectName(Vec::new()));
        let visited = self.visit(create);
        create.name = name;
        visited
    }

    /// Gives columns of types that users made the types below these.
    fn columns(&self, columns: &mut [ColumnDef]) -> Result<(), Error> {
        for column in columns {
            if let Some(table) = like::table_of(column) {
                self.existing(table)?;
                continue;
            }
            let found = self.user_type(innermost(&column.data_type).0)?;
            own_types::expand(column, found)?;
        }
        Ok(())
    }

    /// Refuses arrays of domains whose constraints cannot be looked at in rows that are there.
    fn refuse_array(&self, data_type: &DataType) -> Result<(), Error> {
        let (element, dimensions) = innermost(data_type);
        match self.user_type(element)? {
            Some((name, user_type)) if dimensions > 0 => {
                own_types::array_type(&name, &user_type, dimensions).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn domain(&mut self, statement: &mut DomainStatement) -> Result<(), Error> {
        match &mut statement.verb {
            DomainVerb::Create { base, .. } => {
                if let Some((key, _)) = self.user_type(base)? {
                    *base = DataType::Custom(build::written(&key), Vec::new());
                }
                self.create(&mut statement.name, false)
            }
            _ => self.type_name(&mut statement.name),
        }
    }

    fn foreign_tables(&mut self, columns: &mut [ColumnDef], constraints: &mut [TableConstraint]) -> Result<(), Error> {
        for option in columns.iter_mut().flat_map(|column| &mut column.options) {
            if let ColumnOption::ForeignKey(key) = &mut option.option {
                self.existing(&mut key.foreign_table)?;
            }
        }
        for constraint in constraints {
            if let TableConstraint::ForeignKey(key) = constraint {
                self.existing(&mut key.foreign_table)?;
            }
        }
        Ok(())
    }

    pub(super) fn sequence(&mut self, statement: &mut SequenceStatement) -> Result<(), Error> {
        statement.name = match statement.verb {
            Verb::Create { is_temporary, .. } => self.created_text(&statement.name, is_temporary)?,
            Verb::Alter { .. } => self.existing_text(&statement.name)?,
        };
        if let Some(Some((table, _))) = &mut statement.options.owned_by {
            *table = self.existing_text(table)?;
        }
        Ok(())
    }

    pub(super) fn alter_table(&mut self, alter: &mut AlterTable) -> Result<(), Error> {
        self.existing(&mut alter.name)?;
        let table = names::relation(&alter.name)?;
        let (schema, _) = names::parts(&table);
        let mut further: Vec<TableConstraint> = Vec::new();
        for action in &mut alter.actions {
            match action {
                Action::Plain(operation) => {
                    match operation.as_mut() {
                        AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) } => {
                            let [ObjectNamePart::Identifier(new)] = name.0.as_slice() else {
                                return Err(Error::syntax(format!(
                                    "RENAME TO {name}: a table keeps its schema; SET SCHEMA moves it"
                                )));
                            };
                            *name = build::written(&names::in_schema(schema, &names::identifier(new)?));
                            continue;
                        }
                        AlterTableOperation::AlterColumn {
                            column_name,
                            op: AlterColumnOperation::SetDataType { data_type, .. },
                        } => {
                            self.refuse_array(data_type)?;
                            let options = Vec::new();
                            let mut column =
                                ColumnDef { name: column_name.clone(), data_type: data_type.clone(), options };
                            self.columns(std::slice::from_mut(&mut column))?;
                            *data_type = column.data_type;
                            further.extend(column.options.into_iter().filter_map(|option| match option.option {
                                ColumnOption::Check(check) => Some(TableConstraint::Check(check)),
                                _ => None,
                            }));
                        }
                        AlterTableOperation::AddColumn { column_def, .. } => {
                            self.refuse_array(&column_def.data_type)?;
                            self.columns(std::slice::from_mut(column_def))?;
                            self.foreign_tables(std::slice::from_mut(column_def), &mut [])?;
                        }
                        AlterTableOperation::AddConstraint { constraint, .. } => {
                            self.foreign_tables(&mut [], std::slice::from_mut(constraint))?;
                        }
                        _ => {}
                    }
                    self.visit(operation.as_mut())?;
                }
                Action::AddIdentity { sequence: Some(name), .. } => {
                    let written = names::written(name)?;
                    *name = build::written(&self.created_text(&written, false)?);
                }
                _ => {}
            }
        }
        let add =
            |constraint| Action::Plain(Box::new(AlterTableOperation::AddConstraint { constraint, not_valid: false }));
        alter.actions.extend(further.into_iter().map(add));
        Ok(())
    }

    pub(super) fn privilege(&mut self, statement: &mut PrivilegeStatement) -> Result<(), Error> {
        let PrivilegeStatement::Grant(grant) = statement else { return Ok(()) };
        match &mut grant.on {
            Target::Tables(names) | Target::Sequences(names) => {
                names.iter_mut().try_for_each(|name| self.existing(name))
            }
            Target::Types(names) => names.iter_mut().try_for_each(|name| self.type_name(name)),
            _ => Ok(()),
        }
    }

    pub(super) fn object(&mut self, statement: &mut ObjectStatement) -> Result<(), Error> {
        let (kind, name, of) = match statement {
            ObjectStatement::Alter(alter) => (alter.kind, &mut alter.name, None),
            ObjectStatement::Comment(comment) => (comment.kind, &mut comment.name, comment.of.as_mut()),
            ObjectStatement::Upkeep(upkeep) => {
                return upkeep.tables.iter_mut().try_for_each(|(name, _)| self.existing(name));
            }
        };
        if let Some(of) = of {
            return self.existing(of);
        }
        match kind {
            ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence => self.existing(name),
            ObjectKind::Index => self.index(name),
            ObjectKind::Type | ObjectKind::Domain => self.type_name(name),
            ObjectKind::Column => {
                let Some(column) = name.0.pop() else { return Ok(()) };
                if name.0.is_empty() {
                    return Err(Error::syntax(format!("column name must be qualified: {column}")));
                }
                self.existing(name)?;
                name.0.push(column);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
