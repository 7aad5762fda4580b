//! The options of COPY, EXPORT DATABASE and `read_csv`: names, values, defaults.
//!
//! Every option has PostgreSQL's name and meaning, except that FORMAT is csv where nothing is said, and for our own:
//! MODE, `TRAILING_DELIMITER`, MERGE, THREADS, `PIECE_SIZE`, `SPAN_SIZE` and QUOTE NONE. An option that is unknown, given
//! twice, or without meaning where it stands is refused. Not here: parsing (`sql::copy`), whether named columns exist
//! (`statement::copy`).

mod given;
mod rules;

use longshore_load::{ColumnChoice, Dialect, Header, Mode, TextOptions, TrailingDelimiter, Tuning, UnloadOptions};
use longshore_storage::MergeKind;
use sqlparser::tokenizer::Location;

use crate::Error;
use crate::sql::names;
use crate::sql::option_list::shown_place;
use given::{Given, boolean};
pub use rules::{OPTIONS, OptionRule};

/// Workers, at most.
const THREADS_MAX: usize = 1024;

/// Bytes of a piece or a span, at most.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// An option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionItem {
    /// In upper case.
    pub(crate) name: String,
    pub(crate) value: OptionValue,
    pub(crate) at: Location,
}

/// The value of an option as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// Nothing: `HEADER`.
    None,
    /// A word, in lower case: `csv`, `true`.
    Word(String),
    /// A text.
    Text(String),
    /// Digits.
    Number(String),
    /// Columns: `(a, b)`.
    Names(Vec<String>),
    /// `*`.
    All,
}

/// Where options stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    CopyFrom,
    /// COPY FROM (query).
    CopyQuery,
    CopyTo,
    Export,
    ReadCsv,
}

impl Use {
    fn name(self) -> &'static str {
        match self {
            Self::CopyFrom => "COPY FROM",
            Self::CopyQuery => "COPY FROM (query)",
            Self::CopyTo => "COPY TO",
            Self::Export => "EXPORT DATABASE",
            Self::ReadCsv => "read_csv",
        }
    }
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Native,
    Csv,
    Parquet,
    Arrow,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// All options, with the defaults where nothing was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// `None` where nothing was said.
    pub(crate) format: Option<Format>,
    /// The names of all options that were given.
    given: Vec<&'static str>,
    dialect: Dialect,
    null: String,
    header: Header,
    force_null: ColumnChoice,
    force_not_null: ColumnChoice,
    force_quote: ColumnChoice,
    trailing_delimiter: TrailingDelimiter,
    mode: Mode,
    /// `None` where nothing was said.
    pub(crate) merge: Option<MergeKind>,
    /// `None` where nothing was said.
    pub(crate) threads: Option<usize>,
    piece_bytes: Option<usize>,
    span_bytes: Option<usize>,
}

impl Options {
    /// Checks `items` for use in `place`.
    pub(crate) fn new(items: &[OptionItem], place: Use) -> Result<Self, Error> {
        check_names(items, place)?;
        let options = Given { items };
        let null = options.text("NULL")?.unwrap_or_default();
        let dialect = dialect(&options, place)?;
        check_null(&null, &dialect)?;
        if let Some(encoding) = options.text("ENCODING")? {
            check_encoding(&encoding)?;
        }
        Ok(Self {
            given: items.iter().filter_map(|item| rules::rule_of(&item.name)).map(|rule| rule.name).collect(),
            format: options
                .choice("FORMAT", |name| match name {
                    "csv" => Some(Format::Csv),
                    "native" => Some(Format::Native),
                    "parquet" => Some(Format::Parquet),
                    "arrow" => Some(Format::Arrow),
                    _ => None,
                })
                .map_err(|error| format_error(&options, error))?,
            dialect,
            null,
            header: header(&options, place)?,
            force_null: options.columns("FORCE_NULL")?,
            force_not_null: options.columns("FORCE_NOT_NULL")?,
            force_quote: options.columns("FORCE_QUOTE")?,
            trailing_delimiter: options
                .choice("TRAILING_DELIMITER", |name| match name {
                    "auto" => Some(TrailingDelimiter::Auto),
                    name => boolean(name).map(|yes| if yes { TrailingDelimiter::Yes } else { TrailingDelimiter::No }),
                })?
                .unwrap_or(TrailingDelimiter::Auto),
            mode: options
                .choice("MODE", |name| match name {
                    "exact" => Some(Mode::Exact),
                    "fast" => Some(Mode::Fast),
                    "safe" => Some(Mode::Safe),
                    _ => None,
                })?
                .unwrap_or(Mode::Exact),
            merge: options.choice("MERGE", |name| match name {
                "insert" => Some(MergeKind::Insert),
                "copy" => Some(MergeKind::Copy),
                "chunk" => Some(MergeKind::Chunk),
                _ => None,
            })?,
            threads: options.number("THREADS", THREADS_MAX)?,
            piece_bytes: options.number("PIECE_SIZE", PIECE_BYTES_MAX)?,
            span_bytes: options.number("SPAN_SIZE", PIECE_BYTES_MAX)?,
        })
    }

    /// Refuses options about text, which Parquet and Arrow files have none of.
    pub(crate) fn check_columnar(&self) -> Result<(), Error> {
        match self.given.iter().find(|name| !["FORMAT", "MERGE", "THREADS"].contains(name)) {
            None => Ok(()),
            Some(option) => Err(Error::invalid(format!(
                "option {option} is about text; a Parquet or Arrow file takes FORMAT, MERGE and THREADS only"
            ))),
        }
    }

    /// How to read text.
    pub(crate) fn csv(&self) -> TextOptions {
        let mut csv = TextOptions::new(self.dialect);
        csv.values.nulls = vec![self.null.clone()];
        csv.header = self.header;
        csv.trailing_delimiter = self.trailing_delimiter;
        csv.values.quoted_nulls = self.force_null.clone();
        csv.values.force_not_null = self.force_not_null.clone();
        csv.mode = self.mode;
        csv
    }

    /// How to write text.
    pub(crate) fn unload(&self) -> UnloadOptions {
        UnloadOptions {
            dialect: self.dialect,
            null: self.null.clone(),
            header: self.header != Header::None,
            force_quote: self.force_quote.clone(),
        }
    }

    /// The options of a COPY FROM that reads what [`Options::unload`] writes, as SQL.
    pub(crate) fn to_read_back(&self) -> String {
        let byte = |byte: u8| names::literal(&char::from(byte).to_string());
        let mut text =
            format!("FORMAT csv, DELIMITER {}, NULL {}", byte(self.dialect.delimiter()), names::literal(&self.null));
        for (name, value) in [("QUOTE", self.dialect.quote()), ("ESCAPE", self.dialect.escape())] {
            if let Some(value) = value {
                text = format!("{text}, {name} {}", byte(value));
            }
        }
        format!("{text}, HEADER {}", self.header != Header::None)
    }

    /// `tuning`, changed by what the statement says.
    pub(crate) fn tuned(&self, mut tuning: Tuning) -> Tuning {
        tuning.threads = self.threads.unwrap_or(tuning.threads);
        tuning.piece_bytes = self.piece_bytes.or(tuning.piece_bytes);
        tuning.span_bytes = self.span_bytes.or(tuning.span_bytes);
        tuning.merge = self.merge.unwrap_or(tuning.merge);
        tuning
    }

    /// The columns that options name, with the option's name.
    pub(crate) fn named_columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("FORCE_NULL", &self.force_null), ("FORCE_NOT_NULL", &self.force_not_null), ("FORCE_QUOTE", &self.force_quote)]
            .into_iter()
            .flat_map(|(option, columns)| {
                match columns {
                    ColumnChoice::Names(names) => names.as_slice(),
                    ColumnChoice::None | ColumnChoice::All => &[],
                }
                .iter()
                .map(move |name| (option, name.as_str()))
            })
    }
}

fn check_names(items: &[OptionItem], place: Use) -> Result<(), Error> {
    for (index, item) in items.iter().enumerate() {
        let OptionItem { name, at, .. } = item;
        let rule = rules::rule_of(name);
        if !rule.is_some_and(|rule| rule.places.contains(&place)) {
            let problem = match (rule, rules::meant(name, place)) {
                (Some(rule), _) => {
                    let places: Vec<_> = rule.places().collect();
                    format!("has a meaning for {} only", places.join(" and "))
                }
                (None, Some(meant)) => format!("is not known; did you mean {meant}?"),
                (None, None) => "is not known".to_owned(),
            };
            let known: Vec<_> = rules::known(place).collect();
            let separator = if problem.ends_with('?') { "" } else { ";" };
            return Err(Error::invalid(format!(
                "option {name} at {} {problem}{separator} the options of {} are {}",
                shown_place(*at),
                place.name(),
                known.join(", ")
            )));
        }
        if items[..index].iter().any(|earlier| earlier.name == *name) {
            return Err(Error::invalid(format!(
                "option {name} at {} is given twice; keep one of them",
                shown_place(*at)
            )));
        }
    }
    Ok(())
}

fn dialect(options: &Given<'_>, place: Use) -> Result<Dialect, Error> {
    let delimiter = options.byte("DELIMITER")?.unwrap_or(b',');
    let quote = if options.word("QUOTE") == Some("none") {
        if matches!(place, Use::CopyTo | Use::Export) {
            return Err(options.bad(
                "QUOTE",
                "NONE is for reading only: a text with a delimiter or a line break could not be written",
            ));
        }
        if options.item("ESCAPE").is_some() {
            return Err(options.bad("ESCAPE", "has no meaning with QUOTE NONE; leave one of them out"));
        }
        None
    } else {
        Some(options.byte("QUOTE")?.unwrap_or(b'"'))
    };
    let escape = options.byte("ESCAPE")?;
    Dialect::new(delimiter, quote, escape).map_err(|error| Error::invalid(error.to_string()))
}

fn check_null(null: &str, dialect: &Dialect) -> Result<(), Error> {
    let problem = if null.contains(['\n', '\r']) {
        "must not contain a line break"
    } else if null.as_bytes().contains(&dialect.delimiter()) {
        "must not contain the delimiter"
    } else if dialect.quote().is_some_and(|quote| null.as_bytes().contains(&quote)) {
        "must not contain the quote character"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("option NULL: the text {null:?} {problem}; choose another one")))
}

fn check_encoding(encoding: &str) -> Result<(), Error> {
    let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
    if plain.eq_ignore_ascii_case("utf8") {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "option ENCODING: {encoding} is not supported, only utf8 is; convert the file first, for instance with \
         iconv -f {encoding} -t utf-8"
    )))
}

fn header(options: &Given<'_>, place: Use) -> Result<Header, Error> {
    let Some(item) = options.item("HEADER") else {
        // The files of an export shall speak for themselves.
        return Ok(if place == Use::Export { Header::Skip } else { Header::None });
    };
    if item.value == OptionValue::None {
        return Ok(Header::Skip);
    }
    let header = options.choice("HEADER", |name| match name {
        "match" => Some(Header::Match),
        name => boolean(name).map(|yes| if yes { Header::Skip } else { Header::None }),
    })?;
    match (header, place) {
        (Some(Header::Match), Use::CopyTo | Use::Export) => Err(options
            .bad("HEADER", "match compares the names in a file with the table's when it is read; write HEADER true")),
        (header, _) => Ok(header.unwrap_or(Header::None)),
    }
}

fn format_error(options: &Given<'_>, error: Error) -> Error {
    match options.word("FORMAT").or(options.plain_text("FORMAT")) {
        Some(format @ ("text" | "binary")) => Error::unsupported(format!(
            "option FORMAT: PostgreSQL's {format} format is not supported; use FORMAT csv, on both sides"
        )),
        _ => error,
    }
}
