//! The engine beside its witnesses: PostgreSQL, and itself planned in other ways. One program has them all, since each
//! program links DataFusion.

mod changes;
mod functions;
mod itself;
mod manual;
mod parameters;
mod postgres;
mod regression;
