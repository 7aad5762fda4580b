//! The frames of windows: offsets that are computed, and rows that EXCLUDE leaves out.
//!
//! The planner takes numbers and texts as offsets, so expressions become what they are worth. A call whose frame leaves rows
//! out becomes one of a function of ours that knows which (`functions/excluding`); `rank()` and its like look at no frame.

use std::ops::ControlFlow;

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::Expr as Planned;
use sqlparser::ast::{
    CaseWhen, DataType, Expr, ExprWithAlias, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Interval, ObjectName, Statement, Value, VisitorMut, WindowFrame, WindowFrameBound, WindowType,
};

use super::expressions;
use super::planner::Planner;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::functions::nested::text_out;
use crate::datafusion::functions::shifted::COMPUTED;
use crate::datafusion::functions::time::kinds::{Kind, time_kind};
use crate::sql::build;
use crate::sql::expressions::flow;
use crate::sql::frames::Exclusion;
use crate::sql::visit::VisitMut;
use crate::{Error, ErrorKind};

/// Functions that look at no frame.
const WITHOUT_FRAME: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

/// Aggregates to which NULL is nothing.
const IGNORE_NULL: [&str; 8] = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every"];

/// Resolves the frames of all windows in `statement`.
pub(in crate::datafusion) fn resolve(planner: &Planner, statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Frames { planner }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a call of `lag`, `lead` or `ntile` has an argument that the planner takes as a literal only, and is none.
fn is_computed(name: &ObjectName, arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else { return false };
    let first = match name.to_string().to_lowercase().as_str() {
        "lag" | "lead" => 1,
        "ntile" => 0,
        _ => return false,
    };
    let is_literal = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => !matches!(value.value, Value::Null),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::UnaryOp { expr, .. })) => {
            matches!(expr.as_ref(), Expr::Value(_))
        }
        _ => false,
    };
    !list.args.iter().skip(first).all(is_literal)
}

/// What an offset is that is written as a text: that of an interval, or of a number, as the order is one of times or not.
fn text_of(offset: &Expr) -> Option<String> {
    let written = match offset {
        Expr::Cast { expr, data_type: DataType::Interval { fields: None, precision: None }, .. } => expr.as_ref(),
        written => written,
    };
    match written {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A text as the planner takes it for an offset.
fn interval(text: String) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(build::value(Value::SingleQuotedString(text))),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}

struct Frames<'a> {
    planner: &'a Planner,
}

impl VisitorMut for Frames<'_> {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        flow(self.call(call))
    }
}

impl Frames<'_> {
    fn call(&self, call: &mut Function) -> Result<(), Error> {
        let Some(WindowType::WindowSpec(spec)) = &mut call.over else { return Ok(()) };
        if is_computed(&call.name, &call.args) {
            let name = build::last_name(&call.name)?.value.to_lowercase();
            call.name = ObjectName::from(vec![Ident::with_quote('"', format!("{name}{COMPUTED}"))]);
        }
        let Some(frame) = &mut spec.window_frame else { return Ok(()) };
        let exclusion = Exclusion::take(frame);
        let WindowFrame { start_bound, end_bound, .. } = frame;
        self.bound(start_bound, "starting")?;
        if let Some(end_bound) = end_bound {
            self.bound(end_bound, "ending")?;
        }
        let Some(exclusion) = exclusion else { return Ok(()) };
        let name = build::last_name(&call.name)?;
        let name = if name.quote_style.is_some() { name.value } else { name.value.to_lowercase() };
        if !WITHOUT_FRAME.contains(&name.as_str()) {
            let FunctionArguments::List(list) = &mut call.args else { return Ok(()) };
            if let [FunctionArg::Unnamed(argument)] = list.args.as_mut_slice() {
                if matches!(argument, FunctionArgExpr::Wildcard) {
                    *argument = FunctionArgExpr::Expr(build::number(1));
                }
                if let Some(filter) = call.filter.take() {
                    if !IGNORE_NULL.contains(&name.as_str()) {
                        return Err(Error::unsupported("FILTER beside EXCLUDE is not supported of this function"));
                    }
                    if let FunctionArgExpr::Expr(value) = argument {
                        let when = CaseWhen { condition: *filter, result: value.clone() };
                        *value = build::case(vec![when], None);
                    }
                }
            }
            call.name = ObjectName::from(vec![Ident::with_quote('"', format!("{name} {}", exclusion.words()))]);
        }
        Ok(())
    }

    fn bound(&self, bound: &mut WindowFrameBound, which: &str) -> Result<(), Error> {
        let (WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset))) = bound else {
            return Ok(());
        };
        let refused = |kind, problem: &str| Error::new(kind, format!("frame {which} offset must not be {problem}"));
        let is_negative = || refused(ErrorKind::FRAME_OFFSET, "negative");
        if let Some(text) = text_of(offset) {
            match text.trim().parse::<f64>() {
                Ok(number) if number.is_nan() => {
                    return Err(Error::new(
                        ErrorKind::FRAME_OFFSET,
                        "invalid preceding or following size in window function",
                    ));
                }
                Ok(number) if number.is_infinite() => {
                    return Err(Error::unsupported("an offset of a frame that is infinite is not supported"));
                }
                Ok(number) if number < 0.0 => return Err(is_negative()),
                _ => {}
            }
            **offset = interval(text);
            return Ok(());
        }
        if matches!(offset.as_ref(), Expr::Value(_) | Expr::Interval(_)) {
            return Ok(());
        }
        let named = ExprWithAlias { expr: offset.as_ref().clone(), alias: None };
        let schema = DFSchema::empty();
        let planned = self.planner.plan_expression(named, &schema).map_err(from_datafusion)?;
        let planned = expressions::simplified(&self.planner.state, planned, &schema).map_err(from_datafusion)?;
        let Planned::Literal(value, _) = planned else {
            return Err(Error::unsupported("an offset of a frame that is not a constant is not supported"));
        };
        if value.is_null() {
            return Err(refused(ErrorKind::NullNotAllowed, "null"));
        }
        **offset = match &value {
            ScalarValue::IntervalMonthDayNano(_)
            | ScalarValue::IntervalDayTime(_)
            | ScalarValue::IntervalYearMonth(_) => interval(value.to_string()),
            ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)) => interval(text.clone()),
            span if time_kind(&span.data_type()) == Some(Kind::Interval) => {
                let texts = span.to_array().and_then(|array| text_out::texts(&array)).map_err(from_datafusion)?;
                if texts.value(0).starts_with('-') {
                    return Err(is_negative());
                }
                interval(texts.value(0).to_owned())
            }
            number => {
                let number = number.to_string();
                if number.starts_with('-') {
                    return Err(is_negative());
                }
                build::value(Value::Number(number, false))
            }
        };
        Ok(())
    }
}
