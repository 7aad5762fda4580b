//! Types that a user made, where statements name them: the type below is put there with what values must be, before anybody
//! looks at the statement. Not here: what they are (`catalog::user_types`), what makes them (`user_types`).

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, CastKind, CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr, Ident,
    UnaryOperator, Value,
};

use crate::catalog::{UserType, array_of, innermost};
use crate::sql::{build, enum_types, names};
use crate::{Error, ErrorKind};

/// Quotes the name of a check that no statement can write.
pub(crate) const OWN_QUOTE: char = '\0';

/// Gives a column of a type that a user made the type below it, and the rules of its values. `find` knows the types.
pub(crate) fn expand(column: &mut ColumnDef, found: Option<(String, UserType)>) -> Result<(), Error> {
    let Some((name, user_type)) = found else { return Ok(()) };
    let value = Expr::Identifier(column.name.clone());
    let (named, dimensions) = innermost(&column.data_type);
    // A column like another one has the type below it already.
    let is_named = matches!(named, DataType::Custom(..));
    let dimensions = if is_named { dimensions } else { dimensions.saturating_sub(innermost(&user_type.base()).1) };
    let checks = if dimensions == 0 {
        column.data_type = user_type.base();
        user_type.checks(&name, &value)
    } else {
        let elements = user_type.column_elements(&name).ok_or_else(|| array_refused(&name))?;
        column.data_type = array_of(elements, dimensions);
        user_type.array_checks(&name, &value, dimensions)
    };
    let checks = checks.into_iter().map(|(name, expr)| {
        let name = Ident { quote_style: Some(OWN_QUOTE), ..Ident::new(name) };
        let check = CheckConstraint { name: Some(name), expr: Box::new(expr), enforced: None };
        ColumnOptionDef { name: None, option: ColumnOption::Check(check) }
    });
    column.options.extend(checks.collect::<Vec<_>>());
    let UserType::Domain(domain) = user_type else { return Ok(()) };
    if dimensions > 0 {
        return Ok(());
    }
    let says = |of: fn(&ColumnOption) -> bool| column.options.iter().any(|option| of(&option.option));
    let has_value = says(|option| matches!(option, ColumnOption::Default(_) | ColumnOption::Generated { .. }));
    let is_not_null = says(|option| matches!(option, ColumnOption::NotNull));
    if let Some(default) = domain.default.filter(|_| !has_value) {
        column.options.push(ColumnOptionDef { name: None, option: ColumnOption::Default(default) });
    }
    if domain.not_null && !is_not_null {
        // As in PostgreSQL, a column does not override it.
        column.options.retain(|option| !matches!(option.option, ColumnOption::Null));
        column.options.push(ColumnOptionDef { name: None, option: ColumnOption::NotNull });
    }
    Ok(())
}

fn array_refused(name: &str) -> Error {
    let name = names::shown_name(name);
    Error::unsupported(format!("arrays of the domain {name}, which has constraints, are not supported"))
}

/// An array of values of a type that a user made, as the planner knows it: of `dimensions`.
pub(crate) fn array_type(name: &str, user_type: &UserType, dimensions: usize) -> Result<DataType, Error> {
    let elements = user_type.elements(name).ok_or_else(|| array_refused(name))?;
    Ok(array_of(elements, dimensions))
}

/// A value as one of a type that a user made.
pub(crate) fn cast(value: Expr, name: &str, user_type: &UserType) -> Result<Expr, Error> {
    if let (UserType::Enum(labels), Expr::Value(literal)) = (user_type, &value)
        && let Value::SingleQuotedString(text) = &literal.value
        && !labels.contains(text)
    {
        return Err(no_label(name, text));
    }
    let base = match user_type {
        UserType::Enum(labels) => {
            let data_type = enum_types::with_labels(build::written(name), &names::shown_name(name), labels);
            return Ok(build::cast_as(value, data_type));
        }
        UserType::Domain(_) => build::cast_as(value, user_type.base()),
    };
    let shown = names::shown_name(name);
    let mut conditions: Vec<CaseWhen> = Vec::new();
    let mut refuse = |condition: Expr, kind: &str, constraint: &str| {
        let text = |text: &str| build::value(Value::SingleQuotedString(text.to_owned()));
        let as_text = build::cast_as(base.clone(), DataType::Text);
        let violation = build::call("type_violation", vec![text(kind), text(&shown), text(constraint), as_text]);
        conditions.push(CaseWhen { condition, result: build::cast_as(violation, user_type.base()) });
    };
    if let UserType::Domain(domain) = user_type
        && domain.not_null
    {
        refuse(Expr::IsNull(Box::new(base.clone())), "null", "");
    }
    for (check, condition) in user_type.checks(name, &Expr::Nested(Box::new(base.clone()))) {
        let constraint = check.rsplit_once(names::SEPARATOR).map_or("", |(_, constraint)| constraint).to_owned();
        if constraint.is_empty() {
            continue;
        }
        let fails = Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(condition))) };
        refuse(fails, "check", &constraint);
    }
    if conditions.is_empty() {
        return Ok(base);
    }
    Ok(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions,
        else_result: Some(Box::new(base)),
    })
}

/// Whether an expression is a cast, and to which type.
pub(crate) fn cast_of(expr: &Expr) -> Option<&DataType> {
    match expr {
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, data_type, .. } => Some(data_type),
        Expr::TypedString(typed) => Some(&typed.data_type),
        _ => None,
    }
}

/// The type of a user that a type of SQL is, where its name says its schema or none is looked for.
pub(crate) fn find(
    types: &BTreeMap<String, Arc<UserType>>,
    data_type: &DataType,
) -> Result<Option<(String, UserType)>, Error> {
    let DataType::Custom(name, modifiers) = data_type else { return Ok(None) };
    if !modifiers.is_empty() {
        return Ok(None);
    }
    let key = names::relation(name)?;
    Ok(types.get(&key).map(|found| (key, UserType::clone(found))))
}

/// What a cast casts.
pub(crate) fn cast_value(cast: Expr) -> Expr {
    match cast {
        // What is given later says nothing of its type; an array is cast to the type of its texts.
        Expr::Cast { expr, data_type, .. } if is_parameter(&expr) && !matches!(data_type, DataType::Array(_)) => {
            build::cast_as(*expr, DataType::Text)
        }
        Expr::Cast { expr, .. } => *expr,
        Expr::TypedString(typed) => Expr::Value(typed.value),
        other => other,
    }
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn no_label(name: &str, label: &str) -> Error {
    Error::new(ErrorKind::InvalidText, format!("invalid input value for enum {}: \"{label}\"", names::shown_name(name)))
}
