//! The files that names in a statement stand for, and the columns that are not in them: what their folders say, their
//! names, the numbers of their records.
//!
//! Values in names of folders are written as in a file of plain ISO values; a column of them has the narrowest type that
//! loses nothing of any, so that `month=01` is text unless it is given a type. Not here: finding and opening
//! (`longshore-source`).

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longshore_format::sniff::types::{Reading, TypeSet, classify};
use longshore_load::{ComputedValue, SourceError, column_type};
use longshore_source::{FoundFile, Location, expand, partition_names};
use longshore_storage::{Column, ColumnType};

use super::kind::FileKind;
use crate::Error;
use crate::sql::options::{Format, SourceOptions};

/// What goes into a column that no field goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ComputedColumn {
    /// The name of the file.
    Filename,
    /// The number of the record in its file.
    RowNumber,
    /// What the folders of the file say, by its place among these values.
    Partition(usize),
    /// The value of this text.
    Value(String),
    /// The next number of a sequence, by its place among those of the load.
    Number(usize),
}

impl ComputedColumn {
    /// In words.
    pub(crate) fn described(&self) -> &'static str {
        match self {
            Self::Filename => "the name of the file (FILENAME)",
            Self::RowNumber => "the number of the record (ROW_NUMBER)",
            Self::Partition(_) => "what the folders say (HIVE_PARTITIONING)",
            Self::Value(_) => "its default (DEFAULTS)",
            Self::Number(_) => "the numbers of its sequence",
        }
    }
}

/// The files that `names` stand for: patterns, folders and addresses become what they hold.
pub(crate) fn find_files(names: &[String], options: &SourceOptions) -> Result<Vec<FoundFile>, Error> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        match expand(std::slice::from_ref(name), &options.open.store) {
            Ok(files) => found.extend(files),
            Err(SourceError::Io { error, .. })
                if error.kind() == io::ErrorKind::NotFound && matches!(Location::parse(name), Location::File(_)) =>
            {
                return Err(Error::not_found(format!(
                    "the file {name} does not exist; paths are relative to the working directory"
                )));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// What `file` is, as far as its first bytes tell, or if it is elsewhere, its name and the `format` that was given; what
/// is not a file is taken for text.
pub(crate) fn kind_of(file: &FoundFile, format: Option<Format>) -> Result<FileKind, Error> {
    let Location::Remote(address) = &file.location else {
        if format == Some(Format::Binary) {
            // What else it is, is told when it is read.
            return Ok(FileKind::Binary);
        }
        return local_path(file).map_or(Ok(FileKind::Text), FileKind::of);
    };
    Ok(match (format, extension(address).as_deref()) {
        (Some(Format::Parquet), _) | (None, Some("parquet")) => FileKind::Parquet,
        (Some(Format::Binary), _) => FileKind::Binary,
        (Some(Format::Arrow), _) | (None, Some("arrow" | "feather" | "ipc" | "arrows")) => FileKind::Arrow,
        _ => FileKind::Text,
    })
}

/// What the name in an address ends with, in lower case.
fn extension(address: &str) -> Option<String> {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    Path::new(path).extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
}

/// Refuses to write to the file `path` if it is one of those that are read.
pub(crate) fn check_not_read(path: &str, files: &[FoundFile]) -> Result<(), Error> {
    let identity = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let Some(target) = identity(Path::new(path)) else { return Ok(()) };
    match files.iter().find(|file| local_path(file).and_then(identity) == Some(target)) {
        None => Ok(()),
        Some(file) => Err(Error::invalid(format!(
            "option ON_ERROR: {path} would be replaced by the rejects, but {} is what is read; name another file",
            file.location
        ))),
    }
}

/// The path of `file`, if it is one of this machine.
pub(crate) fn local_path(file: &FoundFile) -> Option<&Path> {
    match &file.location {
        Location::File(path) => Some(path),
        Location::Remote(_) | Location::Stdin => None,
    }
}

/// The columns that the options ask for beside those of `files`, in the order in which they stand behind these: their
/// folders', in the types of `types` or else those of all values; the file's name; the number of the record.
pub(crate) fn further_columns(
    files: &[FoundFile],
    options: &SourceOptions,
    types: &[(String, ColumnType)],
) -> Result<Vec<(Column, ComputedColumn)>, Error> {
    let mut columns = Vec::new();
    if options.hive_partitioning {
        let names = partition_names(files)?;
        if names.is_empty() {
            let name = files.first().map_or_else(|| "the input".to_owned(), |file| file.location.to_string());
            return Err(Error::invalid(format!(
                "option HIVE_PARTITIONING: {name} is in no folder such as year=2024; leave the option out"
            )));
        }
        for (index, name) in names.into_iter().enumerate() {
            let given = types.iter().find(|(given, _)| *given == name).map(|(_, given)| *given);
            let column_type = given.unwrap_or_else(|| type_of_values(files, index));
            columns.push((Column::new(name, column_type, true), ComputedColumn::Partition(index)));
        }
    }
    if let Some(name) = &options.filename {
        columns.push((Column::new(name.clone(), ColumnType::Text, false), ComputedColumn::Filename));
    }
    if let Some(name) = &options.row_number {
        columns.push((Column::new(name.clone(), ColumnType::BigInt, false), ComputedColumn::RowNumber));
    }
    for (index, (column, _)) in columns.iter().enumerate() {
        if columns[..index].iter().any(|(other, _)| other.name == column.name) {
            return Err(Error::invalid(format!(
                "the options FILENAME, ROW_NUMBER and HIVE_PARTITIONING ask for two columns named {}; give one of them \
                 another name",
                column.name
            )));
        }
    }
    Ok(columns)
}

/// The narrowest type of what the folders of `files` say at `index`.
fn type_of_values(files: &[FoundFile], index: usize) -> ColumnType {
    let reading = Reading { common_nulls: false, ..Reading::default() };
    let values = files.iter().filter_map(|file| file.partitions.get(index)?.1.as_ref());
    let types = values.fold(TypeSet::EVERY, |types, value| types.join(classify(value.as_bytes(), false, &reading)));
    let decided = types.decide(&reading).value_type;
    // Values of whole files are read in ISO's way.
    if decided.layout().is_some() { ColumnType::Text } else { column_type(&decided) }
}

/// What `column` is for the file called `name`, whose folders say `partitions`.
pub(super) fn computed_value(
    column: &ComputedColumn,
    name: &str,
    partitions: &[(String, Option<String>)],
) -> ComputedValue {
    match column {
        ComputedColumn::Filename => ComputedValue::Text(name.to_owned()),
        ComputedColumn::RowNumber => ComputedValue::RecordNumber,
        ComputedColumn::Partition(index) => match partitions.get(*index) {
            Some((_, Some(value))) => ComputedValue::Text(value.clone()),
            _ => ComputedValue::Null,
        },
        ComputedColumn::Value(text) => ComputedValue::Text(text.clone()),
        ComputedColumn::Number(source) => ComputedValue::Number(*source),
    }
}
