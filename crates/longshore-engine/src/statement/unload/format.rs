//! What COPY TO writes: what FORMAT says, or else the ending of the file's name; and what it is compressed with.

use std::path::Path;
use std::sync::Arc;

use longshore_load::{JsonLayout, RowText, TextCompression};

use crate::binary::BinaryWriter;
use crate::datafusion::{ColumnarFormat, ParquetCompression, PlainFor};
use crate::sql::options::{Format, Options};
use crate::{Error, TypeId};

/// What rows are written as.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Text(RowText, Option<TextCompression>),
    Columns(ColumnarFormat),
    /// PostgreSQL's binary format.
    Binary,
}

/// Options that are about CSV.
const OF_CSV: [&str; 3] = ["QUOTE", "ESCAPE", "FORCE_QUOTE"];
/// Options that are about CSV and PostgreSQL's text format.
const OF_TEXT: [&str; 3] = ["DELIMITER", "HEADER", "NULL"];

/// Endings of compressed files.
const COMPRESSED: [(&[&str], TextCompression); 2] =
    [(&["gz", "gzip"], TextCompression::Gzip), (&["zst", "zstd"], TextCompression::Zstd)];

/// Endings of files that are something else.
const OTHERS: [&str; 22] = [
    "tgz",
    "bz2",
    "xz",
    "lz4",
    "zip",
    "br",
    "sz",
    "snappy",
    "7z",
    "tar",
    "longshore",
    "orc",
    "avro",
    "xls",
    "xlsx",
    "ods",
    "db",
    "sqlite",
    "duckdb",
    "parq",
    "bgz",
    "rar",
];

impl Written {
    /// What these options and the name of the file say; there is no name for standard output.
    pub(super) fn chosen(options: &Options, path: Option<&str>) -> Result<Self, Error> {
        let name = path.map(str::to_ascii_lowercase).unwrap_or_default();
        let (name, compression) = match COMPRESSED.iter().find_map(|(endings, compression)| {
            let ending = endings.iter().find(|ending| has_ending(&name, ending))?;
            Some((&name[..name.len() - ending.len() - 1], *compression))
        }) {
            Some((inner, compression)) => (inner, Some(compression)),
            None => (name.as_str(), None),
        };
        let format = match options.format {
            Some(format) => format,
            None => by_ending(name, path.unwrap_or_default())?,
        };
        Self::of(format, options, compression)
    }

    /// `format`, compressed as the options say, or else as the ending of the name does.
    pub(super) fn of(format: Format, options: &Options, by_name: Option<TextCompression>) -> Result<Self, Error> {
        let is_csv = matches!(format, Format::Csv | Format::Tsv);
        for (refused, formats, has_it) in
            [(OF_CSV, "csv", is_csv), (OF_TEXT, "csv and text", is_csv || format == Format::Text)]
        {
            if let Some(option) = refused.into_iter().find(|option| !has_it && options.is_given(option)) {
                return Err(Error::invalid(format!(
                    "option {option} has a meaning for FORMAT {formats} only; the format is {}",
                    format.name()
                )));
            }
        }
        let text = match format {
            Format::Csv => RowText::Csv(options.unload(None)?),
            Format::Tsv => RowText::Csv(options.unload(Some("\t"))?),
            Format::Text => RowText::Postgres(options.unload_postgres()?),
            Format::Json => RowText::Json(JsonLayout::Array),
            Format::JsonLines => RowText::Json(JsonLayout::Lines),
            Format::Parquet => {
                if let Some(compression) = by_name.filter(|_| options.compression.is_none()) {
                    return Err(Error::unsupported(format!(
                        "a Parquet file is not compressed as a whole, but within ({compression:?}); leave the ending out, or \
                         give COMPRESSION"
                    )));
                }
                return Ok(Self::Columns(ColumnarFormat::Parquet(of_parquet(options)?)));
            }
            Format::Arrow => {
                if by_name.is_some() || options.compression.as_deref().is_some_and(|name| name != "none") {
                    return Err(Error::unsupported("FORMAT arrow is written without compression"));
                }
                return Ok(Self::Columns(ColumnarFormat::Arrow));
            }
            Format::Binary => {
                if by_name.is_some() || options.compression.as_deref().is_some_and(|name| name != "none") {
                    return Err(Error::unsupported("FORMAT binary is written without compression"));
                }
                return Ok(Self::Binary);
            }
            other => {
                return Err(Error::unsupported(format!(
                    "COPY TO with FORMAT {} is not supported; the formats are csv, tsv, text, json, jsonl, parquet, arrow and \
                     binary, and EXPORT DATABASE writes native",
                    other.name()
                )));
            }
        };
        Ok(Self::Text(text, of_text(options, by_name)?))
    }

    /// The binary format of rows whose columns have these types.
    pub(super) fn of_types(types: Arc<[TypeId]>) -> Self {
        Self::Text(RowText::Other(Arc::new(BinaryWriter(types))), None)
    }

    /// What columns are made plain for; of text between delimiters, whose values are all texts, nothing.
    pub(super) fn purpose(&self) -> Option<PlainFor> {
        match self {
            Self::Text(RowText::Csv(_) | RowText::Postgres(_) | RowText::Other(_), _) | Self::Binary => None,
            Self::Text(RowText::Json(_), _) => Some(PlainFor::Json),
            Self::Columns(_) => Some(PlainFor::Columns),
        }
    }

    /// Whether it is text between delimiters.
    pub(super) fn is_of_texts(&self) -> bool {
        matches!(self, Self::Text(RowText::Csv(_) | RowText::Postgres(_), _))
    }

    /// Whether values are written from what they are, not from their texts.
    pub(super) fn keeps_values(&self) -> bool {
        matches!(self, Self::Text(RowText::Other(_), _) | Self::Binary)
    }

    /// The ending of a file of it.
    pub(super) fn ending(&self) -> String {
        let (ending, compression) = match self {
            Self::Text(RowText::Csv(_), compression) => ("csv", *compression),
            Self::Text(RowText::Postgres(_), compression) => ("txt", *compression),
            Self::Text(RowText::Json(JsonLayout::Array), compression) => ("json", *compression),
            Self::Text(RowText::Json(JsonLayout::Lines), compression) => ("jsonl", *compression),
            Self::Columns(ColumnarFormat::Parquet(_)) => ("parquet", None),
            Self::Columns(ColumnarFormat::Arrow) => ("arrow", None),
            Self::Text(RowText::Other(_), compression) => ("bin", *compression),
            Self::Binary => ("bin", None),
        };
        match compression {
            None => ending.to_owned(),
            Some(TextCompression::Gzip) => format!("{ending}.gz"),
            Some(TextCompression::Zstd) => format!("{ending}.zst"),
        }
    }
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

/// The format that the name of a file says: CSV where it says nothing. Refuses names that say something else.
fn by_ending(name: &str, path: &str) -> Result<Format, Error> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match ending {
        "parquet" | "pq" => Format::Parquet,
        "json" => Format::Json,
        "jsonl" | "ndjson" => Format::JsonLines,
        "arrow" | "feather" | "ipc" => Format::Arrow,
        "tsv" => Format::Tsv,
        other if OTHERS.contains(&other) => {
            return Err(Error::unsupported(format!(
                "COPY TO '{path}' writes CSV, and the name ends in .{other}; the endings .csv, .tsv, .json, .jsonl, .parquet and \
                 .arrow choose a format, .gz and .zst compress it; FORMAT csv writes CSV under any name"
            )));
        }
        _ => Format::Csv,
    })
}

/// What text is compressed with.
pub(super) fn of_text(options: &Options, by_name: Option<TextCompression>) -> Result<Option<TextCompression>, Error> {
    match options.compression.as_deref() {
        None | Some("auto") => Ok(by_name),
        Some("none") => Ok(None),
        Some("gzip" | "gz") => Ok(Some(TextCompression::Gzip)),
        Some("zstd" | "zst") => Ok(Some(TextCompression::Zstd)),
        Some(other) => Err(Error::unsupported(format!(
            "option COMPRESSION: text is written with gzip, zstd or none, not with {other}"
        ))),
    }
}

fn of_parquet(options: &Options) -> Result<ParquetCompression, Error> {
    Ok(match options.compression.as_deref() {
        None | Some("auto" | "zstd" | "zst") => ParquetCompression::Zstd,
        Some("none") => ParquetCompression::None,
        Some("snappy") => ParquetCompression::Snappy,
        Some("gzip" | "gz") => ParquetCompression::Gzip,
        Some("lz4") => ParquetCompression::Lz4,
        Some(other) => {
            return Err(Error::unsupported(format!(
                "option COMPRESSION: Parquet is written with zstd, snappy, gzip, lz4 or none, not with {other}"
            )));
        }
    })
}
