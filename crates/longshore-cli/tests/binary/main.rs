//! Tests of the built binary as its users run it.

mod backup;
mod demo;
mod dumps;
mod durable;
mod files;
mod generate;
mod limit;
mod meta;
mod once;
mod process;
mod recipes;
mod remote;
mod run;
mod served;
#[allow(dead_code, clippy::unwrap_used, reason = "the tests of longshore-source use more of it")]
#[path = "../../../longshore-source/tests/source/common/server.rs"]
mod server;
mod shell;
mod statements;
mod version;
