//! JSON as PostgreSQL's types `json`, `jsonb` and `jsonpath` mean it.
//!
//! A text is read into [`Node`]s, which know the part of the text that they come from: this is `json`, which keeps what
//! was written. A [`Value`] is what `jsonb` keeps: keys in order and once, numbers as numerics. Its text is its normal
//! form, so it needs no other one.
//!
//! What this crate never does: perform I/O, know SQL, or panic on any text. Nesting is limited ([`DEPTH_MAX`]), so that
//! whoever walks a value may do so by recursion.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `error`: what can be wrong with a text or an operation
//! - `number`: numbers in the form of numerics, compared by their digits
//! - `node`: a text as a tree of its parts
//! - `parse`: text to nodes
//! - `value`: what `jsonb` keeps, and its text
//! - `order`: `jsonb` as bytes that compare as it does
//! - `assign`: values in which a part is assigned to, with what is missing on the way
//! - `change`: values that others are made of: concatenated, deleted from, set, inserted into
//! - `search`: what a value contains, and what lies at a path
//! - `arithmetic`: exact sums, products and quotients of numbers
//! - `path`: `jsonpath`: its text, its tree, what it finds

#![forbid(unsafe_code)]

mod arithmetic;
mod assign;
pub mod change;
mod error;
mod node;
mod number;
mod order;
mod parse;
pub mod path;
pub mod search;
mod value;

pub use assign::assign;
pub use error::{JsonError, Problem};
pub use node::{Kind, Node};
pub use number::Number;
pub use order::key;
pub use parse::{DEPTH_MAX, parse, validate};
pub use value::{Value, escape, pretty};
