//! How files are opened: compression, encoding, and what is told of them in columns.

use longshore_source::{Compression, Encoding, EncodingErrors, OpenOptions};

use super::given::Given;
use super::{OptionValue, Use};
use crate::Error;

/// The name of the column for the file's name where nothing is said.
const FILENAME: &str = "filename";

/// What was said about files.
#[derive(Debug, Clone)]
pub(crate) struct SourceOptions {
    /// How to open each.
    pub(crate) open: OpenOptions,
    /// The column that takes the name of the file.
    pub(crate) filename: Option<String>,
}

impl SourceOptions {
    pub(super) fn new(given: &Given<'_>, place: Use) -> Result<Self, Error> {
        let mut open = OpenOptions::default();
        if let Some(name) = given.text("ENCODING")? {
            open.encoding = Encoding::named(&name).map_err(|problem| given.bad("ENCODING", &problem))?;
            if matches!(place, Use::CopyTo | Use::Export) && open.encoding != Encoding::UTF_8 {
                return Err(Error::unsupported(format!(
                    "option ENCODING: text is written as utf8 only, not as {name}; convert the file then, for instance \
                     with iconv -f utf-8 -t {name}"
                )));
            }
        }
        if let Some(name) = given.text("COMPRESSION")? {
            open.compression = Compression::named(&name).map_err(|problem| given.bad("COMPRESSION", &problem))?;
        }
        let errors = given.choice("ENCODING_ERRORS", |name| match name {
            "error" => Some(EncodingErrors::Stop),
            "replace" => Some(EncodingErrors::Replace),
            _ => None,
        })?;
        open.encoding_errors = errors.unwrap_or(open.encoding_errors);
        Ok(Self { open, filename: filename(given)? })
    }
}

/// `FILENAME`, `FILENAME true`, or `FILENAME column`.
fn filename(given: &Given<'_>) -> Result<Option<String>, Error> {
    match given.item("FILENAME").map(|item| &item.value) {
        None => Ok(None),
        Some(OptionValue::None) => Ok(Some(FILENAME.to_owned())),
        Some(OptionValue::Word(word)) if word == "true" => Ok(Some(FILENAME.to_owned())),
        Some(OptionValue::Word(word)) if word == "false" => Ok(None),
        Some(OptionValue::Word(name) | OptionValue::Text(name)) => Ok(Some(name.clone())),
        Some(_) => Err(given.bad("FILENAME", "the name of a column is expected")),
    }
}
