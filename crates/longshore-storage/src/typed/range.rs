//! What a scan asks of a column.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::datum::Datum;

/// The values of a column that are wanted. Of a scan with several of them, each of another column, all must hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnRange<'a> {
    /// The position of the column.
    pub column: usize,
    /// The least value, or the one below it.
    pub low: Bound<Datum<'a>>,
    /// The greatest value, or the one above it.
    pub high: Bound<Datum<'a>>,
    /// Whether NULL is wanted too.
    pub null: bool,
}

impl<'a> ColumnRange<'a> {
    /// `column = value`; of NULL, that is nothing.
    #[must_use]
    pub fn equal(column: usize, value: impl Into<Datum<'a>>) -> ColumnRange<'a> {
        let value = value.into();
        ColumnRange { column, low: Bound::Included(value), high: Bound::Included(value), null: false }
    }

    /// The values between two bounds.
    #[must_use]
    pub fn between(column: usize, low: Bound<Datum<'a>>, high: Bound<Datum<'a>>) -> ColumnRange<'a> {
        ColumnRange { column, low, high, null: false }
    }

    /// `column IS NULL`: an empty range, and NULL.
    #[must_use]
    pub fn is_null(column: usize) -> ColumnRange<'a> {
        ColumnRange { column, low: Bound::Included(Datum::Null), high: Bound::Included(Datum::Null), null: true }
    }

    /// `column IS NOT NULL`.
    #[must_use]
    pub fn is_not_null(column: usize) -> ColumnRange<'a> {
        ColumnRange { column, low: Bound::Unbounded, high: Bound::Unbounded, null: false }
    }

    /// Whether a value is in the range. Floats compare numerically, NaN with nothing; texts by their bytes.
    #[must_use]
    pub fn holds(&self, value: &Datum<'_>) -> bool {
        if *value == Datum::Null {
            return self.null;
        }
        let above = match &self.low {
            Bound::Unbounded => true,
            Bound::Included(low) => compare(value, low).is_some_and(Ordering::is_ge),
            Bound::Excluded(low) => compare(value, low).is_some_and(Ordering::is_gt),
        };
        above
            && match &self.high {
                Bound::Unbounded => true,
                Bound::Included(high) => compare(value, high).is_some_and(Ordering::is_le),
                Bound::Excluded(high) => compare(value, high).is_some_and(Ordering::is_lt),
            }
    }
}

/// The order of two values; none where one is NULL or NaN, or they are of different kinds.
fn compare(a: &Datum<'_>, b: &Datum<'_>) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (integer(a), integer(b)) {
        return Some(a.cmp(&b));
    }
    match (a, b) {
        (Datum::Bool(a), Datum::Bool(b)) => Some(a.cmp(b)),
        (Datum::Uuid(a), Datum::Uuid(b)) => Some(a.cmp(b)),
        (Datum::Text(a), Datum::Text(b)) => Some(a.cmp(b)),
        (Datum::Bytes(a), Datum::Bytes(b)) => Some(a.cmp(b)),
        (a, b) => float(a)?.partial_cmp(&float(b)?),
    }
}

fn integer(value: &Datum<'_>) -> Option<i128> {
    Some(match *value {
        Datum::I16(value) => value.into(),
        Datum::I32(value) => value.into(),
        Datum::I64(value) => value.into(),
        Datum::I128(value) => value,
        _ => return None,
    })
}

fn float(value: &Datum<'_>) -> Option<f64> {
    match *value {
        Datum::F32(value) => Some(value.into()),
        Datum::F64(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_a_range_or_not() {
        let (low, high) = (Bound::Excluded(Datum::I32(3)), Bound::Included(Datum::I64(7)));
        let range = ColumnRange::between(0, low, high);
        for (value, expected) in [(3, false), (4, true), (7, true), (8, false)] {
            assert_eq!(range.holds(&Datum::I16(value)), expected, "{value}");
            assert_eq!(range.holds(&Datum::I128(value.into())), expected, "{value}");
        }
        assert!(!range.holds(&Datum::Null) && !range.holds(&Datum::Text("4")));
        assert!(ColumnRange::is_null(0).holds(&Datum::Null) && !ColumnRange::is_null(0).holds(&Datum::I32(1)));
        assert!(!ColumnRange::is_not_null(0).holds(&Datum::Null) && ColumnRange::is_not_null(0).holds(&Datum::I32(1)));
        assert!(!ColumnRange::equal(0, Datum::Null).holds(&Datum::Null));
        assert!(ColumnRange::equal(0, 0.0_f64).holds(&Datum::F64(-0.0)));
        assert!(!ColumnRange::equal(0, f64::NAN).holds(&Datum::F64(f64::NAN)));
        assert!(ColumnRange::equal(0, true).holds(&Datum::Bool(true)));
        let texts = ColumnRange::between(0, Bound::Included(Datum::Text("b")), Bound::Unbounded);
        assert!(texts.holds(&Datum::Text("ba")) && !texts.holds(&Datum::Text("a")));
    }
}
