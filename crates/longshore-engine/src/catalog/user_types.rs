//! Types that users make: enumerations and domains.
//!
//! A column of such a type is one of the type below it, with a check that says what it may hold ([`UserType::checks`]). The
//! name of that check is the name of the type, a zero byte, and the name of the constraint of the domain: so the table knows
//! of which type the column is, and no other constraint has the name. A column of arrays of such a type has a check whose
//! constraint is called `[]`, once for each dimension.

use std::ops::ControlFlow;

use longshore_storage::ColumnType;
use sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectNamePart, Value, VisitorMut,
};

use super::{Check, Rules};
use crate::sql::names::SEPARATOR;
use crate::sql::visit::VisitMut;
use crate::sql::{build, enum_types, names};

/// `every_element(array, condition)` holds if all elements of an array obey a condition over [`ELEMENT`]. No statement calls it;
/// it stands in checks alone.
pub(crate) const EVERY_ELEMENT: &str = "every_element";
/// An element, in such a condition. Unicode keeps the character for the inside of programs.
pub(crate) const ELEMENT: &str = "\u{fdd2}";

/// The column of arrays, and the condition over an element, of a check of elements.
pub(crate) fn every_element(condition: &Expr) -> Option<(&Ident, &Expr)> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = condition else { return None };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(array)), FunctionArg::Unnamed(FunctionArgExpr::Expr(condition))] =
        list.args.as_slice()
    else {
        return None;
    };
    match array {
        Expr::Identifier(column) if name.value == EVERY_ELEMENT => Some((column, condition)),
        _ => None,
    }
}

/// The constraint of a domain that a check is there for, without what says that it is about elements.
pub(crate) fn constraint_of_domain(constraint: &str) -> &str {
    constraint.trim_start_matches(BRACKETS)
}

/// Stand for each dimension in the name of the check of a column of arrays.
const BRACKETS: &str = "[]";

/// A type that a user made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UserType {
    /// CREATE TYPE ... AS ENUM: the labels in their order.
    Enum(Vec<String>),
    Domain(Box<Domain>),
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    pub(crate) base: DataType,
    pub(crate) default: Option<Expr>,
    pub(crate) not_null: bool,
    /// Names and conditions over `VALUE`.
    pub(crate) checks: Vec<(String, Expr)>,
}

impl UserType {
    /// The type of its values.
    pub(crate) fn base(&self) -> DataType {
        match self {
            Self::Enum(_) => DataType::Text,
            Self::Domain(domain) => domain.base.clone(),
        }
    }

    /// What a column or expression of it must be: names as checks have them, and conditions.
    pub(crate) fn checks(&self, name: &str, value: &Expr) -> Vec<(String, Expr)> {
        let named = |constraint: &str| format!("{name}{SEPARATOR}{constraint}");
        match self {
            Self::Enum(labels) => vec![(named(""), is_label(value, labels))],
            Self::Domain(domain) => {
                let labels = enum_types::labels(&domain.base).map(|(_, labels)| (named(""), is_label(value, &labels)));
                let checks = domain.checks.iter().map(|(name, condition)| (named(name), about(condition, value)));
                let checks: Vec<_> = labels.into_iter().chain(checks).collect();
                if checks.is_empty() { vec![(named(""), nothing(value))] } else { checks }
            }
        }
    }

    /// What a column of this type must be, which may be one of arrays of it.
    pub(crate) fn column_checks(&self, name: &str, value: &Expr, column_type: ColumnType) -> Vec<(String, Expr)> {
        let dimensions = if let ColumnType::Array(_, dimensions) = column_type { dimensions.into() } else { 0_usize };
        match dimensions.saturating_sub(innermost(&self.base()).1) {
            0 => self.checks(name, value),
            dimensions => self.array_checks(name, value, dimensions),
        }
    }

    /// What a column of arrays of it must be: names as checks have them, and conditions. The cast refuses what is no label.
    pub(crate) fn array_checks(&self, name: &str, value: &Expr, dimensions: usize) -> Vec<(String, Expr)> {
        let named = |constraint: &str| format!("{name}{SEPARATOR}{}{constraint}", BRACKETS.repeat(dimensions));
        let condition = match (self, self.elements(name)) {
            (Self::Enum(_), Some(elements)) => {
                let array = array_of(elements, dimensions);
                let right = Expr::IsNotNull(Box::new(build::cast_as(value.clone(), array)));
                or(Expr::IsNull(Box::new(value.clone())), right)
            }
            (Self::Domain(domain), None) => {
                let element = Expr::Identifier(build::quoted(ELEMENT));
                let check = |(constraint, condition): &(String, Expr)| {
                    let every = build::call(EVERY_ELEMENT, vec![value.clone(), about(condition, &element)]);
                    (named(constraint), every)
                };
                return domain.checks.iter().map(check).collect();
            }
            _ => nothing(value),
        };
        vec![(named(""), condition)]
    }

    /// The type of elements of a column of arrays of it; `None` if there are no such columns.
    pub(crate) fn column_elements(&self, name: &str) -> Option<DataType> {
        match self {
            Self::Domain(domain) if domain.not_null || matches!(domain.base, DataType::Array(_)) => None,
            Self::Domain(domain) => Some(domain.base.clone()),
            Self::Enum(_) => self.elements(name),
        }
    }

    /// The type of elements of arrays of it; `None` if these must obey constraints.
    pub(crate) fn elements(&self, name: &str) -> Option<DataType> {
        match self {
            Self::Enum(labels) => Some(enum_types::with_labels(build::written(name), &names::shown_name(name), labels)),
            Self::Domain(domain) if domain.checks.is_empty() && !domain.not_null => Some(domain.base.clone()),
            Self::Domain(_) => None,
        }
    }
}

/// The type of the elements of an array, and its dimensions; of another type, itself.
pub(crate) fn innermost(data_type: &DataType) -> (&DataType, usize) {
    match data_type {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            let (innermost, dimensions) = innermost(element);
            (innermost, dimensions + 1)
        }
        other => (other, 0),
    }
}

/// An array of so many dimensions.
pub(crate) fn array_of(element: DataType, dimensions: usize) -> DataType {
    let array = |inner| DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(inner), None));
    (0..dimensions).fold(element, |inner, _| array(inner))
}

/// What holds for every value, and is there for the name of its check.
fn nothing(value: &Expr) -> Expr {
    or(Expr::IsNull(Box::new(value.clone())), build::value(Value::Boolean(true)))
}

fn or(left: Expr, right: Expr) -> Expr {
    build::binary(left, BinaryOperator::Or, right)
}

/// `value IN ('label', ...)`
fn is_label(value: &Expr, labels: &[String]) -> Expr {
    let list = labels.iter().map(|label| build::value(Value::SingleQuotedString(label.clone()))).collect();
    Expr::InList { expr: Box::new(value.clone()), list, negated: false }
}

/// A condition of a domain with `value` in the place of VALUE.
pub(crate) fn about(condition: &Expr, value: &Expr) -> Expr {
    struct Values<'a>(&'a Expr);
    impl VisitorMut for Values<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let is_it = matches!(expr, Expr::Identifier(name) if name.quote_style.is_none()
                && name.value.eq_ignore_ascii_case("value"));
            if is_it {
                *expr = self.0.clone();
            }
            ControlFlow::Continue(())
        }
    }
    let mut condition = condition.clone();
    let _ = condition.visit(&mut Values(value));
    condition
}

impl Check {
    /// The type of a user, and the constraint of it, that the check is there for.
    pub(crate) fn user_type(&self) -> Option<(&str, &str)> {
        self.name.rsplit_once(SEPARATOR)
    }

    /// The column that the check is there for, and the enumeration that it is of.
    pub(crate) fn enumeration(&self) -> Option<(usize, &str)> {
        match (self.user_type()?, self.columns.as_slice()) {
            ((name, ""), [column]) => Some((*column, name)),
            _ => None,
        }
    }
}

impl Rules {
    /// The type of a user that a column is of.
    pub(crate) fn user_type(&self, column: usize) -> Option<&str> {
        let of_column = self.checks.iter().filter(|check| check.columns == [column]);
        of_column.filter_map(Check::user_type).map(|(name, _)| name).next()
    }

    /// Whether a column is of an enumeration, whose order is that of its labels.
    pub(crate) fn is_enumeration(&self, column: usize) -> bool {
        self.checks.iter().filter_map(Check::enumeration).any(|(of, _)| of == column)
    }

    /// The type of a user that a column is of, or its elements are, as a statement names it.
    pub(crate) fn named_user_type(&self, column: usize) -> Option<String> {
        let mut of_column = self.checks.iter().filter(|check| check.columns == [column]);
        let (name, constraint) = of_column.find_map(Check::user_type)?;
        let brackets = &constraint[..constraint.len() - constraint_of_domain(constraint).len()];
        Some(format!("{}{brackets}", names::quoted(name)))
    }

    /// The columns that are of a type of a user.
    pub(crate) fn columns_of_type(&self, name: &str) -> Vec<usize> {
        (0..self.columns.len()).filter(|column| self.user_type(*column) == Some(name)).collect()
    }
}
