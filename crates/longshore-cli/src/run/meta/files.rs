//! Files and programs: `\i`, `\o`, `\w`, `\copy`, `\cd`, `\!`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::super::results::{Destination, program};
use super::arguments::Arguments;
use super::{Failure, Reason, Runner, complaint, note};
use crate::script::{Script, literal};

/// Does what one of these commands says.
pub(super) async fn run(
    runner: &mut Runner,
    script: &Script,
    command: &str,
    arguments: &mut Arguments<'_>,
) -> Result<(), Failure> {
    match command {
        "\\o" | "\\out" => {
            let name = target(runner, arguments)?;
            let destination = Destination::open(&name).map_err(|error| Reason::file(Path::new(&name), error))?;
            finish(runner.results.replace(destination))
        }
        "\\w" | "\\write" => {
            let name = target(runner, arguments)?;
            if name.is_empty() {
                return Err(complaint("\\w needs the name of a file"));
            }
            let before = runner.results.replace(
                Destination::open(&name).map_err(|error| Failure::from(Reason::file(Path::new(&name), error)))?,
            );
            let written = runner.show_text(&format!("{}\n", script.buffer()));
            finish(runner.results.replace(before))?;
            written
        }
        "\\cd" => {
            let directory = match arguments.file(runner)? {
                Some(directory) => PathBuf::from(directory),
                None => PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into())),
            };
            std::env::set_current_dir(&directory).map_err(|error| Reason::file(&directory, error).into())
        }
        "\\!" => shell(arguments.whole()),
        _ => {
            let Some(name) = arguments.file(runner)? else {
                return Err(complaint(&format!("{command} needs the name of a file")));
            };
            let path = if command.starts_with("\\ir") || command == "\\include_relative" {
                runner.beside_script(&name)
            } else {
                PathBuf::from(name)
            };
            runner.file(&path).await
        }
    }
}

/// A file, `|command`, or nothing.
pub(super) fn target(runner: &Runner, arguments: &mut Arguments<'_>) -> Result<String, Failure> {
    if arguments.whole().starts_with('|') {
        return Ok(arguments.whole().to_owned());
    }
    Ok(arguments.file(runner)?.unwrap_or_default())
}

/// Waits until a program that took results has ended.
pub(super) fn finish(destination: Destination) -> Result<(), Failure> {
    destination.finish().map_err(|error| Reason::Message(format!("the program that takes results: {error}")).into())
}

/// Runs a command of the system's shell, or that shell.
fn shell(command: &str) -> Result<(), Failure> {
    let mut program = if command.is_empty() {
        std::process::Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "sh".into()))
    } else {
        program(command)
    };
    let status = program.status().map_err(|error| Reason::Message(format!("\\! {command}: {error}")))?;
    if !status.success() {
        note(&format!("\\! {command}: {status}"));
    }
    Ok(())
}

/// `\copy`: COPY with a file that need not be quoted, with the lines that follow, or with a program.
pub(super) async fn copy(runner: &mut Runner, text: &str) -> Result<(), Failure> {
    let text = text.trim_end_matches(';').trim_end();
    let wrong = || {
        complaint(
            "\\copy: write \\copy table | (query) FROM | TO 'file' | STDIN | STDOUT | PROGRAM 'command' [options]",
        )
    };
    let (head, direction, rest) = parts(text).ok_or_else(wrong)?;
    let (word, after) = first_word(rest);
    match word.to_ascii_lowercase().as_str() {
        "" => Err(wrong()),
        "stdin" | "stdout" => runner.statement(&format!("COPY {head} {direction} {word} {after}")).await,
        "pstdin" => runner.statement(&format!("COPY {head} {direction} '/dev/stdin' {after}")).await,
        "pstdout" => runner.statement(&format!("COPY {head} {direction} '/dev/stdout' {after}")).await,
        "program" => {
            let (command, options) = first_word(after);
            let command = unquoted(command);
            if command.is_empty() {
                return Err(wrong());
            }
            if direction == "TO" {
                to_program(runner, head, &command, options).await
            } else {
                from_program(runner, head, &command, options).await
            }
        }
        _ => {
            let file = unquoted(word);
            runner.statement(&format!("COPY {head} {direction} {} {after}", literal(&file))).await
        }
    }
}

async fn to_program(runner: &mut Runner, head: &str, command: &str, options: &str) -> Result<(), Failure> {
    let opened = Destination::open(&format!("|{command}"));
    let opened = opened.map_err(|error| Reason::Message(format!("{command}: {error}")))?;
    let before = runner.results.replace(opened);
    let done = runner.statement(&format!("COPY {head} TO STDOUT {options}")).await;
    finish(runner.results.replace(before))?;
    done
}

async fn from_program(runner: &mut Runner, head: &str, command: &str, options: &str) -> Result<(), Failure> {
    // Its output passes through a file, which COPY can read as it reads others.
    let failed = |error: std::io::Error| Failure::from(Reason::Message(format!("{command}: {error}")));
    let path = std::env::temp_dir().join(format!("longshore-copy-{}", std::process::id()));
    let file = fs::File::create(&path).map_err(failed)?;
    let status = program(command).stdout(Stdio::from(file)).status();
    let done = match status {
        Ok(status) if status.success() => {
            let name = path.display().to_string();
            runner.statement(&format!("COPY {head} FROM {} {options}", literal(&name))).await
        }
        Ok(status) => Err(complaint(&format!("{command}: {status}"))),
        Err(error) => Err(failed(error)),
    };
    // Whatever became of it, nobody needs the file.
    let _ = fs::remove_file(&path);
    done
}

/// What stands before FROM or TO, the word itself, and what follows; words in quotes and parentheses do not count.
fn parts(text: &str) -> Option<(&str, &'static str, &str)> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut word_start = 0;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            (c, None) if c.is_whitespace() => {
                let direction = match text[word_start..at].to_ascii_lowercase().as_str() {
                    "from" => Some("FROM"),
                    "to" => Some("TO"),
                    _ => None,
                };
                if let Some(direction) = direction.filter(|_| depth == 0) {
                    return Some((text[..word_start].trim(), direction, text[at..].trim()));
                }
                word_start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    None
}

/// The first word of `text`, which may stand in single quotes, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let end = match text.strip_prefix('\'') {
        Some(inner) => inner.find('\'').map_or(text.len(), |end| end + 2),
        None => text.find(char::is_whitespace).unwrap_or(text.len()),
    };
    (&text[..end], text[end..].trim())
}

fn unquoted(word: &str) -> String {
    word.trim_matches('\'').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_copy() {
        assert_eq!(parts("t (a) from f.csv csv"), Some(("t (a)", "FROM", "f.csv csv")));
        assert_eq!(parts("(select 'to' from t) to 'a b' x"), Some(("(select 'to' from t)", "TO", "'a b' x")));
        assert_eq!(parts("t"), None);
        assert_eq!(first_word("'a b' (header)"), ("'a b'", "(header)"));
        assert_eq!(first_word("f.csv"), ("f.csv", ""));
    }
}
