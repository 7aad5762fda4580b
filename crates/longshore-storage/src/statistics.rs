//! Counts and bounds of a column.

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
    /// Texts.
    Text(String),
    /// BYTEA.
    Bytes(Vec<u8>),
}

/// What is known of a column's values without reading them.
///
/// `min` and `max` bound all values that are not NULL: no value is less than `min` or greater than `max`. Texts and
/// BYTEA are compared byte by byte, and their bounds are derived from the first four bytes only.
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
