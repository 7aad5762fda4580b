//! `COPY TO 'folder' (PARTITION_BY (a, b))`: a folder for each value of the columns, as Hive names them.
//!
//! ```text
//! sales/year=2024/month=1/data_0.parquet
//! ```
//! The rows are sorted by those columns, so that one file is written at a time, however many there are. All is written to a
//! folder beside the target, which takes its place when it is complete. The columns themselves are not in the files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, SchemaRef};
use longshore_load::Target;

use super::format::Written;
use super::{Batches, write_batches};
use crate::statement::new_folder::NewFolder;
use crate::{Error, Report};

/// What stands for NULL in the name of a folder.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// What is written into folders.
pub(super) struct Partitioned {
    /// How many of the last columns are the texts of the values, which name the folders.
    pub(super) keys: usize,
    /// The names of those columns.
    pub(super) names: Vec<String>,
    /// Places of the other columns.
    pub(super) others: Vec<usize>,
    pub(super) written: Written,
    pub(super) threads: usize,
    pub(super) overwrite: bool,
}

impl Partitioned {
    /// Writes `batches`, sorted by the last columns, to the folder `path`.
    pub(super) fn write(
        &self,
        path: &Path,
        batches: Batches,
        schema: &SchemaRef,
        control: &longshore_load::Control,
    ) -> Result<Report, Error> {
        let folder = NewFolder::create(path, self.overwrite, |_| Ok(()))?;
        let fields = self.others.iter().map(|column| schema.field(*column).clone());
        let rest: SchemaRef = Schema::new(fields.collect::<Vec<_>>()).into();
        let mut input = Input { batches, next: None };
        let mut report = Report::default();
        while let Some(values) = input.peek_key(self)? {
            let directory =
                values.iter().zip(&self.names).fold(folder.path().to_owned(), |directory, (value, name)| {
                    directory.join(format!(
                        "{}={}",
                        encoded(name),
                        value.as_deref().map_or_else(|| NULL.to_owned(), encoded)
                    ))
                });
            fs::create_dir_all(&directory).map_err(|error| Error::io("create the directory", &directory, &error))?;
            let file: PathBuf = directory.join(format!("data_0.{}", self.written.ending()));
            let mut rows = OfOneKey { input: &mut input, key: &values, partitioned: self };
            let written = write_batches(&mut rows, &rest, Target::File(file), &self.written, self.threads, control)?;
            report.rows += written.rows;
            report.bytes_written += written.bytes_written;
        }
        folder.keep()?;
        Ok(report)
    }

    /// The texts of the values of a row.
    fn key(&self, batch: &RecordBatch, row: usize) -> Vec<Option<String>> {
        self.key_columns(batch).iter().map(|column| text(column, row).map(str::to_owned)).collect()
    }

    /// How many rows from `row` on have the values of that one.
    fn run(&self, batch: &RecordBatch, row: usize) -> usize {
        let columns = self.key_columns(batch);
        let is_same = |other: &usize| columns.iter().all(|column| text(column, row) == text(column, *other));
        (row + 1..batch.num_rows()).take_while(is_same).count() + 1
    }

    fn key_columns<'a>(&self, batch: &'a RecordBatch) -> &'a [ArrayRef] {
        &batch.columns()[batch.num_columns() - self.keys..]
    }
}

/// Sorted batches, of which a part is written.
struct Input {
    batches: Batches,
    /// A batch, and the row from which on it is not written.
    next: Option<(RecordBatch, usize)>,
}

impl Input {
    /// The values of the next row.
    fn peek_key(&mut self, partitioned: &Partitioned) -> Result<Option<Vec<Option<String>>>, Error> {
        while self.next.as_ref().is_none_or(|(batch, row)| *row >= batch.num_rows()) {
            match self.batches.next().transpose()? {
                Some(batch) => self.next = Some((batch, 0)),
                None => return Ok(None),
            }
        }
        Ok(self.next.as_ref().map(|(batch, row)| partitioned.key(batch, *row)))
    }
}

/// The next rows that have the same values.
struct OfOneKey<'a> {
    input: &'a mut Input,
    key: &'a [Option<String>],
    partitioned: &'a Partitioned,
}

impl Iterator for OfOneKey<'_> {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.input.peek_key(self.partitioned) {
            Ok(Some(key)) if key == self.key => {}
            Ok(_) => return None,
            Err(error) => return Some(Err(error)),
        }
        let (batch, row) = self.input.next.as_mut()?;
        let rows = self.partitioned.run(batch, *row);
        let part = batch.slice(*row, rows);
        *row += rows;
        let part = part.project(&self.partitioned.others);
        Some(part.map_err(|error| Error::internal(error.to_string())))
    }
}

fn text(column: &ArrayRef, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    Some(match column.data_type() {
        DataType::Utf8View => column.as_string_view().value(row),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row),
        _ => column.as_string::<i32>().value(row),
    })
}

/// A text as it stands in the name of a folder: other characters than those that every system takes are `%` and two digits.
fn encoded(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '+' | ',') {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| _ = write!(name, "%{byte:02X}"));
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn names_of_folders_are_plain() {
        assert_eq!(encoded("a b/c=d:e%"), "a b%2Fc%3Dd%3Ae%25");
        assert_eq!(encoded("2024-05-01 é"), "2024-05-01 é");
    }
}
