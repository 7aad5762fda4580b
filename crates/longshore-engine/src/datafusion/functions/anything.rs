//! Arguments of any type that a function takes as a text: `concat(1, now())`. They are cast as `::text` casts them, except truth
//! values, which functions show otherwise than casts do. `pg_typeof` of a literal, whose type is not known yet, is also here.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, lit};

use super::calls::udf::Function;
use super::casts::{PostgresCasts, cast_number};
use super::exact::functions::function as exact;
use super::nested::list_of;
use super::nested_casts::{self, NestedCasts};
use super::numeric::{is_exact, is_numeric};
use super::time::kinds::time_kind;
use super::time::rewrite::TimeRewrite;

/// Of doubles and arrays it is ours, of exact numbers it is theirs.
const WIDTH_BUCKET: &str = "width_bucket";

/// Casts such arguments.
#[derive(Debug)]
pub(in crate::datafusion) struct ArgumentsAsTexts;

/// `expr` in the type `to`, as a cast makes it that is written in a statement.
pub(super) fn cast_as_written(expr: Expr, to: DataType, schema: &DFSchema, config: &ConfigOptions) -> Result<Expr> {
    let cast = Expr::Cast(Cast::new(Box::new(expr), to));
    let cast = TimeRewrite.rewrite(cast, schema, config)?.data;
    let cast = NestedCasts.rewrite(cast, schema, config)?.data;
    Ok(PostgresCasts::new().rewrite(cast, schema, config)?.data)
}

/// The type of times, or of arrays of times, as texts, which only a cast in their session writes; `None` of other types.
fn as_texts(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::List(item) => as_texts(item.data_type()).map(list_of),
        other => time_kind(other).map(|_| DataType::Utf8View),
    }
}

impl FunctionRewrite for ArgumentsAsTexts {
    fn name(&self) -> &'static str {
        "arguments_as_texts"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, config: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return Ok(Transformed::no(expr)) };
        if let ("pg_typeof", [Expr::Literal(value, _)]) = (func.name(), args.as_slice())
            && (value.data_type() == DataType::Utf8 || value.is_null())
        {
            return Ok(Transformed::yes(lit("unknown")));
        }
        if let ("array_to_string", [array, ..]) = (func.name(), args.as_slice())
            && let Some(texts @ DataType::List(_)) = as_texts(&array.get_type(schema)?)
        {
            let mut args = args;
            args[0] = nested_casts::cast(std::mem::take(&mut args[0]), &texts);
            return Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })));
        }
        let Some(function) = func.inner().downcast_ref::<Function>() else {
            return Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction { func, args })));
        };
        let types = args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
        if func.name() == WIDTH_BUCKET
            && types.len() == 4
            && types.iter().any(is_exact)
            && !types.iter().any(DataType::is_floating)
        {
            return Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(exact(WIDTH_BUCKET), args))));
        }
        let mut changed = false;
        let cast = |(at, arg): (usize, Expr)| {
            let data_type = arg.get_type(schema)?;
            if is_numeric(&data_type) && !function.takes_anything(at) {
                changed = true;
                return cast_number(arg, &DataType::Float64, schema);
            }
            if !function.takes_anything(at)
                || data_type.is_string()
                || data_type.is_null()
                || data_type == DataType::Boolean
            {
                return Ok(arg);
            }
            changed = true;
            cast_as_written(arg, DataType::Utf8View, schema, config)
        };
        let args = args.into_iter().enumerate().map(cast).collect::<Result<Vec<_>>>()?;
        let call = Expr::ScalarFunction(ScalarFunction { func, args });
        Ok(if changed { Transformed::yes(call) } else { Transformed::no(call) })
    }
}
