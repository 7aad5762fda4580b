//! `longshore check` and `longshore log`: what is in the directory of a database, without opening it.
//!
//! What they find goes to standard output. Not here: how it is found (`longshore-engine`).

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use longshore_engine::{Config, Database, LogLine};

use crate::args::LogArgs;
use crate::run::{Failure, Reason};

/// Looks for damage, and writes a line for all that is wrong.
///
/// # Errors
///
/// When something is, or the database cannot be read.
pub(crate) async fn check(config: Config, directory: &Path) -> Result<(), Failure> {
    let report = Database::check_directory(directory, config).await?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut lines = report.problems.iter();
    lines.try_for_each(|line| writeln!(out, "{line}")).map_err(Reason::output)?;
    let shown = directory.display();
    let count = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    if report.problems.is_empty() {
        let read = format!(
            "{} with {}, {}, {} in the log",
            count(report.tables as u64, "table", "tables"),
            count(report.rows, "row", "rows"),
            count(report.files as u64, "block file", "block files"),
            count(report.records, "transaction", "transactions")
        );
        writeln!(out, "{shown} is sound: {read}").map_err(Reason::output)?;
    }
    out.flush().map_err(Reason::output)?;
    match report.problems.len() as u64 {
        0 => Ok(()),
        found => Err(Reason::Message(format!(
            "{shown}: {}; restore a backup, or read what is sound with longshore --read-only --skip-damaged {shown}",
            count(found, "problem", "problems")
        ))
        .into()),
    }
}

/// Prints a log.
///
/// # Errors
///
/// When it is damaged, or cannot be read.
pub(crate) fn log(args: &LogArgs) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let read = Database::read_log(&args.directory, args.from.as_deref(), &mut |line| {
        if written.is_ok() {
            written = match line {
                LogLine::Record(line) => writeln!(out, "{line}"),
                LogLine::Change(line) => writeln!(out, "    {line}"),
                LogLine::Note(line) => writeln!(out, "-- {line}"),
            };
        }
    });
    written.and_then(|()| out.flush()).map_err(Reason::output)?;
    Ok(read?)
}
