//! Actions about constraints: ADD and DROP. What is special about foreign keys is in `references.rs`.

use sqlparser::ast::{ConstraintCharacteristics, DropBehavior, Ident, TableConstraint};

use super::draft::{Draft, DraftCheck, DraftKey, DraftReference};
use crate::catalog::{Role, Rules};
use crate::sql::names;
use crate::statement::own_types::OWN_QUOTE;
use crate::statement::{Context, foreign};
use crate::{Error, ErrorKind};

impl Draft {
    /// Adds a constraint; unless it `is_valid`, rows that are there are not looked at.
    pub(super) fn add_constraint(
        &mut self,
        context: &Context<'_>,
        constraint: &TableConstraint,
        is_valid: bool,
    ) -> Result<(), Error> {
        let given = match constraint {
            TableConstraint::PrimaryKey(key) => &key.name,
            TableConstraint::Unique(key) => &key.name,
            TableConstraint::Check(check) => &check.name,
            TableConstraint::ForeignKey(key) => &key.name,
            other => return Err(Error::unsupported(format!("ALTER TABLE ... ADD {other} is not supported"))),
        };
        if !is_valid && !matches!(constraint, TableConstraint::Check(_) | TableConstraint::ForeignKey(_)) {
            return Err(Error::unsupported(
                "PRIMARY KEY and UNIQUE constraints cannot be marked NOT VALID: an index has all rows; leave NOT VALID out",
            ));
        }
        let mut rules = self.defined(context, &[], std::slice::from_ref(constraint))?.rules;
        rules.checks.iter_mut().for_each(|check| check.is_valid = is_valid);
        rules.references.iter_mut().for_each(|reference| reference.is_valid = is_valid);
        self.take_constraints(context, rules, given.iter())
    }

    /// Lets a foreign key be checked at another time.
    pub(super) fn set_timing(&mut self, ident: &Ident, said: Option<&ConstraintCharacteristics>) -> Result<(), Error> {
        let name = names::identifier(ident)?;
        let timing = foreign::timing(said)?;
        if let Some(own) = self.references.iter_mut().find(|own| own.reference.name == name) {
            own.reference.timing = timing;
            return Ok(());
        }
        if self.has_constraint(&name) {
            return Err(Error::new(
                ErrorKind::WrongObject,
                format!("constraint \"{name}\" of relation \"{}\" is not a foreign key constraint", self.name),
            ));
        }
        Err(Error::no_object(format!("constraint \"{name}\" of relation \"{}\" does not exist", self.name)))
    }

    /// Has all rows looked at by a constraint that was NOT VALID.
    pub(super) fn validate_constraint(&mut self, ident: &Ident) -> Result<(), Error> {
        let name = names::identifier(ident)?;
        if let Some(check) = self.checks.iter_mut().find(|check| check.check.name == name) {
            check.is_new |= !check.check.is_valid;
            check.check.is_valid = true;
            return Ok(());
        }
        if let Some(own) = self.references.iter_mut().find(|own| own.reference.name == name) {
            own.is_trusted &= own.reference.is_valid;
            own.reference.is_valid = true;
            return Ok(());
        }
        let of_column = self.columns.iter().any(|column| column.rule.not_null.as_ref() == Some(&name));
        if of_column || self.has_constraint(&name) {
            return Err(Error::new(
                ErrorKind::WrongObject,
                format!(
                    "constraint {name} of table {} is no foreign key or check, which alone can be validated",
                    self.name
                ),
            ));
        }
        Err(Error::no_object(format!("constraint {name} of table {} does not exist", self.name)))
    }

    /// Takes in the constraints of rules, of columns of the same numbers. Of their names some are `given`, and must be
    /// free; others give way.
    pub(super) fn take_constraints<'a>(
        &mut self,
        context: &Context<'_>,
        rules: Rules,
        given: impl Iterator<Item = &'a Ident>,
    ) -> Result<(), Error> {
        let given = given.filter(|name| name.quote_style != Some(OWN_QUOTE)).map(names::identifier);
        let given = given.collect::<Result<Vec<_>, Error>>()?;
        for mut check in rules.checks {
            if check.user_type().is_some() {
                self.checks.push(DraftCheck { check, is_new: true });
                continue;
            }
            check.name = self.free_name(context, check.name, &given)?;
            self.checks.push(DraftCheck { check, is_new: true });
        }
        for mut key in rules.keys {
            if key.role == Role::Primary {
                if let Some(primary) = self.keys.iter().find(|key| key.key.role == Role::Primary) {
                    return Err(Error::new(
                        ErrorKind::InvalidTable,
                        format!(
                            "table {} has the primary key {} already; drop it first, or make the new one UNIQUE",
                            self.name, primary.key.name
                        ),
                    ));
                }
                key.columns.iter().for_each(|column| self.columns[*column].column.nullable = false);
            }
            key.name = self.free_name(context, key.name, &given)?;
            self.keys.push(DraftKey { key, from: None });
        }
        for mut reference in rules.references {
            if !given.contains(&reference.name) {
                reference.name = names::unused(&reference.name, |name| self.has_constraint(name));
            } else if self.has_constraint(&reference.name) {
                return Err(self.exists(&reference.name));
            }
            self.references.push(DraftReference::new(reference));
        }
        Ok(())
    }

    fn free_name(&self, context: &Context<'_>, name: String, given: &[String]) -> Result<String, Error> {
        let is_index = |name: &str| self.other_owner(context, name);
        if !given.contains(&name) {
            return Ok(names::unused(&name, |name| self.has_constraint(name) || is_index(name)));
        }
        if self.has_constraint(&name) {
            return Err(self.exists(&name));
        }
        Ok(name)
    }

    fn exists(&self, name: &str) -> Error {
        let problem =
            format!("constraint {name} of table {} exists already; choose another name, or drop it first", self.name);
        Error::new(ErrorKind::DuplicateObject, problem)
    }

    pub(super) fn drop_constraint(
        &mut self,
        ident: &Ident,
        if_exists: bool,
        behavior: Option<DropBehavior>,
    ) -> Result<(), Error> {
        let name = names::identifier(ident)?;
        if let Some(at) = self.keys.iter().position(|key| key.key.name == name) {
            if !matches!(self.keys[at].key.role, Role::Primary | Role::Unique) {
                return Err(Error::invalid(format!("{name} is an index, not a constraint; use DROP INDEX")));
            }
            let key = self.keys.remove(at);
            return self.release(&format!("constraint {name}"), &[key], behavior);
        }
        if let Some(at) = self.references.iter().position(|own| own.reference.name == name) {
            self.references.remove(at);
            return Ok(());
        }
        let checks = self.checks.len();
        self.checks.retain(|check| check.check.name != name);
        if self.checks.len() < checks {
            return Ok(());
        }
        if let Some(column) = self.columns.iter_mut().find(|column| column.rule.not_null.as_ref() == Some(&name)) {
            column.rule.not_null = None;
            column.column.nullable = true;
            return Ok(());
        }
        if if_exists {
            return Ok(());
        }
        Err(Error::no_object(format!(
            "constraint {name} of table {} does not exist; DROP CONSTRAINT IF EXISTS ignores that",
            self.name
        )))
    }
}
