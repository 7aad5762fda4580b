//! The commands that start with a backslash, in the shell and in scripts, after psql's.

mod arguments;
mod buffer;
mod display;
mod files;
mod help;
mod lists;
mod values;

use super::{Failure, Reason, Runner, describe, note};
use crate::script::{Misplaced, Script, truth};
use arguments::Arguments;

pub(crate) use help::COMMANDS;

/// Commands of sqlite3 and DuckDB, and what they are called here.
const OTHER_NAMES: [(&str, &str); 17] = [
    (".cd", "\\cd"),
    (".databases", "\\l"),
    (".echo", "\\echo"),
    (".exit", "\\q"),
    (".help", "\\?"),
    (".mode", "\\pset format"),
    (".nullvalue", "\\pset null"),
    (".output", "\\o"),
    (".print", "\\echo"),
    (".quit", "\\q"),
    (".read", "\\i"),
    (".schema", "\\d"),
    (".separator", "\\f"),
    (".shell", "\\!"),
    (".system", "\\!"),
    (".tables", "\\d"),
    (".timer", "\\timing"),
];

/// Whether to go on after a meta-command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Stay,
    /// Leave the shell or the script.
    Leave,
}

/// Does what `text` says; `script` has the statement that is open.
///
/// # Errors
///
/// An unknown command or argument, or the failure of what it runs.
pub(crate) async fn run(runner: &mut Runner, script: &mut Script, text: &str) -> Result<Flow, Failure> {
    let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let command = command.trim_end_matches(';');
    let written_out;
    let (command, rest) = match OTHER_NAMES.iter().find(|(name, _)| *name == command) {
        Some((_, meant)) => {
            written_out = format!("{meant} {rest}");
            written_out.split_once(' ').unwrap_or_default()
        }
        None => match command.strip_prefix("\\!").filter(|shell| !shell.is_empty()) {
            Some(_) => ("\\!", &text[2..]),
            None => (command, rest),
        },
    };
    let mut arguments = Arguments::new(rest);
    if runner.restricted.is_some() && command != "\\unrestrict" {
        return Err(complaint(&format!("{command} is refused between \\restrict and \\unrestrict")));
    }
    match command {
        // What pg_dump writes around its statements, so that nothing in them is taken for a command.
        "\\restrict" => {
            let key = arguments.name(runner)?.ok_or_else(|| complaint("\\restrict needs a key"))?;
            runner.restricted = Some(key);
        }
        "\\unrestrict" => {
            if runner.restricted.is_none() || arguments.name(runner)? != runner.restricted {
                return Err(complaint("\\unrestrict needs the key that \\restrict was given"));
            }
            runner.restricted = None;
        }
        "\\if" => {
            let holds = script.conditions.is_active() && arguments.condition(runner)?;
            script.conditions.begin(holds);
        }
        "\\elif" => {
            let holds = script.conditions.asks() && arguments.condition(runner)?;
            script.conditions.otherwise_if(holds)?;
        }
        "\\else" => script.conditions.otherwise()?,
        "\\endif" => script.conditions.end()?,
        "\\q" | "\\quit" => return Ok(Flow::Leave),
        "\\?" | "\\h" | "\\help" => runner.show_text(&help::text())?,
        "\\options" => runner.show_text(&help::options(&arguments.name(runner)?.unwrap_or_default())?)?,
        "\\copyright" => runner.show_text(help::COPYRIGHT)?,
        "\\d" | "\\d+" | "\\dt" | "\\dt+" | "\\dv" | "\\dv+" | "\\di" | "\\di+" | "\\ds" | "\\ds+" | "\\df"
        | "\\df+" | "\\dn" | "\\dn+" | "\\l" | "\\l+" => lists::list(runner, command, &mut arguments).await?,
        "\\timing" => {
            runner.timing = arguments.switch(runner, command, runner.timing)?;
            runner.remark(&format!("Timing is {}.", on_or_off(runner.timing)));
        }
        "\\x" | "\\a" | "\\t" | "\\f" | "\\C" | "\\pset" => display::run(runner, command, &mut arguments)?,
        "\\set" | "\\unset" | "\\echo" | "\\qecho" | "\\warn" | "\\prompt" | "\\getenv" | "\\setenv" => {
            values::run(runner, command, &mut arguments)?;
        }
        "\\i" | "\\include" | "\\ir" | "\\include_relative" | "\\o" | "\\out" | "\\w" | "\\write" | "\\cd" | "\\!" => {
            files::run(runner, script, command, &mut arguments).await?;
        }
        "\\copy" => files::copy(runner, rest.trim()).await?,
        "\\g" | "\\gx" | "\\gset" | "\\gexec" | "\\gdesc" | "\\watch" | "\\p" | "\\print" | "\\r" | "\\reset"
        | "\\e" | "\\edit" => buffer::run(runner, script, command, &mut arguments).await?,
        "\\conninfo" => runner.show_text(&connection(runner))?,
        "\\encoding" => encoding(runner, &mut arguments)?,
        "\\errverbose" => runner.show_text(&last_error(runner))?,
        other => return Err(complaint(&format!("{other} is not a meta-command; \\? lists them"))),
    }
    Ok(Flow::Stay)
}

/// Where the database is.
fn place(runner: &Runner) -> String {
    match &runner.directory {
        None => "in memory".to_owned(),
        Some(path) if runner.database().is_read_only() => format!("in {}, which is only read", path.display()),
        Some(path) => format!("in {}", path.display()),
    }
}

fn connection(runner: &Runner) -> String {
    format!("The database is {}; the program is Longshore {}.\n", place(runner), env!("LONGSHORE_VERSION"))
}

fn encoding(runner: &Runner, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    match arguments.name(runner)? {
        None => runner.show_text("UTF8\n"),
        Some(name) if ["utf8", "utf-8", "unicode"].contains(&name.to_ascii_lowercase().as_str()) => Ok(()),
        Some(name) => Err(complaint(&format!(
            "\\encoding {name}: statements and results are UTF-8; COPY reads other encodings with the option ENCODING"
        ))),
    }
}

/// The last error with what it is about.
fn last_error(runner: &Runner) -> String {
    let Some(error) = &runner.last_error else { return "There is no previous error.\n".to_owned() };
    let details = error.details();
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let parts = [
        ("FILE", details.file.clone()),
        ("LINE", number(details.line)),
        ("BYTE", number(details.byte)),
        ("TABLE", details.table.clone()),
        ("COLUMN", details.column.clone()),
        ("CONSTRAINT", details.constraint.clone()),
        ("VALUE", details.value.clone()),
    ];
    let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name}:  {}\n", value?)));
    format!("ERROR:  {}: {error}\n{}", error.kind().sqlstate(), parts.collect::<String>())
}

fn on_or_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn complaint(message: &str) -> Failure {
    Reason::Message(message.to_owned()).into()
}

impl From<Misplaced> for Failure {
    fn from(Misplaced(message): Misplaced) -> Self {
        complaint(message)
    }
}
