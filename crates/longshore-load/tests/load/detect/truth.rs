//! Tables of known rows, and the texts that say them in any dialect.

use std::fmt;

use longshore_testing::Random;

/// How a table is written.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own that texts have or lack")]
pub(crate) struct Style {
    pub(crate) delimiter: &'static str,
    pub(crate) quote: Option<char>,
    /// Before a quote inside quotes; otherwise it is doubled.
    pub(crate) escape: Option<char>,
    pub(crate) line_end: &'static str,
    pub(crate) header: bool,
    pub(crate) trailing_delimiter: bool,
    pub(crate) before: Before,
    /// Comments stand between records.
    pub(crate) comments: bool,
    /// A last line end.
    pub(crate) ended: bool,
}

/// What stands before the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    Title,
    TitleAndBlankLine,
}

/// What is special about a text beyond its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hazard {
    /// Nothing.
    None,
    /// The first field that is quoted, or that has a stray quote, is in this record.
    FirstQuote(usize, Special),
    /// Apostrophes in texts.
    Apostrophes,
    /// The file ends within a quoted field of its last record.
    Cut,
    /// This record lacks its last field.
    Short(usize),
    /// This record has a field too many.
    Long(usize),
    /// Behind this record there is a table of another width.
    OtherTable(usize),
    /// A field of so many bytes, in many lines.
    Large(usize, usize),
}

/// What a field is that needs quotes, or has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Delimiter,
    LineEnd,
    Quotes,
    /// Quotes around it that it does not need.
    Plain,
    /// A quote within a field that is not quoted.
    Stray,
}

/// A table: an integer, a text, an integer, a text, and so on.
pub(crate) struct Table {
    pub(crate) names: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

const NAMES: [&str; 6] = ["id", "name", "amount", "city", "count", "note"];
const WORDS: [&str; 12] =
    ["Anna", "Berlin", "pending", "blue", "Müller", "north", "Paris", "done", "tbd", "yellow", "Oslo", "x"];

impl Table {
    pub(crate) fn random(random: &mut Random, rows: usize) -> Table {
        let width = 2 + random.below(4);
        let value = |random: &mut Random, row: usize, column: usize| match column {
            0 => (row + 1).to_string(),
            column if column % 2 == 0 => random.below(100_000).to_string(),
            _ => random.pick(&WORDS).to_owned(),
        };
        let row = |random: &mut Random, row: usize| (0..width).map(|column| value(random, row, column)).collect();
        let rows = (0..rows).map(|index| row(random, index)).collect();
        Table { names: NAMES[..width].to_vec(), rows }
    }

    /// Puts the hazard's values into the rows.
    pub(crate) fn prepare(&mut self, hazard: Hazard, style: &Style, random: &mut Random) {
        let quote = style.quote.unwrap_or('"');
        match hazard {
            Hazard::FirstQuote(record, special) => {
                self.rows[record][1] = match special {
                    Special::Delimiter => format!("a{}b", style.delimiter),
                    Special::LineEnd => "a\nb".to_owned(),
                    Special::Quotes => format!("so {quote}he{quote} said"),
                    Special::Plain => "hello".to_owned(),
                    Special::Stray => format!("5{quote} pipe"),
                };
            }
            Hazard::Apostrophes => {
                let texts = ["O'Neil", "Men's Shoes", "rock 'n' roll", "the boys' room", "it's"];
                for row in &mut self.rows {
                    if random.once_in(3) {
                        row[1] = random.pick(&texts).replace(style.delimiter, "_");
                    }
                }
            }
            Hazard::Cut => {
                let last = self.rows.len() - 1;
                self.rows[last][1] = format!("cut{}off", style.delimiter);
                // Some that end tell what the quotes are.
                self.rows[last / 2][1] = format!("a{}b", style.delimiter);
            }
            Hazard::Large(record, bytes) => {
                let line = format!("line{} of {quote}text{quote}\n", style.delimiter);
                self.rows[record][1] = line.repeat(bytes.div_ceil(line.len()));
            }
            Hazard::None | Hazard::Short(_) | Hazard::Long(_) | Hazard::OtherTable(_) => {}
        }
    }

    /// The rows as the harness dumps them.
    pub(crate) fn dump(&self) -> String {
        let mut dump = String::new();
        for row in &self.rows {
            let fields: Vec<_> = row.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
            dump.push_str(&fields.join(","));
            dump.push('\n');
        }
        dump
    }

    /// The text.
    pub(crate) fn write(&self, hazard: Hazard, style: &Style, random: &mut Random) -> String {
        let mut text = String::new();
        let title: &[&str] = match style.before {
            Before::Nothing => &[],
            Before::Title => &["Report of 2024"],
            Before::TitleAndBlankLine => &["Report of 2024", ""],
        };
        for line in title {
            text.push_str(line);
            text.push_str(style.line_end);
        }
        if style.header {
            let names: Vec<String> = self.names.iter().map(|name| (*name).to_owned()).collect();
            style.record(&names, &[], &mut text);
        }
        for (index, row) in self.rows.iter().enumerate() {
            if style.comments && index > 0 && (index == 2 || random.once_in(40)) {
                text.push_str("# a comment");
                text.push_str(style.line_end);
            }
            let mut row = row.clone();
            match hazard {
                Hazard::Short(record) if record == index => drop(row.pop()),
                Hazard::Long(record) if record == index => row.push("more".to_owned()),
                _ => {}
            }
            let plain = matches!(hazard, Hazard::FirstQuote(record, Special::Plain) if record == index);
            style.record(&row, if plain { &[1] } else { &[] }, &mut text);
            if hazard == Hazard::OtherTable(index) {
                let width = if random.once_in(2) { row.len() + 1 } else { row.len() + 2 };
                for other in 0..=self.rows.len() / 2 {
                    let names = |column: usize| if other == 0 { format!("n{column}") } else { other.to_string() };
                    style.record(&(0..width).map(names).collect::<Vec<_>>(), &[], &mut text);
                }
            }
        }
        if hazard == Hazard::Cut {
            text.truncate(text.rfind("off").expect("the last text"));
        } else if !style.ended {
            text.truncate(text.len() - style.line_end.len());
        }
        text
    }
}

impl Style {
    fn record(&self, fields: &[String], quoted: &[usize], text: &mut String) {
        for (index, value) in fields.iter().enumerate() {
            if index > 0 {
                text.push_str(self.delimiter);
            }
            self.field(value, quoted.contains(&index), text);
        }
        if self.trailing_delimiter {
            text.push_str(self.delimiter);
        }
        text.push_str(self.line_end);
    }

    fn field(&self, value: &str, quoted: bool, text: &mut String) {
        let Some(quote) = self.quote else { return text.push_str(value) };
        let needs = value.contains(self.delimiter) || value.contains(['\n', '\r']);
        // A quote alone that begins no field may stand as it is.
        let has_pair = value.matches(quote).count() > 1;
        if !quoted && !needs && !has_pair {
            return text.push_str(value);
        }
        let escape = self.escape.unwrap_or(quote);
        text.push(quote);
        text.push_str(&value.replace(quote, &format!("{escape}{quote}")));
        text.push(quote);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {}", self.rows.len(), self.names.join(", "))
    }
}
