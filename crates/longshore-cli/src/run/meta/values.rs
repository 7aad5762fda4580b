//! Variables, and text that is written as it is.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::PoisonError;

use super::arguments::Arguments;
use super::{Failure, Reason, Runner, complaint, note, truth};
use crate::script::{Lines, literal, name_in};

/// Variables to which psql heeds and this program does not, but for their usual value.
const UNHEEDED: [(&str, &str); 4] =
    [("AUTOCOMMIT", "on"), ("ON_ERROR_ROLLBACK", "off"), ("SINGLELINE", "off"), ("SINGLESTEP", "off")];

/// Does what one of these commands says.
pub(super) fn run(runner: &mut Runner, command: &str, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    match command {
        "\\set" => set(runner, arguments),
        "\\unset" => {
            let name = arguments.name(runner)?.ok_or_else(|| complaint("\\unset needs the name of a variable"))?;
            runner.variables.unset(&name);
            Ok(())
        }
        "\\prompt" => prompt(runner, arguments),
        "\\getenv" => {
            let (Some(name), Some(variable)) = (arguments.name(runner)?, arguments.name(runner)?) else {
                return Err(complaint("\\getenv needs the name of a variable, and that of one of the environment"));
            };
            if let Ok(value) = std::env::var(variable) {
                runner.variables.set(checked(&name)?, value);
            }
            Ok(())
        }
        "\\setenv" => Err(complaint("\\setenv is not supported; set the variable before the program starts")),
        _ => echo(runner, command, arguments),
    }
}

fn set(runner: &mut Runner, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let Some(name) = arguments.next(runner)? else {
        let list = runner.variables.iter().fold(String::new(), |mut text, (name, value)| {
            let _ = writeln!(text, "{name} = {}", literal(value));
            text
        });
        return runner.show_text(&list);
    };
    let mut value = String::new();
    while let Some(part) = arguments.next(runner)? {
        value.push_str(&part);
    }
    if let Some((_, usual)) = UNHEEDED.iter().find(|(unheeded, _)| *unheeded == name)
        && truth(&value) != truth(usual)
    {
        return Err(complaint(&format!("\\set {name}: it is always {usual} here")));
    }
    runner.variables.set(checked(&name)?, value);
    Ok(())
}

/// A name that a variable can have.
fn checked(name: &str) -> Result<&str, Failure> {
    if name.is_empty() || name_in(name) != name {
        return Err(complaint(&format!("{name:?} is no name of a variable; it has letters, digits and _ only")));
    }
    Ok(name)
}

fn echo(runner: &Runner, command: &str, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let mut words = Vec::new();
    while let Some(word) = arguments.next(runner)? {
        words.push(word);
    }
    let ends = words.first().is_none_or(|word| word != "-n");
    let words = if ends { words.as_slice() } else { &words[1..] };
    let text = words.join(" ") + if ends { "\n" } else { "" };
    match command {
        "\\warn" => {
            note(text.trim_end_matches('\n'));
            Ok(())
        }
        "\\qecho" => runner.show_text(&text),
        _ => io::stdout().write_all(text.as_bytes()).map_err(|error| Reason::output(error).into()),
    }
}

/// Sets a variable to the next line of the terminal.
fn prompt(runner: &mut Runner, arguments: &mut Arguments<'_>) -> Result<(), Failure> {
    let (first, second) = (arguments.next(runner)?, arguments.next(runner)?);
    let (text, name) = match (first, second) {
        (Some(text), Some(name)) => (text, name),
        (Some(name), None) => (String::new(), name),
        (None, _) => return Err(complaint("\\prompt needs the name of a variable")),
    };
    let failed = |error| Failure::from(Reason::Terminal(format!("the terminal cannot be read: {error}")));
    eprint!("{text}");
    let lines = runner.lines.clone().unwrap_or_else(Lines::standard);
    let mut line = Vec::new();
    let length = lines.lock().unwrap_or_else(PoisonError::into_inner).read(&mut line).map_err(failed)?;
    runner.data_lines += usize::from(length > 0 && runner.lines.is_some());
    runner.variables.set(checked(&name)?, String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
    Ok(())
}
