//! Functions, operators and casts as PostgreSQL has them, in the place of `DataFusion`'s.

pub(super) mod aggregates;
pub(super) mod anything;
pub(super) mod arrays;
pub(super) mod bytea_text;
mod bytes;
mod calls;
pub(super) mod casts;
pub(super) mod checked;
pub(super) mod date_diff;
pub(super) mod element_wise;
pub(super) mod enums;
pub(super) mod equality;
pub(super) mod exact;
pub(super) mod excluding;
pub(super) mod information;
pub(super) mod json;
pub(super) mod json_types;
pub(super) mod keys;
mod math;
pub(super) mod nested;
pub(super) mod nested_casts;
pub(super) mod numeric;
pub(super) mod operators;
pub(super) mod patterns;
pub(super) mod ranks;
pub(super) mod row_function;
pub(super) mod rows;
pub(super) mod shifted;
pub(super) mod shown_times;
mod similar;
pub(super) mod single_row;
mod system;
pub(super) mod text;
pub(super) mod time;
pub(super) mod untyped;
pub(super) mod uuid_in;
pub(super) mod zeros;

pub(super) use calls::udf::no_function;
use datafusion::logical_expr::ScalarUDF;
pub(super) use text::quote::identifier as quoted_identifier;

/// The functions that are written by overloads.
pub(super) fn by_overloads() -> Vec<ScalarUDF> {
    let texts = text::overloads().chain(bytes::overloads()).chain(patterns::overloads());
    calls::udf::functions(texts.chain(math::overloads()).chain(system::overloads()))
}
