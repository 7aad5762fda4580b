//! JSON: objects or arrays as records, values by path as columns.
//!
//! Strictly RFC 8259: what is no JSON is no record, wherever in it the mistake is, and whether a column takes that
//! part or not. Beyond the standard's choices:
//!
//! * Of a key that stands twice in an object, the last one counts.
//! * Strings must stand for characters: half a surrogate pair is a defect, and so is text that is not UTF-8.
//! * Objects and arrays lie at most [`JSON_DEPTH_MAX`] within each other.
//!
//! A value is found by its path ([`JsonPath`]). One that is not there (because a key is absent, an array is too short,
//! or a path goes on where a scalar stands) is missing, and takes the default of its column; null is NULL. Numbers and booleans become fields as
//! they are written, strings fields in quotes with their escapes taken away, and objects and arrays fields in quotes
//! with the text that they are. Keys that no column wants are ignored, or make a record a defect ([`UnknownKeys`]).
//!
//! Behind a record that is none, reading goes on with the next line ([`Layout::Lines`]), or where its brackets are
//! balanced ([`mod@layout`]).
//!
//! The order of the work: [`mod@layout`] cuts, `reader` goes from record to record, `record` reads one by means of
//! the tree of all paths (`plan`), `token` and `skip` know the syntax, 16 bytes at a time where it pays (`lanes`).
//! Not here: what a field's text means, and when it is NULL (the decoders of `longshore-csv`).

#![allow(clippy::unnecessary_box_returns, reason = "results stay small where nothing is wrong")]

mod discover;
mod fault;
mod lanes;
pub mod layout;
mod path;
mod plan;
mod reader;
mod record;
mod skip;
#[cfg(test)]
mod tests;
mod token;
mod unescape;
mod utf8;

use longshore_csv::{Defect, DefectKind, FirstRecord, RecordFormat, RowText};

pub use discover::{Discovered, Discovery, JsonKinds, detect_layout, discover};
pub use layout::Layout;
pub use path::{JsonPath, JsonPathError, JsonStep};
pub use plan::{JSON_PATH_STEPS_MAX, JsonError};
pub use skip::JSON_DEPTH_MAX;

use plan::Plan;
use reader::Reader;

/// What becomes of a record with a key, or an element, that no column wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKeys {
    /// It is read without it.
    #[default]
    Ignore,
    /// It is a defect.
    Reject,
}

/// A text of JSON.
#[derive(Debug)]
pub struct Json {
    plan: Plan,
    layout: Layout,
    unknown: UnknownKeys,
}

impl Json {
    /// A text whose records stand in this layout, and the paths of the columns.
    ///
    /// # Errors
    /// If there is no column, or a path has too many steps.
    pub fn new(columns: &[JsonPath], layout: Layout) -> Result<Json, JsonError> {
        Ok(Json { plan: Plan::new(columns)?, layout, unknown: UnknownKeys::Ignore })
    }

    /// The same with another treatment of keys that no column wants.
    #[must_use]
    pub fn with_unknown_keys(self, unknown: UnknownKeys) -> Json {
        Json { unknown, ..self }
    }

    /// How records stand in the text.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

impl RecordFormat for Json {
    fn complete(&self, text: &[u8], at_end: bool) -> usize {
        if at_end { text.len() } else { layout::complete(text, self.layout) }
    }

    fn read(&self, text: &[u8], rows: &mut RowText, defects: &mut Vec<Defect>) -> usize {
        assert_eq!(rows.fields(), self.plan.columns.len(), "a row has a field for each column");
        let rejects_unknown = self.unknown == UnknownKeys::Reject;
        Reader::new(text, &self.plan, rejects_unknown, rows, defects).read(self.layout)
    }

    fn first_record(&self, _text: &[u8], _at_end: bool) -> Option<FirstRecord> {
        None
    }

    fn unfinished(&self, last: &[u8]) -> Option<Defect> {
        let unfinished = self.layout == Layout::Array && layout::ends_in_array(last);
        unfinished.then(|| Defect {
            row: 0,
            start: last.len() as u32,
            end: last.len() as u32,
            kind: DefectKind::Syntax,
            reason: "the array is not closed: found the end of the text where ',' or ']' is expected".to_owned(),
            remedy: "complete the file, whose end may be missing".to_owned(),
        })
    }
}
