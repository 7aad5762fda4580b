//! Actions that make a column an identity column, or end that it is one.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};

use super::draft::Draft;
use crate::catalog::{Origin, Owner, Sequence, SequenceDefinition};
use crate::sql::names;
use crate::sql::sequence::SequenceOptions;
use crate::statement::Context;
use crate::statement::sequence::define_anew;
use crate::{Error, ErrorKind};

impl Draft {
    pub(super) fn add_identity(
        &mut self,
        context: &Context<'_>,
        column: &Ident,
        always: bool,
        sequence: Option<&ObjectName>,
        options: &SequenceOptions,
    ) -> Result<(), Error> {
        let (at, name) = self.column(column)?;
        let column = &self.columns[at];
        let problem = match &column.rule.origin {
            _ if column.column.nullable => Some("must be declared NOT NULL before identity can be added"),
            Origin::Identity { .. } => Some("is already an identity column"),
            Origin::Default(_) => Some("already has a default value"),
            Origin::Generated(_) => Some("is a generated column"),
            Origin::Null => None,
        };
        if let Some(problem) = problem {
            return Err(Error::new(
                ErrorKind::State,
                format!("column \"{name}\" of relation \"{}\" {problem}", self.name),
            ));
        }
        let catalog = &context.database.catalog;
        let is_taken = |name: &str| catalog.is_taken(name) || self.sequences.iter().any(|new| new.name == name);
        let sequence = match sequence {
            Some(given) => names::relation(given)?,
            None => names::unused(&format!("{}_{name}_seq", self.name), is_taken),
        };
        if is_taken(&sequence) {
            return Err(Error::exists(format!("relation \"{sequence}\" already exists")));
        }
        let definition = SequenceDefinition::new(&sequence, options, column.column.column_type)?;
        let owner = Owner { table: self.name.clone(), column: name };
        self.sequences.push(Arc::new(Sequence::new(sequence.clone(), definition, Some(owner))));
        self.columns[at].rule.origin = Origin::Identity { sequence, always };
        Ok(())
    }

    pub(super) fn set_identity(
        &mut self,
        context: &Context<'_>,
        column: &Ident,
        kind: Option<bool>,
        options: &SequenceOptions,
    ) -> Result<(), Error> {
        let (at, name) = self.column(column)?;
        let Origin::Identity { sequence, always } = &mut self.columns[at].rule.origin else {
            return Err(not_identity(&name, &self.name));
        };
        *always = kind.unwrap_or(*always);
        if *options != SequenceOptions::default()
            && let Some(sequence) = context.database.catalog.sequence(sequence)
        {
            define_anew(context, &sequence, options, None)?;
        }
        Ok(())
    }

    pub(super) fn drop_identity(
        &mut self,
        column: &Ident,
        if_exists: bool,
        notices: &mut Vec<String>,
    ) -> Result<(), Error> {
        let (at, name) = self.column(column)?;
        let Origin::Identity { sequence, .. } = &self.columns[at].rule.origin else {
            if if_exists {
                notices.push(format!(
                    "column \"{name}\" of relation \"{}\" is not an identity column, skipping",
                    names::shown_name(&self.name)
                ));
                return Ok(());
            }
            return Err(not_identity(&name, &self.name));
        };
        self.lost_sequences.push(sequence.clone());
        self.columns[at].rule.origin = Origin::Null;
        Ok(())
    }

    pub(super) fn drop_expression(
        &mut self,
        column: &Ident,
        if_exists: bool,
        notices: &mut Vec<String>,
    ) -> Result<(), Error> {
        let (at, name) = self.column(column)?;
        if matches!(self.columns[at].rule.origin, Origin::Generated(_)) {
            self.columns[at].rule.origin = Origin::Null;
            return Ok(());
        }
        let table = names::shown_name(&self.name);
        let problem = format!("column \"{name}\" of relation \"{table}\" is not a stored generated column");
        if !if_exists {
            return Err(Error::new(ErrorKind::State, problem));
        }
        notices.push(format!("{problem}, skipping"));
        Ok(())
    }
}

fn not_identity(column: &str, table: &str) -> Error {
    Error::new(ErrorKind::State, format!("column \"{column}\" of relation \"{table}\" is not an identity column"))
}
