//! PREPARE, EXECUTE and DEALLOCATE. Not here: what a prepared statement is (`prepared`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_storage::Datum;
use sqlparser::ast::{DataType, Expr, Ident, ObjectName, Statement, UnaryOperator, Value};

use super::{cursor_query, resolve, set_config};
use crate::catalog::{Catalog, SearchPath};
use crate::prepared::Prepared;
use crate::sql::cursors::CursorStatement;
use crate::sql::shape::Literal;
use crate::sql::{self, Parsed, build, names, oid_casts, parameters, types};
use crate::{Database, Error, ErrorKind, Outcome};

/// The prepared statements of a session.
pub(crate) type Named = BTreeMap<String, Arc<Prepared>>;

/// What EXECUTE asks for.
pub(crate) struct Execution {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) arguments: Vec<Expr>,
}

/// Prepares the text of one statement, whose names are looked for in `path`.
pub(crate) fn named_in(text: &str, catalog: &Catalog, path: &SearchPath) -> Result<Prepared, Error> {
    typed_in(text, Vec::new(), catalog, path)
}

/// The same, whose first parameters have these types.
pub(crate) fn typed_in(
    text: &str,
    types: Vec<Option<DataType>>,
    catalog: &Catalog,
    path: &SearchPath,
) -> Result<Prepared, Error> {
    let mut parsed = sql::parse(text)?;
    if let Parsed::Cursor(cursor) = parsed {
        let CursorStatement::Declare(declaration) = *cursor else { return Err(Prepared::refused()) };
        cursor_query::check_query(&declaration)?;
        let rows = typed_in(&declaration.query, types, catalog, path)?;
        return Ok(rows.declaring(declaration));
    }
    resolve::resolve(&mut parsed, text, catalog, path)?;
    let sets = matches!(&parsed, Parsed::Sql(statement) if set_config::calls_it(statement));
    let prepared = Prepared::of(parsed, types, catalog)?;
    Ok(if sets { prepared.setting() } else { prepared })
}

/// PREPARE and DEALLOCATE, if `statement` is one of them.
pub(crate) fn manage(
    database: &Database,
    prepared: &mut Named,
    statement: &Statement,
) -> Option<Result<Outcome, Error>> {
    match statement {
        Statement::Prepare { name, data_types, statement } => {
            Some(prepare(database, prepared, name, data_types, statement))
        }
        Statement::Deallocate { name, .. } => Some(deallocate(prepared, name)),
        _ => None,
    }
}

fn prepare(
    database: &Database,
    prepared: &mut Named,
    name: &Ident,
    data_types: &[DataType],
    statement: &Statement,
) -> Result<Outcome, Error> {
    let name = names::identifier(name)?;
    if prepared.contains_key(&name) {
        return Err(Error::new(
            ErrorKind::PreparedExists,
            format!("prepared statement {name} exists already; DEALLOCATE it first"),
        ));
    }
    let data_types: Vec<DataType> = data_types.iter().map(of_parameter).collect();
    for data_type in &data_types {
        types::column_type(data_type)?;
    }
    let data_types = data_types.into_iter().map(Some).collect();
    prepared.insert(name, Arc::new(Prepared::new(statement.clone(), data_types, &database.catalog)?));
    Ok(Outcome::done("PREPARE"))
}

/// The type of the values of a parameter: an OID is a number, and a name a text.
fn of_parameter(data_type: &DataType) -> DataType {
    let last = match data_type {
        DataType::Regclass => Some("regclass"),
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            name.0.last().and_then(|part| part.as_ident()).map(|part| part.value.as_str())
        }
        _ => None,
    };
    match last {
        Some(name) if oid_casts::named(name).is_some() => DataType::BigInt(None),
        Some(name) if name.eq_ignore_ascii_case("name") => DataType::Text,
        _ => data_type.clone(),
    }
}

fn deallocate(prepared: &mut Named, name: &Ident) -> Result<Outcome, Error> {
    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
        prepared.clear();
        return Ok(Outcome::done("DEALLOCATE ALL"));
    }
    let name = names::identifier(name)?;
    match prepared.remove(&name) {
        Some(_) => Ok(Outcome::done("DEALLOCATE")),
        None => Err(missing(&name)),
    }
}

/// What EXECUTE asks for, if `statement` is one.
pub(crate) fn execution(prepared: &Named, statement: &Statement) -> Option<Result<Execution, Error>> {
    let Statement::Execute { name: Some(name), parameters, immediate: false, into, using, .. } = statement else {
        return None;
    };
    if !into.is_empty() || !using.is_empty() {
        return Some(Err(Error::unsupported("EXECUTE takes values in parentheses, neither INTO nor USING")));
    }
    Some(named(prepared, name).map(|prepared| Execution { prepared, arguments: parameters.clone() }))
}

fn named(prepared: &Named, name: &ObjectName) -> Result<Arc<Prepared>, Error> {
    let name = names::relation(name)?;
    prepared.get(&name).cloned().ok_or_else(|| missing(&name))
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::NoPrepared, format!("prepared statement {name} does not exist; PREPARE it first"))
}

/// Arguments as literals, where all of them are such.
pub(crate) fn literals(arguments: &[Expr]) -> Option<Vec<Literal<'_>>> {
    arguments.iter().map(literal).collect()
}

fn literal(argument: &Expr) -> Option<Literal<'_>> {
    match argument {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match literal(expr)? {
            Literal::Integer(value) => Some(Literal::Integer(-value)),
            _ => None,
        },
        Expr::Value(literal) => Some(match &literal.value {
            Value::Null => Literal::Null,
            Value::Boolean(value) => Literal::Bool(*value),
            Value::Number(digits, false) => digits.parse().map_or(Literal::Decimal(digits), Literal::Integer),
            Value::SingleQuotedString(text) => Literal::Text(Cow::Borrowed(text)),
            _ => return None,
        }),
        _ => None,
    }
}

/// A literal as it stands in a statement.
pub(crate) fn expression(literal: &Literal<'_>) -> Expr {
    let Literal::Decimal(digits) = literal else {
        return parameters::literal(literal.value().unwrap_or(Datum::Null));
    };
    let number = |digits: &str| build::value(Value::Number(digits.to_owned(), false));
    match digits.strip_prefix('-') {
        Some(digits) => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number(digits)) },
        None => number(digits),
    }
}
