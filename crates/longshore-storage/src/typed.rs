//! Values and columns as Rust types: the face of the typed API.
//!
//! A [`crate::Datum`] is any value; a [`Field`] is a column that was checked once to hold a Rust type, so that reading and
//! writing it checks nothing again. A closure over them is a compiled transaction, what HyPer's procedures are.
//!
//! Not here: the operations (`transaction`).

mod domain;
mod field;
mod range;

pub(crate) use domain::{Input, NO_TIME, Stored, StoredValue, ValueError, input, is_plain, numeric, shown, time};
pub use field::{Field, FieldType, Scalar};
pub use range::ColumnRange;
