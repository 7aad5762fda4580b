//! Random queries and changes, and two witnesses of what they must give: the same queries planned in other ways, and
//! PostgreSQL.
//!
//! [`generate`] makes queries over a [`schema`]. `tests/itself.rs` compares each with itself, `tests/postgres.rs` with a
//! private server. What fails is made smaller ([`reduce`]) until a person can read it.

pub mod calls;
pub mod case;
pub mod changes;
pub mod differences;
pub mod engine;
pub mod generate;
pub mod itself;
pub mod pair;
pub mod query;
pub mod random;
pub mod reduce;
pub mod regression;
pub mod rows;
pub mod schema;
pub mod seeds;
pub mod server;
pub mod shapes;
pub mod types;
