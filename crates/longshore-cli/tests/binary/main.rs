//! Tests of the built binary as its users run it.

mod demo;
mod generate;
mod run;
mod shell;
mod statements;
