//! Scripts for psql, cut into statements.
//!
//! Of psql's own commands only those are followed that name the files of data (`\getenv`, `\set`). Statements that end in
//! another command (`\gset`, `\gexec`) or use a variable that one has set are marked.

use std::collections::BTreeMap;
use std::path::Path;

use longshore_engine::split;
use regex::Regex;

use super::text_format::TextFormat;

/// A statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its text, without the semicolon.
    pub sql: String,
    /// The data that it copies from standard input, with line ends.
    pub input: Vec<u8>,
    /// Its last line in the script, from 1.
    pub line: usize,
    /// Whether only psql can run it.
    pub needs_psql: bool,
}

/// The statements of the file `name` of the regression files in `folder`.
///
/// # Panics
/// When the file cannot be read.
#[must_use]
pub fn read(folder: &Path, name: &str) -> Vec<Statement> {
    read_file(&folder.join("sql").join(name).with_extension("sql"), folder)
}

/// The statements of the script at `path`, whose data is in `folder`.
///
/// # Panics
/// When the file cannot be read.
#[must_use]
pub fn read_file(path: &Path, folder: &Path) -> Vec<Statement> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let text = String::from_utf8_lossy(&bytes);
    let mut reader = Reader::new(folder);
    let mut lines = text.lines().enumerate();
    let mut statements = Vec::new();
    while let Some((number, line)) = lines.next() {
        for mut statement in reader.line(line) {
            statement.line = number + 1;
            if statement.input.is_empty() && reader.copies_from_stdin(&statement.sql) {
                for (_, data) in lines.by_ref().take_while(|(_, data)| *data != "\\.") {
                    statement.input.extend_from_slice(data.as_bytes());
                    statement.input.push(b'\n');
                }
            }
            statements.push(statement);
        }
    }
    statements
}

struct Reader {
    /// The statement that has begun.
    open: String,
    /// psql's variables; `None` where only psql knows the value.
    variables: BTreeMap<String, Option<String>>,
    folder: String,
    command_in_statement: Regex,
    copy_from_stdin: Regex,
    variable: Regex,
    copy_from_file: Regex,
    text_format: TextFormat,
}

impl Reader {
    fn new(folder: &Path) -> Self {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is right");
        Self {
            open: String::new(),
            variables: BTreeMap::new(),
            folder: folder.display().to_string(),
            command_in_statement: regex(r"(^|\s)\\(gset|gexec|gdesc|gx|g|crosstabview|watch|bind)\b.*$"),
            copy_from_stdin: regex(r"(?is)^(\s|--[^\n]*\n|/\*.*?\*/)*copy\s.*\sfrom\s+stdin\b"),
            variable: regex(r#":(['"]?)([A-Za-z_][A-Za-z0-9_]*)['"]?"#),
            copy_from_file: regex(r"(?is)^((?:\s|--[^\n]*\n|/\*.*?\*/)*copy\s.*\sfrom\s+)'([^']*/data/[^']*)'"),
            text_format: TextFormat::default(),
        }
    }

    fn copies_from_stdin(&self, sql: &str) -> bool {
        self.copy_from_stdin.is_match(sql)
    }

    /// Takes a line; gives what it completes.
    fn line(&mut self, line: &str) -> Vec<Statement> {
        if is_blank(&self.open) && line.trim_start().starts_with('\\') {
            self.open.clear();
            self.command(line.trim());
            return Vec::new();
        }
        let command = self.command_in_statement.find(line).map(|found| found.start());
        self.open.push_str(command.map_or(line, |at| &line[..at]));
        if command.is_some() {
            self.open.push(';');
        }
        self.open.push('\n');
        if !self.open.contains(';') {
            return Vec::new();
        }
        let found = split(&self.open);
        self.open = found.rest;
        self.open.push('\n');
        let complete = found.statements.into_iter().map(|sql| self.statement(&sql, command.is_some()));
        complete.collect()
    }

    fn statement(&self, sql: &str, has_command: bool) -> Statement {
        let mut needs_psql = has_command || sql.ends_with('\\');
        let text = self.variable.replace_all(sql, |found: &regex::Captures<'_>| match self.variables.get(&found[2]) {
            None => found[0].to_owned(),
            Some(Some(value)) if &found[1] == "'" => format!("'{value}'"),
            Some(Some(value)) => value.clone(),
            Some(None) => {
                needs_psql = true;
                found[0].to_owned()
            }
        });
        let (sql, input) = match self.copy_from_file.captures(&text) {
            Some(found) => {
                let end = found.get(0).map_or(0, |all| all.end());
                let input = std::fs::read(&found[2]).unwrap_or_else(|error| panic!("{}: {error}", &found[2]));
                (format!("{}stdin{}", &found[1], &text[end..]), input)
            }
            None => (text.into_owned(), Vec::new()),
        };
        Statement { sql: self.text_format.said(&sql), input, line: 0, needs_psql }
    }

    fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let command = words.next();
        let Some(name) = words.next() else { return };
        let value = match command {
            Some("\\getenv") => (name == "abs_srcdir").then(|| self.folder.clone()),
            Some("\\set") => self.value(&words.collect::<Vec<_>>()),
            _ => return,
        };
        self.variables.insert(name.to_owned(), value);
    }

    /// The words of `\set` together, if each is known.
    fn value(&self, words: &[&str]) -> Option<String> {
        let parts = words.iter().map(|word| match word.strip_prefix(':') {
            Some(name) => self.variables.get(name).cloned().flatten(),
            None => Some(word.trim_matches('\'').to_owned()),
        });
        parts.collect()
    }
}

/// Whether it is white space and comments alone.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with("--"))
}
