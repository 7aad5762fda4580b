//! Durable databases: what was committed through any door comes back, and what was not does not.

mod crashes;
#[path = "../described/mod.rs"]
mod described;
mod directory;
mod doors;
mod kills;
mod once;
mod support;
