//! Where text comes from.

use std::io::Read;
use std::path::Path;

use crate::LoadError;

/// A file or a stream of text.
pub struct Source {}

impl Source {
    /// Opens a file; it is mapped where that is possible and read otherwise.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let _ = path;
        todo!()
    }

    /// A source that is read once, from front to back; `name` stands in messages.
    #[must_use]
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>) -> Self {
        let _ = (name, reader);
        todo!()
    }
}
