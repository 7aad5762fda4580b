//! Syntax of times that the planner does not know, as functions and casts: `interval '1' year`, `AT TIME ZONE`, `OVERLAPS`;
//! and calls by the name of a type, which are casts.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::sql::visit::VisitMut;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Interval, IntervalFields, ObjectNamePart, Query, SetExpr, Statement, TimezoneInfo, TypedString,
    UnaryOperator, Value, ValueWithSpan, Values, VisitorMut, WindowFrame, WindowFrameBound, WindowType,
};

use super::build::{call, written};

/// Puts them in their place.
pub(crate) fn rewrite(statement: &mut Statement) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = statement.visit(&mut Rewriter);
}

/// Puts them in their place in an expression.
pub(crate) fn rewrite_expression(expr: &mut Expr) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(_)) = expr.visit(&mut Rewriter);
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        if let SetExpr::Values(values) = query.body.as_mut() {
            unite(values);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(function) = expr
            && let Some(WindowType::WindowSpec(spec)) = &mut function.over
            && let Some(frame) = &mut spec.window_frame
        {
            keep_bounds(frame);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let taken = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        *expr = match taken {
            Expr::Interval(interval) => cast(interval),
            Expr::Function(function) => of_function(function),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_interval(&expr) => {
                let minus_one = Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(number("1")) };
                let product = Expr::BinaryOp { left: expr, op: BinaryOperator::Multiply, right: Box::new(minus_one) };
                Expr::Nested(Box::new(product))
            }
            Expr::AtTimeZone { timestamp, time_zone } => call("timezone", vec![*time_zone, *timestamp]),
            Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => match (*left, *right) {
                (Expr::Tuple(mut first), Expr::Tuple(second)) if first.len() == 2 && second.len() == 2 => {
                    first.extend(second);
                    call("overlaps", first)
                }
                (left, right) => {
                    Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::Overlaps, right: Box::new(right) }
                }
            },
            other => other,
        };
        ControlFlow::Continue(())
    }
}

/// The type that a call of a name casts its only argument to.
fn called_type(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" => DataType::Bool,
        "int2" => DataType::Int2(None),
        "int4" => DataType::Int4(None),
        "int8" => DataType::Int8(None),
        "float4" => DataType::Float4,
        "float8" => DataType::Float8,
        "text" => DataType::Text,
        "bpchar" => DataType::Custom(written("bpchar"), Vec::new()),
        "date" => DataType::Date,
        "timetz" => DataType::Time(None, TimezoneInfo::Tz),
        "timestamptz" => DataType::Timestamp(None, TimezoneInfo::Tz),
        _ => return None,
    })
}

/// The only argument of a plain call.
fn only_argument(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let is_plain = function.over.is_none()
        && function.filter.is_none()
        && function.within_group.is_empty()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(only))] if is_plain => Some(only.clone()),
        _ => None,
    }
}

/// `to_number` as a cast of the digits that it finds, `make_interval` and its like with their arguments in their places, and
/// calls by the name of a type as casts.
fn of_function(mut function: Function) -> Expr {
    if let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice()
        && let Some(data_type) = called_type(&name.value.to_ascii_lowercase())
        && let Some(argument) = only_argument(&function)
    {
        return cast_to(argument, data_type);
    }
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice() else { return Expr::Function(function) };
    match name.value.to_ascii_lowercase().as_str() {
        "to_number" => {
            "to_number_text".clone_into(&mut name.value);
            let data_type = DataType::Numeric(ExactNumberInfo::None);
            cast_to(Expr::Function(function), data_type)
        }
        called => {
            if let Some((_, names)) = ARGUMENTS.iter().find(|(name, _)| *name == called)
                && let FunctionArguments::List(list) = &mut function.args
            {
                place(&mut list.args, names);
            }
            Expr::Function(function)
        }
    }
}

/// Functions whose arguments may be named, with the names in their order.
const ARGUMENTS: [(&str, &[&str]); 5] = [
    ("make_date", &["year", "month", "day"]),
    ("make_interval", &["years", "months", "weeks", "days", "hours", "mins", "secs"]),
    ("make_time", &["hour", "min", "sec"]),
    ("make_timestamp", &["year", "month", "mday", "hour", "min", "sec"]),
    ("make_timestamptz", &["year", "month", "mday", "hour", "min", "sec", "timezone"]),
];

/// Puts arguments that are named where they belong, with zero for those that are left out before them.
fn place(arguments: &mut Vec<FunctionArg>, names: &[&str]) {
    if !arguments.iter().any(|argument| !matches!(argument, FunctionArg::Unnamed(_))) {
        return;
    }
    let mut placed: Vec<FunctionArg> = Vec::new();
    let zero = || FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(Value::Number("0".to_owned(), false).into())));
    for argument in std::mem::take(arguments) {
        let place = match &argument {
            FunctionArg::ExprNamed { name: Expr::Identifier(name), .. } | FunctionArg::Named { name, .. } => {
                names.iter().position(|known| name.value.eq_ignore_ascii_case(known))
            }
            _ => Some(placed.len()),
        };
        let argument = match argument {
            FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } if place.is_some() => {
                FunctionArg::Unnamed(arg)
            }
            other => other,
        };
        let place = place.unwrap_or(names.len());
        while placed.len() <= place {
            placed.push(zero());
        }
        placed[place] = argument;
    }
    *arguments = placed;
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_owned(), false).into())
}

/// Whether an expression is written as an interval.
fn is_interval(expr: &Expr) -> bool {
    wrapped_type(expr).is_some_and(|data_type| matches!(data_type, DataType::Interval { .. }))
}

/// The type that an expression is written as, if it is an interval or a time with a zone.
fn wrapped_type(expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Interval(_) => Some(DataType::Interval { fields: None, precision: None }),
        Expr::Cast { data_type, .. } | Expr::TypedString(TypedString { data_type, .. }) => match data_type {
            DataType::Interval { .. } | DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                Some(data_type.clone())
            }
            _ => None,
        },
        Expr::Nested(inner) => wrapped_type(inner),
        _ => None,
    }
}

/// Gives texts among VALUES the type of the intervals in their column, which the planner could not.
fn unite(values: &mut Values) {
    let columns = values.rows.first().map_or(0, |row| row.content.len());
    for column in 0..columns {
        let found = values.rows.iter().find_map(|row| row.content.get(column).and_then(wrapped_type));
        let Some(data_type) = found else { continue };
        for row in &mut values.rows {
            let Some(value) = row.content.get_mut(column) else { continue };
            if matches!(value, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. })) {
                let text = std::mem::replace(value, Expr::Value(Value::Null.into()));
                *value = cast_to(text, data_type.clone());
            }
        }
    }
}

fn cast_to(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::DoubleColon, expr: Box::new(expr), data_type, array: false, format: None }
}

/// Bounds of frames are read by the planner, which knows intervals as texts.
fn keep_bounds(frame: &mut WindowFrame) {
    let keep = |bound: &mut WindowFrameBound| {
        let (WindowFrameBound::Preceding(Some(expr)) | WindowFrameBound::Following(Some(expr))) = bound else { return };
        if let Expr::Interval(Interval { value, leading_field, last_field: None, .. }) = expr.as_ref()
            && let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = value.as_ref()
        {
            let text = match leading_field {
                Some(unit) => format!("{text} {unit}"),
                None => text.clone(),
            };
            **expr = Expr::Value(Value::SingleQuotedString(text).into());
        }
    };
    keep(&mut frame.start_bound);
    frame.end_bound.iter_mut().for_each(keep);
}

/// An interval as a cast; of a number that is not quoted, so many of its unit.
fn cast(interval: Interval) -> Expr {
    let Interval { value, leading_field, leading_precision, last_field, fractional_seconds_precision } = interval;
    let is_text = matches!(
        value.as_ref(),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_), .. })
    );
    if let (false, Some(unit), None) = (is_text, &leading_field, &last_field) {
        let one = Expr::TypedString(TypedString {
            data_type: DataType::Interval { fields: None, precision: None },
            value: Value::SingleQuotedString(format!("1 {unit}")).into(),
            uses_odbc_syntax: false,
        });
        let value = Expr::Nested(value);
        let product = Expr::BinaryOp { left: Box::new(value), op: BinaryOperator::Multiply, right: Box::new(one) };
        return Expr::Nested(Box::new(product));
    }
    let fields = fields(leading_field.as_ref(), last_field.as_ref());
    let precision = fractional_seconds_precision.or(leading_precision);
    // A unit that is no field of SQL, as WEEK, belongs to the text.
    let expr = match (&leading_field, &fields, *value) {
        (Some(unit), None, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. })) => {
            Expr::Value(Value::SingleQuotedString(format!("{text} {unit}")).into())
        }
        (_, _, value) => value,
    };
    cast_to(expr, DataType::Interval { fields, precision })
}

fn fields(first: Option<&DateTimeField>, last: Option<&DateTimeField>) -> Option<IntervalFields> {
    use DateTimeField::{Day, Hour, Minute, Month, Second, Year};
    Some(match (first?, last) {
        (Year, None) => IntervalFields::Year,
        (Month, None) => IntervalFields::Month,
        (Day, None) => IntervalFields::Day,
        (Hour, None) => IntervalFields::Hour,
        (Minute, None) => IntervalFields::Minute,
        (Second, None) => IntervalFields::Second,
        (Year, Some(Month)) => IntervalFields::YearToMonth,
        (Day, Some(Hour)) => IntervalFields::DayToHour,
        (Day, Some(Minute)) => IntervalFields::DayToMinute,
        (Day, Some(Second)) => IntervalFields::DayToSecond,
        (Hour, Some(Minute)) => IntervalFields::HourToMinute,
        (Hour, Some(Second)) => IntervalFields::HourToSecond,
        (Minute, Some(Second)) => IntervalFields::MinuteToSecond,
        _ => return None,
    })
}
