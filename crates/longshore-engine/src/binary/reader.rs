//! COPY's binary format as batches of rows.
//!
//! A signature, flags, an extension; then for each row the number of its fields, and each field behind its length, -1 for NULL;
//! and -1 in the place of a number of fields at the end. As in PostgreSQL, data that ends between two rows needs no such end.
//! What a length promises is not reserved: the buffer grows by what comes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use longshore_load::{Control, RECORD_BYTES_MAX};
use longshore_storage::Column as TableColumn;

use super::SIGNATURE;
use super::columns::{Column, Refused, is_cast};
use super::decode::Malformed;
use crate::error::ErrorDetails;
use crate::{Error, ErrorKind};

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 8192;
/// Bytes that a batch is handed on with.
const BATCH_BYTES: u64 = 4 << 20;
/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Where binary data is.
pub(crate) enum BinarySource {
    /// Under this name, which errors tell.
    Reader(String, Box<dyn Read + Send>),
    File(PathBuf),
}

impl BinarySource {
    fn open(self) -> Result<Input, Error> {
        let (name, reader) = match self {
            Self::Reader(name, reader) => (name, reader),
            Self::File(path) => {
                let file = File::open(&path).map_err(|error| Error::io("open", &path, &error))?;
                (path.display().to_string(), Box::new(file) as Box<dyn Read + Send>)
            }
        };
        Ok(Input { name, reader, bytes: Vec::new(), start: 0, end: 0, row: 0 })
    }
}

/// The rows of binary data, one batch after the other.
pub(crate) struct BinaryRows {
    sources: VecDeque<BinarySource>,
    input: Option<Input>,
    names: Vec<String>,
    columns: Vec<Column>,
    schema: SchemaRef,
    control: Arc<Control>,
    has_failed: bool,
}

impl BinaryRows {
    /// Rows of these columns. Those of some types are texts, which are to be cast ([`BinaryRows::is_cast`]).
    pub(crate) fn new(sources: Vec<BinarySource>, columns: &[TableColumn], control: &Arc<Control>) -> Self {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut columns: Vec<Column> = columns.iter().map(|column| Column::new(column.column_type)).collect();
        let fields = names.iter().zip(&mut columns).map(|(name, column)| Field::new(name, column.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let (sources, control) = (sources.into(), Arc::clone(control));
        Self { sources, input: None, names, columns, schema, control, has_failed: false }
    }

    /// Whether values of a column come as texts.
    pub(crate) fn is_cast(column: &TableColumn) -> bool {
        is_cast(column.column_type)
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let mut rows = 0;
        let mut bytes = 0;
        while rows < BATCH_ROWS && bytes < BATCH_BYTES {
            if self.input.is_none() {
                let Some(source) = self.sources.pop_front() else { break };
                let mut input = source.open()?;
                input.head()?;
                self.input = Some(input);
            }
            let Some(input) = &mut self.input else { break };
            match input.row(&mut self.columns, &self.names)? {
                Some(read) => {
                    rows += 1;
                    bytes += read;
                }
                None => self.input = None,
            }
        }
        if self.control.is_cancelled() {
            return Err(Error::cancelled());
        }
        self.control.progress.add(bytes, 0);
        if rows == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.map(Some).map_err(|error| Error::internal(error.to_string()))
    }
}

impl Iterator for BinaryRows {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let batch = self.batch().transpose();
        self.has_failed = batch.as_ref().is_some_and(Result::is_err);
        batch
    }
}

/// Data of which the bytes from `start` to `end` are there and not used.
struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// How many rows were begun.
    row: u64,
}

impl Input {
    /// Whether there are `count` more bytes; reads until they are there.
    fn has(&mut self, count: usize) -> Result<bool, Error> {
        while self.end - self.start < count {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end == self.bytes.len() {
                // No more than has come already.
                self.bytes.resize(self.bytes.len() + self.bytes.len().max(READ_BYTES), 0);
            }
            match self.reader.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error(ErrorKind::Io, None, &format!("cannot read it: {error}"))),
            }
        }
        Ok(true)
    }

    fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start += count;
        &self.bytes[from..self.start]
    }

    fn int(&mut self) -> Result<Option<i32>, Error> {
        if !self.has(4)? {
            return Ok(None);
        }
        Ok(self.take(4).try_into().ok().map(i32::from_be_bytes))
    }

    fn head(&mut self) -> Result<(), Error> {
        if !self.has(SIGNATURE.len())? || self.take(SIGNATURE.len()) != SIGNATURE {
            return Err(self.malformed("COPY file signature not recognized"));
        }
        let Some(flags) = self.int()? else {
            return Err(self.malformed("invalid COPY file header (missing flags)"));
        };
        match flags as u32 >> 16 {
            0 => {}
            1 => return Err(self.malformed("invalid COPY file header (WITH OIDS)")),
            _ => return Err(self.malformed("unrecognized critical flags in COPY file header")),
        }
        let extension = self.int()?.and_then(|length| usize::try_from(length).ok());
        let Some(mut extension) = extension else {
            return Err(self.malformed("invalid COPY file header (missing length)"));
        };
        while extension > 0 {
            if !self.has(1)? {
                return Err(self.malformed("invalid COPY file header (wrong length)"));
            }
            let skipped = extension.min(self.end - self.start);
            self.start += skipped;
            extension -= skipped;
        }
        Ok(())
    }

    /// Appends the next row; how many bytes it has, `None` if there is none.
    fn row(&mut self, columns: &mut [Column], names: &[String]) -> Result<Option<u64>, Error> {
        if !self.has(2)? {
            return if self.start == self.end { Ok(None) } else { Err(self.cut_off()) };
        }
        let count = self.take(2);
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == -1 {
            return if self.has(1)? { Err(self.malformed("received copy data after EOF marker")) } else { Ok(None) };
        }
        self.row += 1;
        if usize::try_from(count).ok() != Some(columns.len()) {
            return Err(self.malformed(&format!("row field count is {count}, expected {}", columns.len())));
        }
        let mut read = 2;
        for (column, name) in columns.iter_mut().zip(names) {
            let Some(length) = self.int()? else { return Err(self.cut_off()) };
            read += 4;
            if length == -1 {
                column.append_null();
                continue;
            }
            let Some(length) = usize::try_from(length).ok().filter(|length| *length <= RECORD_BYTES_MAX) else {
                return Err(self.error(ErrorKind::BAD_COPY_FORMAT, Some(name), "invalid field size"));
            };
            if !self.has(length)? {
                return Err(self.cut_off());
            }
            read += length as u64;
            let appended = column.append(self.take(length));
            appended.map_err(|refused| self.refused(&refused, name, length))?;
        }
        Ok(Some(read))
    }

    fn refused(&self, refused: &Refused, column: &str, length: usize) -> Error {
        let (code, message) = match refused {
            Refused::Malformed(Malformed::Encoding) => {
                ("22021", "invalid byte sequence for encoding \"UTF8\"".to_owned())
            }
            Refused::Malformed(Malformed::Range(of)) => ("22008", format!("{of} out of range")),
            Refused::Malformed(Malformed::Binary) => {
                ("22P03", format!("incorrect binary data format ({length} bytes)"))
            }
            Refused::Malformed(Malformed::Type(oid)) => {
                ("0A000", format!("the binary format of type {oid} is not known; use FORMAT csv or text"))
            }
            Refused::Overflow => ("22003", "numeric field overflow".to_owned()),
        };
        self.error(ErrorKind::Coded(code), Some(column), &message)
    }

    fn cut_off(&self) -> Error {
        self.malformed("unexpected EOF in COPY data")
    }

    fn malformed(&self, what: &str) -> Error {
        self.error(ErrorKind::BAD_COPY_FORMAT, None, what)
    }

    fn error(&self, kind: ErrorKind, column: Option<&str>, what: &str) -> Error {
        let row = (self.row > 0).then_some(self.row);
        let place = [row.map(|row| format!("row {row}")), column.map(|column| format!("column {column}"))];
        let place: Vec<String> = place.into_iter().flatten().collect();
        let separator = if place.is_empty() { "" } else { ": " };
        let details = ErrorDetails {
            file: Some(self.name.clone()),
            line: row,
            column: column.map(str::to_owned),
            ..ErrorDetails::NONE
        };
        Error::new(kind, format!("{}: {}{separator}{what}", self.name, place.join(", "))).about(details)
    }
}

#[cfg(test)]
mod tests {
    use longshore_storage::ColumnType;

    use super::*;

    /// Hands out one byte at a time.
    struct Slow(VecDeque<u8>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(self.0.pop_front().map_or(0, |byte| {
                buffer[0] = byte;
                1
            }))
        }
    }

    fn head() -> Vec<u8> {
        let mut data = SIGNATURE.to_vec();
        data.extend([0, 0, 0, 0, 0, 0, 0, 0]);
        data
    }

    fn of(data: &[u8], is_slow: bool) -> Result<usize, Error> {
        let reader: Box<dyn Read + Send> = if is_slow {
            Box::new(Slow(data.iter().copied().collect()))
        } else {
            Box::new(io::Cursor::new(data.to_vec()))
        };
        let columns = [ColumnType::Integer, ColumnType::Text]
            .into_iter()
            .zip(["a", "b"])
            .map(|(column_type, name)| TableColumn::new(name.to_owned(), column_type, true));
        let columns: Vec<TableColumn> = columns.collect();
        let source = BinarySource::Reader("STDIN".to_owned(), reader);
        let rows = BinaryRows::new(vec![source], &columns, &Arc::new(Control::new()));
        rows.map(|batch| batch.map(|batch| batch.num_rows())).sum()
    }

    #[test]
    fn whatever_is_wrong_is_told_and_nothing_else_happens() {
        let row = |count: i16, fields: &[(i32, &[u8])]| {
            let mut row = count.to_be_bytes().to_vec();
            for (length, bytes) in fields {
                row.extend(length.to_be_bytes());
                row.extend_from_slice(bytes);
            }
            row
        };
        let sound = row(2, &[(4, &[0, 0, 0, 1]), (1, b"x")]);
        let end = [0xFF, 0xFF];
        let after = |rows: &[&[u8]]| [head(), rows.concat()].concat();
        for (data, expected) in [
            (after(&[&sound, &sound, &end]), Ok(2)),
            (after(&[&sound]), Ok(1)),
            (after(&[]), Ok(0)),
            (after(&[&row(2, &[(-1, b""), (-1, b"")]), &end]), Ok(1)),
            (after(&[&end, &sound]), Err("received copy data after EOF marker")),
            (after(&[&row(3, &[])]), Err("row 1: row field count is 3, expected 2")),
            (after(&[&row(-2, &[])]), Err("row field count is -2, expected 2")),
            (after(&[&sound, &row(2, &[(-2, b"")])]), Err("row 2, column a: invalid field size")),
            (after(&[&row(2, &[(i32::MAX, b"")])]), Err("invalid field size")),
            (after(&[&row(2, &[(1 << 29, b"abc")])]), Err("unexpected EOF in COPY data")),
            (after(&[&row(2, &[(3, b"abc")])]), Err("column a: incorrect binary data format (3 bytes)")),
            (after(&[&row(2, &[(-1, b""), (1, b"\xFF")])]), Err("column b: invalid byte sequence")),
            (b"PGCOPY\n".to_vec(), Err("signature not recognized")),
            (b"1\tx\n2\ty\n, text".to_vec(), Err("signature not recognized")),
            (Vec::new(), Err("signature not recognized")),
            ([SIGNATURE, &[0, 2, 0, 0, 0, 0, 0, 0]].concat(), Err("unrecognized critical flags")),
            ([SIGNATURE, &[0, 1, 0, 0, 0, 0, 0, 0]].concat(), Err("WITH OIDS")),
            ([SIGNATURE, &[0, 0, 0, 0, 0, 0, 0, 9, 1]].concat(), Err("wrong length")),
            ([SIGNATURE, &[0, 0, 0, 0, 0xFF, 0, 0, 0]].concat(), Err("missing length")),
            ([SIGNATURE, &[0, 0, 0, 0, 0, 0, 0, 1, 9], &sound[..]].concat(), Ok(1)),
        ] {
            for is_slow in [false, true] {
                match (of(&data, is_slow), expected) {
                    (Ok(rows), Ok(expected)) => assert_eq!(rows, expected),
                    (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                    (got, expected) => panic!("{got:?} instead of {expected:?}"),
                }
            }
        }
        // Wherever it is cut off, it is an error or ends between two rows.
        let data = after(&[&sound, &sound, &end]);
        for length in 0..data.len() {
            let rows = of(&data[..length], false);
            let between = [head().len(), head().len() + sound.len(), head().len() + 2 * sound.len()];
            assert_eq!(rows.is_ok(), between.contains(&length), "{length} bytes");
        }
    }
}
