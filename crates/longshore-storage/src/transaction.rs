//! Transactions: what they have read, to be validated when they commit.

#[allow(dead_code, unused_imports, reason = "commit validates with it once relations have versions")]
pub(crate) mod predicate;
