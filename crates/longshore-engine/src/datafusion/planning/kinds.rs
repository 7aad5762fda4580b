//! Kinds of types, as casts and operators tell them apart, and which of them become others by themselves.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable};

use crate::builtin_types::BuiltinType;

/// Types between which operators and casts make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    /// SMALLINT and INTEGER.
    Integer,
    BigInt,
    Numeric,
    Float,
    Text,
    Bytes,
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
    Json,
    Jsonb,
    Array,
}

/// The type of an operand; `None` where it takes that of the other, and in long chains, in which it takes long to find.
pub(super) fn type_of_operand(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let is_chain = |expr: &Expr| matches!(expr, Expr::BinaryExpr(_));
    match expr {
        Expr::Placeholder(_) => None,
        Expr::Literal(value, _) if value.try_as_str().is_some() => None,
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) if is_chain(left) || is_chain(right) => None,
        expr => expr.get_type(schema).ok().filter(|known| !known.is_null()),
    }
}

use Kind::{
    Array, BigInt, Boolean, Bytes, Date, Float, Integer, Interval, Json, Jsonb, Numeric, Text, Time, TimeTz, Timestamp,
    TimestampTz,
};

/// `None` of types of which nothing is known here, as rows.
pub(super) fn kind(data_type: &DataType) -> Option<Kind> {
    let scalar = match data_type {
        DataType::List(_) => return Some(Array),
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::Duration(_) => return None,
        other => other,
    };
    kind_named(BuiltinType::of_scalars(scalar)?.name)
}

/// The kind of the type of this name in `pg_type`.
pub(super) fn kind_named(name: &str) -> Option<Kind> {
    Some(match name {
        "bool" => Boolean,
        "int2" | "int4" => Integer,
        "int8" => BigInt,
        "numeric" => Numeric,
        "float4" | "float8" => Float,
        "text" | "varchar" | "bpchar" | "name" | "char" | "uuid" => Text,
        "bytea" => Bytes,
        "date" => Date,
        "time" => Time,
        "timetz" => TimeTz,
        "timestamp" => Timestamp,
        "timestamptz" => TimestampTz,
        "interval" => Interval,
        "json" => Json,
        "jsonb" => Jsonb,
        _ => return None,
    })
}

/// The kind of the elements of an array, of any number of dimensions.
pub(super) fn element(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::List(item) if matches!(item.data_type(), DataType::List(_)) => element(item.data_type()),
        DataType::List(item) => kind(item.data_type()),
        _ => None,
    }
}

/// Whether elements of both kinds may stand in one array.
pub(super) fn unite(one: Option<Kind>, other: Option<Kind>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return true };
    becomes(one, other) || becomes(other, one)
}

/// Whether a value becomes one of the other kind by itself.
pub(super) fn becomes(from: Kind, to: Kind) -> bool {
    from == to
        || match from {
            Integer => matches!(to, BigInt | Numeric | Float),
            BigInt => matches!(to, Numeric | Float),
            Numeric => to == Float,
            Date => matches!(to, Timestamp | TimestampTz),
            Timestamp => to == TimestampTz,
            Time => matches!(to, TimeTz | Interval),
            _ => false,
        }
}
