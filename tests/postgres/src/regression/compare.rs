//! A statement run on both, and how the answers differ.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;

use super::script::Statement;
use crate::engine::Engine;
use crate::rows::Refusal;
use crate::server::{Client, Reply};

/// How long a statement of ours may take. The largest tables have ten thousand rows.
const STATEMENT_SECONDS_MAX: u64 = 20;
/// By how much floating-point numbers with all their digits may differ: sums depend on the order of their parts.
const DIFFERENCE: f64 = 1e-13;
/// So many characters have numbers with all their digits.
const ALL_DIGITS: usize = 15;

/// How the answers to a statement differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Not at all: the same rows, or both did what was asked.
    Same,
    /// Both fail, with the same SQLSTATE.
    SameError,
    /// Both fail, with another SQLSTATE.
    OtherCode,
    /// The rows are the same, the names of the columns are not.
    OtherHeading,
    /// Both give rows, which are not the same.
    OtherRows,
    /// Only ours fails.
    Refused,
    /// Only PostgreSQL's fails.
    Accepted,
    /// Ours fails by a fault of the program.
    Internal,
}

impl Kind {
    /// Whether both did the same.
    #[must_use]
    pub fn is_same(self) -> bool {
        matches!(self, Self::Same | Self::SameError | Self::OtherCode)
    }
}

/// A row as text; `None` is NULL.
pub type Row = Vec<Option<String>>;

/// What a statement gives.
#[derive(Clone, Debug)]
pub struct Given {
    /// The names of the columns; of what is no query, none.
    pub heading: Option<Row>,
    /// The rows; of what is no query, what it says that it has done.
    pub rows: Vec<Row>,
}

/// Both answers.
#[derive(Clone, Debug)]
pub struct Compared {
    /// How they differ.
    pub kind: Kind,
    /// What our database gave.
    pub ours: Result<Given, Refusal>,
    /// What PostgreSQL gave.
    pub theirs: Result<Given, Refusal>,
}

/// Both databases.
pub struct Both {
    ours: Engine,
    theirs: Client,
    output: Output,
    is_query: Regex,
    is_changing: Regex,
}

impl Both {
    /// Both, as they are now.
    ///
    /// # Panics
    /// Never: the patterns are right.
    #[must_use]
    pub fn new(mut ours: Engine, theirs: Client) -> Self {
        let output = Output::default();
        ours.session().set_output(output.clone());
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is right");
        Self {
            ours,
            theirs,
            output,
            is_query: regex(r"(?is)^(\s|--[^\n]*\n|/\*.*?\*/|\()*(select|values|with|table)\b"),
            is_changing: regex(r"(?is)\binto\b|\b(insert|update|delete|merge)\b"),
        }
    }

    /// Runs a statement of ours alone.
    pub async fn prepare(&mut self, statement: &Statement) {
        // What is refused shows where something needs it.
        let _ = self.ours(statement).await;
    }

    /// Runs a statement on both.
    ///
    /// # Errors
    /// When the server goes away.
    pub async fn compare(&mut self, statement: &Statement) -> io::Result<Compared> {
        let theirs = self.theirs.ask(&statement.sql, &statement.input)?.map(given);
        let ours = self.ours(statement).await;
        Ok(Compared { kind: kind(&statement.sql, &ours, &theirs), ours, theirs })
    }

    async fn ours(&mut self, statement: &Statement) -> Result<Given, Refusal> {
        let sql = &statement.sql;
        let is_copied = self.is_query.is_match(sql) && !self.is_changing.is_match(sql);
        let copied = if is_copied { format!("COPY ({sql}\n) TO STDOUT (HEADER true)") } else { sql.clone() };
        self.ours.session().set_input(io::Cursor::new(statement.input.clone()));
        self.output.take();
        let limit = Duration::from_secs(STATEMENT_SECONDS_MAX);
        let answer = tokio::time::timeout(limit, self.ours.texts(&copied)).await;
        let late = || Refusal { sqlstate: "XX000".to_owned(), message: "it takes too long".to_owned() };
        let given = answer.map_err(|_| late())??;
        let written = self.output.take();
        let mut records = records(&String::from_utf8_lossy(&written)).into_iter();
        Ok(match (is_copied, given.heading) {
            (true, _) => Given { heading: Some(records.next().unwrap_or_default()), rows: records.collect() },
            (false, Some(heading)) => Given { heading: Some(heading), rows: given.rows },
            (false, None) => Given { heading: None, rows: records.chain(given.rows).collect() },
        })
    }
}

/// What PostgreSQL's reply is.
fn given(reply: Reply) -> Given {
    match reply.columns {
        None => Given { heading: None, rows: vec![vec![Some(reply.tag)]] },
        Some(columns) => {
            let heading = columns.into_iter().map(|(name, _)| Some(name)).collect();
            Given { heading: Some(heading), rows: reply.rows }
        }
    }
}

/// The records of CSV that COPY writes: a field without quotes and characters is NULL.
fn records(text: &str) -> Vec<Row> {
    let (mut rows, mut row, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    let ended = |field: &mut String, is_quoted: &mut bool| {
        let (text, is_quoted) = (std::mem::take(field), std::mem::take(is_quoted));
        (is_quoted || !text.is_empty()).then_some(text)
    };
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                is_quoted = true;
                while let Some(inner) = chars.next() {
                    if inner == '"' && chars.next_if_eq(&'"').is_none() {
                        break;
                    }
                    field.push(inner);
                }
            }
            ',' => row.push(ended(&mut field, &mut is_quoted)),
            '\n' => {
                row.push(ended(&mut field, &mut is_quoted));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}

fn kind(sql: &str, ours: &Result<Given, Refusal>, theirs: &Result<Given, Refusal>) -> Kind {
    match (ours, theirs) {
        (Err(ours), _) if ours.is_internal() => Kind::Internal,
        (Err(ours), Err(theirs)) if ours.sqlstate == theirs.sqlstate => Kind::SameError,
        (Err(_), Err(_)) => Kind::OtherCode,
        (Err(_), Ok(_)) => Kind::Refused,
        (Ok(_), Err(_)) => Kind::Accepted,
        (Ok(ours), Ok(theirs)) => match (&ours.heading, &theirs.heading) {
            (None, None) if are_same(&ours.rows, &theirs.rows) || !counts_rows(&theirs.rows) => Kind::Same,
            (Some(_), Some(_)) if !have_same_rows(sql, ours, theirs) => Kind::OtherRows,
            (Some(one), Some(other)) if one == other => Kind::Same,
            (Some(_), Some(_)) => Kind::OtherHeading,
            _ => Kind::OtherRows,
        },
    }
}

/// Whether it says how many rows were changed.
fn counts_rows(done: &[Row]) -> bool {
    let words = ["INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "SELECT"];
    done.iter().flatten().flatten().any(|tag| words.iter().any(|word| tag.starts_with(word)))
}

fn have_same_rows(sql: &str, ours: &Given, theirs: &Given) -> bool {
    if are_same(&ours.rows, &theirs.rows) {
        return true;
    }
    let sorted = |given: &Given| {
        let mut rows = given.rows.clone();
        rows.sort_unstable();
        rows
    };
    !is_ordered(sql) && are_same(&sorted(ours), &sorted(theirs))
}

/// Whether a query gives its rows an order, outside of parentheses.
fn is_ordered(sql: &str) -> bool {
    let mut depth = 0_i32;
    let lower = sql.to_ascii_lowercase();
    let found = lower.char_indices().any(|(at, char)| {
        depth += i32::from(char == '(') - i32::from(char == ')');
        depth == 0 && lower[at..].starts_with("order") && lower[at + 5..].trim_start().starts_with("by")
    });
    found || lower.trim_start().starts_with('(') && lower.contains("order by")
}

fn are_same(ours: &[Row], theirs: &[Row]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one == other || are_close(one, other))
}

fn are_close(one: &Row, other: &Row) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|values| match values {
            (Some(one), Some(other)) if one != other && one.len().min(other.len()) >= ALL_DIGITS => {
                let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
                numbers.is_some_and(|(one, other)| (one - other).abs() <= one.abs().max(other.abs()) * DIFFERENCE)
            }
            (one, other) => one == other,
        })
}

/// Where statements of ours copy to.
#[derive(Clone, Debug, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
