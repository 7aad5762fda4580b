//! Rows that statements append and change. Not here: the statements (`statement`), versions (`longshore-storage`).

mod array_lengths;
pub(super) mod bulk_appender;
pub(super) mod found_rows;
pub(super) mod insert;
pub(super) mod pipeline;
