//! Prepared statements: a statement with parameters, parsed once.
//!
//! A statement about one row by its whole key, or about few by an index, is recognised when it is prepared ([`fast`]),
//! or when the index is there, and does not pass through the query planner. Of every other one the plans of the queries
//! that it consists of are kept (`datafusion/kept.rs`); values that a plan does not take are planned anew, in place.
//! Not here: PREPARE and EXECUTE (`statement/prepare.rs`).

mod fast;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use longshore_storage::{ColumnType, Datum};
use sqlparser::ast::{CastKind, DataType, Expr, Statement, Value, Visit, VisitMut, Visitor, VisitorMut};

pub(crate) use fast::{Done, Fast};

use crate::Error;
use crate::catalog::Catalog;
use crate::datafusion::Plans;
use crate::sql::{self, Parsed, secrets, types};
use crate::statement::is_change;
use crate::transaction::Work;

/// Parameters that a statement may have.
const PARAMETERS_MAX: usize = 65_535;

/// A statement with parameters `$1`, `$2`, ..., parsed once; good for every session of its database.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) statement: Statement,
    parameters: usize,
    /// The types that were given to the first parameters.
    pub(crate) types: Vec<DataType>,
    /// `None` if it goes through the planner.
    pub(crate) fast: Option<Fast>,
    /// What it is over tables and indexes as they were made, altered or dropped since.
    anew: Mutex<Anew>,
    /// What the planner has made of it.
    pub(crate) plans: Plans,
    /// What must stand in no message.
    pub(crate) secrets: Vec<String>,
}

/// What a statement was recognised as, and in which state of the catalog.
#[derive(Debug, Default)]
struct Anew {
    version: Option<u64>,
    fast: Option<Arc<Fast>>,
}

impl Prepared {
    /// Prepares the text of one statement.
    pub(crate) fn parse(sql: &str, catalog: &Catalog) -> Result<Self, Error> {
        match sql::parse(sql)? {
            Parsed::Sql(statement) => Self::new(*statement, Vec::new(), catalog),
            _ => Err(Error::unsupported("only queries, INSERT, UPDATE, DELETE and MERGE can be prepared")),
        }
    }

    /// Prepares a statement, whose first parameters have these `types`.
    pub(crate) fn new(statement: Statement, types: Vec<DataType>, catalog: &Catalog) -> Result<Self, Error> {
        if !matches!(
            statement,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_)
        ) {
            return Err(Error::unsupported("only queries, INSERT, UPDATE, DELETE and MERGE can be prepared"));
        }
        let mut count = Count(0);
        if let ControlFlow::Break(error) = Visit::visit(&statement, &mut count) {
            return Err(error);
        }
        let fast = Fast::recognise(&statement, catalog);
        let parameters = count.0.max(types.len());
        let secrets = secrets::values(&statement.to_string());
        Ok(Self { statement, parameters, types, fast, anew: Mutex::default(), plans: Plans::default(), secrets })
    }

    /// What it is to who sees what `work` does, if that is not what it was when it was prepared: recognised once for each
    /// change of the catalog.
    pub(crate) fn fast_anew(&self, catalog: &Catalog, work: &Work) -> Option<Arc<Fast>> {
        // Asked before the catalog is, so that no change is missed.
        let version = Some(catalog.version());
        let mut anew = self.anew.lock().unwrap_or_else(PoisonError::into_inner);
        if anew.version != version {
            let fast = Fast::recognise(&self.statement, catalog).map(Arc::new);
            *anew = Anew { version, fast };
        }
        anew.fast.clone().filter(|fast| fast.is_current(catalog, work))
    }

    /// Values as parameters of the types that were given; `None` if that takes more than to call them so.
    pub(crate) fn in_declared_types<'a>(&self, values: Cow<'a, [Datum<'a>]>) -> Option<Cow<'a, [Datum<'a>]>> {
        if self.types.is_empty() {
            return Some(values);
        }
        let mut converted = values.into_owned();
        for (value, data_type) in converted.iter_mut().zip(&self.types) {
            let fitted = fit(*value, types::column_type(data_type).ok()?)?;
            match (*value, types::column_type(data_type)) {
                // The digits of a decimal would be taken for a whole number.
                (Datum::Text(_), Ok(ColumnType::Decimal { .. })) => return None,
                (_, Ok(ColumnType::Decimal { .. })) => {}
                _ => *value = fitted,
            }
        }
        Some(Cow::Owned(converted))
    }

    /// Arguments as they stand in the place of parameters.
    pub(crate) fn texts(&self, arguments: impl Iterator<Item = Expr>) -> Vec<Expr> {
        let cast = |(number, argument): (usize, Expr)| match self.types.get(number) {
            None => Expr::Nested(Box::new(argument)),
            Some(data_type) => Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(argument),
                data_type: data_type.clone(),
                array: false,
                format: None,
            },
        };
        arguments.enumerate().map(cast).collect()
    }

    /// Whether it changes rows.
    pub(crate) fn writes(&self) -> bool {
        !matches!(&self.statement, Statement::Query(query) if !is_change(query))
    }

    /// The number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    pub(crate) fn check_count(&self, given: usize) -> Result<(), Error> {
        if given == self.parameters {
            return Ok(());
        }
        Err(Error::invalid(format!("the statement has {} parameters, but {given} values are given", self.parameters)))
    }
}

/// Puts `arguments` in the place of the parameters of a statement.
pub(crate) fn bind(statement: &mut Statement, arguments: &[Expr]) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Bind(arguments)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The number of a placeholder, from 0.
fn number_of(placeholder: &str) -> Result<usize, Error> {
    let number = placeholder.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
    match number {
        Some(number @ 1..=PARAMETERS_MAX) => Ok(number - 1),
        _ => Err(Error::syntax(format!("{placeholder} is not a parameter; parameters are $1 to ${PARAMETERS_MAX}"))),
    }
}

fn placeholder(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Counts parameters.
struct Count(usize);

impl Visitor for Count {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        if let Some(name) = placeholder(expr) {
            match number_of(name) {
                Ok(number) => self.0 = self.0.max(number + 1),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

/// Puts values in the place of parameters.
struct Bind<'a>(&'a [Expr]);

impl VisitorMut for Bind<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Some(name) = placeholder(expr) {
            match number_of(name) {
                Ok(number) => *expr = self.0[number].clone(),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

/// A value as SQL text reads back as it, for statements that go through the planner.
pub(crate) fn literal(value: Datum<'_>) -> Expr {
    let number = |text: String| Expr::Value(Value::Number(text, false).into());
    match value {
        Datum::Null => Expr::Value(Value::Null.into()),
        Datum::Bool(value) => Expr::Value(Value::Boolean(value).into()),
        Datum::I16(value) => number(value.to_string()),
        Datum::I32(value) => number(value.to_string()),
        Datum::I64(value) => number(value.to_string()),
        Datum::I128(value) => number(value.to_string()),
        Datum::F32(value) => Expr::Value(Value::SingleQuotedString(value.to_string()).into()),
        Datum::F64(value) => Expr::Value(Value::SingleQuotedString(value.to_string()).into()),
        Datum::Text(value) => Expr::Value(Value::SingleQuotedString(value.to_owned()).into()),
        Datum::Bytes(value) => {
            let mut digits = String::with_capacity(2 * value.len());
            for byte in value {
                // Writing to a string cannot fail.
                let _ = write!(digits, "{byte:02X}");
            }
            Expr::Value(Value::HexStringLiteral(digits).into())
        }
    }
}

/// `value` as a column of this type stores it, where that is plain; other values are left to the planner.
pub(crate) fn fit(value: Datum<'_>, column_type: ColumnType) -> Option<Datum<'_>> {
    let whole = |value: i64| match column_type {
        ColumnType::SmallInt => i16::try_from(value).ok().map(Datum::I16),
        ColumnType::Integer => i32::try_from(value).ok().map(Datum::I32),
        ColumnType::BigInt => Some(Datum::I64(value)),
        ColumnType::Decimal { precision, scale } if precision <= 18 => {
            let digits = value.checked_mul(10_i64.checked_pow(scale.into())?)?;
            (digits.unsigned_abs() < 10_u64.pow(precision.into())).then_some(Datum::I64(digits))
        }
        _ => None,
    };
    match (value, column_type) {
        (Datum::Null, _)
        | (Datum::Bool(_), ColumnType::Boolean)
        | (Datum::F32(_), ColumnType::Real)
        | (Datum::F64(_), ColumnType::Double)
        | (Datum::Text(_), ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Uuid)
        | (Datum::Bytes(_), ColumnType::Bytea)
        | (Datum::I32(_), ColumnType::Date)
        | (Datum::I64(_), ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz) => Some(value),
        (Datum::Text(text), ColumnType::Decimal { precision, scale }) if precision <= 18 => {
            digits(text, precision, scale).map(Datum::I64)
        }
        (Datum::I16(value), _) => whole(value.into()),
        (Datum::I32(value), _) => whole(value.into()),
        (Datum::I64(value), _) => whole(value),
        _ => None,
    }
}

/// The digits of a decimal number that is written plainly, such as `-12.50`; `None` for every other spelling, and for
/// one that would have to be rounded.
pub(crate) fn digits(text: &str, precision: u8, scale: u8) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    if whole.is_empty() || whole.len() + fraction.len() + zeros > 18 {
        return None;
    }
    let mut digits = 0_i64;
    for byte in whole.bytes().chain(fraction.bytes()) {
        digits = digits * 10 + i64::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    digits *= 10_i64.pow(zeros as u32);
    (digits < 10_i64.pow(precision.into())).then_some(sign * digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_decimals_are_read_without_the_planner() {
        for (text, expected) in [
            ("12.5", Some(1250)),
            ("-12.50", Some(-1250)),
            ("0", Some(0)),
            ("99999.99", Some(9_999_999)),
            ("100000", None),
            ("0.001", None),
            (".5", None),
            ("5.", Some(500)),
            ("1e3", None),
            ("", None),
            ("-", None),
            (" 1", None),
            ("+1", None),
            ("1.2.3", None),
            ("999999999999999999999", None),
        ] {
            let fitted = fit(Datum::Text(text), ColumnType::Decimal { precision: 7, scale: 2 });
            assert_eq!(fitted, expected.map(Datum::I64), "{text:?}");
        }
    }
}
