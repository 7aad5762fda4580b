//! The catalog as bytes: what its changes say in the log, and what they make of an empty catalog.
//!
//! A payload is a list of **operations**. Each says what a name stands for from now on, as a whole, or that it stands for
//! nothing any more: so it does not matter how a change came about, and to do an operation twice does no harm. A table is
//! named together with the relation that holds its rows, by its number in the log, which also knows its columns. Expressions
//! are SQL text, as EXPORT DATABASE has them; one that would not read back as it is cannot be logged.
//!
//! Sequences have numbers: what is said of one that is gone by now must not reach another one of its name.
//!
//! `docs/format.md` describes every byte. Not here: rows, columns and indexes (`longshore-storage`).

mod references;
mod roles;

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::{IndexKind, RelationId, Storage};
use sqlparser::ast::Expr;

use super::operations::{self, Operation, Operations};
use super::sequence::SequenceImage;
use super::wire::{Reader, Writer, damaged};
use super::{
    Check, ColumnRule, Commented, Definitions, Domain, IndexDefinition, Key, Origin, Role, Rules, UserType, View,
};
use crate::Error;
use crate::catalog::is_temporary;
use crate::sql::names::SCHEMA;
use crate::sql::{self, in_text};

/// A table as it is logged.
#[derive(Clone, Debug)]
pub(crate) struct TableImage {
    /// Its relation, as the log knows it.
    pub(crate) relation: RelationId,
    pub(crate) storage: Storage,
    pub(crate) rules: Rules,
}

/// The catalog that operations have made.
#[derive(Debug, Default)]
pub(crate) struct Image {
    pub(crate) tables: BTreeMap<String, TableImage>,
    pub(crate) views: BTreeMap<String, View>,
    pub(crate) sequences: BTreeMap<String, SequenceImage>,
    /// Schemas and comments.
    pub(crate) definitions: Definitions,
    /// The relation of the ledger, if there is one.
    pub(crate) ledger: Option<RelationId>,
    /// The number that the next sequence may have.
    pub(crate) next_sequence: u64,
}

impl Operations {
    /// A name stands for a table.
    pub(crate) fn table(&mut self, name: &str, table: &TableImage) -> Result<(), Error> {
        table.rules.expressions().try_for_each(|expr| check_text(name, expr))?;
        let writer = self.begin(Operation::Table);
        writer.text(name);
        writer.number(table.relation.0.into());
        writer.byte(match table.storage {
            Storage::Plain => 0,
            Storage::Packed => 1,
        });
        put_rules(writer, &table.rules);
        Ok(())
    }

    /// A relation is the ledger.
    pub(crate) fn ledger(&mut self, relation: RelationId) {
        self.begin(Operation::Ledger).number(relation.0.into());
    }

    /// A name stands for a view.
    pub(crate) fn view(&mut self, view: &View) {
        let writer = self.begin(Operation::View);
        writer.text(&view.name);
        writer.text(&view.sql);
        writer.list(&view.columns, |writer, column| writer.text(column));
        writer.list(&view.reads, |writer, name| writer.text(name));
    }
}

impl Operations {
    /// What is said of schemas and comments that was otherwise before.
    pub(crate) fn definitions(&mut self, before: &Definitions, after: &Definitions) {
        for gone in before.schemas.difference(&after.schemas) {
            self.begin(Operation::SchemaGone).text(gone);
        }
        for new in after.schemas.difference(&before.schemas) {
            self.begin(Operation::Schema).text(new);
        }
        if before.lacks_public != after.lacks_public {
            let operation = if after.lacks_public { Operation::SchemaGone } else { Operation::Schema };
            self.begin(operation).text(SCHEMA);
        }
        for gone in before.types.keys().filter(|name| !after.types.contains_key(*name)) {
            self.begin(Operation::TypeGone).text(gone);
        }
        for (name, user_type) in after.types.iter().filter(|(name, of)| before.types.get(*name) != Some(of)) {
            if is_temporary(name) {
                continue;
            }
            let writer = self.begin(Operation::Type);
            writer.text(name);
            match user_type.as_ref() {
                UserType::Enum(labels) => {
                    writer.byte(0);
                    writer.list(labels, |writer, label| writer.text(label));
                }
                UserType::Domain(domain) => {
                    writer.byte(1);
                    writer.text(&domain.base.to_string());
                    writer.optional(domain.default.as_ref(), put_expr);
                    writer.flag(domain.not_null);
                    writer.list(&domain.checks, |writer, (name, condition)| {
                        writer.text(name);
                        put_expr(writer, condition);
                    });
                }
            }
        }
        for gone in before.comments.keys().filter(|on| !after.comments.contains_key(on)) {
            self.comment(gone, None);
        }
        for (on, text) in after.comments.iter().filter(|(on, text)| before.comments.get(on) != Some(text)) {
            self.comment(on, Some(text));
        }
        roles::describe(self, before, after);
    }

    fn comment(&mut self, on: &Commented, text: Option<&str>) {
        if is_of_temporary(on) {
            return;
        }
        let writer = self.begin(Operation::Comment);
        put_commented(writer, on);
        writer.optional(text, Writer::text);
    }
}

fn take_domain(reader: &mut Reader<'_>) -> Result<Domain, Error> {
    let base = reader.text()?;
    let base = in_text::data_type(&base).map_err(|error| damaged(&format!("{base} is no type: {error}")))?;
    Ok(Domain {
        base,
        default: reader.optional(take_expr)?,
        not_null: reader.flag()?,
        checks: reader.list(|reader| Ok((reader.text()?, take_expr(reader)?)))?,
    })
}

fn is_of_temporary(on: &Commented) -> bool {
    on.relation().is_some_and(is_temporary) || matches!(on, Commented::Type(name) if is_temporary(name))
}

fn put_commented(writer: &mut Writer, on: &Commented) {
    let (kind, of, name) = match on {
        Commented::Database => (0, "", ""),
        Commented::Schema(name) => (1, name.as_str(), ""),
        Commented::Relation(name) => (2, name.as_str(), ""),
        Commented::Index(of, name) => (3, of.as_str(), name.as_str()),
        Commented::Column(of, name) => (4, of.as_str(), name.as_str()),
        Commented::Constraint(of, name) => (5, of.as_str(), name.as_str()),
        Commented::Type(name) => (6, name.as_str(), ""),
    };
    writer.byte(kind);
    writer.text(of);
    writer.text(name);
}

pub(super) fn take_commented(reader: &mut Reader<'_>) -> Result<Commented, Error> {
    let (kind, of, name) = (reader.byte()?, reader.text()?, reader.text()?);
    Ok(match kind {
        0 => Commented::Database,
        1 => Commented::Schema(of),
        2 => Commented::Relation(of),
        3 => Commented::Index(of, name),
        4 => Commented::Column(of, name),
        5 => Commented::Constraint(of, name),
        6 => Commented::Type(of),
        other => return Err(damaged(&format!("a comment is about something of the kind {other}"))),
    })
}

impl Image {
    /// Does the operations of a payload.
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new(payload);
        operations::take_version(&mut reader)?;
        while !reader.is_at_end() {
            let operation = Operation::take(&mut reader)?;
            self.apply_one(operation, &mut reader)?;
        }
        Ok(())
    }

    /// Does one operation, whose kind was taken.
    pub(super) fn apply_one(&mut self, operation: Operation, reader: &mut Reader<'_>) -> Result<(), Error> {
        match operation {
            Operation::Table => {
                let (name, relation) = (reader.text()?, RelationId(take_u32(reader)?));
                let storage = match reader.byte()? {
                    0 => Storage::Plain,
                    1 => Storage::Packed,
                    other => return Err(damaged(&format!("table {name} has the storage {other}"))),
                };
                let rules = take_rules(reader)?;
                self.views.remove(&name);
                self.tables.insert(name, TableImage { relation, storage, rules });
            }
            Operation::View => {
                let (name, sql) = (reader.text()?, reader.text()?);
                let (columns, reads) = (reader.list(Reader::text)?, reader.list(Reader::text)?);
                self.tables.remove(&name);
                self.views.insert(name.clone(), View { name, sql, columns, reads });
            }
            Operation::Sequence => {
                let (name, sequence) = (reader.text()?, SequenceImage::take(reader)?);
                self.next_sequence = self.next_sequence.max(sequence.number.saturating_add(1));
                self.sequences.insert(name, sequence);
            }
            Operation::NameFree => {
                let name = reader.text()?;
                self.tables.remove(&name);
                self.views.remove(&name);
            }
            Operation::SequenceGone => {
                let number = reader.number()?;
                self.sequences.retain(|_, sequence| sequence.number != number);
            }
            Operation::SequenceState => {
                let (number, last, is_called) = (reader.number()?, reader.signed()?, reader.flag()?);
                // Who works on a sequence that is being dropped may log that behind the drop.
                if let Some(found) = self.sequences.values_mut().find(|sequence| sequence.number == number) {
                    (found.last, found.is_called) = (last, is_called);
                }
            }
            Operation::Schema => match reader.text()? {
                name if name == SCHEMA => self.definitions.lacks_public = false,
                name => drop(self.definitions.schemas.insert(name)),
            },
            Operation::SchemaGone => match reader.text()? {
                name if name == SCHEMA => self.definitions.lacks_public = true,
                name => drop(self.definitions.schemas.remove(&name)),
            },
            Operation::Type => {
                let (name, kind) = (reader.text()?, reader.byte()?);
                let user_type = match kind {
                    0 => UserType::Enum(reader.list(Reader::text)?),
                    1 => UserType::Domain(Box::new(take_domain(reader)?)),
                    other => return Err(damaged(&format!("{name} is a type of the kind {other}"))),
                };
                self.definitions.types.insert(name, Arc::new(user_type));
            }
            Operation::TypeGone => drop(self.definitions.types.remove(&reader.text()?)),
            Operation::Comment => {
                let on = take_commented(reader)?;
                match reader.optional(Reader::text)? {
                    Some(text) => drop(self.definitions.comments.insert(on, text)),
                    None => drop(self.definitions.comments.remove(&on)),
                }
            }
            Operation::Role => roles::take_role(reader, &mut self.definitions)?,
            Operation::Membership => roles::take_membership(reader, &mut self.definitions)?,
            Operation::RoleSettings => roles::take_settings(reader, &mut self.definitions)?,
            Operation::DefaultPrivileges => roles::take_defaults(reader, &mut self.definitions)?,
            Operation::Access => roles::take_access(reader, &mut self.definitions)?,
            Operation::Ledger => self.ledger = Some(RelationId(take_u32(reader)?)),
            Operation::SequenceAltered => {
                let altered = SequenceImage::take(reader)?;
                if let Some(found) = self.sequences.values_mut().find(|sequence| sequence.number == altered.number) {
                    *found = altered;
                }
            }
        }
        Ok(())
    }
}

fn take_u32(reader: &mut Reader<'_>) -> Result<u32, Error> {
    u32::try_from(reader.number()?).map_err(|_| damaged("no relation has such a number"))
}

/// Refuses an expression that would read back as another one.
fn check_text(table: &str, expr: &Expr) -> Result<(), Error> {
    let text = expr.to_string();
    if read(&text).is_ok_and(|read| read == *expr) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "table {table}: the expression {text} cannot be kept on disk, because it would read back differently; write it in \
         another way"
    )))
}

/// The expression that a text stands for.
fn read(text: &str) -> Result<Expr, Error> {
    sql::parse_expression(text)
}

fn put_expr(writer: &mut Writer, expr: &Expr) {
    writer.text(&expr.to_string());
}

fn take_expr(reader: &mut Reader<'_>) -> Result<Expr, Error> {
    let text = reader.text()?;
    read(&text).map_err(|error| damaged(&format!("{text} is no expression: {error}")))
}

fn put_columns(writer: &mut Writer, columns: &[usize]) {
    writer.list(columns, |writer, column| writer.number(*column as u64));
}

fn take_columns(reader: &mut Reader<'_>) -> Result<Vec<usize>, Error> {
    reader.list(Reader::count)
}

/// The bit in the role of a key which says that more is said of its index.
const DEFINED: u8 = 0x10;
/// That which says that a NULL equals another one.
const NULLS_ARE_EQUAL: u8 = 0x20;

fn put_rules(writer: &mut Writer, rules: &Rules) {
    writer.list(&rules.keys, |writer, key| {
        writer.text(&key.name);
        let role = match key.role {
            Role::Primary => 0,
            Role::Unique => 1,
            Role::UniqueIndex => 2,
            Role::Index => 3,
        };
        let defined = if key.definition.is_some() { DEFINED } else { 0 };
        writer.byte(role | defined | if key.nulls_are_equal { NULLS_ARE_EQUAL } else { 0 });
        writer.byte(match key.index {
            IndexKind::Hash => 0,
            IndexKind::Art => 1,
        });
        put_columns(writer, &key.columns);
        if let Some(definition) = &key.definition {
            writer.list(&definition.parts, put_expr);
            writer.optional(definition.predicate.as_ref(), put_expr);
            writer.list(&definition.include, put_expr);
        }
    });
    writer.list(&rules.columns, |writer, rule| {
        match &rule.origin {
            Origin::Null => writer.byte(0),
            Origin::Default(expr) => {
                writer.byte(1);
                put_expr(writer, expr);
            }
            Origin::Generated(expr) => {
                writer.byte(3);
                put_expr(writer, expr);
            }
            Origin::Identity { sequence, always } => {
                writer.byte(2);
                writer.text(sequence);
                writer.flag(*always);
            }
        }
        writer.optional(rule.not_null.as_deref(), Writer::text);
    });
    writer.list(&rules.checks, |writer, check| {
        writer.text(&check.name);
        put_expr(writer, &check.condition);
        put_columns(writer, &check.columns);
        writer.flag(check.is_valid);
    });
    writer.list(&rules.references, references::put);
}

fn take_rules(reader: &mut Reader<'_>) -> Result<Rules, Error> {
    let keys = reader.list(|reader| {
        let name = reader.text()?;
        let role = reader.byte()?;
        let (is_defined, nulls_are_equal) = (role & DEFINED != 0, role & NULLS_ARE_EQUAL != 0);
        let role = match role & !(DEFINED | NULLS_ARE_EQUAL) {
            0 => Role::Primary,
            1 => Role::Unique,
            2 => Role::UniqueIndex,
            3 => Role::Index,
            other => return Err(damaged(&format!("{name} is a key of the kind {other}"))),
        };
        let index = match reader.byte()? {
            0 => IndexKind::Hash,
            1 => IndexKind::Art,
            other => return Err(damaged(&format!("{name} is an index of the kind {other}"))),
        };
        let columns = take_columns(reader)?;
        let mut definition = None;
        if is_defined {
            definition = Some(Box::new(IndexDefinition {
                parts: reader.list(take_expr)?,
                predicate: reader.optional(take_expr)?,
                include: reader.list(take_expr)?,
            }));
        }
        Ok(Key { name, columns, index, role, nulls_are_equal, definition })
    })?;
    let columns = reader.list(|reader| {
        let origin = match reader.byte()? {
            0 => Origin::Null,
            1 => Origin::Default(Box::new(take_expr(reader)?)),
            2 => Origin::Identity { sequence: reader.text()?, always: reader.flag()? },
            3 => Origin::Generated(Box::new(take_expr(reader)?)),
            other => return Err(damaged(&format!("a column has a default of the kind {other}"))),
        };
        Ok(ColumnRule { origin, not_null: reader.optional(Reader::text)? })
    })?;
    let checks = reader.list(|reader| {
        let (name, condition) = (reader.text()?, take_expr(reader)?);
        Ok(Check { name, condition, columns: take_columns(reader)?, is_valid: reader.flag()? })
    })?;
    let references = reader.list(references::take)?;
    Ok(Rules { keys, columns, checks, references })
}
