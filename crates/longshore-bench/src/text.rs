//! The text that workloads read: lineitem of TPC-H in three dialects and as JSON, generated once and kept.
//!
//! Files lie under `target/bench-data`, named by scale and dialect; beside the text stands what a right load of it
//! must find ([`Facts`]), computed from the generator's values and not from the text.
//! Not here: the other tables (`workload::queries`), reading the text back.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tpchgen::generators::{LineItem, LineItemGenerator};

use crate::Failure;
use crate::facts::{COLUMNS, Facts};

/// Rows of lineitem at scale factor 1.
const ROWS_PER_SCALE: f64 = 6_001_215.0;

/// Rows that a generating thread formats at a time.
const PART_ROWS: f64 = 100_000.0;

/// The columns of lineitem.
pub(crate) const NAMES: [&str; COLUMNS] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

/// How many of them, from the first on, are numbers.
const NUMBERS: usize = 8;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// As dbgen writes it: `|` after every field, no quotes.
    Plain,
    /// Commas, every string in quotes (RFC 4180), lines end with a line feed.
    Quoted,
    /// As `Plain`, lines end with carriage return and line feed.
    Crlf,
    /// JSON lines: an object a row, numbers as numbers, all else as strings.
    JsonLines,
    /// The same objects in one array, blanks behind commas and colons.
    JsonArray,
}

impl Text {
    /// Every dialect of CSV.
    pub(crate) const ALL: [Text; 3] = [Text::Plain, Text::Quoted, Text::Crlf];

    /// The name in tables and file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Text::Plain => "plain",
            Text::Quoted => "quoted",
            Text::Crlf => "crlf",
            Text::JsonLines => "json-lines",
            Text::JsonArray => "json-array",
        }
    }

    /// The field delimiter of CSV.
    pub(crate) fn delimiter(self) -> u8 {
        if self == Text::Quoted { b',' } else { b'|' }
    }

    fn format(self, row: &LineItem<'_>, text: &mut String) {
        let written = match self {
            Text::JsonLines => Self::object(row, text, ["", ":", ","]).and_then(|()| writeln!(text)),
            Text::JsonArray => Self::object(row, text, [",\n", ": ", ", "]),
            Text::Plain => writeln!(text, "{row}"),
            Text::Crlf => write!(text, "{row}\r\n"),
            Text::Quoted => writeln!(
                text,
                "{},{},{},{},{},{},{},{},\"{}\",\"{}\",{},{},{},\"{}\",\"{}\",\"{}\"",
                row.l_orderkey,
                row.l_partkey,
                row.l_suppkey,
                row.l_linenumber,
                row.l_quantity,
                row.l_extendedprice,
                row.l_discount,
                row.l_tax,
                row.l_returnflag,
                row.l_linestatus,
                row.l_shipdate,
                row.l_commitdate,
                row.l_receiptdate,
                row.l_shipinstruct,
                row.l_shipmode,
                row.l_comment
            ),
        };
        written.expect("a string takes any text");
    }

    /// Writes a row as an object behind `lead`.
    fn object(row: &LineItem<'_>, text: &mut String, [lead, colon, comma]: [&str; 3]) -> std::fmt::Result {
        let form = row.to_string();
        let fields = NAMES.iter().zip(form.split('|')).enumerate();
        text.push_str(lead);
        for (index, (name, field)) in fields {
            // The first columns are numbers. No text of lineitem holds a quote or a backslash.
            let quote = if index < NUMBERS { "" } else { "\"" };
            let before = if index == 0 { "{" } else { comma };
            write!(text, "{before}\"{name}\"{colon}{quote}{field}{quote}")?;
        }
        text.push('}');
        Ok(())
    }

    /// What stands before and behind all rows.
    fn frame(self) -> (&'static str, &'static str) {
        if self == Text::JsonArray { ("[", "\n]\n") } else { ("", "") }
    }
}

/// A file of lineitem.
#[derive(Clone, Debug)]
pub(crate) struct Lineitem {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// Its length.
    pub(crate) bytes: u64,
    /// What it holds.
    pub(crate) facts: Facts,
}

/// The file of lineitem at this scale and in this dialect, generated if it is not there.
///
/// # Errors
///
/// When the file can be neither found nor written.
pub(crate) fn lineitem(folder: &Path, scale: f64, text: Text) -> Result<Lineitem, Failure> {
    let path = folder.join(format!("lineitem-sf{scale}-{}.csv", text.name()));
    let facts_path = path.with_extension("json");
    let known = fs::read_to_string(&facts_path).ok().and_then(|facts| serde_json::from_str(&facts).ok());
    let facts = match known.as_ref().and_then(Facts::from_json) {
        Some(facts) if path.exists() => facts,
        _ => {
            eprintln!("generating {}", path.display());
            fs::create_dir_all(folder)?;
            // The facts come last: a file without them is one whose writing was cut short.
            let facts = generate(&path, scale, text)?;
            fs::write(&facts_path, facts.to_json().to_string())?;
            facts
        }
    };
    let bytes = fs::metadata(&path)?.len();
    Ok(Lineitem { path, bytes, facts })
}

fn generate(path: &Path, scale: f64, text: Text) -> Result<Facts, Failure> {
    let mut file = fs::File::create(path)?;
    let parts = (scale * ROWS_PER_SCALE / PART_ROWS).ceil().max(1.0) as i32;
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as i32;
    let mut facts = Facts::default();
    let (head, tail) = text.frame();
    file.write_all(head.as_bytes())?;
    for first in (1..=parts).step_by(threads as usize) {
        let round: Vec<(String, Facts)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (first..=parts.min(first + threads - 1))
                .map(|part| scope.spawn(move || generate_part(scale, part, parts, text)))
                .collect();
            workers.into_iter().map(|worker| worker.join().expect("the generator does not panic")).collect()
        });
        for (part, found) in round {
            // Before the first row of an array is no comma.
            let skipped = usize::from(text == Text::JsonArray && facts.rows() == 0);
            file.write_all(&part.as_bytes()[skipped..])?;
            facts.merge(&found);
        }
    }
    file.write_all(tail.as_bytes())?;
    Ok(facts)
}

fn generate_part(scale: f64, part: i32, parts: i32, text: Text) -> (String, Facts) {
    let mut facts = Facts::default();
    let mut formatted = String::new();
    for row in LineItemGenerator::new(scale, part, parts).iter() {
        facts.add(&row);
        text.format(&row, &mut formatted);
    }
    (formatted, facts)
}
