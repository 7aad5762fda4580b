//! Measures Longshore: one workload per part of the way of a load, and of the way back.
//!
//! `longshore-bench WORKLOAD` generates what it needs under `target/bench-data`, checks every answer before its time
//! counts, and prints a table; `--record` appends the results to `bench/records`. Other engines are measured by
//! `bench/rivals/run.py`. Each workload also runs tiny under `cargo test`.
//!
//! Built with `--no-default-features`, it lacks the queries and needs no DataFusion: a minute instead of ten.
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `facts`: what a load of lineitem must find
//! - `text`: the text that workloads read
//! - `lineitem`: lineitem as a relation
//! - `measure`: how times are taken and shown
//! - `record`: dated records of measurements
//! - `workload`: the workloads, by name

mod facts;
mod lineitem;
mod measure;
mod record;
mod text;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use measure::Measured;
use workload::Workload;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why a workload could not be measured.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures Longshore, checking every answer before its time counts.
#[derive(Parser)]
struct Arguments {
    /// What to measure.
    #[command(subcommand)]
    workload: Workload,
    #[command(flatten)]
    settings: Settings,
}

/// How to measure.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Settings {
    /// TPC-H scale factor of the text; lineitem has 760 MB at 1.
    #[arg(long, global = true, default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Runs of each case, interleaved.
    #[arg(long, global = true, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: u64,
    /// The most threads that a case uses.
    #[arg(long, global = true, default_value_t = default_threads())]
    pub(crate) threads: usize,
    /// Where the text lies, generated if missing.
    #[arg(long, global = true, default_value = "target/bench-data")]
    pub(crate) data: PathBuf,
    /// Appends the results to this folder.
    #[arg(long, global = true, num_args = 0..=1, default_missing_value = "bench/records")]
    pub(crate) record: Option<PathBuf>,
    /// Only cases whose name has this in it.
    #[arg(long, global = true, default_value = "")]
    pub(crate) only: String,
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Settings {
    /// One thread, and as many as allowed.
    pub(crate) fn thread_counts(&self) -> Vec<usize> {
        if self.threads > 1 { vec![1, self.threads] } else { vec![1] }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("longshore-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.workload.run(&arguments.settings, &mut |name, title, rows: &[Measured]| {
        println!("{}", measure::table(title, rows));
        match &arguments.settings.record {
            Some(folder) => record::append(folder, name, &arguments.settings, rows),
            None => Ok(()),
        }
    })
}
