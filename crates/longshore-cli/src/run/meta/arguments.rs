//! The arguments of a meta-command, which stand apart by blanks.
//!
//! In single quotes, backslashes escape as in C; double quotes stay, and hold blanks; backquotes stand for what a command of
//! the system's shell writes; `:name` for the value of a variable.

use super::super::results::program;
use super::{Failure, Reason, Runner, complaint, truth};

/// What follows the name of a meta-command.
pub(super) struct Arguments<'a> {
    rest: &'a str,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self { rest: rest.trim() }
    }

    /// All that is left, as it is written.
    pub(super) fn whole(&self) -> &'a str {
        self.rest
    }

    /// The next argument.
    pub(super) fn next(&mut self, runner: &Runner) -> Result<Option<String>, Failure> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut argument = String::new();
        let mut at = 0;
        while let Some(c) = self.rest[at..].chars().next().filter(|c| !c.is_whitespace()) {
            let rest = &self.rest[at..];
            at += match c {
                '\'' => quoted(rest, &mut argument)?,
                '"' => {
                    let end = rest[1..].find('"').ok_or_else(|| complaint("a double quote is not closed"))?;
                    argument.push_str(&rest[..end + 2]);
                    end + 2
                }
                '`' => {
                    let end = rest[1..].find('`').ok_or_else(|| complaint("a backquote is not closed"))?;
                    argument.push_str(&output_of(&rest[1..=end])?);
                    end + 2
                }
                ':' => {
                    if let Some((length, value)) = runner.variables.at(rest) {
                        argument.push_str(&value);
                        length
                    } else {
                        argument.push(c);
                        1
                    }
                }
                c => {
                    argument.push(c);
                    c.len_utf8()
                }
            };
        }
        self.rest = self.rest[at..].trim_start();
        Ok(Some(argument))
    }

    /// The next argument without a semicolon at its end, which does no harm out of habit.
    pub(super) fn name(&mut self, runner: &Runner) -> Result<Option<String>, Failure> {
        let name = self.next(runner)?.map(|name| name.trim_end_matches(';').to_owned());
        Ok(name.filter(|name| !name.is_empty()))
    }

    /// The next argument as the name of a file.
    pub(super) fn file(&mut self, runner: &Runner) -> Result<Option<String>, Failure> {
        let is_quoted = self.rest.starts_with('"');
        let name = self.name(runner)?;
        Ok(name.map(|name| if is_quoted { name.trim_matches('"').to_owned() } else { name }))
    }

    /// What a switch is set to: `on`, `off`, or the opposite of what it was.
    pub(super) fn switch(&mut self, runner: &Runner, command: &str, before: bool) -> Result<bool, Failure> {
        match self.name(runner)? {
            None => Ok(!before),
            Some(word) => truth(&word).ok_or_else(|| complaint(&format!("{command} {word}: neither on nor off"))),
        }
    }

    /// Whether a condition holds: it is a word for yes or no.
    pub(super) fn condition(&mut self, runner: &Runner) -> Result<bool, Failure> {
        let mut words = Vec::new();
        while let Some(word) = self.next(runner)? {
            words.push(word);
        }
        let text = words.join(" ");
        truth(&text).ok_or_else(|| complaint(&format!("\\if {text}: neither true nor false")))
    }
}

/// Appends what stands in the single quotes at the start of `text`; returns the length with the quotes.
fn quoted(text: &str, argument: &mut String) -> Result<usize, Failure> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, c)| *c == '\'') => {
                chars.next();
                argument.push('\'');
            }
            '\'' => return Ok(at + 1),
            '\\' => match chars.next() {
                Some((_, 'n')) => argument.push('\n'),
                Some((_, 't')) => argument.push('\t'),
                Some((_, 'r')) => argument.push('\r'),
                Some((_, 'b')) => argument.push('\u{8}'),
                Some((_, 'f')) => argument.push('\u{c}'),
                Some((_, c)) => argument.push(c),
                None => break,
            },
            c => argument.push(c),
        }
    }
    Err(complaint("a single quote is not closed"))
}

/// What a command of the system's shell writes, without line ends at its end.
fn output_of(command: &str) -> Result<String, Failure> {
    let failed = |what: String| Failure::from(Reason::Message(format!("`{command}`: {what}")));
    let output = program(command).stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}
