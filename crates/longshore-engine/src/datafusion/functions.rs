//! Functions, operators and casts as PostgreSQL has them, in the place of `DataFusion`'s.

pub(super) mod arrays;
pub(super) mod casts;
pub(super) mod checked;
pub(super) mod date_diff;
pub(super) mod element_wise;
pub(super) mod equality;
pub(super) mod excluding;
pub(super) mod information;
pub(super) mod json;
pub(super) mod nested_casts;
pub(super) mod numeric;
pub(super) mod operators;
pub(super) mod ranks;
pub(super) mod row_function;
pub(super) mod rows;
pub(super) mod shifted;
pub(super) mod similar;
pub(super) mod single_row;
pub(super) mod text_out;
pub(super) mod to_char;
mod uuid_in;
pub(super) mod zeros;
