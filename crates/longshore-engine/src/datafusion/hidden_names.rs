//! Names within the queries by which statements find the rows that they change. No statement of a user can write them.

/// The name that the table to change has in the query.
pub(crate) const TARGET: &str = "the table to change";
/// The name of its hidden column.
pub(crate) const ROW_COLUMN: &str = "row (hidden)";

/// How the name of the column begins that ends the columns of a table beside the one to change; its number follows.
pub(crate) const END_COLUMN: &str = "end (hidden) ";
