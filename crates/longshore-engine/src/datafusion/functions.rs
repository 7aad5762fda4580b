//! Functions, operators and casts as PostgreSQL has them, in the place of `DataFusion`'s.

pub(super) mod casts;
pub(super) mod checked;
pub(super) mod date_diff;
pub(super) mod element_wise;
pub(super) mod equality;
pub(super) mod excluding;
pub(super) mod information;
pub(super) mod operators;
pub(super) mod ranks;
pub(super) mod rounding;
pub(super) mod similar;
pub(super) mod single_row;
pub(super) mod to_char;
pub(super) mod zeros;
