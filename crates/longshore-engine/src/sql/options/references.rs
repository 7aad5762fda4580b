//! When foreign keys are checked: `FOREIGN_KEYS`.

use super::OptionValue;
use super::given::Given;
use crate::Error;

/// When foreign keys are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckTime {
    /// As rows are loaded.
    Unified,
    /// When all rows are there.
    Post,
}

pub(super) fn check_time(options: &Given<'_>) -> Result<Option<CheckTime>, Error> {
    let time = options.choice("FOREIGN_KEYS", |name| match name {
        "unified" => Some(CheckTime::Unified),
        "post" => Some(CheckTime::Post),
        _ => None,
    })?;
    let stops = options.item("ON_ERROR").is_none_or(|item| {
        matches!(&item.value, OptionValue::Word(word) | OptionValue::Text(word) if word.eq_ignore_ascii_case("stop"))
    });
    if time == Some(CheckTime::Post) && !stops {
        return Err(options.bad(
            "FOREIGN_KEYS",
            "post finds a missing key when all is read, and can reject nothing then; leave it or ON_ERROR out",
        ));
    }
    Ok(time)
}
