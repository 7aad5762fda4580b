//! What may be said on the command line.
//!
//! Not here: what is done about it (`run`, `shell`, `generate`, `demo`, `serve`).

mod durability;
mod serve;

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use longshore_engine::{Config, Durability, Kernel, Naptime};

use crate::generate::{SCALE_MAX, SCALE_MIN, TextFormat};
use crate::human;
use crate::output::Format;
use crate::script::name_in;
use durability::DurabilityArgs;
use serve::ServeArgs;
pub(crate) use serve::ServeOptions;

const EXAMPLES: &str = "\
Examples:
  longshore                                  open the SQL shell, with a database in memory
  longshore shop                             open the durable database in the directory shop, or make one
  longshore -c \"SELECT 1\"                    run statements and leave
  longshore -f schema.sql -f queries.sql     run files, in order
  longshore --format csv < report.sql > report.csv
  longshore -v day=2024-05-01 -f report.sql  run a file in which :'day' stands for 2024-05-01
  longshore -c \"SELECT count(*) FROM read_csv('a.csv', columns => {'id': 'BIGINT'})\"
  longshore generate tpch --scale 1 --out tpch
  longshore demo                             load, work and unload 1 GB of TPC-H

Results go to standard output; command tags, progress and messages to standard error.
The environment variable LONGSHORE_KERNEL chooses the instruction set of the CSV scan.";

const DEMO_ABOUT: &str = "\
Generate TPC-H text, load it, run the 22 queries, unload, load again and prove that nothing was lost";

const DEMO_EXAMPLES: &str = "\
Examples:
  longshore demo                        1 GB of text in a temporary directory
  longshore demo --scale 10 --dir /data/tpch
                                        10 GB; text that is there already is used again";

const GENERATE_EXAMPLES: &str = "\
Examples:
  longshore generate tpch --scale 1 --out tpch
  longshore generate tpch --scale 0.01 --out small --format csv";

/// The command line, read and checked.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// What the database may use.
    pub(crate) config: Config,
    /// What to do.
    pub(crate) action: Action,
}

/// What to do.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Run statements, or open the shell if there are none and standard input is a terminal.
    Run(RunOptions),
    /// Make TPC-H text.
    Generate(TpchArgs),
    /// Show it all.
    Demo(DemoArgs),
    /// Serve a database.
    Serve(ServeOptions),
    /// Look for damage in the directory of a database.
    Check(PathBuf),
    /// Print the log of a database.
    Log(LogArgs),
}

/// How statements are run.
#[derive(Clone, Debug)]
pub(crate) struct RunOptions {
    /// What `-c` and `-f` gave, in order.
    pub(crate) steps: Vec<Step>,
    /// How results are written.
    pub(crate) format: Format,
    /// Variables of statements.
    pub(crate) variables: Vec<(String, String)>,
    /// Whether tags and the like are left out.
    pub(crate) quiet: bool,
    /// Whether the shell begins without the user's script.
    pub(crate) no_init: bool,
    /// Where costs are appended.
    pub(crate) stats: Option<PathBuf>,
    /// The directory of the database; without, it is in memory.
    pub(crate) directory: Option<PathBuf>,
    /// How that is kept.
    pub(crate) durability: Durability,
    /// Whether what is damaged is left out.
    pub(crate) skip_damaged: bool,
}

/// Where statements come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `-c`.
    Sql(String),
    /// `-f`; `-` is standard input.
    File(PathBuf),
}

/// A main-memory database that loads CSV at wire speed and speaks SQL
#[derive(Parser, Debug)]
#[command(name = "longshore", version = env!("LONGSHORE_VERSION"), after_help = EXAMPLES)]
struct Args {
    /// Directory of a durable database, which is made if there is none; without, the database is in memory and is gone when
    /// the program ends
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    durability: DurabilityArgs,

    /// Leave out what is damaged, and say what is missing; with --read-only
    #[arg(long, requires = "read_only")]
    skip_damaged: bool,

    /// Run the statements of SQL and leave; may be repeated and mixed with -f
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,

    /// Run the statements of FILE and leave ('-' is standard input); may be repeated and mixed with -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How results are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Set a variable, which :NAME in statements stands for; may be repeated
    #[arg(short = 'v', long = "variable", visible_alias = "set", value_name = "NAME=VALUE", value_parser = parse_variable)]
    variables: Vec<(String, String)>,

    /// Leave out command tags, the greeting of the shell and the like
    #[arg(short = 'q', long)]
    quiet: bool,

    /// Open the shell without running ~/.longshorerc
    #[arg(short = 'X', long)]
    no_init: bool,

    /// Append what each statement cost to FILE, one JSON object per line
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Worker threads [default: the number of processors]
    #[arg(long, global = true, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,

    /// Memory that tables and queries may hold together, such as 4GB or 512MiB [default: no limit]
    #[arg(long, global = true, value_name = "SIZE", value_parser = human::parse_size)]
    memory_limit: Option<usize>,

    /// Whether what was changed and then left alone is packed again
    #[arg(long, global = true, value_enum, value_name = "on|off", hide_possible_values = true, default_value_t)]
    autovacuum: OnOff,

    /// How long it is from one look for what can be packed to the next, such as 30s or 5min
    #[arg(long, global = true, value_name = "TIME", default_value_t = Naptime::DEFAULT)]
    autovacuum_naptime: Naptime,

    #[command(subcommand)]
    command: Option<Command>,
}

/// A switch.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum OnOff {
    #[default]
    On,
    Off,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make test data
    Generate {
        #[command(subcommand)]
        what: Generate,
    },
    #[command(about = DEMO_ABOUT, after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Serve a database to programs that speak PostgreSQL's protocol
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Look for damage in a durable database, or in a backup, that nobody has open; the exit status says whether it is sound
    Check {
        /// Directory of the database
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
    /// Print the log of a durable database: its transactions, and what they have changed
    Log(LogArgs),
}

/// Options of `log`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LogArgs {
    /// Directory of the database
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,

    /// Position of the first record, such as 0/1A2B3C [default: the oldest record that is there]
    #[arg(long, value_name = "LSN")]
    pub(crate) from: Option<String>,
}

#[derive(Subcommand, Debug)]
enum Generate {
    /// The eight tables of TPC-H as text, one file each
    #[command(after_help = GENERATE_EXAMPLES)]
    Tpch(TpchArgs),
}

/// Options of `generate tpch`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TpchArgs {
    /// Scale factor; 1 is about 1 GB of text
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = parse_scale)]
    pub(crate) scale: f64,

    /// Directory for the files; made if missing
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// How the text is written
    #[arg(long, value_enum, default_value = "tbl")]
    pub(crate) format: TextFormat,
}

/// Options of `demo`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DemoArgs {
    /// Scale factor; 1 is about 1 GB of text
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = parse_scale)]
    pub(crate) scale: f64,

    /// Directory for text and unloaded copies; text of the same scale in it is used again
    /// [default: a temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Keep the text and the unloaded copies
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Reads the command line and the environment.
///
/// Help, the version and mistakes are answered here: then this does not return.
pub(crate) fn read() -> Invocation {
    let mut command = Args::command();
    let matches = command.get_matches_mut();
    from_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn from_matches(matches: &ArgMatches) -> Result<Invocation, clap::Error> {
    let args = Args::from_arg_matches(matches)?;
    let mut config = Config {
        memory_limit: args.memory_limit,
        heap_bytes: Some(crate::heap::bytes),
        autovacuum: args.autovacuum == OnOff::On,
        autovacuum_naptime: args.autovacuum_naptime,
        kernel: kernel_from(std::env::var_os("LONGSHORE_KERNEL").as_deref()).map_err(|reason| invalid(&reason))?,
        ..Config::default()
    };
    if let Some(threads) = args.threads {
        config.threads = threads;
    }
    let runs = !args.commands.is_empty() || !args.files.is_empty();
    let kept = args.durability.durability(args.directory.is_some())?;
    let action = match args.command {
        Some(_) if args.directory.is_some() => return Err(invalid("a subcommand works without a DIRECTORY")),
        Some(_) if runs => return Err(invalid("-c and -f cannot be used with a subcommand")),
        Some(Command::Demo(demo)) => Action::Demo(demo),
        Some(Command::Serve(serve)) => Action::Serve(serve.options()?),
        Some(Command::Check { directory }) => Action::Check(directory),
        Some(Command::Log(log)) => Action::Log(log),
        Some(Command::Generate { what: Generate::Tpch(tpch) }) => Action::Generate(tpch),
        None => Action::Run(RunOptions {
            steps: steps(matches, args.commands, args.files),
            format: args.format,
            variables: args.variables,
            quiet: args.quiet,
            no_init: args.no_init,
            stats: args.stats,
            directory: args.directory,
            durability: kept,
            skip_damaged: args.skip_damaged,
        }),
    };
    Ok(Invocation { config, action })
}

fn invalid(reason: &str) -> clap::Error {
    clap::Error::raw(clap::error::ErrorKind::ValueValidation, reason)
}

/// What `-c` and `-f` gave, in the order in which they stand on the command line.
fn steps(matches: &ArgMatches, commands: Vec<String>, files: Vec<PathBuf>) -> Vec<Step> {
    let positions = |id| matches.indices_of(id).into_iter().flatten();
    let mut steps: Vec<(usize, Step)> = positions("commands")
        .zip(commands.into_iter().map(Step::Sql))
        .chain(positions("files").zip(files.into_iter().map(Step::File)))
        .collect();
    steps.sort_by_key(|(position, _)| *position);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// The kernel that the environment asks for; none if it is silent or empty.
fn kernel_from(value: Option<&std::ffi::OsStr>) -> Result<Option<Kernel>, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let name = value.to_string_lossy();
    match name.parse::<Kernel>() {
        Ok(kernel) if kernel.is_available() => Ok(Some(kernel)),
        known => {
            let available: Vec<String> = Kernel::available().iter().map(ToString::to_string).collect();
            let problem = if known.is_ok() { "is not available on this machine" } else { "is not a kernel" };
            Err(format!("LONGSHORE_KERNEL: '{name}' {problem}; available here: {}", available.join(", ")))
        }
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if name.is_empty() || name_in(name) != name {
        return Err(String::from("write NAME=VALUE; a name has letters, digits and _ only"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err(String::from("must be a number from 1 to 1024")),
    }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (SCALE_MIN..=SCALE_MAX).contains(&scale) => Ok(scale),
        _ => Err(format!("must be a number from {SCALE_MIN} to {SCALE_MAX}")),
    }
}

#[cfg(test)]
mod tests;
