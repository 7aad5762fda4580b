//! Dates, times, timestamps and intervals: their casts, operators and functions, as PostgreSQL has them.
//!
//! All compute in microseconds, over the whole range of years, in the time zone of the session (`session`). INTERVAL and
//! TIMETZ, for which Arrow has no type of the same meaning, are structs of one field (`kinds`). What is computed with single
//! values lies in the crate `longshore-time`; here are arrays, types and which function a call means (`overloads`).
//! Not here: operators as they are written (`planning/time_operators`), settings (`statement/time_settings`).

pub(in crate::datafusion) mod aggregates;
mod arithmetic;
mod calls;
pub(in crate::datafusion) mod casts;
pub(in crate::datafusion) mod clock;
mod constructors;
mod extract;
mod formatting;
pub(in crate::datafusion) mod kinds;
mod overloads;
pub(in crate::datafusion) mod rewrite;
pub(in crate::datafusion) mod series;
pub(in crate::datafusion) mod session;
mod truncation;
pub(in crate::datafusion) mod values;

use datafusion::logical_expr::ScalarUDF;

pub(in crate::datafusion) use calls::call;

/// The function `extract`.
pub(in crate::datafusion) fn extract() -> ScalarUDF {
    extract::exact()
}

/// All these functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    calls::functions().chain(clock::functions()).chain(extract::functions())
}
