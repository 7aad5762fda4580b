//! Predicates on one column of whole numbers as the numbers for which they are true: comparisons with constants, BETWEEN,
//! IN, IS NULL, IS DISTINCT FROM, and what AND, OR and NOT make of them.
//!
//! The logic has three values: beside the numbers for which a predicate is true there are those for which it is false, and
//! what it is for NULL is told apart. So NOT IN with a NULL in the list is true for nothing. Of columns of other types
//! there are only predicates that ask for NULL and nothing else.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use longshore_storage::{RangeSet, Uuid};

/// Longer chains of AND and OR are not put together.
const CHAIN_MAX: usize = 64;

/// What a column has, as far as it has whole numbers.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub(super) data_type: &'a DataType,
    /// Whether it has UUIDs, which are texts of their usual form here, and stored as numbers of the same order.
    pub(super) is_uuid: bool,
}

/// What a predicate says of the values of a column.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    yes: RangeSet,
    no: RangeSet,
    /// What it says of NULL; `None` is unknown.
    null: Option<bool>,
}

impl Ranges {
    /// What `expr` says, which reads one column, of this type. `None` if that cannot be told by ranges.
    pub(super) fn of(expr: &dyn PhysicalExpr, column: Numbers<'_>) -> Option<Ranges> {
        if expr.is::<Column>() {
            let boolean = |value| RangeSet::of([value]);
            return (*column.data_type == DataType::Boolean).then(|| Ranges {
                yes: boolean(1),
                no: boolean(0),
                null: None,
            });
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(Ranges::of(not.arg().as_ref(), column)?.negated());
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return Ranges::is_null(is_null.arg().as_ref(), column);
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(Ranges::is_null(is_not_null.arg().as_ref(), column)?.negated());
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return Ranges::in_list(list, column);
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let (left, right) = (binary.left().as_ref(), binary.right().as_ref());
        match binary.op() {
            operator @ (Operator::And | Operator::Or) => Ranges::chain(binary, *operator, column),
            operator if left.is::<Column>() => Ranges::compare(*operator, right, column),
            operator if right.is::<Column>() => Ranges::compare(operator.swap()?, left, column),
            _ => None,
        }
    }

    /// The numbers for which it is true, if it is not true for NULL as well.
    pub(super) fn yes(&self) -> &RangeSet {
        &self.yes
    }

    /// Whether it is true for NULL.
    pub(super) fn includes_null(&self) -> bool {
        self.null == Some(true)
    }

    /// Both predicates, put together by AND.
    pub(super) fn and(&self, other: &Ranges) -> Ranges {
        Ranges {
            yes: self.yes.intersection(&other.yes),
            no: self.no.union(&other.no),
            null: match (self.null, other.null) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
        }
    }

    fn negated(self) -> Ranges {
        Ranges { yes: self.no, no: self.yes, null: self.null.map(|null| !null) }
    }

    /// A chain of AND or OR, which may be as long as a statement, so it is not gone down by recursion.
    fn chain(last: &BinaryExpr, operator: Operator, column: Numbers<'_>) -> Option<Ranges> {
        let (mut parts, mut first) = (vec![last.right()], last.left());
        while let Some(before) = first.downcast_ref::<BinaryExpr>().filter(|before| *before.op() == operator) {
            if parts.len() == CHAIN_MAX {
                return None;
            }
            parts.push(before.right());
            first = before.left();
        }
        parts.into_iter().rev().try_fold(Ranges::of(first.as_ref(), column)?, |before, part| {
            let part = Ranges::of(part.as_ref(), column)?;
            Some(match operator {
                Operator::And => before.and(&part),
                // By De Morgan.
                _ => before.negated().and(&part.negated()).negated(),
            })
        })
    }

    /// True for these numbers and false for others; `null` is what it is for NULL.
    fn only(yes: RangeSet, null: Option<bool>) -> Ranges {
        Ranges { no: yes.complement(), yes, null }
    }

    /// Whether `expr` is NULL.
    fn is_null(expr: &dyn PhysicalExpr, column: Numbers<'_>) -> Option<Ranges> {
        if expr.is::<Column>() {
            return Some(Ranges::only(RangeSet::none(), Some(true)));
        }
        let of = Ranges::of(expr, column)?;
        Some(Ranges::only(of.yes.union(&of.no).complement(), Some(of.null.is_none())))
    }

    fn in_list(list: &InListExpr, column: Numbers<'_>) -> Option<Ranges> {
        if !list.expr().is::<Column>() {
            return None;
        }
        let mut numbers = Vec::with_capacity(list.len());
        for item in list.list() {
            numbers.push(Constant::of(item.as_ref(), column)?);
        }
        let has_null = numbers.iter().any(|number| matches!(number, Constant::Null));
        let known = numbers.into_iter().filter_map(|number| match number {
            Constant::Number(number) => Some(number),
            Constant::Null => None,
        });
        let mut ranges = Ranges::only(RangeSet::of(known), None);
        if has_null {
            // It may be that of any value.
            ranges.no = RangeSet::none();
        }
        Some(if list.negated() { ranges.negated() } else { ranges })
    }

    /// `column <operator> literal`.
    fn compare(operator: Operator, literal: &dyn PhysicalExpr, column: Numbers<'_>) -> Option<Ranges> {
        let constant = match Constant::of(literal, column)? {
            Constant::Number(number) => number,
            Constant::Null => {
                let is_null = || Ranges::only(RangeSet::none(), Some(true));
                return match operator {
                    Operator::IsDistinctFrom => Some(is_null().negated()),
                    Operator::IsNotDistinctFrom => Some(is_null()),
                    _ if is_comparison(operator) => {
                        Some(Ranges { yes: RangeSet::none(), no: RangeSet::none(), null: None })
                    }
                    _ => None,
                };
            }
        };
        let equal = || RangeSet::of([constant]);
        let less = || constant.checked_sub(1).map_or_else(RangeSet::none, |last| RangeSet::between(i128::MIN, last));
        let (yes, null) = match operator {
            Operator::Eq => (equal(), None),
            Operator::NotEq => (equal().complement(), None),
            Operator::Lt => (less(), None),
            Operator::LtEq => (RangeSet::between(i128::MIN, constant), None),
            Operator::Gt => (RangeSet::between(i128::MIN, constant).complement(), None),
            Operator::GtEq => (less().complement(), None),
            Operator::IsDistinctFrom => (equal().complement(), Some(true)),
            Operator::IsNotDistinctFrom => (equal(), Some(false)),
            _ => return None,
        };
        Some(Ranges::only(yes, null))
    }
}

fn is_comparison(operator: Operator) -> bool {
    matches!(operator, Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

/// What a column of whole numbers is compared with, of its own type.
enum Constant {
    Number(i128),
    Null,
}

impl Constant {
    /// A literal of the type of the column; of a decimal its digits, of a date or time its days or microseconds.
    fn of(expr: &dyn PhysicalExpr, column: Numbers<'_>) -> Option<Constant> {
        let literal = expr.downcast_ref::<Literal>()?.value();
        if column.is_uuid {
            let text = literal.try_as_str()?;
            return text.map_or(Some(Constant::Null), |text| stored_uuid(text).map(Constant::Number));
        }
        let is_alike = match (literal, column.data_type) {
            (ScalarValue::Decimal128(_, _, scale), DataType::Decimal128(_, column_scale)) => scale == column_scale,
            _ => literal.data_type() == *column.data_type,
        };
        if !is_alike {
            return None;
        }
        let number: Option<i128> = match literal {
            ScalarValue::Boolean(value) => value.map(i128::from),
            ScalarValue::Int16(value) => value.map(i128::from),
            ScalarValue::Int32(value) | ScalarValue::Date32(value) => value.map(i128::from),
            ScalarValue::Int64(value)
            | ScalarValue::Time64Microsecond(value)
            | ScalarValue::TimestampMicrosecond(value, _) => value.map(i128::from),
            ScalarValue::Decimal128(value, ..) => *value,
            _ => return None,
        };
        Some(number.map_or(Constant::Null, Constant::Number))
    }
}

/// The number that stands for a UUID; `None` of texts that are no UUID in its usual form, which equal none.
fn stored_uuid(text: &str) -> Option<i128> {
    let uuid = Uuid::parse(text.as_bytes()).ok()?;
    (uuid.text() == text.as_bytes()).then(|| uuid.stored())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn column() -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new("n", 0))
    }

    fn numbers(data_type: &DataType) -> Numbers<'_> {
        Numbers { data_type, is_uuid: false }
    }

    fn literal(value: Option<i32>) -> Arc<dyn PhysicalExpr> {
        Arc::new(Literal::new(ScalarValue::Int32(value)))
    }

    fn binary(left: Arc<dyn PhysicalExpr>, operator: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, operator, right))
    }

    fn compare(operator: Operator, value: Option<i32>) -> Arc<dyn PhysicalExpr> {
        binary(column(), operator, literal(value))
    }

    fn not(expr: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(NotExpr::new(expr))
    }

    fn is_null(expr: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(IsNullExpr::new(expr))
    }

    #[test]
    fn predicates_are_true_for_these_numbers_and_for_null_or_not() {
        use Operator::{And, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq, Or};
        let (least, greatest) = (i128::MIN, i128::MAX);
        for (expr, yes, null) in [
            (compare(Eq, Some(7)), vec![(7, 7)], false),
            (compare(NotEq, Some(7)), vec![(least, 6), (8, greatest)], false),
            (compare(Lt, Some(7)), vec![(least, 6)], false),
            (compare(LtEq, Some(7)), vec![(least, 7)], false),
            (compare(Gt, Some(7)), vec![(8, greatest)], false),
            (compare(GtEq, Some(7)), vec![(7, greatest)], false),
            (binary(literal(Some(7)), Lt, column()), vec![(8, greatest)], false),
            (compare(IsDistinctFrom, Some(7)), vec![(least, 6), (8, greatest)], true),
            (compare(IsNotDistinctFrom, None), vec![], true),
            (compare(Eq, None), vec![], false),
            (not(compare(Eq, None)), vec![], false),
            (is_null(column()), vec![], true),
            (not(is_null(column())), vec![(least, greatest)], false),
            (is_null(compare(Lt, Some(7))), vec![], true),
            (is_null(compare(Lt, None)), vec![(least, greatest)], true),
            (binary(compare(GtEq, Some(3)), And, compare(LtEq, Some(5))), vec![(3, 5)], false),
            (not(binary(compare(GtEq, Some(3)), And, compare(LtEq, Some(5)))), vec![(least, 2), (6, greatest)], false),
            (binary(compare(Lt, Some(3)), Or, is_null(column())), vec![(least, 2)], true),
            (not(binary(compare(Lt, Some(3)), Or, is_null(column()))), vec![(3, greatest)], false),
            (not(binary(compare(Lt, Some(3)), And, compare(Eq, None))), vec![(3, greatest)], false),
            (binary(compare(Gt, Some(3)), And, compare(Lt, Some(3))), vec![], false),
        ] {
            let ranges = Ranges::of(expr.as_ref(), numbers(&DataType::Int32)).expect("it is about numbers");
            assert_eq!((ranges.yes().ranges(), ranges.includes_null()), (&yes[..], null), "{expr}");
        }
    }

    #[test]
    fn what_is_of_another_type_or_shape_is_not_taken() {
        let with_sum = binary(binary(column(), Operator::Plus, literal(Some(1))), Operator::Eq, literal(Some(1)));
        assert!(Ranges::of(with_sum.as_ref(), numbers(&DataType::Int32)).is_none());
        assert!(Ranges::of(compare(Operator::Eq, Some(1)).as_ref(), numbers(&DataType::Int64)).is_none());
        assert!(Ranges::of(column().as_ref(), numbers(&DataType::Int32)).is_none());
        assert!(Ranges::of(is_null(column()).as_ref(), numbers(&DataType::Utf8View)).is_some());
        let decimal = |scale| {
            let literal = Arc::new(Literal::new(ScalarValue::Decimal128(Some(7), 15, scale)));
            Ranges::of(binary(column(), Operator::Eq, literal).as_ref(), numbers(&DataType::Decimal128(12, 2)))
        };
        assert!(decimal(2).is_some() && decimal(3).is_none());
    }
    #[test]
    fn uuids_are_numbers_and_their_other_spellings_are_not_taken() {
        let numbers = Numbers { data_type: &DataType::Utf8View, is_uuid: true };
        let equals = |text: Option<&str>| {
            let literal = Literal::new(ScalarValue::Utf8View(text.map(str::to_owned)));
            Ranges::of(binary(column(), Operator::Eq, Arc::new(literal)).as_ref(), numbers)
        };
        let ranges = equals(Some("80000000-0000-0000-0000-000000000007")).expect("it is a UUID");
        assert_eq!(ranges.yes().ranges(), [(7, 7)]);
        assert!(equals(None).expect("it is true for nothing").yes().is_none());
        assert!(equals(Some("80000000000000000000000000000007")).is_none());
        assert!(equals(Some("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")).is_none());
        assert!(equals(Some("")).is_none());
    }
}
