//! Expressions as PostgreSQL writes out what it has stored: every operation in parentheses, every literal with its type.
//!
//! `pg_get_expr` and its like give that. A part that is not known here is written as it was read. Not here: queries
//! (`view_text`).

mod parentheses;
mod typing;

use sqlparser::ast::{
    Array, BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, UnaryOperator, Value,
};

use super::objects::{Body, Objects};
use super::types;
use crate::catalog::{Origin, Rules, Table, UserType};
use crate::datafusion::functions::quoted_identifier;
use crate::sql::{in_text, names};
use parentheses::{Parent, is_simple};
use typing::{CHAR, DOUBLE, INTEGER, NUMERIC, REAL, TEXT, VARCHAR, is_text};

/// What the names in an expression are.
pub(super) struct Scope<'a> {
    objects: &'a Objects,
    /// Whether parentheses are left out that need not be there.
    pretty: bool,
    /// The type of a column, as SQL names it without its modifier.
    column: &'a dyn Fn(&str) -> Option<String>,
}

/// The default of a column of a table, or what it is generated from.
pub(super) fn of_column_default(
    objects: &Objects,
    place: (&Table, &Rules),
    at: usize,
    expr: &Expr,
    pretty: bool,
) -> String {
    let (table, rules) = place;
    let of_columns = |name: &str| type_of_column(objects, table, rules, name);
    let scope = Scope { objects, pretty, column: &of_columns };
    let of = objects.type_of(table, rules, at);
    if matches!(rules.origin(at), Origin::Generated(_)) {
        // Where the value is cut to the column's type, that is a call around it.
        return if of.modifier < 0 { scope.text(expr) } else { scope.within(expr, Parent::Cast) };
    }
    let wanted = types::shown(objects, of.oid, None);
    scope.assigned(expr, wanted.as_deref())
}

/// The default of a domain.
pub(super) fn of_domain_default(objects: &Objects, user_type: &UserType, expr: &Expr) -> String {
    let scope = Scope { objects, pretty: false, column: &|_| None };
    let wanted = types::shown(objects, types::of_domain(objects, user_type).oid, None);
    scope.assigned(expr, wanted.as_deref())
}

/// An expression over the columns of a table.
pub(super) fn of_table(objects: &Objects, table: &Table, rules: &Rules, expr: &Expr, pretty: bool) -> String {
    let of_columns = |name: &str| type_of_column(objects, table, rules, name);
    Scope { objects, pretty, column: &of_columns }.text(expr)
}

/// The type of an expression over the columns of a table, as SQL names it.
pub(super) fn type_over_table(objects: &Objects, table: &Table, rules: &Rules, expr: &Expr) -> Option<String> {
    let of_columns = |name: &str| type_of_column(objects, table, rules, name);
    Scope { objects, pretty: false, column: &of_columns }.type_of(expr)
}

/// A condition of a domain, over `VALUE`.
pub(super) fn of_domain(objects: &Objects, user_type: &UserType, expr: &Expr, pretty: bool) -> String {
    let base = types::shown(objects, types::of_domain(objects, user_type).oid, None);
    let of_value = |name: &str| name.eq_ignore_ascii_case("value").then(|| base.clone()).flatten();
    Scope { objects, pretty, column: &of_value }.text(expr)
}

/// The expression of a table whose text is `plain`, with as few parentheses as it needs.
pub(in crate::datafusion::planning) fn prettier(objects: &Objects, oid: u32, plain: &str) -> Option<String> {
    let Body::Table(table, rules) = &objects.relation(oid)?.body else { return None };
    let defaults = rules.columns.iter().enumerate().filter_map(|(at, rule)| match &rule.origin {
        Origin::Default(expr) | Origin::Generated(expr) => {
            let text = |pretty| of_column_default(objects, (table, rules), at, expr, pretty);
            (text(false) == plain).then(|| text(true))
        }
        Origin::Null | Origin::Identity { .. } => None,
    });
    let others = rules.expressions().filter_map(|expr| {
        let text = |pretty| of_table(objects, table, rules, expr, pretty);
        (text(false) == plain).then(|| text(true))
    });
    defaults.chain(others).next()
}

fn type_of_column(objects: &Objects, table: &Table, rules: &Rules, name: &str) -> Option<String> {
    let at = table.relation.schema().index_of(name)?;
    types::shown(objects, objects.type_of(table, rules, at).oid, None)
}

/// The type that a literal of a type is shown with: `character` is `bpchar` then.
fn label(type_name: &str) -> &str {
    if type_name == CHAR { "bpchar" } else { type_name }
}

fn literal(text: &str, type_name: &str) -> String {
    format!("{}::{}", names::literal(text), label(type_name))
}

/// What an operator is written as.
fn symbol(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::NotEq => "<>".to_owned(),
        BinaryOperator::PGLikeMatch => "~~".to_owned(),
        BinaryOperator::PGNotLikeMatch => "!~~".to_owned(),
        BinaryOperator::PGILikeMatch => "~~*".to_owned(),
        BinaryOperator::PGNotILikeMatch => "!~~*".to_owned(),
        other => other.to_string(),
    }
}

impl Scope<'_> {
    /// An expression whose value becomes one of a type.
    fn assigned(&self, expr: &Expr, wanted: Option<&str>) -> String {
        match (plain(expr), wanted) {
            (Expr::Value(value), Some(wanted)) => match &value.value {
                Value::SingleQuotedString(text) => literal(text, wanted),
                Value::Null => format!("NULL::{}", label(wanted)),
                _ => self.text(expr),
            },
            (other, _) => self.text(other),
        }
    }

    /// An operand beside one of another type, where the operator takes `wanted`.
    fn operand(&self, expr: &Expr, wanted: Option<&str>, parent: Option<Parent<'_>>) -> String {
        let Some(wanted) = wanted else {
            return parent.map_or_else(|| self.text(expr), |parent| self.within(expr, parent));
        };
        let expr = plain(expr);
        if matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_) | Value::Null)) {
            return self.assigned(expr, Some(wanted));
        }
        match self.type_of(expr) {
            Some(own) if own != wanted => self.converted(expr, wanted),
            _ => match parent {
                Some(parent) => self.within(expr, parent),
                None => self.text(expr),
            },
        }
    }

    /// What stands in parentheses unless these need not be there.
    fn grouped(&self, text: String) -> String {
        if self.pretty { text } else { format!("({text})") }
    }

    /// A part of another expression.
    fn within(&self, expr: &Expr, parent: Parent<'_>) -> String {
        let text = self.text(expr);
        if self.pretty && !is_simple(plain(expr), parent) { format!("({text})") } else { text }
    }

    /// The expression as SQL.
    fn text(&self, expr: &Expr) -> String {
        match expr {
            Expr::Nested(inner) => self.text(inner),
            Expr::Identifier(name) => match names::identifier(name) {
                Ok(own) if own == "value" && name.quote_style.is_none() && (self.column)("value").is_some() => {
                    "VALUE".to_owned()
                }
                Ok(own) => quoted_identifier(&own),
                Err(_) => name.to_string(),
            },
            Expr::CompoundIdentifier(parts) => parts.last().map_or_else(String::new, |name| {
                names::identifier(name).map_or_else(|_| name.to_string(), |own| quoted_identifier(&own))
            }),
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => literal(text, TEXT),
                Value::Boolean(value) => value.to_string(),
                Value::Null => "NULL".to_owned(),
                other => other.to_string(),
            },
            Expr::TypedString(typed) => match (&typed.value.value, self.name_of(&typed.data_type)) {
                (Value::SingleQuotedString(text), name) => literal(text, &name),
                _ => typed.to_string(),
            },
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr: inner, data_type, .. } => {
                self.cast(inner, data_type)
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match plain(inner) {
                Expr::Value(value) => match &value.value {
                    Value::Number(..) => {
                        let of = self.type_of(inner).unwrap_or_else(|| INTEGER.to_owned());
                        format!("'-{value}'::{of}")
                    }
                    _ => self.grouped(format!("- {}", self.within(inner, Parent::Test))),
                },
                other => self.grouped(format!("- {}", self.within(other, Parent::Test))),
            },
            Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => {
                self.grouped(format!("+ {}", self.within(inner, Parent::Test)))
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => {
                self.grouped(format!("NOT {}", self.within(inner, Parent::Not)))
            }
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::IsNull(inner) => self.grouped(format!("{} IS NULL", self.within(inner, Parent::Test))),
            Expr::IsNotNull(inner) => self.grouped(format!("{} IS NOT NULL", self.within(inner, Parent::Test))),
            Expr::IsTrue(inner) => self.grouped(format!("{} IS TRUE", self.within(inner, Parent::Test))),
            Expr::IsNotTrue(inner) => self.grouped(format!("{} IS NOT TRUE", self.within(inner, Parent::Test))),
            Expr::IsFalse(inner) => self.grouped(format!("{} IS FALSE", self.within(inner, Parent::Test))),
            Expr::IsNotFalse(inner) => self.grouped(format!("{} IS NOT FALSE", self.within(inner, Parent::Test))),
            Expr::IsDistinctFrom(left, right) => self.grouped(format!(
                "{} IS DISTINCT FROM {}",
                self.within(left, Parent::Test),
                self.within(right, Parent::Test)
            )),
            Expr::Between { expr: inner, negated, low, high } => {
                let (from, to, word) = if *negated {
                    (BinaryOperator::Lt, BinaryOperator::Gt, "OR")
                } else {
                    (BinaryOperator::GtEq, BinaryOperator::LtEq, "AND")
                };
                let (low, high) = (self.binary(inner, &from, low), self.binary(inner, &to, high));
                self.grouped(format!("{low} {word} {high}"))
            }
            Expr::InList { expr: inner, list, negated } => self.in_list(inner, list, *negated),
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, "ANY", right),
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, "ALL", right),
            Expr::Like { negated, expr: left, pattern, escape_char: None, any: false } => {
                self.like(left, if *negated { "!~~" } else { "~~" }, pattern)
            }
            Expr::ILike { negated, expr: left, pattern, escape_char: None, any: false } => {
                self.like(left, if *negated { "!~~*" } else { "~~*" }, pattern)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Array(Array { elem, .. }) => format!("ARRAY[{}]", self.list(elem)),
            Expr::Extract { field, expr: inner, .. } => {
                format!("EXTRACT({} FROM {})", field.to_string().to_lowercase(), self.text(inner))
            }
            Expr::Function(function) => self.function(function),
            other => other.to_string(),
        }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.text(expr)).collect::<Vec<_>>().join(", ")
    }

    fn cast(&self, inner: &Expr, data_type: &DataType) -> String {
        self.cast_to(inner, &self.spelled(data_type))
    }

    fn cast_to(&self, inner: &Expr, spelled: &str) -> String {
        let inner = plain(inner);
        match (inner, spelled.strip_suffix("[]")) {
            // Each element is cast.
            (Expr::Array(Array { elem, .. }), Some(of)) if !elem.is_empty() => {
                let elements = elem.iter().map(|element| self.cast_to(element, of));
                format!("ARRAY[{}]", elements.collect::<Vec<_>>().join(", "))
            }
            (Expr::Array(_), _) => format!("{}::{spelled}", self.text(inner)),
            (Expr::Value(value), _) => match &value.value {
                Value::SingleQuotedString(text) => format!("{}::{spelled}", names::literal(text)),
                Value::Null => format!("NULL::{spelled}"),
                _ => self.converted(inner, spelled),
            },
            _ if self.type_of(inner).as_deref() == Some(spelled) => self.text(inner),
            _ => self.converted(inner, spelled),
        }
    }

    /// A value in another type.
    fn converted(&self, expr: &Expr, spelled: &str) -> String {
        if self.pretty {
            return format!("{}::{spelled}", self.within(expr, Parent::Cast));
        }
        format!("({})::{spelled}", self.text(expr))
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> String {
        if let BinaryOperator::And | BinaryOperator::Or = op {
            let mut parts = Vec::new();
            self.junction(left, op, &mut parts);
            parts.push(self.within(right, Parent::Junction(op)));
            return self.grouped(parts.join(&format!(" {op} ")));
        }
        let common = self.common(left, op, right);
        let symbol = symbol(op);
        let left = self.operand(left, common.as_deref(), Some(Parent::Operator(op, true)));
        let right = self.operand(right, common.as_deref(), Some(Parent::Operator(op, false)));
        self.grouped(format!("{left} {symbol} {right}"))
    }

    /// The parts of a list of conditions that one word joins, as far as no parentheses stand around them.
    fn junction(&self, expr: &Expr, op: &BinaryOperator, parts: &mut Vec<String>) {
        match expr {
            Expr::BinaryOp { left, op: own, right } if own == op => {
                self.junction(left, op, parts);
                parts.push(self.within(right, Parent::Junction(op)));
            }
            other => parts.push(self.within(other, Parent::Junction(op))),
        }
    }

    fn like(&self, left: &Expr, op: &str, pattern: &Expr) -> String {
        let like = BinaryOperator::PGLikeMatch;
        let left = self.operand(left, Some(TEXT), Some(Parent::Operator(&like, true)));
        let pattern = self.operand(pattern, Some(TEXT), Some(Parent::Operator(&like, false)));
        self.grouped(format!("{left} {op} {pattern}"))
    }

    fn quantified(&self, left: &Expr, op: &BinaryOperator, word: &str, right: &Expr) -> String {
        let of = self.type_of(left);
        let right = match plain(right) {
            Expr::Array(Array { elem, .. }) => {
                let elements = elem.iter().map(|element| match plain(element) {
                    Expr::Value(_) => self.operand(element, of.as_deref(), None),
                    _ => self.text(element),
                });
                format!("ARRAY[{}]", elements.collect::<Vec<_>>().join(", "))
            }
            other => self.text(other),
        };
        let left = self.within(left, Parent::Operator(op, true));
        self.grouped(format!("{left} {} {word} ({right})", symbol(op)))
    }

    fn in_list(&self, inner: &Expr, list: &[Expr], negated: bool) -> String {
        let (op, word) = if negated { (BinaryOperator::NotEq, "<> ALL") } else { (BinaryOperator::Eq, "= ANY") };
        if let [only] = list {
            return self.binary(inner, &op, only);
        }
        let of = self.type_of(inner);
        let elements = list.iter().map(|element| match &of {
            Some(of)
                if is_text(of)
                    || !matches!(plain(element), Expr::Value(value) if matches!(value.value, Value::Number(..))) =>
            {
                self.operand(element, Some(of), None)
            }
            Some(of) if [NUMERIC, DOUBLE, REAL].contains(&of.as_str()) => self.operand(element, Some(of), None),
            _ => self.text(element),
        });
        let array = format!("ARRAY[{}]", elements.collect::<Vec<_>>().join(", "));
        if of.as_deref() == Some(VARCHAR) {
            let array = if self.pretty { format!("{array}::text[]") } else { format!("({array})::text[]") };
            return self.grouped(format!("{} {word} ({array})", self.converted(inner, TEXT)));
        }
        self.grouped(format!("{} {word} ({array})", self.within(inner, Parent::Test)))
    }

    fn case(&self, operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> String {
        let mut text = "CASE".to_owned();
        if let Some(operand) = operand {
            text = format!("{text} {}", self.text(operand));
        }
        for CaseWhen { condition, result } in conditions {
            text = format!("{text} WHEN {} THEN {}", self.text(condition), self.text(result));
        }
        match otherwise {
            Some(otherwise) => format!("{text} ELSE {} END", self.text(otherwise)),
            None => format!(
                "{text} ELSE NULL::{} END",
                conditions.first().and_then(|when| self.type_of(&when.result)).unwrap_or_else(|| TEXT.to_owned())
            ),
        }
    }

    fn function(&self, function: &Function) -> String {
        let name = function.name.to_string();
        let upper = name.to_uppercase();
        if matches!(function.args, FunctionArguments::None) {
            return if name.eq_ignore_ascii_case(&upper) { upper } else { name };
        }
        let FunctionArguments::List(list) = &function.args else { return function.to_string() };
        let mut args = Vec::new();
        for arg in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg else { return function.to_string() };
            args.push(arg);
        }
        let folded = name.to_lowercase();
        match (folded.as_str(), args.as_slice()) {
            ("nextval" | "currval", [sequence]) => {
                let mut inner = plain(sequence);
                while let Expr::Cast { expr, .. } = inner {
                    inner = plain(expr);
                }
                if let Expr::Value(value) = inner
                    && let Value::SingleQuotedString(text) = &value.value
                    && let Ok(name) = in_text::relation(text)
                {
                    let shown = self.objects.shown_relation(&name);
                    return format!("{folded}({}::regclass)", names::literal(&shown));
                }
                format!("{folded}({})", self.text(sequence))
            }
            ("coalesce" | "nullif" | "greatest" | "least", _) => {
                let of = args.iter().find_map(|arg| self.type_of(arg));
                let args = args.iter().map(|arg| self.operand(arg, of.as_deref(), None));
                format!("{upper}({})", args.collect::<Vec<_>>().join(", "))
            }
            ("now" | "current_timestamp" | "current_date" | "localtimestamp", []) => match folded.as_str() {
                "now" => "now()".to_owned(),
                _ => upper,
            },
            _ => {
                let args = args.iter().map(|arg| match self.type_of(arg).as_deref() {
                    Some(VARCHAR | CHAR) => self.operand(arg, Some(TEXT), None),
                    _ => self.text(arg),
                });
                format!("{folded}({})", args.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// An expression without parentheses around it.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => plain(inner),
        other => other,
    }
}
