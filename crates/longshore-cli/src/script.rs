//! Decides where statements and meta-commands begin and end in text that comes line by line.
//!
//! A semicolon ends a statement unless it stands in a text, a quoted name, a comment or between dollar quotes. A backslash
//! outside of these begins a meta-command, also behind an open statement, which stays open (`SELECT 1 \gx`); so does a period
//! where no statement is open (`.mode csv`). Variables are replaced while the text is read, as psql does. Lines are counted, so that an error can name the line of its statement.
//!
//! Not here: what a meta-command does (`run::meta`), running statements (`run`).

mod conditions;
mod lexical;
mod lines;
mod variables;

use conditions::Conditions;
pub(crate) use conditions::Misplaced;
use lexical::{comment_end, dollar_tag, ends_with_name, line_end, newlines, opens_escapes, quotes_end};
pub(crate) use lexical::{first_word, is_blank};
pub(crate) use lines::{Lines, SharedLines};
pub(crate) use variables::{Variables, literal, name_in, truth};

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
        /// Its text, with its backslash.
        text: String,
        /// The number of its line, from 1.
        line: usize,
    },
}

/// Text that has come in and what of it is not yet done.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// What has come in.
    waiting: String,
    /// How much of `waiting` is done with.
    at: usize,
    /// Bytes from there that are the value of a variable: in them nothing is replaced.
    replaced: usize,
    /// Lines before that place.
    lines: usize,
    /// The open statement with its line ends.
    open: String,
    within: Within,
    /// Parentheses that are open.
    depth: usize,
    /// The line of the first word of `open`, from 1.
    first_word_line: Option<usize>,
    /// The statement before `open`.
    previous: String,
    /// What `\if` has said.
    pub(crate) conditions: Conditions,
    /// Whether `pg_dump` has written it.
    pub(crate) is_dump: bool,
}

/// What the end of the open statement stands in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Code,
    /// A text or a quoted name.
    Quotes {
        quote: u8,
        backslash_escapes: bool,
    },
    LineComment,
    /// A comment, this many deep.
    Comment(usize),
    /// Dollar quotes with their tag.
    Dollars(String),
}

impl Script {
    /// Takes the next line, with or without its line end, or several lines.
    pub(crate) fn push(&mut self, line: &str) {
        for line in line.split_inclusive('\n') {
            let line = line.strip_suffix('\n').unwrap_or(line);
            self.waiting.push_str(line.strip_suffix('\r').unwrap_or(line));
            self.waiting.push('\n');
        }
    }

    /// Puts text before all that waits, as if it had been typed.
    pub(crate) fn push_front(&mut self, text: &str) {
        self.waiting.insert_str(self.at, text);
        self.replaced = 0;
    }

    /// Data were read from the source of the lines, which are not part of the script.
    pub(crate) fn skip_lines(&mut self, lines: usize) {
        self.lines += lines;
    }

    /// The next item that is complete; nothing if another line is needed.
    pub(crate) fn next(&mut self, variables: &Variables) -> Option<Item> {
        loop {
            let item = self.scan(variables)?;
            let is_wanted = match &item {
                Item::Statement { .. } => self.conditions.is_active(),
                Item::Meta { text, .. } => self.conditions.is_active() || conditions::is_condition(text),
            };
            if is_wanted {
                if let Item::Statement { sql, .. } = &item {
                    self.previous.clone_from(sql);
                }
                return Some(item);
            }
        }
    }

    /// The statement that is still open at the end of the text, if any.
    pub(crate) fn end(&mut self) -> Option<Item> {
        let line = self.first_word_line;
        let open = self.reset();
        let sql = open.trim().to_owned();
        line.filter(|_| self.conditions.is_active()).map(|line| Item::Statement { sql, line })
    }

    /// Whether no statement is open.
    pub(crate) fn is_blank(&self) -> bool {
        self.first_word_line.is_none() && self.within == Within::Code
    }

    /// The open statement, or the one before it if none is open.
    pub(crate) fn buffer(&self) -> &str {
        if self.first_word_line.is_some() { self.open.trim() } else { &self.previous }
    }

    /// Takes the open statement, or the one before it if none is open.
    pub(crate) fn take_buffer(&mut self) -> String {
        if self.first_word_line.is_some() {
            self.reset().trim().clone_into(&mut self.previous);
        }
        self.previous.clone()
    }

    /// Drops the open statement.
    pub(crate) fn clear_buffer(&mut self) {
        self.reset();
    }

    /// Drops all that has come in and is not done.
    pub(crate) fn clear(&mut self) {
        self.reset();
        self.waiting.clear();
        (self.at, self.replaced) = (0, 0);
    }

    /// What is not yet looked at.
    fn rest(&self) -> &str {
        &self.waiting[self.at..]
    }

    /// What the next line continues, as psql's prompts tell it: `=` for nothing, `-` for a statement, `'`, `"`, `$`, `*` or
    /// `(` for what is open in it.
    pub(crate) fn continues(&self) -> char {
        match &self.within {
            Within::Quotes { quote, .. } => char::from(*quote),
            Within::Comment(_) => '*',
            Within::Dollars(_) => '$',
            Within::Code | Within::LineComment if self.first_word_line.is_none() => '=',
            Within::Code | Within::LineComment if self.depth > 0 => '(',
            Within::Code | Within::LineComment => '-',
        }
    }

    /// The text of the statement that ends or is given up here.
    fn reset(&mut self) -> String {
        self.within = Within::Code;
        self.depth = 0;
        self.first_word_line = None;
        std::mem::take(&mut self.open)
    }

    /// Looks at what waits, up to the end of an item.
    fn scan(&mut self, variables: &Variables) -> Option<Item> {
        while !self.rest().is_empty() {
            match self.within {
                Within::Code => {
                    if let Some(item) = self.scan_code(variables) {
                        return Some(item);
                    }
                }
                _ => self.scan_inside(),
            }
        }
        None
    }

    /// Moves `length` bytes that wait to the open statement.
    fn take(&mut self, length: usize) {
        let taken = &self.waiting[self.at..self.at + length];
        self.lines += newlines(&taken.as_bytes()[self.replaced.min(length)..]);
        self.open.push_str(taken);
        self.replaced = self.replaced.saturating_sub(length);
        self.at += length;
        if self.at == self.waiting.len() {
            self.waiting.clear();
            self.at = 0;
        }
    }

    /// Drops `length` bytes that wait.
    fn skip(&mut self, length: usize) {
        let before = self.open.len();
        self.take(length);
        self.open.truncate(before);
    }

    /// Takes what stands in quotes or a comment, up to its end.
    fn scan_inside(&mut self) {
        let bytes = self.rest().as_bytes();
        let (end, after) = match &self.within {
            Within::Code => return,
            Within::LineComment => (line_end(bytes), Within::Code),
            Within::Quotes { quote, backslash_escapes } => match quotes_end(bytes, *quote, *backslash_escapes) {
                Some(end) => (end, Within::Code),
                None => (bytes.len(), self.within.clone()),
            },
            Within::Dollars(tag) => match self.rest().find(tag.as_str()) {
                Some(start) => (start + tag.len(), Within::Code),
                None => (bytes.len(), self.within.clone()),
            },
            Within::Comment(depth) => match comment_end(bytes, *depth) {
                (end, 0) => (end, Within::Code),
                (end, depth) => (end, Within::Comment(depth)),
            },
        };
        self.take(end);
        self.within = after;
    }

    /// Takes code up to what is special in it, and that.
    fn scan_code(&mut self, variables: &Variables) -> Option<Item> {
        let is_special =
            |byte: &u8| matches!(byte, b';' | b'\'' | b'"' | b'-' | b'/' | b'$' | b'\\' | b':' | b'(' | b')');
        let rest = self.rest();
        let plain = rest.bytes().position(|byte| is_special(&byte)).unwrap_or(rest.len());
        if plain > 0 {
            let text = &rest[..plain];
            if self.first_word_line.is_none()
                && let Some(start) = text.find(|c: char| !c.is_whitespace())
            {
                let mut word = text[start..].bytes();
                if word.next() == Some(b'.') && word.next().is_some_and(|byte| byte.is_ascii_alphabetic()) {
                    self.take(start);
                    return Some(self.meta());
                }
                self.first_word_line = Some(1 + self.lines + newlines(&text.as_bytes()[..start]));
            }
            self.take(plain);
            return None;
        }
        let (first, second) = (rest.as_bytes()[0], rest.as_bytes().get(1).copied());
        match (first, second) {
            (b';', _) => return self.semicolon(),
            (b'\\', _) => return Some(self.meta()),
            (b'-', Some(b'-')) => {
                self.within = Within::LineComment;
                return None;
            }
            (b'/', Some(b'*')) => {
                self.within = Within::Comment(0);
                return None;
            }
            (b':', Some(b':' | b'=')) => self.take_word(2),
            (b':', _) if self.replaced == 0 && self.replace(variables) => {}
            (quote @ (b'\'' | b'"'), _) => {
                self.within = Within::Quotes { quote, backslash_escapes: quote == b'\'' && opens_escapes(&self.open) };
                self.take_word(1);
            }
            (b'$', _) => match dollar_tag(self.rest()).filter(|_| !ends_with_name(&self.open)) {
                Some(tag) => {
                    let length = tag.len();
                    self.within = Within::Dollars(tag);
                    self.take_word(length);
                }
                None => self.take_word(1),
            },
            (parenthesis, _) => {
                match parenthesis {
                    b'(' => self.depth += 1,
                    b')' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.take_word(1);
            }
        }
        None
    }

    /// Takes code that is no white space.
    fn take_word(&mut self, length: usize) {
        self.first_word_line.get_or_insert(1 + self.lines);
        self.take(length);
    }

    fn semicolon(&mut self) -> Option<Item> {
        self.skip(1);
        let line = self.first_word_line;
        let sql = self.reset();
        line.map(|line| Item::Statement { sql: sql.trim().to_owned(), line })
    }

    /// The meta-command at the start of what waits.
    fn meta(&mut self) -> Item {
        if self.first_word_line.is_none() {
            // Nothing but comments.
            self.open.clear();
        }
        let line = self.rest().split('\n').next().unwrap_or_default();
        let length = meta_length(line);
        let text = line[..length].trim().to_owned();
        let ends_by_itself = line[length..].starts_with("\\\\");
        let number = 1 + self.lines;
        self.skip(if ends_by_itself { length + 2 } else { length });
        Item::Meta { text, line: number }
    }

    /// Puts its value in place of the variable at the start of what waits; false if there is none.
    fn replace(&mut self, variables: &Variables) -> bool {
        let Some((length, replacement)) = variables.at(self.rest()) else { return false };
        self.waiting.replace_range(self.at..self.at + length, &replacement);
        self.replaced = replacement.len();
        if replacement.is_empty() {
            return true;
        }
        // What a quoted variable stands for is one word.
        if matches!(replacement.as_bytes()[0], b':' | b'\\') {
            self.take_word(1);
        }
        true
    }
}

/// The length of the meta-command that `line` begins with: up to an unquoted backslash, but for those that take the whole line.
fn meta_length(line: &str) -> usize {
    let name_end = line[1..].find(|c: char| c.is_whitespace() || c == '\\').map_or(line.len(), |at| at + 1);
    if name_end == 1 {
        return line.len().min(2);
    }
    let name = &line[..name_end];
    if line.starts_with('.') {
        return line.len();
    }
    let takes_program =
        matches!(name, "\\o" | "\\g" | "\\gx" | "\\w") && line[name_end..].trim_start().starts_with('|');
    if takes_program || matches!(name, "\\!" | "\\copy") || name.starts_with("\\!") {
        return line.len();
    }
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate().skip(name_end) {
        match (byte, quote) {
            _ if escaped => escaped = false,
            (b'\\', Some(b'\'')) => escaped = true,
            (b'\\', None) => return at,
            (b'\'' | b'"' | b'`', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    line.len()
}

#[cfg(test)]
mod tests;
