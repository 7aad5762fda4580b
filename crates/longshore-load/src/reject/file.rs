//! Rejects as a CSV file, which `COPY ... FROM` reads into a table of [`reject_schema`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use longshore_csv::Dialect;
use longshore_csv::write::Quoting;

use super::reject_schema;
use crate::error::{LoadError, Reject};
use crate::options::RejectSink;
use crate::target::{OpenTarget, Target};

/// A CSV file of rejects: a header, then a record for each, the columns of [`reject_schema`]. It replaces a file of its
/// name, and only when the load is done; dropped before, it leaves nothing.
pub struct RejectFile {
    path: PathBuf,
    dialect: Dialect,
    /// Until it is finished.
    output: Mutex<Option<OpenTarget>>,
}

impl RejectFile {
    /// Begins the file at `path`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, LoadError> {
        let dialect = Dialect::new(b',', Some(b'"'), None)?;
        let output = OpenTarget::open(Target::File(path.to_owned()))?;
        let file = Self { path: path.to_owned(), dialect, output: Mutex::new(Some(output)) };
        let schema = reject_schema();
        let names: Vec<&str> = schema.columns().iter().map(|column| column.name.as_str()).collect();
        file.append(format!("{}\n", names.join(",")).as_bytes())?;
        Ok(file)
    }

    fn append(&self, text: &[u8]) -> Result<(), LoadError> {
        match &*self.output.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(output) => output.write_next(text).map_err(|error| output.error("write it", error)),
            None => Ok(()),
        }
    }

    fn write(&self, reject: &Reject, out: &mut Vec<u8>) -> Result<(), LoadError> {
        let quoting = Quoting::new(&self.dialect, b"", false);
        let column = reject.column.as_ref();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = [
            Some(reject.file.to_string()),
            Some(reject.line.to_string()),
            Some(reject.byte.to_string()),
            column.map(|column| column.name.clone()),
            column.map(|column| column.column_type.clone()),
            reject.value.as_deref().map(lossy),
            Some(reject.kind.to_string()),
            Some(reject.reason.clone()),
            Some(reject.record_byte.to_string()),
            Some(lossy(&reject.record)),
        ];
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                out.push(self.dialect.delimiter());
            }
            if let Some(field) = field {
                quoting.text(out, field.as_bytes()).map_err(|error| LoadError::Query(error.to_string()))?;
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

impl RejectSink for RejectFile {
    fn take(&self, rejects: &[Reject]) -> Result<(), LoadError> {
        let mut text = Vec::new();
        for reject in rejects {
            self.write(reject, &mut text)?;
        }
        self.append(&text)
    }

    fn finish(&self) -> Result<(), LoadError> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.map_or(Ok(()), OpenTarget::complete)
    }
}

impl fmt::Debug for RejectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for RejectFile {
    fn drop(&mut self) {
        if let Some(output) = self.output.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            output.discard();
        }
    }
}
