//! Tests of the engine by what its sessions answer. One program has them all, since each program links DataFusion.

mod cancel;
mod cursors;
mod described;
mod dialects;
mod embedded;
mod forms;
mod in_situ;
mod indexes;
mod join_by_index;
mod literals;
mod notifications;
mod on_codes;
mod options;
mod query;
mod query_support;
mod roles;
mod semi_joins;
mod session;
mod shapes;
mod slt;
mod soup;
mod sources;
mod told_types;
mod tpch;
mod tpch_text;
mod uuids;
