//! Exact numbers of any digits, each with the scale that it is shown with, and PostgreSQL's arithmetic on them.
//!
//! The rules are those of PostgreSQL's NUMERIC: which scale a result has, how it is rounded, what NaN and the infinite values
//! give, and what is an error. Numbers of up to 38 digits are computed in 128 bits, all others by `num-bigint`.
//!
//! What this crate never does: I/O, or know of types, columns and statements. Not here: how a number is kept as bytes and
//! spelled (`longshore_value::numeric`).
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `error`: why there is no result
//! - `digits`: whole numbers of any size
//! - `number`: numbers with a scale, NaN and infinite values; their bytes and texts; how they compare
//! - `arithmetic`: operators, and division
//! - `rounding`: to so many places, and to whole numbers
//! - `float`: from and to floating-point numbers
//! - `fixed`: binary fixed-point numbers for the functions below
//! - `power`: roots, exponentials, logarithms, powers
//! - `integers`: factorials and divisors
//! - `moments`: sums of values and of their squares, for averages and variances

#![forbid(unsafe_code)]

mod arithmetic;
mod digits;
mod error;
mod fixed;
mod float;
mod integers;
mod moments;
mod number;
mod power;
mod rounding;

pub use error::NumberError;
pub use integers::factorial;
pub use moments::{Moments, Spread};
pub use number::{Decimal, Number};
