//! The types of expressions, as SQL names them without modifiers: as far as it takes to write out what PostgreSQL would convert.

use longshore_storage::ColumnType;
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use super::super::{type_ref, types};
use super::{Scope, plain};
use crate::sql::types::column_type;
use crate::sql::{enum_types, names};

pub(super) const TEXT: &str = "text";
pub(super) const VARCHAR: &str = "character varying";
pub(super) const CHAR: &str = "character";
pub(super) const INTEGER: &str = "integer";
pub(super) const BIGINT: &str = "bigint";
pub(super) const SMALLINT: &str = "smallint";
pub(super) const NUMERIC: &str = "numeric";
pub(super) const DOUBLE: &str = "double precision";
pub(super) const REAL: &str = "real";
pub(super) const BOOLEAN: &str = "boolean";

pub(super) fn is_text(type_name: &str) -> bool {
    [TEXT, VARCHAR, CHAR, "name"].contains(&type_name)
}

impl Scope<'_> {
    /// The type that both operands of an operator become; `None` where each keeps its own.
    pub(super) fn common(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<String> {
        let is_literal = |expr: &Expr| matches!(plain(expr), Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_) | Value::Null));
        let (own, other) = (self.type_of(left), self.type_of(right));
        let wanted = match (own, other) {
            (Some(own), Some(other)) => match (own.as_str(), other.as_str()) {
                (one, another) if is_text(one) && is_text(another) => {
                    let both_char = one == CHAR && another == CHAR;
                    let is_char = |known: &str, expr: &Expr| known == CHAR || is_literal(expr);
                    let stays =
                        both_char || is_char(one, left) && is_char(another, right) && (one == CHAR || another == CHAR);
                    if stays && *op != BinaryOperator::StringConcat { CHAR } else { TEXT }
                }
                (one, another) if is_literal(right) && !is_text(one) && another == TEXT => return Some(own),
                (one, another) if is_literal(left) && !is_text(another) && one == TEXT => return Some(other),
                (DOUBLE | REAL, INTEGER | BIGINT | SMALLINT | NUMERIC)
                | (INTEGER | BIGINT | SMALLINT | NUMERIC, DOUBLE | REAL) => DOUBLE,
                (NUMERIC, INTEGER | BIGINT | SMALLINT) | (INTEGER | BIGINT | SMALLINT, NUMERIC) => NUMERIC,
                _ => return None,
            },
            (Some(own), None) if is_literal(right) => return Some(own),
            (None, Some(other)) if is_literal(left) => return Some(other),
            _ => return None,
        };
        Some(wanted.to_owned())
    }

    /// A type with its modifier.
    pub(super) fn spelled(&self, data_type: &DataType) -> String {
        if let Some(name) = self.enumeration(data_type) {
            return name;
        }
        match column_type(data_type) {
            Ok(known) => {
                let of = type_ref::of_column(known);
                let spelled = types::shown(self.objects, of.oid, Some(of.modifier));
                let spelled = spelled.unwrap_or_else(|| data_type.to_string());
                if known == ColumnType::Text && data_type.to_string().to_lowercase().contains("varying") {
                    return VARCHAR.to_owned();
                }
                spelled
            }
            Err(_) => data_type.to_string().to_lowercase(),
        }
    }

    /// A type without its modifier.
    pub(super) fn name_of(&self, data_type: &DataType) -> String {
        if let Some(name) = self.enumeration(data_type) {
            return name;
        }
        let known = column_type(data_type).ok();
        let shown = known.and_then(|known| types::shown(self.objects, type_ref::of_column(known).oid, None));
        shown.unwrap_or_else(|| data_type.to_string().to_lowercase())
    }

    fn enumeration(&self, data_type: &DataType) -> Option<String> {
        let (name, _) = enum_types::labels(data_type)?;
        let oid = types::enumeration(self.objects, data_type);
        Some(oid.and_then(|oid| types::shown(self.objects, oid, None)).unwrap_or(name))
    }

    /// The type of an expression, as SQL names it without its modifier; `None` if it is not known here.
    pub(super) fn type_of(&self, expr: &Expr) -> Option<String> {
        let of = match plain(expr) {
            Expr::Identifier(name) => return (self.column)(&names::identifier(name).ok()?),
            Expr::CompoundIdentifier(parts) => return (self.column)(&names::identifier(parts.last()?).ok()?),
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(_) => TEXT,
                Value::Boolean(_) => BOOLEAN,
                Value::Number(digits, _) if digits.contains(['.', 'e', 'E']) => NUMERIC,
                Value::Number(digits, _) if digits.parse::<i32>().is_ok() => INTEGER,
                Value::Number(digits, _) if digits.parse::<i64>().is_ok() => BIGINT,
                Value::Number(..) => NUMERIC,
                _ => return None,
            },
            Expr::Cast { data_type, .. } => return Some(self.name_of(data_type)),
            Expr::TypedString(typed) => return Some(self.name_of(&typed.data_type)),
            Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => return self.type_of(expr),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo => {
                    if let Some(common) = self.common(left, op, right) {
                        return Some(common);
                    }
                    let (left, right) = (self.type_of(left)?, self.type_of(right)?);
                    return Some(if right == BIGINT { right } else { left });
                }
                BinaryOperator::StringConcat => TEXT,
                _ => BOOLEAN,
            },
            Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::InList { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
            | Expr::Between { .. }
            | Expr::Like { .. } => BOOLEAN,
            Expr::Case { conditions, .. } => return self.type_of(&conditions.first()?.result),
            Expr::Function(function) => return self.type_of_function(function),
            _ => return None,
        };
        Some(of.to_owned())
    }

    pub(super) fn type_of_function(&self, function: &Function) -> Option<String> {
        let name = function.name.to_string().to_lowercase();
        let of = match name.as_str() {
            "length" | "char_length" | "character_length" | "octet_length" | "position" | "strpos" | "ascii" => INTEGER,
            "lower" | "upper" | "btrim" | "ltrim" | "rtrim" | "trim" | "substr" | "substring" | "replace"
            | "concat" | "left" | "right" | "md5" | "initcap" | "to_char" | "repeat" | "reverse" => TEXT,
            "nextval" | "currval" => BIGINT,
            "now" | "current_timestamp" => "timestamp with time zone",
            "current_date" => "date",
            "abs" | "coalesce" | "nullif" | "greatest" | "least" | "round" | "ceil" | "floor" => {
                let FunctionArguments::List(list) = &function.args else { return None };
                let types = list.args.iter().find_map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => self.type_of(arg),
                    _ => None,
                });
                return types;
            }
            _ => return None,
        };
        Some(of.to_owned())
    }
}
