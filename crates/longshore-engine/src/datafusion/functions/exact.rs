//! Operators, functions and aggregates of exact numbers of any digits, and of floats under the same names.
//!
//! `longshore_numeric` computes. Not here: the type NUMERIC and its values in arrays (`numeric`), casts (`casts`), operators of
//! integers and floats (`checked`).

pub(in crate::datafusion) mod aggregates;
mod floats;
pub(in crate::datafusion) mod functions;
pub(in crate::datafusion) mod lists;
pub(in crate::datafusion) mod operators;
mod spreads;
