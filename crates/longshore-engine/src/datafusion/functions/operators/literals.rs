//! Texts without a type among values that have one: what they are read as.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::super::anything::cast_as_written;
use super::super::casts::cast_number;
use super::super::numeric::{data_type, rounds};
use super::super::untyped::{empty_array, is_untyped, type_of_literals};

/// Values of one list, of which texts without a type have that of the others where `DataFusion` would not find it.
pub(super) fn with_typed_literals(
    exprs: Vec<Expr>,
    schema: &DFSchema,
    config: &ConfigOptions,
) -> Result<(Vec<Expr>, bool)> {
    if !exprs.iter().any(is_untyped) {
        return Ok((exprs, false));
    }
    let typed = exprs.iter().filter(|expr| !is_untyped(expr)).map(|expr| expr.get_type(schema));
    let Ok(types) = typed.collect::<Result<Vec<_>>>() else { return Ok((exprs, false)) };
    let Some(of) = type_of_literals(&types) else { return Ok((exprs, false)) };
    let cast = |expr: Expr| {
        if !is_untyped(&expr) {
            return Ok(expr);
        }
        if let Some(none) = empty_array(&expr, &of) {
            return Ok(none);
        }
        cast_as_written(expr, of.clone(), schema, config)
    };
    Ok((exprs.into_iter().map(cast).collect::<Result<_>>()?, true))
}

/// Values that are compared, of which texts without a type are bytes beside bytes.
pub(super) fn with_bytes(exprs: Vec<Expr>, schema: &DFSchema, config: &ConfigOptions) -> Result<(Vec<Expr>, bool)> {
    if has_bytes(&exprs.iter().collect::<Vec<_>>(), schema) {
        with_typed_literals(exprs, schema, config)
    } else {
        Ok((exprs, false))
    }
}

pub(super) fn has_bytes(exprs: &[&Expr], schema: &DFSchema) -> bool {
    exprs.iter().any(|expr| !is_untyped(expr) && expr.get_type(schema).is_ok_and(|known| known.is_binary()))
}

/// Values of one list, of which texts that are written are NUMERICs beside decimals that they would be rounded to.
pub(super) fn with_exact_literals(exprs: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    if !exprs.iter().any(is_untyped) {
        return Ok(exprs);
    }
    let types: Vec<DataType> = exprs.iter().filter_map(|expr| expr.get_type(schema).ok()).collect();
    let is_rounded = |expr: &Expr| types.iter().any(|known| rounds(expr, known));
    let cast = |expr| if is_rounded(&expr) { cast_number(expr, &data_type(), schema) } else { Ok(expr) };
    exprs.into_iter().map(cast).collect()
}
