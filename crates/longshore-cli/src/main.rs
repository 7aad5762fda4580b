//! The `longshore` binary: a shell and a runner of SQL statements, a generator of test data, and a demonstration.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `human`: quantities as people read and write them
//! - `heap`: the allocator, with a count of what it has handed out
//! - `interrupt`: Ctrl-C
//! - `script`: where statements begin and end
//! - `stats`: the cost of each statement, in a file
//! - `output`: rows in the formats of results
//! - `progress`: how far a statement is
//! - `generate`: the text of TPC-H
//! - `logging`: the log of a server
//! - `args`: the command line
//! - `run`: statements and meta-commands, one after the other
//! - `shell`: the prompt
//! - `demo`: generate, load, work, unload, reload
//! - `supervisor`: what the service manager is told
//! - `serve`: PostgreSQL's protocol
//! - `inspect`: look for damage, and print logs

mod args;
mod demo;
mod generate;
mod heap;
mod human;
mod inspect;
mod interrupt;
mod logging;
mod output;
mod progress;
mod run;
mod script;
mod serve;
mod shell;
mod stats;
mod supervisor;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use args::{Action, Invocation, RunOptions, TpchArgs};
use longshore_engine::{Config, Progress};
use run::{Failure, Reason, Runner, note};

#[global_allocator]
static ALLOCATOR: heap::Counted = heap::Counted;

fn main() -> ExitCode {
    match perform(args::read()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_quiet() {
                note(&format!("error: {failure}"));
            }
            ExitCode::from(u8::try_from(failure.exit_code()).unwrap_or(1))
        }
    }
}

fn perform(invocation: Invocation) -> Result<(), Failure> {
    let Invocation { config, action } = invocation;
    if config.memory_limit.is_some() {
        heap::keep_nothing();
    }
    if let Action::Generate(tpch) = action {
        return generate_tpch(&tpch, config.threads);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.threads)
        .enable_all()
        .build()
        .map_err(Reason::Signals)?;
    let result = match action {
        Action::Run(options) => runtime.block_on(run_statements(config, options)),
        Action::Demo(options) => runtime.block_on(demo::run(config, &options)),
        Action::Serve(options) => runtime.block_on(serve::run(config, options)),
        Action::Check(directory) => runtime.block_on(inspect::check(config, &directory)),
        Action::Log(log) => inspect::log(&log),
        Action::Generate(_) => Ok(()),
    };
    // A cancelled statement may still hold a worker for a moment; nothing of it is wanted.
    runtime.shutdown_background();
    result
}

/// Runs what the command line asks for, or a shell if it asks for nothing and a person may type.
async fn run_statements(config: Config, options: RunOptions) -> Result<(), Failure> {
    let interactive = options.steps.is_empty() && std::io::stdin().is_terminal();
    let mut runner = Runner::new(config, &options, interactive)?;
    let result = if interactive { shell::run(&mut runner, &options).await } else { runner.steps(options.steps).await };
    let closed = runner.close();
    result.and(closed)
}

fn generate_tpch(args: &TpchArgs, threads: usize) -> Result<(), Failure> {
    let interrupts = interrupt::Interrupts::install(true, true).map_err(Reason::Signals)?;
    let request = generate::Request { scale: args.scale, directory: args.out.clone(), format: args.format, threads };
    let progress = Arc::new(Progress::default());
    let mut display = progress::Display::start("generate", Arc::clone(&progress));
    let generated = generate::tpch(&request, &progress, interrupts.flag());
    display.stop();
    let generated = generated?;
    let rate = if std::io::stderr().is_terminal() {
        format!(" in {}, {}", human::seconds(generated.seconds), human::rate(generated.bytes, generated.seconds))
    } else {
        String::new()
    };
    note(&format!("{}: {}{rate}", request.directory.display(), human::bytes(generated.bytes)));
    Ok(())
}
