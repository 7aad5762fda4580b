//! What `schema.sql` says of sequences: CREATE SEQUENCE, ALTER SEQUENCE, and `SELECT setval(...)`.

use std::sync::Arc;

use longshore_storage::ColumnType;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, Query, SelectItem, SetExpr,
    UnaryOperator, Value,
};

use super::{Schemas, Sequences};
use crate::Error;
use crate::catalog::{Owner, Sequence, SequenceDefinition};
use crate::sql::sequence::{SequenceStatement, Verb};
use crate::sql::{in_text, names};

/// Makes or changes a sequence. Returns its name if there is one of that name.
pub(super) fn run(
    sequences: &mut Sequences,
    tables: &Schemas,
    statement: SequenceStatement,
) -> Result<Option<String>, Error> {
    let SequenceStatement { name, verb, options } = statement;
    let name = names::plain(&name);
    let owner = options.owned_by.clone().map(|owner| owner.map(|(table, column)| (names::plain(&table), column)));
    if let Some((table, column)) = owner.iter().flatten().next() {
        let definition = tables.get(table);
        if definition.and_then(|definition| definition.schema.index_of(column)).is_none() {
            return Err(Error::no_column(format!(
                "sequence {name} is owned by {table}.{column}, which does not exist"
            )));
        }
    }
    let owner = owner.map(|owner| owner.map(|(table, column)| Owner { table, column }));
    match verb {
        Verb::Create { .. } => {
            let definition = SequenceDefinition::new(&name, &options, ColumnType::BigInt)?;
            let taken = tables.contains_key(&name);
            let sequence = Arc::new(Sequence::new(name.clone(), definition, owner.flatten()));
            Ok((sequences.insert(name.clone(), sequence).is_some() || taken).then_some(name))
        }
        Verb::Alter { .. } => find(sequences, &name)?.alter(&options, owner).map(|()| None),
    }
}

fn find<'a>(sequences: &'a Sequences, name: &str) -> Result<&'a Sequence, Error> {
    let found = sequences.get(name).map(AsRef::as_ref);
    found.ok_or_else(|| Error::not_found(format!("sequence {name} does not exist")))
}

/// `SELECT setval(sequence, value, is_called)`
pub(super) struct Set {
    sequence: Known,
    value: i64,
    is_called: bool,
}

/// How a sequence is known.
enum Known {
    Name(String),
    /// By the column that it belongs to.
    Column(String, String),
}

/// What a query sets, if it is nothing but a call of `setval`.
pub(super) fn is_set(query: &Query) -> Option<Set> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [SelectItem::UnnamedExpr(Expr::Function(function))] = select.projection.as_slice() else { return None };
    let [sequence, value, is_called] = arguments(function, "setval")?[..] else { return None };
    let is_plain = query.with.is_none() && select.from.is_empty() && select.selection.is_none();
    let sequence = match sequence {
        Expr::Function(function) => match arguments(function, "pg_get_serial_sequence")?[..] {
            [table, column] => Known::Column(in_text::relation(text(table)?).ok()?, text(column)?.to_owned()),
            _ => return None,
        },
        name => Known::Name(in_text::relation(text(name)?).ok()?),
    };
    let is_called = match is_called {
        Expr::Value(value) => match value.value {
            Value::Boolean(is_called) => is_called,
            _ => return None,
        },
        _ => return None,
    };
    let set = Set { sequence, value: integer(value)?, is_called };
    is_plain.then_some(set)
}

/// The arguments of a call of the function `name`.
fn arguments<'a>(function: &'a Function, name: &str) -> Option<Vec<&'a Expr>> {
    let [ObjectNamePart::Identifier(called)] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    if names::identifier(called).ok()? != name {
        return None;
    }
    let expr = |argument: &'a FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().map(expr).collect()
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn integer(expr: &Expr) -> Option<i64> {
    let (sign, expr) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        expr => ("", expr),
    };
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => format!("{sign}{digits}").parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

impl Set {
    pub(super) fn apply(&self, sequences: &Sequences) -> Result<(), Error> {
        let sequence = match &self.sequence {
            Known::Name(name) => find(sequences, name)?,
            Known::Column(table, column) => {
                let is_its =
                    |owner: Owner| (owner.table.as_str(), owner.column.as_str()) == (table.as_str(), column.as_str());
                let found = sequences.values().find(|sequence| sequence.owner().is_some_and(is_its));
                found
                    .map(AsRef::as_ref)
                    .ok_or_else(|| Error::no_object(format!("column {column} of table {table} has no sequence")))?
            }
        };
        sequence.set(self.value, self.is_called)
    }
}
