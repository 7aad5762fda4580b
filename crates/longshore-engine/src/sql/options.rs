//! The options of COPY, EXPORT DATABASE and `read_csv`: names, values, defaults.
//!
//! Every option has PostgreSQL's name and meaning, except that FORMAT is csv where nothing is said, and for our own:
//! MODE, `TRAILING_DELIMITER`, MERGE, THREADS, `PIECE_SIZE`, `SPAN_SIZE` and QUOTE NONE. An option that is unknown, given
//! twice, or without meaning where it stands is refused. Not here: parsing (`sql::copy`), whether named columns exist
//! (`statement::copy`).

mod asked;
mod checks;
mod conflict;
mod format;
mod given;
mod header;
mod item;
mod language;
mod once;
mod references;
mod rejects;
mod rules;
mod sniffing;
mod source;
mod values;

use longshore_format::json::Layout;
use longshore_format::pattern::preset;
use longshore_format::sniff::types::DateOrder;
use longshore_load::{
    ColumnChoice, Dialect, FieldNames, FieldTarget, Header, Mode, OnError, OtherFields, PostgresTextLayout,
    TextOptions, TrailingDelimiter, Tuning, UnloadOptions, ValueOptions,
};
use longshore_storage::{ColumnType, MergeKind};
use sqlparser::tokenizer::Location;

use crate::Error;
use crate::sql::names;
use asked::Asked;
use checks::{check_names, check_nulls};
pub(crate) use conflict::{ConflictChoice, ConflictOptions};
pub(crate) use format::Format;
use given::{Given, boolean};
use header::{header, types, union_by_name};
pub(crate) use item::{OptionItem, OptionValue};
use language::Language;
pub(crate) use once::{ChangeChoice, OnceOptions};
pub(crate) use references::CheckTime;
use references::check_time;
pub(crate) use rejects::{ErrorChoice, RejectOptions};
pub use rules::{OPTIONS, OptionRule};
pub(crate) use source::{SourceOptions, is_secret};
use values::{Values, format_in_order};

/// Workers, at most.
const THREADS_MAX: usize = 1024;

/// Bytes of a piece or a span, at most.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// When the chunks of a load are merged (*Instant Loading*, 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeMode {
    /// All of them in the end.
    Short,
    /// As they come.
    Interleaved,
}

/// "line 1, column 14".
pub(crate) fn shown_place(at: Location) -> String {
    format!("line {}, column {}", at.line, at.column)
}

/// " at line 1, column 14", or nothing for what a program gives that writes no SQL.
fn at_place(at: Location) -> String {
    if at == Location::empty() { String::new() } else { format!(" at {}", shown_place(at)) }
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

/// All options, with the defaults where nothing was said.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    /// `None` where nothing was said.
    pub(crate) format: Option<Format>,
    /// The names of all options that were given.
    given: Vec<&'static str>,
    language: Language,
    values: Values,
    /// What `01/02/2024` means, if that was said.
    date_order: Option<DateOrder>,
    /// How files are found and opened.
    pub(crate) source: SourceOptions,
    /// What becomes of records that cannot be taken.
    pub(crate) rejects: RejectOptions,
    /// What becomes of rows whose key is there already.
    pub(crate) conflict: ConflictOptions,
    /// What becomes of files that were loaded before.
    pub(crate) once: OnceOptions,
    /// When foreign keys are checked; `None` where nothing was said.
    pub(crate) references: Option<CheckTime>,
    /// Whether the table is made if there is none.
    pub(crate) auto: bool,
    /// Whether records that are not whole are errors where the dialect is found out, too.
    pub(crate) strict: bool,
    /// Types that win over those that are found out.
    pub(crate) types: Vec<(String, ColumnType)>,
    /// Types of columns for which something was said that only values of one type can follow.
    spelled: Vec<(String, ColumnType)>,
    /// Whether the header of each file says which column a field goes to.
    pub(crate) union_by_name: bool,
    normalize_names: bool,
    /// Lines before the header or the first record.
    skip_lines: u64,
    header: Header,
    force_quote: ColumnChoice,
    trailing_delimiter: TrailingDelimiter,
    mode: Mode,
    /// What files that are written are compressed with, in lower case.
    pub(crate) compression: Option<String>,
    /// The columns whose values name the folders that are written.
    pub(crate) partition_by: Vec<String>,
    /// Whether a folder that is there is replaced.
    pub(crate) overwrite: bool,
    /// `None` where nothing was said.
    pub(crate) merge: Option<MergeKind>,
    pub(crate) merge_mode: MergeMode,
    /// `None` where nothing was said.
    pub(crate) threads: Option<usize>,
    piece_bytes: Option<usize>,
    span_bytes: Option<usize>,
}

/// How a text is read, and the column of each of its fields.
pub(crate) struct TextPlan {
    pub(crate) options: TextOptions,
    /// Places in the list of columns; `None` reads over the field.
    pub(crate) fields: Vec<Option<usize>>,
}

impl Options {
    /// Checks `items` for use in `place`.
    pub(crate) fn new(items: &[OptionItem], place: Use) -> Result<Self, Error> {
        check_names(items, place)?;
        let options = Given { items };
        let language = Language::new(&options, place)?;
        let union_by_name = union_by_name(&options, language.format)?;
        let mut values = Values::new(&options, language.format)?;
        values.follow(language.pattern.as_deref().and_then(preset));
        let date_order = values.date_order(&options)?;
        let spelled = values.types();
        if language.format.is_none_or(|format| matches!(format, Format::Csv | Format::Tsv)) {
            check_nulls(&values.options.nulls, &language)?;
        }
        let rejects = RejectOptions::new(&options, place)?;
        // Rows of a load have no state that freezing would settle.
        options.flag("FREEZE")?;
        Ok(Self {
            given: items.iter().filter_map(|item| rules::rule_of(&item.name)).map(|rule| rule.name).collect(),
            format: language.format,
            language,
            values,
            date_order,
            source: SourceOptions::new(&options, place)?,
            conflict: ConflictOptions::new(&options, place, &rejects)?,
            rejects,
            once: OnceOptions::new(&options)?,
            references: check_time(&options)?,
            auto: options.flag("AUTO")?.unwrap_or(false),
            strict: options.flag("STRICT")?.unwrap_or(false),
            types: types(&options)?,
            spelled,
            union_by_name,
            normalize_names: options.flag("NORMALIZE_NAMES")?.unwrap_or(false),
            skip_lines: options.count("SKIP")?.unwrap_or(0),
            header: header(&options, place)?,
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
            compression: options.text("COMPRESSION")?.map(|name| name.trim().to_ascii_lowercase()),
            partition_by: options.names("PARTITION_BY")?,
            overwrite: options.flag("OVERWRITE")?.unwrap_or(false),
            merge: options.choice("MERGE", |name| match name {
                "insert" => Some(MergeKind::Insert),
                "copy" => Some(MergeKind::Copy),
                "chunk" => Some(MergeKind::Chunk),
                _ => None,
            })?,
            merge_mode: options
                .choice("MERGE_MODE", |name| match name {
                    "short" => Some(MergeMode::Short),
                    "interleaved" => Some(MergeMode::Interleaved),
                    _ => None,
                })?
                .unwrap_or(MergeMode::Short),
            threads: options.number("THREADS", THREADS_MAX)?,
            piece_bytes: options.number("PIECE_SIZE", PIECE_BYTES_MAX)?,
            span_bytes: options.number("SPAN_SIZE", PIECE_BYTES_MAX)?,
        })
    }

    /// Refuses options about text, which `what` has none of, such as a Parquet file.
    pub(crate) fn check_columnar(&self, what: &str) -> Result<(), Error> {
        let of_any =
            ["FORMAT", "ON_CONFLICT", "ON_CONFLICT_KEY", "MERGE", "THREADS", "AUTO", "DRY_RUN", "ONCE", "ON_CHANGE"];
        match self.given.iter().find(|name| !of_any.contains(name) && !source::OF_STORES.contains(name)) {
            None => Ok(()),
            Some(option) => Err(Error::invalid(format!(
                "option {option} is about text; {what} takes {} and those of stores only",
                of_any.join(", ")
            ))),
        }
    }

    /// Refuses options about columns that are found out, where those of `table` are known.
    pub(crate) fn check_known_columns(&self, table: &str) -> Result<(), Error> {
        if let Some((column, _)) = self.types.first() {
            return Err(Error::invalid(format!(
                "option TYPES: table {table} is there, and its columns have their types; leave out the type of {column}"
            )));
        }
        if self.normalize_names && !self.auto && !self.union_by_name {
            return Err(Error::invalid(
                "option NORMALIZE_NAMES: the names in a header count with AUTO or UNION_BY_NAME only; give one of them, or \
                 leave it out",
            ));
        }
        Ok(())
    }

    /// How to read a text with the columns `columns`; `sample` is called for its head where the format depends on it.
    pub(crate) fn text(
        &self,
        columns: &[&str],
        sample: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<TextPlan, Error> {
        let ValueOptions { nulls, trim, .. } = &self.values.options;
        let asked = Asked {
            nulls,
            trim: *trim,
            trailing_delimiter: self.trailing_delimiter,
            skip_lines: self.skip_lines,
            has_header: self.header != Header::None,
        };
        let reading = self.language.reading(columns, &asked, sample)?;
        let mut values = self.values.options.clone();
        if let Some(order) = self.date_order {
            values.date_format = Some(format_in_order(order));
            values.timestamp_format = Some(format_in_order(order));
        }
        let options = TextOptions {
            skip_lines: self.skip_lines,
            values,
            header: if self.finds_by_header() { Header::Skip } else { self.header },
            trailing_delimiter: self.trailing_delimiter,
            mode: self.mode,
            on_error: self.on_error(),
            reject_limit: self.rejects.limit,
            ..TextOptions::of(reading.format)
        };
        Ok(TextPlan { options, fields: reading.fields })
    }

    /// The same for text that turned out to be of `format`, JSON with this layout; nothing more is to be found out.
    pub(crate) fn taken_for(&self, format: Format, layout: Option<Layout>) -> Self {
        let mut options = Self { format: Some(format), auto: false, ..self.clone() };
        options.language.format = options.format;
        options.language.layout = layout.or(options.language.layout);
        options
    }

    /// Whether fields find their columns by the names in a header; those of some formats have names without one.
    fn finds_by_header(&self) -> bool {
        let has_keys = [Format::Json, Format::JsonLines, Format::Logfmt, Format::Pattern];
        self.union_by_name && !self.format.is_some_and(|format| has_keys.contains(&format))
    }

    /// How fields find `columns` by the names in a header, if that was asked for.
    pub(crate) fn field_names(&self, columns: Vec<(String, FieldTarget)>, others: OtherFields) -> Option<FieldNames> {
        self.finds_by_header().then(|| self.names_in_header(columns, others))
    }

    /// How fields find `columns` by the names in a header.
    pub(crate) fn names_in_header(&self, columns: Vec<(String, FieldTarget)>, others: OtherFields) -> FieldNames {
        FieldNames { columns, others, normalize: self.normalize_names }
    }

    /// How a text is read whose language is found out; `types` are those of some of its columns.
    pub(crate) fn text_without_language(&self, types: &[(String, ColumnType)]) -> TextOptions {
        let plain = Dialect::new(b',', Some(b'"'), None).expect("these characters have a role each");
        let mut values = self.values.options.clone();
        for (column, column_type) in types {
            let is_dated =
                matches!(column_type.unrounded(), ColumnType::Date | ColumnType::Timestamp | ColumnType::TimestampTz);
            if let Some(order) = self.date_order.filter(|_| is_dated) {
                let own = values.columns.entry(column.clone()).or_default();
                own.format.get_or_insert_with(|| format_in_order(order));
            }
        }
        TextOptions {
            values,
            mode: self.mode,
            on_error: self.on_error(),
            reject_limit: self.rejects.limit,
            ..TextOptions::new(plain)
        }
    }

    /// What becomes of records that cannot be taken. A table or a file for them is made by the statement.
    fn on_error(&self) -> OnError {
        if self.rejects.on_error == ErrorChoice::Ignore { OnError::Ignore } else { OnError::Stop }
    }

    /// Whether the option was given.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// How records of JSON stand, where that was said.
    pub(crate) fn layout(&self) -> Option<Layout> {
        self.language.layout
    }

    /// What the column takes where a record lacks it.
    pub(crate) fn default_of(&self, column: &str) -> Option<&str> {
        self.values.defaults.iter().find(|(name, _)| name == column).map(|(_, value)| value.as_str())
    }

    /// Types of columns for which something was said that only values of one type can follow: `DATE_FORMAT (d 'us')`
    /// makes `d` a DATE where types are found out.
    pub(crate) fn spelled(&self) -> &[(String, ColumnType)] {
        &self.spelled
    }

    /// The columns that DEFAULTS names.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.defaults.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How to write CSV, with this delimiter where none was given.
    pub(crate) fn unload(&self, delimiter: Option<&str>) -> Result<UnloadOptions, Error> {
        let mut language = self.language.clone();
        language.delimiter = language.delimiter.or_else(|| delimiter.map(str::to_owned));
        Ok(UnloadOptions {
            dialect: language.dialect()?,
            null: self.null().to_owned(),
            header: self.header != Header::None,
            force_quote: self.force_quote.clone(),
        })
    }

    /// How to write PostgreSQL's text format.
    pub(crate) fn unload_postgres(&self) -> Result<PostgresTextLayout, Error> {
        let null = self.null().to_owned();
        let delimiter = self.language.postgres_text(vec![null.as_bytes().into()])?.delimiter();
        Ok(PostgresTextLayout { delimiter, null, header: self.header != Header::None })
    }

    /// The text that is written for NULL.
    fn null(&self) -> &str {
        self.values.options.nulls.first().map_or("", String::as_str)
    }

    /// The options of a COPY FROM that reads what [`Options::unload`] writes, as SQL.
    pub(crate) fn to_read_back(&self) -> Result<String, Error> {
        let dialect = self.language.dialect()?;
        let byte = |byte: u8| names::literal(&char::from(byte).to_string());
        let mut text =
            format!("FORMAT csv, DELIMITER {}, NULL {}", byte(dialect.delimiter()), names::literal(self.null()));
        for (name, value) in [("QUOTE", dialect.quote()), ("ESCAPE", dialect.escape())] {
            if let Some(value) = value {
                text = format!("{text}, {name} {}", byte(value));
            }
        }
        Ok(format!("{text}, HEADER {}", self.header != Header::None))
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
        let quoted = if let ColumnChoice::Names(names) = &self.force_quote { names.as_slice() } else { &[] };
        let quoted = quoted.iter().map(|name| ("FORCE_QUOTE", name.as_str()));
        self.values.named_columns().chain(self.language.named_columns()).chain(quoted)
    }
}
