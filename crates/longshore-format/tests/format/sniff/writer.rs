//! Writes tables in any dialect.

use longshore_testing::Random;

use super::table::Table;

/// Which fields are quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    Never,
    WhereNeeded,
    Texts,
    Always,
}

#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a property of its own that texts have or lack")]
pub(crate) struct Dialect {
    pub(crate) delimiter: Vec<u8>,
    pub(crate) quote: Option<u8>,
    pub(crate) escape: Option<u8>,
    pub(crate) quoting: Quoting,
    pub(crate) line_end: &'static str,
    pub(crate) header: bool,
    pub(crate) trailing_delimiter: bool,
    pub(crate) comma_decimals: bool,
    pub(crate) null: &'static str,
    pub(crate) before: Before,
    /// A last line end.
    pub(crate) ended: bool,
}

/// What stands before the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    Title,
    TitleAndBlankLine,
    Comments,
    CommentsBetween,
    ByteOrderMark,
}

/// A text, and what it has that can be found.
pub(crate) struct Written {
    pub(crate) text: Vec<u8>,
    pub(crate) dialect: Dialect,
    pub(crate) quotes: bool,
    pub(crate) escapes: bool,
    pub(crate) skip_lines: usize,
    pub(crate) comments: bool,
}

const DELIMITERS: [&[u8]; 16] =
    [b",", b",", b",", b";", b";", b"\t", b"\t", b"|", b"|", b":", b"^", b"~", b"\x01", b"||", b"::", b"|@|"];

impl Dialect {
    pub(crate) fn random(seed: u64) -> Dialect {
        let mut random = Random::new(seed);
        let delimiter = random.pick(&DELIMITERS).to_vec();
        let quote = random.pick(&[Some(b'"'), Some(b'"'), Some(b'"'), Some(b'\''), None]);
        // Without quotes, times need another delimiter.
        let delimiter = if quote.is_none() && delimiter.contains(&b':') { b"|".to_vec() } else { delimiter };
        let quoting = match quote {
            None => Quoting::Never,
            Some(_) => random.pick(&[Quoting::WhereNeeded, Quoting::Texts, Quoting::Always]),
        };
        let comma_decimals = delimiter == b";" && random.once_in(2);
        Dialect {
            escape: if quote.is_some() && random.once_in(4) { Some(b'\\') } else { None },
            quote,
            quoting,
            line_end: random.pick(&["\n", "\n", "\n", "\r\n", "\r\n", "\r"]),
            header: !random.once_in(3),
            trailing_delimiter: random.once_in(10),
            comma_decimals,
            null: random.pick(&["", "", "", "NA", "NULL", "\\N"]),
            before: random.pick(&[
                Before::Nothing,
                Before::Nothing,
                Before::Nothing,
                Before::Nothing,
                Before::Title,
                Before::TitleAndBlankLine,
                Before::Comments,
                Before::CommentsBetween,
                Before::ByteOrderMark,
            ]),
            ended: !random.once_in(4),
            delimiter,
        }
    }

    pub(crate) fn write(&self, table: &Table, seed: u64) -> Written {
        let mut random = Random::new(seed.wrapping_add(500));
        let mut written = Written {
            text: Vec::new(),
            dialect: self.clone(),
            quotes: false,
            escapes: false,
            skip_lines: 0,
            comments: false,
        };
        self.write_before(&mut written);
        if self.header {
            let names: Vec<_> = table.columns.iter().map(|column| (Some(column.name.clone()), true)).collect();
            self.record(&names, &mut written);
        }
        for row in 0..table.rows() {
            if self.before == Before::CommentsBetween && row > 0 && (row == 2 || random.once_in(9)) {
                written.text.extend_from_slice(b"# a comment");
                written.text.extend_from_slice(self.line_end.as_bytes());
                written.comments = true;
            }
            let fields: Vec<_> = table
                .columns
                .iter()
                .map(|column| {
                    let is_text = column.value_type == "TEXT";
                    let mut value = column.values[row].clone();
                    if let (Some(value), true) = (&mut value, is_text && self.quote.is_some() && random.once_in(12)) {
                        value.push_str(&self.special(&mut random));
                    }
                    (value, is_text)
                })
                .collect();
            self.record(&fields, &mut written);
        }
        if !self.ended {
            let length = written.text.len() - self.line_end.len();
            written.text.truncate(length);
        }
        written
    }

    fn write_before(&self, written: &mut Written) {
        let lines: &[&str] = match self.before {
            Before::Nothing | Before::CommentsBetween => &[],
            Before::Title => &["Report of 2024"],
            Before::TitleAndBlankLine => &["Report of 2024", ""],
            Before::Comments => &["# exported by a program", "# on a Monday"],
            Before::ByteOrderMark => {
                written.text.extend_from_slice(b"\xef\xbb\xbf");
                &[]
            }
        };
        written.comments = self.before == Before::Comments;
        if !written.comments {
            written.skip_lines = lines.len();
        }
        for line in lines {
            written.text.extend_from_slice(line.as_bytes());
            written.text.extend_from_slice(self.line_end.as_bytes());
        }
    }

    /// What makes quotes necessary.
    fn special(&self, random: &mut Random) -> String {
        let delimiter = String::from_utf8_lossy(&self.delimiter).into_owned();
        let quote = self.quote.map_or(String::new(), |quote| char::from(quote).to_string());
        match random.below(4) {
            0 => format!("{delimiter} and more"),
            1 => format!(" {quote}so{quote} said"),
            2 if self.line_end != "\r" => " two\nlines".to_owned(),
            _ => format!("{delimiter} {quote}both{quote}{delimiter}"),
        }
    }

    fn record(&self, fields: &[(Option<String>, bool)], written: &mut Written) {
        for (index, (value, is_text)) in fields.iter().enumerate() {
            if index > 0 {
                written.text.extend_from_slice(&self.delimiter);
            }
            let Some(value) = value else {
                // A null text among texts is a text.
                let null = if *is_text { "" } else { self.null };
                written.text.extend_from_slice(null.as_bytes());
                continue;
            };
            self.field(value, *is_text, written);
        }
        if self.trailing_delimiter {
            written.text.extend_from_slice(&self.delimiter);
        }
        written.text.extend_from_slice(self.line_end.as_bytes());
    }

    fn field(&self, value: &str, is_text: bool, written: &mut Written) {
        let delimiter = String::from_utf8_lossy(&self.delimiter).into_owned();
        let Some(quote) = self.quote else {
            written.text.extend_from_slice(value.replace(&*delimiter, "_").as_bytes());
            return;
        };
        let quote = char::from(quote).to_string();
        let needed = value.contains(&delimiter) || value.contains(&quote) || value.contains(['\n', '\r']);
        let quoted = match self.quoting {
            Quoting::Never => false,
            Quoting::WhereNeeded => needed,
            Quoting::Texts => needed || is_text,
            Quoting::Always => true,
        };
        if !quoted {
            written.text.extend_from_slice(value.as_bytes());
            return;
        }
        written.quotes = true;
        written.escapes |= self.escape.is_some() && value.contains(&quote);
        let escape = self.escape.map_or(quote.clone(), |escape| char::from(escape).to_string());
        let content = value.replace(&quote, &format!("{escape}{quote}"));
        written.text.extend_from_slice(format!("{quote}{content}{quote}").as_bytes());
    }
}
