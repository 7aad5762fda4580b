//! Casts and comparisons of dates, times and intervals in the plan of a statement.
//!
//! Comparisons of one type stay as they are, so that scans know them. Of two types the one becomes the other, as in
//! PostgreSQL; a date that is compared with a timestamp that is known while planning is compared with a date. Intervals are
//! compared by their lengths, times with a zone by the moments that they are.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryViewBuilder, Decimal128Builder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    BinaryExpr, Case, Cast, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use longshore_time::moment::{date_of, midnight, to_utc};
use longshore_time::settings::to_local;

use super::casts::{Modifier, cast_time, convert, is_ours};
use super::kinds::{Kind, time_kind};
use super::session::{SessionTime, time_error};
use super::values::{Column, Value};
use crate::datafusion::functions::element_wise::map_values;

/// Functions whose arguments have one type.
const OF_ONE_TYPE: [&str; 5] = ["coalesce", "nullif", "nvl", "greatest", "least"];

/// Puts functions in the place of casts and comparisons that need them.
#[derive(Debug)]
pub(in crate::datafusion) struct TimeRewrite;

impl FunctionRewrite for TimeRewrite {
    fn name(&self) -> &'static str {
        "postgres_times"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        match expr {
            Expr::Cast(cast) => self::cast(cast, schema),
            Expr::Negative(inner) if kind(&inner, schema) == Some(Kind::Interval) => {
                negated(*inner).map(Transformed::yes)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
                match compared(&left, op, &right, schema) {
                    Some(planned) => Ok(Transformed::yes(planned)),
                    None => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                }
            }
            Expr::Between(between) => Ok(self::between(between, schema)),
            Expr::InList(list) => Ok(in_list(list, schema)),
            Expr::Case(case) => Ok(self::case(case, schema)),
            Expr::ScalarFunction(ScalarFunction { func, args }) if OF_ONE_TYPE.contains(&func.name()) => {
                let (args, changed) = united(args, schema);
                let call = Expr::ScalarFunction(ScalarFunction { func, args });
                Ok(if changed { Transformed::yes(call) } else { Transformed::no(call) })
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// The opposite of an interval.
fn negated(interval: Expr) -> Result<Expr> {
    let minus_one = Expr::Literal(ScalarValue::Float64(Some(-1.0)), None);
    if let Some(expr) = super::call("*", vec![interval, minus_one]) {
        Ok(expr)
    } else {
        internal_err!("no product of intervals")
    }
}

/// The kind of an expression. An operator of `DataFusion`'s gives none: those of times have become functions when types are
/// asked for.
fn kind(expr: &Expr, schema: &DFSchema) -> Option<Kind> {
    if let Expr::BinaryExpr(BinaryExpr { op, .. }) = expr
        && (is_comparison(*op) || op.is_logic_operator())
    {
        return None;
    }
    expr.get_type(schema).ok().and_then(|data_type| time_kind(&data_type))
}

fn cast(cast: Cast, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Cast { expr, field } = cast;
    let to = field.data_type();
    let from = expr.get_type(schema)?;
    let modifier = Modifier::of(&field);
    let Some(kind) = Kind::of(to) else { return Ok(Transformed::no(Expr::Cast(Cast { expr, field }))) };
    let is_null_struct = from == DataType::Null && kind.is_time() && matches!(to, DataType::Struct(_));
    if is_ours(&from, to) || modifier != Modifier::None || is_null_struct {
        let cast = cast_time(*expr, kind, modifier);
        // To a text of a length, which another rule cuts.
        let is_told = !kind.is_time() && !field.metadata().is_empty();
        return Ok(Transformed::yes(if is_told { Expr::Cast(Cast { expr: Box::new(cast), field }) } else { cast }));
    }
    Ok(Transformed::no(Expr::Cast(Cast { expr, field })))
}

/// Whether it is a literal that has no type yet.
fn is_unknown(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null() || matches!(value, ScalarValue::Utf8(_)),
        _ => false,
    }
}

/// `left op right`, where one side is of a type of time; `None` if `DataFusion` compares them as is meant.
pub(in crate::datafusion) fn compared(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (left_kind, right_kind) = (kind(left, schema), kind(right, schema));
    let (left_kind, right_kind) = match (left_kind, right_kind) {
        (Some(left), Some(right)) => (left, right),
        (Some(left_kind), None) if is_unknown(right) => {
            let right = cast_time(right.clone(), left_kind, Modifier::None);
            return Some(comparison(left.clone(), left_kind, op, right));
        }
        (None, Some(right_kind)) if is_unknown(left) => {
            let left = cast_time(left.clone(), right_kind, Modifier::None);
            return Some(comparison(left, right_kind, op, right.clone()));
        }
        _ => return None,
    };
    if left_kind == right_kind {
        return match left_kind {
            Kind::Interval | Kind::TimeTz => Some(comparison(left.clone(), left_kind, op, right.clone())),
            _ => None,
        };
    }
    let is_day = |one: Kind, other: Kind| one == Kind::Date && matches!(other, Kind::Timestamp | Kind::TimestampTz);
    if is_day(left_kind, right_kind) {
        return Some(of_day(op, left.clone(), right.clone()));
    }
    if is_day(right_kind, left_kind)
        && let Some(op) = op.swap()
    {
        return Some(of_day(op, right.clone(), left.clone()));
    }
    let common = match (left_kind, right_kind) {
        (Kind::Timestamp, Kind::TimestampTz) | (Kind::TimestampTz, Kind::Timestamp) => Kind::TimestampTz,
        (Kind::Time, Kind::TimeTz) | (Kind::TimeTz, Kind::Time) => Kind::TimeTz,
        (Kind::Time, Kind::Interval) | (Kind::Interval, Kind::Time) => Kind::Interval,
        (Kind::Date, _) => right_kind,
        (_, Kind::Date) => left_kind,
        _ => return None,
    };
    let side = |expr: &Expr, kind: Kind| {
        if kind == common { expr.clone() } else { cast_time(expr.clone(), common, Modifier::None) }
    };
    Some(comparison(side(left, left_kind), common, op, side(right, right_kind)))
}

/// A comparison of two values of one type.
fn comparison(left: Expr, kind: Kind, op: Operator, right: Expr) -> Expr {
    let keyed = |expr: Expr| match kind {
        Kind::Interval | Kind::TimeTz => key(expr, kind),
        _ => expr,
    };
    Expr::BinaryExpr(BinaryExpr::new(Box::new(keyed(left)), op, Box::new(keyed(right))))
}

/// What stands for an interval or a time with a zone where values are compared or grouped.
pub(in crate::datafusion) fn key(expr: Expr, kind: Kind) -> Expr {
    let function = Arc::new(ScalarUDF::new_from_impl(Key::new(kind)));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

/// Arguments in the type that some of them have.
fn united(args: Vec<Expr>, schema: &DFSchema) -> (Vec<Expr>, bool) {
    let Some(common) = common(args.iter(), schema) else { return (args, false) };
    let mut changed = false;
    let args = args.into_iter().map(|arg| {
        let is_other = is_unknown(&arg) || kind(&arg, schema).is_some_and(|kind| kind != common);
        changed |= is_other;
        if is_other { cast_time(arg, common, Modifier::None) } else { arg }
    });
    (args.collect(), changed)
}

/// The type of time in which expressions meet, some of which have another one or none.
fn common<'a>(exprs: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Option<Kind> {
    let mut common: Option<Kind> = None;
    let mut is_mixed = false;
    for expr in exprs {
        if is_unknown(expr) {
            is_mixed = true;
            continue;
        }
        let kind = kind(expr, schema)?;
        common = Some(match (common, kind) {
            (None, kind) => kind,
            (Some(one), other) if one == other => one,
            (Some(one), other) => {
                is_mixed = true;
                match (one, other) {
                    (Kind::TimestampTz, Kind::Date | Kind::Timestamp)
                    | (Kind::Date | Kind::Timestamp, Kind::TimestampTz) => Kind::TimestampTz,
                    (Kind::Timestamp, Kind::Date) | (Kind::Date, Kind::Timestamp) => Kind::Timestamp,
                    (Kind::Time, Kind::TimeTz) | (Kind::TimeTz, Kind::Time) => Kind::TimeTz,
                    (Kind::Time, Kind::Interval) | (Kind::Interval, Kind::Time) => Kind::Interval,
                    _ => return None,
                }
            }
        });
    }
    common.filter(|_| is_mixed)
}

fn between(between: Between, schema: &DFSchema) -> Transformed<Expr> {
    let Between { expr, negated, low, high } = &between;
    let (above, below) = (compared(expr, Operator::GtEq, low, schema), compared(expr, Operator::LtEq, high, schema));
    if above.is_none() && below.is_none() {
        return Transformed::no(Expr::Between(between));
    }
    let plain =
        |op: Operator, bound: &Expr| Expr::BinaryExpr(BinaryExpr::new(expr.clone(), op, Box::new(bound.clone())));
    let above = above.unwrap_or_else(|| plain(Operator::GtEq, low));
    let below = below.unwrap_or_else(|| plain(Operator::LtEq, high));
    let both = above.and(below);
    Transformed::yes(if *negated { Expr::Not(Box::new(both)) } else { both })
}

fn in_list(list: InList, schema: &DFSchema) -> Transformed<Expr> {
    let Some(kind) = kind(&list.expr, schema) else { return Transformed::no(Expr::InList(list)) };
    let InList { expr, list, negated } = list;
    if matches!(kind, Kind::Interval | Kind::TimeTz) {
        let list = list.into_iter().map(|item| {
            let item = if is_unknown(&item) { cast_time(item, kind, Modifier::None) } else { item };
            key(item, kind)
        });
        let list = list.collect();
        return Transformed::yes(Expr::InList(InList { expr: Box::new(key(*expr, kind)), list, negated }));
    }
    let mut exprs = vec![*expr];
    exprs.extend(list);
    let (mut exprs, changed) = united(exprs, schema);
    let expr = Box::new(exprs.remove(0));
    Transformed::new_transformed(Expr::InList(InList { expr, list: exprs, negated }), changed)
}

/// CASE, whose results have one type; its operand is compared with what stands behind WHEN.
fn case(case: Case, schema: &DFSchema) -> Transformed<Expr> {
    let Case { expr, when_then_expr, else_expr } = case;
    let (mut whens, mut results): (Vec<Expr>, Vec<Expr>) =
        when_then_expr.into_iter().map(|(when, then)| (*when, *then)).unzip();
    let has_else = else_expr.is_some();
    results.extend(else_expr.map(|expr| *expr));
    let (mut results, mut changed) = united(results, schema);
    let else_expr = if has_else { results.pop().map(Box::new) } else { None };
    let mut operand = expr;
    if let Some(value) = &operand
        && kind(value, schema).is_some()
    {
        let conditions: Vec<_> = whens.iter().map(|when| compared(value, Operator::Eq, when, schema)).collect();
        if conditions.iter().any(Option::is_some) {
            let equal = |when: Expr| Expr::BinaryExpr(BinaryExpr::new(value.clone(), Operator::Eq, Box::new(when)));
            whens = whens.into_iter().zip(conditions).map(|(when, own)| own.unwrap_or_else(|| equal(when))).collect();
            operand = None;
            changed = true;
        }
    }
    let when_then_expr = whens.into_iter().zip(results).map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Transformed::new_transformed(Expr::Case(Case { expr: operand, when_then_expr, else_expr }), changed)
}

/// The type of what stands for an interval.
pub(in crate::datafusion) const INTERVAL_KEY: DataType = DataType::Decimal128(38, 0);

/// What stands for the values of an array of such.
pub(in crate::datafusion) fn keys(array: &ArrayRef, kind: Kind) -> Result<ArrayRef> {
    Key::new(kind).keys(array)
}

/// The length of an interval, or the key of a time with a zone.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    signature: Signature,
}

impl Key {
    fn new(kind: Kind) -> Self {
        Self { kind, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn keys(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let column = Column::new(array)?;
        let values = (0..array.len()).map(|row| column.value(row));
        if self.kind == Kind::Interval {
            let mut lengths = Decimal128Builder::with_capacity(array.len()).with_data_type(INTERVAL_KEY);
            for value in values {
                lengths.append_option(if let Value::Interval(interval) = value {
                    Some(interval.total())
                } else {
                    None
                });
            }
            return Ok(Arc::new(lengths.finish()));
        }
        let mut keys = BinaryViewBuilder::with_capacity(array.len());
        for value in values {
            keys.append_option(if let Value::TimeTz(time) = value { Some(time.to_key()) } else { None });
        }
        Ok(Arc::new(keys.finish()))
    }
}

impl ScalarUDFImpl for Key {
    fn name(&self) -> &'static str {
        if self.kind == Kind::Interval { "interval_length" } else { "timetz_key" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.kind == Kind::Interval { INTERVAL_KEY } else { DataType::BinaryView })
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name()) };
        map_values(value, |array| self.keys(array))
    }
}

/// The comparison of a date with a timestamp.
fn of_day(operator: Operator, day: Expr, moment: Expr) -> Expr {
    let signature = Signature::any(2, Volatility::Immutable);
    let function = Arc::new(ScalarUDF::new_from_impl(DayComparison { operator, signature }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![day, moment]))
}

/// A date compared with a timestamp, with or without a zone.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DayComparison {
    operator: Operator,
    signature: Signature,
}

impl DayComparison {
    /// The comparison with a timestamp that is known, as one of dates; `None` for operators that are not of this kind.
    fn with_known(&self, day: &Expr, moment: &ScalarValue, session: &SessionTime<'_>) -> Result<Option<Expr>> {
        let column = Column::new(&moment.to_array()?)?;
        let zone = &session.settings().zone;
        let (date, is_midnight) = match column.value(0) {
            Value::Timestamp(micros) => {
                let date = date_of(micros).map_err(|error| time_error(&error))?;
                (date, midnight(date).is_ok_and(|start| start == micros))
            }
            Value::TimestampTz(micros) => {
                let date = date_of(to_local(zone, micros)).map_err(|error| time_error(&error))?;
                (date, midnight(date).and_then(|start| to_utc(zone, start)).is_ok_and(|start| start == micros))
            }
            _ => return Ok(None),
        };
        let other = |op: Operator, right: Expr| {
            Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(day.clone()), op, Box::new(right))))
        };
        let date = Expr::Literal(ScalarValue::Date32(Some(date)), None);
        Ok(match self.operator {
            op if is_midnight => other(op, date),
            Operator::Lt | Operator::LtEq => other(Operator::LtEq, date),
            Operator::Gt | Operator::GtEq => other(Operator::Gt, date),
            // No date is equal to it; of NULL nothing is known.
            Operator::Eq => other(Operator::NotEq, day.clone()),
            Operator::NotEq => other(Operator::Eq, day.clone()),
            _ => None,
        })
    }
}

impl ScalarUDFImpl for DayComparison {
    fn name(&self) -> &'static str {
        "compare_day"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [day, moment] = args else { return internal_err!("{} takes two arguments", self.name()) };
        Ok(format!("{} {} {}", day.schema_name(), self.operator, moment.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if let [day, Expr::Literal(moment, _)] = args.as_slice() {
            let session = SessionTime::of(info.config_options());
            if let Some(simple) = self.with_known(day, moment, &session)? {
                return Ok(ExprSimplifyResult::Simplified(simple));
            }
        }
        Ok(ExprSimplifyResult::Original(args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [day, moment] = args.args.as_slice() else { return internal_err!("{} takes two arguments", self.name()) };
        let session = SessionTime::of(&args.config_options);
        let Some(kind) = time_kind(&moment.data_type()) else {
            return internal_err!("{} of {}", self.name(), moment.data_type());
        };
        let day = map_values(day, |days| convert(days, kind, Modifier::None, &session))?;
        datafusion::physical_expr_common::datum::apply_cmp(self.operator, &day, moment)
    }
}
