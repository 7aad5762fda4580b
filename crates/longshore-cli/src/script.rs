//! Decides where statements and meta-commands begin and end in text that comes line by line.
//!
//! A line that starts with a backslash, where no statement is open, is a meta-command; everything else is SQL up to
//! a semicolon. Lines are counted, so that an error can name the line of its statement.
//!
//! Not here: what a meta-command does (`run::meta`), running statements (`run`).

use longshore_engine::split;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A statement, without its semicolon.
    Statement {
        /// Its text.
        sql: String,
        /// The line of its first word, from 1.
        line: usize,
    },
    /// A meta-command.
    Meta {
        /// The line, with its backslash.
        text: String,
        /// Its number, from 1.
        line: usize,
    },
}

/// Text that has come in and what of it is not yet done.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The open statement with its line ends.
    open: String,
    /// Line on which `open` starts, from 0.
    open_line: usize,
    lines: usize,
}

impl Script {
    /// Takes the next line, with or without its line end; returns what is complete with it.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Item> {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if self.open.is_empty() {
            self.open_line = self.lines;
        }
        self.lines += 1;
        if line.trim_start().starts_with('\\') && is_blank(&self.open) {
            self.open.clear();
            return vec![Item::Meta { text: line.trim().to_owned(), line: self.lines }];
        }
        self.open.push_str(line);
        self.open.push('\n');
        // Only a semicolon can complete a statement; without this a long one is split again at each line.
        if line.contains(';') { self.take_complete() } else { Vec::new() }
    }

    /// Counts lines that were read by others.
    pub(crate) fn skip(&mut self, lines: usize) {
        self.lines += lines;
    }

    /// The statement that is still open at the end of the text, if any.
    pub(crate) fn end(&mut self) -> Option<Item> {
        let open = std::mem::take(&mut self.open);
        if is_blank(&open) {
            return None;
        }
        let sql = open.trim();
        let offset = open.len() - open.trim_start().len();
        Some(Item::Statement {
            line: 1 + self.open_line + newlines(&open[..offset + leading_blank(sql)]),
            sql: sql.to_owned(),
        })
    }

    /// Whether no statement is open.
    pub(crate) fn is_blank(&self) -> bool {
        is_blank(&self.open)
    }

    fn take_complete(&mut self) -> Vec<Item> {
        let found = split(&self.open);
        let mut at = 0;
        let mut items = Vec::with_capacity(found.statements.len());
        for sql in found.statements {
            // Only white space and semicolons lie before a statement, so the first match is the statement.
            let start = at + self.open[at..].find(&sql).unwrap_or(0);
            at = start + sql.len();
            if !is_blank(&sql) {
                let first_word = start + leading_blank(&sql);
                items.push(Item::Statement { line: 1 + self.open_line + newlines(&self.open[..first_word]), sql });
            }
        }
        let rest =
            if found.rest.is_empty() { self.open.len() } else { at + self.open[at..].find(&found.rest).unwrap_or(0) };
        self.open_line += newlines(&self.open[..rest]);
        self.open.drain(..rest);
        items
    }
}

/// Whether `sql` is white space and complete comments alone.
pub(crate) fn is_blank(sql: &str) -> bool {
    leading_blank(sql) == sql.len()
}

/// The first word of `sql` in lower case.
pub(crate) fn first_word(sql: &str) -> String {
    sql[leading_blank(sql)..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("").to_ascii_lowercase()
}

/// Length of the white space and complete comments at the start of `sql`.
fn leading_blank(sql: &str) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 0;
    loop {
        at += sql[at..].len() - sql[at..].trim_start().len();
        let rest = &bytes[at..];
        if rest.starts_with(b"--") {
            at = sql[at..].find('\n').map_or(sql.len(), |end| at + end + 1);
        } else if rest.starts_with(b"/*") {
            match comment_length(rest) {
                Some(length) => at += length,
                None => return at,
            }
        } else {
            return at;
        }
    }
}

/// Length of the comment that `text` starts with, if it is closed; comments nest.
fn comment_length(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(pair) = text.get(at..at + 2) {
        match pair {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Item> {
        let mut script = Script::default();
        let mut items: Vec<Item> = text.split_inclusive('\n').flat_map(|line| script.line(line)).collect();
        items.extend(script.end());
        items
    }

    fn statement(sql: &str, line: usize) -> Item {
        Item::Statement { sql: sql.to_owned(), line }
    }

    fn meta(text: &str, line: usize) -> Item {
        Item::Meta { text: text.to_owned(), line }
    }

    #[test]
    fn statements_know_their_lines() {
        assert_eq!(
            items("SELECT 1;\n\nSELECT\n 2; SELECT 3\n;\n-- done\n"),
            [statement("SELECT 1", 1), statement("SELECT\n 2", 3), statement("SELECT 3", 4)]
        );
        assert_eq!(
            items("-- a comment; with a semicolon\n/* another\n */ SELECT 1\n"),
            [statement("-- a comment; with a semicolon\n/* another\n */ SELECT 1", 3)]
        );
        assert_eq!(items(";;\n ;\nSELECT 1;"), [statement("SELECT 1", 3)]);
    }

    #[test]
    fn meta_commands_stand_between_statements() {
        assert_eq!(
            items("\\timing on\nSELECT '\n\\x\n';\n-- a\n  \\d t\n"),
            [meta("\\timing on", 1), statement("SELECT '\n\\x\n'", 2), meta("\\d t", 6)]
        );
    }

    #[test]
    fn comments_keep_their_line_ends() {
        assert_eq!(
            items("SELECT 1; -- one\nSELECT 2;\n"),
            [statement("SELECT 1", 1), statement("-- one\nSELECT 2", 2)]
        );
    }

    #[test]
    fn an_unfinished_statement_is_one() {
        assert_eq!(items("\n\nSELECT 'a;\n"), [statement("SELECT 'a;", 3)]);
        assert!(items("/* a */ -- b").is_empty());
        assert!(!is_blank("/* a"));
        assert_eq!(first_word(" -- x\n Copy(t)"), "copy");
    }
}
