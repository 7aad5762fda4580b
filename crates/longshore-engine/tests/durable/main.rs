//! Durable databases: what was committed through any door comes back, and what was not does not.

mod alter_in_block;
mod backup;
mod crashes;
#[path = "../engine/described.rs"]
mod described;
mod directory;
mod doors;
mod inspect;
mod kills;
mod new_tables;
mod objects_in_block;
mod once;
mod roles;
mod support;
mod unique_indexes;
mod unlogged;
