//! Regular expressions as PostgreSQL has them: its syntax, its flags, and which text each part matches.
//!
//! The crate `regex` takes the first alternative that matches; PostgreSQL takes the longest match, or the shortest where
//! the expression says so, and then gives each part the longest or shortest text in turn (chapter 9.7.3.5 of its manual).
//! Whether a text matches, and where the first match begins, is the same for both. So the crate `regex` searches
//! (`search`), and the automaton here says where the match ends (`run`) and what its groups are (`dissect`). Back
//! references and looking around, which the crate lacks, are searched for here as well.
//!
//! # Modules
//!
//! Lowest first.
//!
//! - `error`: what is wrong with an expression
//! - `options`: flags
//! - `span`: parts of a text
//! - `set`: sets of characters
//! - `syntax`: an expression as a tree
//! - `parse`: text to tree
//! - `program`: a tree as an automaton, and as parts to be dissected
//! - `run`: where parts of a text match
//! - `dissect`: which text each group matches
//! - `search`: a tree as an expression of the crate `regex`
//! - `expression`: expressions that are ready for use
//! - `replace`: texts in place of matches

mod dissect;
mod error;
mod expression;
mod options;
mod parse;
mod program;
mod replace;
mod run;
mod search;
mod set;
mod span;
mod syntax;

pub use error::{Error, Problem};
pub use expression::{Match, Regex};
pub use options::Options;
pub use replace::{Occurrence, replace};
pub use span::Span;
