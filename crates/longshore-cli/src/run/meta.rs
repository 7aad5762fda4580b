//! The commands that start with a backslash, in the shell and in scripts.

use std::fmt::Write as _;
use std::io::Write as _;

use std::path::PathBuf;

use longshore_engine::OPTIONS;

use super::{Failure, Reason, Runner, describe, note};
use crate::output::Expanded;

/// Names of all meta-commands, for completion.
pub(crate) const COMMANDS: [&str; 9] = ["\\?", "\\d", "\\d+", "\\i", "\\options", "\\q", "\\quit", "\\timing", "\\x"];

const HELP: &str = "\
Statements end with a semicolon and may span lines.

  \\d                  list tables and views
  \\d NAME             show the columns of a table or view
  \\d+ NAME            show also how its columns are stored, and in how many bytes
  \\i FILE             run the statements of a file
  \\options [NAME]     explain the options of COPY and read_csv
  \\timing [on|off]    show how long each statement takes
  \\x [on|off|auto]    show one line per value; auto: where rows are wider than the terminal
  \\?                  show this
  \\q                  leave

  Tab completes keywords, names and files; Ctrl-C drops the input or cancels the statement; Ctrl-D leaves.
";

/// Whether to go on after a meta-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Stay,
    /// Leave the shell or the script.
    Leave,
}

/// Does what the line `text` says.
///
/// # Errors
///
/// An unknown command or argument, or the failure of what it runs.
pub(crate) async fn run(runner: &mut Runner, text: &str) -> Result<Flow, Failure> {
    let (command, argument) =
        text.split_once(char::is_whitespace).map_or((text, ""), |(command, argument)| (command, argument));
    // A semicolon out of habit does no harm.
    let argument = argument.trim().trim_end_matches(';').trim_end();
    if runner.restricted.is_some() && command != "\\unrestrict" {
        return Err(complaint(&format!("{command} is refused between \\restrict and \\unrestrict")));
    }
    match command.trim_end_matches(';') {
        // What pg_dump writes around its statements, so that nothing in them is taken for a command.
        "\\restrict" if argument.is_empty() => return Err(complaint("\\restrict needs a key")),
        "\\restrict" => runner.restricted = Some(argument.to_owned()),
        "\\unrestrict" if runner.restricted.as_deref() == Some(argument) => runner.restricted = None,
        "\\unrestrict" => return Err(complaint("\\unrestrict needs the key that \\restrict was given")),
        "\\q" | "\\quit" => return Ok(Flow::Leave),
        "\\?" | "\\h" | "\\help" => show_help()?,
        "\\d" | "\\dt" | "\\d+" | "\\dt+" if argument.is_empty() => runner.statement("SHOW TABLES").await?,
        "\\d" | "\\dt" => describe::columns(runner, argument).await?,
        "\\d+" | "\\dt+" => describe::columns_and_storage(runner, argument).await?,
        "\\options" => show_options(argument)?,
        "\\timing" => {
            runner.timing = switch(command, argument, runner.timing)?;
            note(&format!("Timing is {}.", on_or_off(runner.timing)));
        }
        "\\x" => {
            runner.expanded = match argument {
                "auto" => Expanded::Auto,
                other if switch(command, other, runner.expanded == Expanded::On)? => Expanded::On,
                _ => Expanded::Off,
            };
            note(match runner.expanded {
                Expanded::On => "Expanded display is on.",
                Expanded::Off => "Expanded display is off.",
                Expanded::Auto => "Expanded display is used automatically.",
            });
        }
        "\\i" if argument.is_empty() => return Err(complaint("\\i needs the name of a file")),
        "\\i" => return runner.file(&PathBuf::from(unquoted(argument))).await,
        other => {
            return Err(complaint(&format!("{other} is not a meta-command; \\? lists them")));
        }
    }
    Ok(Flow::Stay)
}

fn show_help() -> Result<(), Failure> {
    std::io::stdout().write_all(HELP.as_bytes()).map_err(|error| Reason::output(error).into())
}

/// Explains the options whose names begin with `start`.
fn show_options(start: &str) -> Result<(), Failure> {
    let start = start.to_ascii_uppercase();
    let mut text = String::new();
    for option in OPTIONS.iter().filter(|option| option.name.starts_with(&start)) {
        let places: Vec<_> = option.places().collect();
        let _ = writeln!(
            text,
            "{} {}\n  {}\n  default: {}; for {}",
            option.name,
            option.values.replace('`', ""),
            option.meaning.replace('`', ""),
            option.default.replace('`', ""),
            places.join(", ")
        );
    }
    if text.is_empty() {
        return Err(complaint(&format!("no option begins with {start}; \\options lists them")));
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Reason::output(error).into())
}

/// What a switch is set to: `on`, `off`, or the opposite of what it was.
fn switch(command: &str, argument: &str, before: bool) -> Result<bool, Failure> {
    match argument.to_ascii_lowercase().as_str() {
        "" => Ok(!before),
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(complaint(&format!("{command} {argument}: neither on nor off"))),
    }
}

fn on_or_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn complaint(message: &str) -> Failure {
    Reason::Message(message.to_owned()).into()
}

/// A file name without the quotes around it.
fn unquoted(name: &str) -> &str {
    ['\'', '"'].into_iter().find_map(|quote| name.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(name)
}
