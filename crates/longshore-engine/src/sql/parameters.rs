//! Parameters `$1`, `$2`, ...: their places in statements, and values as literals and as columns store them.
//!
//! Not here: what a prepared statement is (`prepared`).

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use longshore_load::DateTimeFormat;
use longshore_storage::{ColumnType, Datum, Uuid};
use longshore_value::decimal;
use sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, LimitClause, Query, Statement, UnaryOperator,
    Value, Visitor, VisitorMut,
};

use crate::Error;
use crate::sql::build;
use crate::sql::visit::{Visit, VisitMut};

static ISO: LazyLock<DateTimeFormat> = LazyLock::new(|| DateTimeFormat::new(&["iso"]).expect("the name of a format"));

/// Parameters that a statement may have.
pub(crate) const PARAMETERS_MAX: usize = 65_535;

/// The number of parameters of `statement`: the highest that it names.
pub(crate) fn count(statement: &Statement) -> Result<usize, Error> {
    let mut count = Count(0);
    match Visit::visit(statement, &mut count) {
        ControlFlow::Continue(()) => Ok(count.0),
        ControlFlow::Break(error) => Err(error),
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
pub(crate) fn number_of(placeholder: &str) -> Result<usize, Error> {
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

/// Whether a value that is given as a text without a type may not do for a parameter of `statement`: one that is an argument of a
/// function, or a number of rows.
pub(crate) fn ask_for_types(statement: &Statement) -> bool {
    Visit::visit(statement, &mut Asking).is_break()
}

/// Looks for parameters whose values are not read as literals are.
struct Asking;

impl Visitor for Asking {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let fetched = query.fetch.iter().filter_map(|fetch| fetch.quantity.as_ref());
        let limited = match &query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                [limit.as_ref(), offset.as_ref().map(|offset| &offset.value)]
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => [Some(limit), Some(offset)],
            None => [None, None],
        };
        found(fetched.chain(limited.into_iter().flatten()))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => match &call.args {
                FunctionArguments::List(list) => found(list.args.iter().filter_map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))
                    | FunctionArg::Named { arg: FunctionArgExpr::Expr(arg), .. } => Some(arg),
                    _ => None,
                })),
                _ => ControlFlow::Continue(()),
            },
            Expr::Substring { expr, substring_from, substring_for, .. } => found(
                [Some(expr), substring_from.as_ref(), substring_for.as_ref()].into_iter().flatten().map(AsRef::as_ref),
            ),
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => found([expr.as_ref()]),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Breaks off where one of these is a parameter.
fn found<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> ControlFlow<()> {
    if exprs.into_iter().any(|expr| placeholder(expr).is_some()) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
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
        Datum::Uuid(value) => Expr::Value(Value::SingleQuotedString(value.to_string()).into()),
        Datum::Text(value) => Expr::Value(Value::SingleQuotedString(value.to_owned()).into()),
        Datum::Bytes(value) => {
            let mut digits = String::with_capacity(2 + 2 * value.len());
            digits.push_str("\\x");
            for byte in value {
                // Writing to a string cannot fail.
                let _ = write!(digits, "{byte:02x}");
            }
            build::cast_as(Expr::Value(Value::SingleQuotedString(digits).into()), DataType::Bytea)
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
        | (Datum::Text(_), ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_))
        | (Datum::Uuid(_), ColumnType::Uuid)
        | (Datum::Bytes(_), ColumnType::Bytea)
        | (Datum::I32(_), ColumnType::Date)
        | (Datum::I64(_), ColumnType::Time | ColumnType::Timestamp | ColumnType::TimestampTz) => Some(value),
        (Datum::Text(text), ColumnType::Decimal { precision, scale }) if precision <= 18 => {
            decimal::plain(text, precision, scale).map(Datum::I64)
        }
        (Datum::Text(text), ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => {
            whole(whole_number(text)?)
        }
        (Datum::Text(text), ColumnType::Boolean) => truth(text).map(Datum::Bool),
        (Datum::Text(text), ColumnType::Double) => float(text).map(Datum::F64),
        (Datum::Text(text), ColumnType::Date) if is_iso_date(text) => ISO.date(text.as_bytes()).ok().map(Datum::I32),
        (Datum::Text(text), ColumnType::Timestamp) if is_iso_timestamp(text) => {
            ISO.timestamp(text.as_bytes()).ok().map(Datum::I64)
        }
        (Datum::Text(text), ColumnType::TimestampTz) if is_zoned_timestamp(text) => {
            ISO.timestamptz(text.as_bytes()).ok().map(Datum::I64)
        }
        (Datum::Text(text), ColumnType::Uuid) => Uuid::parse(text.as_bytes()).ok().map(Datum::Uuid),
        (Datum::I16(value), _) => whole(value.into()),
        (Datum::I32(value), _) => whole(value.into()),
        (Datum::I64(value), _) => whole(value),
        _ => None,
    }
}

/// A whole number in the form in which every program writes it.
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// A truth value as programs write it.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        "t" | "true" => Some(true),
        "f" | "false" => Some(false),
        _ => None,
    }
}

/// A double that loses nothing: neither zero, where the text may be too small, nor infinite, where it may be too large.
pub(crate) fn float(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    if is_plain { text.parse().ok().filter(|value: &f64| value.is_normal()) } else { None }
}

/// Whether it is written as `2024-01-31`.
fn is_iso_date(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(is_right)
}

/// Whether it is written as `2024-01-31 10:00:00`, perhaps with up to six digits behind a point.
fn is_iso_timestamp(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        2 | 5 => byte == b':',
        8 => byte == b'.',
        _ => byte.is_ascii_digit(),
    };
    let Some((date, time)) = text.split_once([' ', 'T']) else { return false };
    let is_time = time.len() == 8 || (10..=15).contains(&time.len());
    is_iso_date(date) && is_time && time.bytes().enumerate().all(is_right)
}

/// Whether it is such a timestamp with its distance from UTC behind it, in hours, or in hours and minutes, or `Z`.
fn is_zoned_timestamp(text: &str) -> bool {
    let Some((_, time)) = text.split_once([' ', 'T']) else { return false };
    let Some(zone) = time.find(['+', '-', 'Z']) else { return false };
    let (timestamp, zone) = text.split_at(text.len() - time.len() + zone);
    let is_zone = match zone.as_bytes() {
        [b'Z'] => true,
        [b'+' | b'-', hours @ .., b':', first, second] if hours.len() == 2 => {
            hours.iter().chain([first, second]).all(u8::is_ascii_digit)
        }
        [b'+' | b'-', hours @ ..] => hours.len() == 2 && hours.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_zone && is_iso_timestamp(timestamp)
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

    #[test]
    fn moments_with_a_zone_are_read_without_the_planner() {
        let hour = 3_600_000_000;
        for (text, expected) in [
            ("1970-01-01 00:00:00+00", Some(0)),
            ("1970-01-01 00:00:00.5+00:00", Some(500_000)),
            ("1970-01-01T02:00:00+02", Some(0)),
            ("1970-01-01T00:00:00.000001Z", Some(1)),
            ("1970-01-01 00:00:00-05:30", Some(5 * hour + hour / 2)),
            ("1970-01-01 00:00:00", None),
            ("1970-01-01", None),
            ("1970-01-01+00", None),
            ("1970-02-30 00:00:00+00", None),
            ("1970-01-01 00:00+00", None),
            ("1970-01-01 00:00:00+0", None),
            ("1970-01-01 00:00:00+00:0", None),
            ("1970-01-01 00:00:00+99", None),
            ("1970-01-01 00:00:00 Europe/Berlin", None),
            ("Z", None),
            ("", None),
        ] {
            let fitted = fit(Datum::Text(text), ColumnType::TimestampTz);
            assert_eq!(fitted, expected.map(Datum::I64), "{text:?}");
        }
    }
}
