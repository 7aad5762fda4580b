//! Decides what is known of a column without reading it: counts, and bounds of its values (small materialized
//! aggregates), gathered while a load has the values in cache.
//!
//! Bounds must hold for whatever order a reader compares by. Floats are compared by IEEE 754's total order in Arrow and
//! numerically elsewhere; so a column with a NaN has no bounds, and a bound of zero is given the sign that makes it hold
//! for both. Texts and BYTEA keep bounds of their first four bytes only: enough to skip chunks of sorted data, and as
//! cheap as an integer.
//!
//! Not here: the gathering (`statistics/bounds.rs`).

use std::cmp::Ordering;

use longshore_value::uuid::Uuid;

pub(crate) mod bounds;
pub(crate) mod extremes;

/// A bound of a column's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// BOOLEAN.
    Boolean(bool),
    /// SMALLINT, INTEGER, BIGINT; days of a DATE; microseconds of a TIME or TIMESTAMP.
    Integer(i64),
    /// DECIMAL of any precision: the digits without the point.
    Decimal(i128),
    /// REAL and DOUBLE PRECISION; never NaN.
    Float(f64),
    /// UUID.
    Uuid(Uuid),
    /// Texts.
    Text(String),
    /// BYTEA.
    Bytes(Vec<u8>),
}

/// The order of values of one type; texts compare by their bytes. `None` for values of different types.
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
            (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
            (Value::Decimal(a), Value::Decimal(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => Some(a.total_cmp(b)),
            (Value::Uuid(a), Value::Uuid(b)) => Some(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// What is known of a column's values without reading them.
///
/// `min` and `max` bound all values that are not NULL: no value is less than `min` or greater than `max`. Texts and
/// BYTEA are compared byte by byte, and their bounds are derived from the first four bytes only: `min` may be shorter
/// than the least value, `max` is a short string that no value reaches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Rows, NULL or not.
    pub row_count: u64,
    /// Rows with NULL; always exact.
    pub null_count: u64,
    /// Lower bound; `None` when unknown or when every value is NULL.
    pub min: Option<Value>,
    /// Upper bound; `None` when unknown or when every value is NULL.
    pub max: Option<Value>,
    /// Whether the bounds are values of the column, that is its true minimum and maximum.
    pub exact: bool,
}

impl ColumnStatistics {
    /// Takes in the statistics of further rows of the column.
    pub(crate) fn merge(&mut self, other: &ColumnStatistics) {
        let is_first = self.null_count == self.row_count;
        let has_values = other.null_count < other.row_count;
        self.row_count += other.row_count;
        self.null_count += other.null_count;
        if !has_values {
            return;
        }
        if is_first {
            self.min.clone_from(&other.min);
            self.max.clone_from(&other.max);
            self.exact = other.exact;
            return;
        }
        self.min = pick(self.min.take(), other.min.as_ref(), Ordering::Less);
        self.max = pick(self.max.take(), other.max.as_ref(), Ordering::Greater);
        self.exact &= other.exact;
    }
}

/// The one of two bounds that is `wanted` than the other; none when one is unknown.
fn pick(ours: Option<Value>, theirs: Option<&Value>, wanted: Ordering) -> Option<Value> {
    let (ours, theirs) = (ours?, theirs?);
    Some(if theirs.partial_cmp(&ours) == Some(wanted) { theirs.clone() } else { ours })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(row_count: u64, null_count: u64, bounds: Option<(i64, i64)>) -> ColumnStatistics {
        ColumnStatistics {
            row_count,
            null_count,
            min: bounds.map(|(min, _)| Value::Integer(min)),
            max: bounds.map(|(_, max)| Value::Integer(max)),
            exact: bounds.is_some(),
        }
    }

    #[test]
    fn merged_bounds_cover_both() {
        let mut merged = ColumnStatistics::default();
        merged.merge(&statistics(3, 3, None));
        merged.merge(&statistics(10, 1, Some((5, 9))));
        merged.merge(&statistics(4, 4, None));
        merged.merge(&statistics(1, 0, Some((-2, -2))));
        assert_eq!(merged, statistics(18, 8, Some((-2, 9))));
    }

    #[test]
    fn an_unknown_part_makes_the_whole_unknown() {
        let mut merged = statistics(10, 0, Some((5, 9)));
        merged.merge(&statistics(1, 0, None));
        merged.merge(&statistics(1, 0, Some((1, 1))));
        assert_eq!((merged.min, merged.max, merged.exact), (None, None, false));
    }
}
