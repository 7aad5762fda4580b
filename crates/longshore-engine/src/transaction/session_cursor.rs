//! What `pg_cursors` tells of the cursors of a session. Not here: the cursors (`statement::cursors`).

/// A cursor as others see it.
#[derive(Clone, Debug)]
pub(crate) struct SessionCursor {
    pub(crate) name: String,
    /// The statement that has declared it.
    pub(crate) statement: String,
    pub(crate) is_holdable: bool,
    pub(crate) is_binary: bool,
    pub(crate) is_scrollable: bool,
    /// When it was declared, in microseconds since 1970-01-01 UTC.
    pub(crate) created: i64,
}
