//! Casts that are written as calls of functions: `float8(a)` is `a::float8`.

use sqlparser::ast::{DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};

use crate::sql::build::cast_as;

/// The cast that a call stands for; what is none stays as it is.
pub(super) fn written_out(function: Function) -> Expr {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return Expr::Function(function) };
    let data_type = match name.value.to_ascii_lowercase().as_str() {
        "int2" => DataType::SmallInt(None),
        "int4" => DataType::Integer(None),
        "int8" => DataType::BigInt(None),
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        "bool" => DataType::Boolean,
        _ => return Expr::Function(function),
    };
    match &function.args {
        FunctionArguments::List(list)
            if function.over.is_none()
                && function.filter.is_none()
                && list.duplicate_treatment.is_none()
                && list.clauses.is_empty() =>
        {
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] => cast_as(value.clone(), data_type),
                _ => Expr::Function(function),
            }
        }
        _ => Expr::Function(function),
    }
}
