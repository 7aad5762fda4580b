//! Writes the numbers of the demonstration as aligned lines.

use std::io::{self, Write as _};

use longshore_engine::Database;

use crate::human;
use crate::run::{Failure, Reason};

/// What each part of the demonstration moved, and in what time.
#[derive(Debug, Default)]
pub(super) struct Summary {
    parts: Vec<(&'static str, u64, f64)>,
}

impl Summary {
    /// Adds a part that moved `bytes` in `seconds`.
    pub(super) fn add(&mut self, name: &'static str, bytes: u64, seconds: f64) {
        self.parts.push((name, bytes, seconds));
    }

    /// Writes it.
    pub(super) fn show(&self) -> Result<(), Failure> {
        say("\nSummary")?;
        say(&format!("  {:<14}{:>12}{:>12}{:>14}", "", "bytes", "seconds", "rate"))?;
        for &(name, bytes, seconds) in &self.parts {
            let (amount, rate) = if bytes == 0 {
                (String::from("-"), String::from("-"))
            } else {
                (human::bytes(bytes), human::rate(bytes, seconds))
            };
            say(&format!("  {name:<14}{amount:>12}{seconds:>12.3}{rate:>14}"))?;
        }
        say("  (work counts, for each query, the text of the tables that it names)")
    }
}

/// Writes a line of a table with a name and five numbers.
pub(super) fn line<S: AsRef<str>>(cells: &[S; 6]) -> Result<(), Failure> {
    const WIDTHS: [usize; 6] = [9, 14, 11, 12, 13, 16];
    let mut text = String::from("  ");
    for (index, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        let cell = cell.as_ref();
        let padded = if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
        text.push_str(&padded);
    }
    say(&text)
}

/// What the tables hold of memory, which were loaded from so many bytes of text.
pub(super) fn memory(database: &Database, text_bytes: u64) -> String {
    let rows = database.table_bytes();
    format!(
        "  the tables hold {} of memory; the rows take {}, {:.2} bytes per byte of text, and would take {} if plain",
        human::bytes(database.memory().used() as u64),
        human::bytes(rows.stored),
        rows.stored as f64 / text_bytes as f64,
        human::bytes(rows.if_plain),
    )
}

/// Writes a line to standard output at once, so that it stands before later progress.
pub(super) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Reason::output(error).into())
}

/// The title in the first line of a query: `-- TPC-H Q1: pricing summary report; ...`.
pub(super) fn title(sql: &str) -> &str {
    let line = sql.lines().next().unwrap_or("");
    let title = line.split_once(": ").map_or("", |(_, title)| title);
    title.split(';').next().unwrap_or("")
}
