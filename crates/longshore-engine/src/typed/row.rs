//! Rows as Rust tuples.
//!
//! A column that may be NULL is read as an `Option`, which is checked when the columns are named, not row by row.

use longshore_storage::{Column, ColumnType, Datum, FieldType, Relation, RowId, Transaction, Uuid};

use crate::Error;

/// A Rust type that values of a column are read as: those of [`FieldType`], with [`String`] and `Vec<u8>` for what has
/// no fixed width, and the `Option` of each.
pub trait Value: Sized {
    /// Its name, for messages.
    const NAME: &'static str;
    /// Whether it can be NULL.
    const NULLABLE: bool = false;

    /// Whether columns of this type hold such values.
    fn fits(column_type: ColumnType) -> bool;

    /// The value; `None` if it is none of this type.
    fn of(datum: Datum<'_>) -> Option<Self>;
}

macro_rules! values {
    ($($type:ty, $as_field:ty, $variant:ident => $value:expr;)*) => {
        $(impl Value for $type {
            const NAME: &'static str = stringify!($type);

            fn fits(column_type: ColumnType) -> bool {
                <$as_field as FieldType>::fits(column_type)
            }

            fn of(datum: Datum<'_>) -> Option<Self> {
                if let Datum::$variant(value) = datum { Some($value(value)) } else { None }
            }
        })*
    };
}
values!(
    bool, bool, Bool => std::convert::identity;
    i16, i16, I16 => std::convert::identity;
    i32, i32, I32 => std::convert::identity;
    i64, i64, I64 => std::convert::identity;
    i128, i128, I128 => std::convert::identity;
    f32, f32, F32 => std::convert::identity;
    f64, f64, F64 => std::convert::identity;
    Uuid, Uuid, Uuid => std::convert::identity;
    String, &str, Text => str::to_owned;
    Vec<u8>, &[u8], Bytes => <[u8]>::to_vec;
);

impl<T: Value> Value for Option<T> {
    const NAME: &'static str = T::NAME;
    const NULLABLE: bool = true;

    fn fits(column_type: ColumnType) -> bool {
        T::fits(column_type)
    }

    fn of(datum: Datum<'_>) -> Option<Self> {
        if datum == Datum::Null { Some(None) } else { T::of(datum).map(Some) }
    }
}

/// Values of a row, one for each of some columns: tuples of up to twelve [`Value`]s.
pub trait Row: Sized {
    /// Columns.
    const WIDTH: usize;

    /// That columns, as many as the width, hold such values.
    ///
    /// # Errors
    ///
    /// When one does not.
    fn check(table: &str, columns: &[&Column]) -> Result<(), Error>;

    /// The values.
    ///
    /// # Errors
    ///
    /// When the transaction does not see the row.
    fn read(reader: &mut RowReader<'_>) -> Result<Self, Error>;
}

/// Gives the values of a row one after the other.
pub struct RowReader<'a> {
    transaction: &'a mut Transaction,
    relation: &'a Relation,
    row: RowId,
    columns: std::slice::Iter<'a, usize>,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(
        transaction: &'a mut Transaction,
        relation: &'a Relation,
        row: RowId,
        columns: &'a [usize],
    ) -> RowReader<'a> {
        RowReader { transaction, relation, row, columns: columns.iter() }
    }

    /// The next value.
    ///
    /// # Errors
    ///
    /// When the transaction does not see the row.
    pub fn value<T: Value>(&mut self) -> Result<T, Error> {
        let column = *self.columns.next().ok_or_else(|| Error::internal("a row has no more values"))?;
        let value = self.transaction.get_datum(self.relation, self.row, column, T::of)?;
        value.ok_or_else(|| Error::internal("a value is not of the type that its column was checked to have"))
    }
}

impl std::fmt::Debug for RowReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowReader").field("row", &self.row).finish_non_exhaustive()
    }
}

fn check<T: Value>(table: &str, column: &Column) -> Result<(), Error> {
    let Column { name, column_type, nullable, .. } = column;
    if !T::fits(*column_type) {
        return Err(Error::invalid(format!(
            "column {name} of {table} is {column_type}, which is not read as {}",
            T::NAME
        )));
    }
    if *nullable && !T::NULLABLE {
        return Err(Error::invalid(format!(
            "column {name} of {table} may be NULL; read it as Option<{}>, or declare it NOT NULL",
            T::NAME
        )));
    }
    Ok(())
}

macro_rules! rows {
    ($($width:literal: $($value:ident)+;)*) => {
        $(impl<$($value: Value),+> Row for ($($value,)+) {
            const WIDTH: usize = $width;

            fn check(table: &str, columns: &[&Column]) -> Result<(), Error> {
                let mut columns = columns.iter();
                $(columns.next().map_or(Ok(()), |column| check::<$value>(table, column))?;)+
                Ok(())
            }

            fn read(reader: &mut RowReader<'_>) -> Result<Self, Error> {
                Ok(($(reader.value::<$value>()?,)+))
            }
        })*
    };
}
rows!(
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
    12: A B C D E F G H I J K L;
);
