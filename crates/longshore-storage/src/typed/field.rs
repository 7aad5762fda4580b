//! Columns as Rust types.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use longshore_value::uuid::Uuid;

use super::range::ColumnRange;
use crate::datum::Datum;
use crate::types::{ColumnType, Physical};

/// A column that holds values of a Rust type; made by [`crate::Relation::column`], and good for relations of the same
/// schema.
pub struct Field<T> {
    column: u16,
    holds: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Field<T> {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("column", &self.column).finish()
    }
}

impl<T: FieldType> Field<T> {
    /// The column, if it holds such values.
    pub(crate) fn new(column: usize, column_type: ColumnType) -> Option<Field<T>> {
        let column = u16::try_from(column).ok()?;
        T::fits(column_type).then_some(Field { column, holds: PhantomData })
    }
}

impl<T> Field<T> {
    /// The position of the column.
    #[must_use]
    pub fn column(self) -> usize {
        self.column.into()
    }

    /// `column IS NULL`.
    #[must_use]
    pub fn is_null(self) -> ColumnRange<'static> {
        ColumnRange::is_null(self.column())
    }

    /// `column IS NOT NULL`.
    #[must_use]
    pub fn is_not_null(self) -> ColumnRange<'static> {
        ColumnRange::is_not_null(self.column())
    }

    /// NULL for the column, for [`crate::Transaction::update`].
    #[must_use]
    pub fn to_null(self) -> (usize, Datum<'static>) {
        (self.column(), Datum::Null)
    }
}

impl<T: FieldType> Field<T> {
    /// `column = value`.
    #[must_use]
    pub fn equal(self, value: T::Value<'_>) -> ColumnRange<'_> {
        ColumnRange::equal(self.column(), value)
    }

    /// The values in a range, NULL not among them.
    #[must_use]
    pub fn within<'a>(self, range: impl RangeBounds<T::Value<'a>>) -> ColumnRange<'a> {
        let bound = |bound: Bound<&T::Value<'a>>| bound.map(|value| (*value).into());
        ColumnRange::between(self.column(), bound(range.start_bound()), bound(range.end_bound()))
    }

    /// A value for the column, for [`crate::Transaction::update`].
    #[must_use]
    pub fn to(self, value: T::Value<'_>) -> (usize, Datum<'_>) {
        (self.column(), value.into())
    }
}

/// A Rust type that a column may hold: `bool`, `i16`, `i32` (dates too), `i64` (times, timestamps, decimals of up to 18
/// digits too), `i128` (longer decimals), `f32`, `f64`, `&str`, `&[u8]`.
pub trait FieldType: Sized {
    /// What is written: the type itself, for texts with a lifetime of its own.
    type Value<'a>: Into<Datum<'a>> + Copy;
    /// Its name, for messages.
    const NAME: &'static str;

    /// Whether columns of this type hold such values.
    fn fits(column_type: ColumnType) -> bool;
}

/// A [`FieldType`] of fixed width.
pub trait Scalar: FieldType + Copy {
    /// The bytes that a column stores of each value.
    const BYTES: usize;

    /// The value of these bits, the lower ones of which are the stored ones.
    fn from_bits(bits: u128) -> Self;
}

macro_rules! scalars {
    ($($type:ty, $physical:pat, $bits:ident => $value:expr);*) => {
        $(impl FieldType for $type {
            type Value<'a> = $type;
            const NAME: &'static str = stringify!($type);

            fn fits(column_type: ColumnType) -> bool {
                matches!(column_type.physical(), $physical)
            }
        }

        impl Scalar for $type {
            const BYTES: usize = size_of::<$type>();

            fn from_bits($bits: u128) -> $type {
                $value
            }
        })*
    };
}
scalars!(
    bool, Physical::U8, bits => bits as u8 != 0;
    i16, Physical::I16, bits => bits as i16;
    i32, Physical::I32, bits => bits as i32;
    i64, Physical::I64, bits => bits as i64;
    f32, Physical::F32, bits => f32::from_bits(bits as u32);
    f64, Physical::F64, bits => f64::from_bits(bits as u64)
);

impl FieldType for i128 {
    type Value<'a> = i128;
    const NAME: &'static str = "i128";

    fn fits(column_type: ColumnType) -> bool {
        column_type.physical() == Physical::I128 && column_type != ColumnType::Uuid
    }
}

impl Scalar for i128 {
    const BYTES: usize = size_of::<i128>();

    fn from_bits(bits: u128) -> i128 {
        bits as i128
    }
}

impl FieldType for Uuid {
    type Value<'a> = Uuid;
    const NAME: &'static str = "Uuid";

    fn fits(column_type: ColumnType) -> bool {
        column_type == ColumnType::Uuid
    }
}

impl Scalar for Uuid {
    const BYTES: usize = size_of::<i128>();

    fn from_bits(bits: u128) -> Uuid {
        Uuid::of_stored(bits as i128)
    }
}

impl FieldType for &str {
    type Value<'a> = &'a str;
    const NAME: &'static str = "&str";

    fn fits(column_type: ColumnType) -> bool {
        column_type.physical() == Physical::View && !column_type.is_bytes()
    }
}

impl FieldType for &[u8] {
    type Value<'a> = &'a [u8];
    const NAME: &'static str = "&[u8]";

    fn fits(column_type: ColumnType) -> bool {
        column_type == ColumnType::Bytea
    }
}
