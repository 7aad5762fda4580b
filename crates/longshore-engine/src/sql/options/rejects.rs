//! What becomes of records that cannot be taken: `ON_ERROR`, `REJECT_LIMIT`, `DRY_RUN`.

use longshore_load::RejectLimit;

use super::given::Given;
use super::{OptionValue, Use};
use crate::Error;

/// What was said about records that cannot be taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct RejectOptions {
    pub(crate) on_error: ErrorChoice,
    pub(crate) limit: RejectLimit,
    /// Whether nothing shall be loaded.
    pub(crate) dry_run: bool,
}

/// What to do about a record that cannot be taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ErrorChoice {
    #[default]
    Stop,
    Ignore,
    /// Leave it out and tell of it in a table.
    Table(String),
    /// Leave it out and tell of it in a file.
    File(String),
}

impl RejectOptions {
    pub(super) fn new(given: &Given<'_>, place: Use) -> Result<Self, Error> {
        let is_copy = matches!(place, Use::CopyFrom | Use::CopyQuery);
        let on_error = match given.item("ON_ERROR").map(|item| &item.value) {
            None => ErrorChoice::Stop,
            Some(OptionValue::Word(word) | OptionValue::Text(word)) if word.eq_ignore_ascii_case("stop") => {
                ErrorChoice::Stop
            }
            Some(OptionValue::Word(word) | OptionValue::Text(word)) if word.eq_ignore_ascii_case("ignore") => {
                ErrorChoice::Ignore
            }
            Some(OptionValue::Named(kind, name)) if name.is_empty() => {
                return Err(given.bad("ON_ERROR", &format!("the name of the {kind} is empty")));
            }
            Some(OptionValue::Named(kind, name)) if is_copy && kind == "table" => ErrorChoice::Table(name.clone()),
            Some(OptionValue::Named(kind, name)) if is_copy && kind == "file" => ErrorChoice::File(name.clone()),
            Some(_) if is_copy => {
                return Err(given.bad("ON_ERROR", "the values are stop, ignore, table 'name', file 'path'"));
            }
            Some(_) => return Err(given.bad("ON_ERROR", "the values are stop and ignore here; COPY takes more")),
        };
        let limit = limit(given)?;
        if limit != RejectLimit::None && on_error == ErrorChoice::Stop {
            return Err(given.bad("REJECT_LIMIT", "has a meaning with ON_ERROR ignore, table or file only"));
        }
        Ok(Self { on_error, limit, dry_run: given.flag("DRY_RUN")?.unwrap_or(false) })
    }
}

fn limit(given: &Given<'_>) -> Result<RejectLimit, Error> {
    let problem = "a number of records or a percentage such as '0.5%' is expected";
    let text = match given.item("REJECT_LIMIT").map(|item| &item.value) {
        None => return Ok(RejectLimit::None),
        Some(OptionValue::Number(text) | OptionValue::Text(text)) => text.trim(),
        Some(_) => return Err(given.bad("REJECT_LIMIT", problem)),
    };
    let limit = match text.strip_suffix('%') {
        Some(percent) => {
            percent.trim().parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(RejectLimit::Percent)
        }
        None => text.parse().ok().map(RejectLimit::Records),
    };
    limit.ok_or_else(|| given.bad("REJECT_LIMIT", problem))
}
