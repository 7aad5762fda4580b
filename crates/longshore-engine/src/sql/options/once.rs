//! Loads that happen once: `ONCE`, `ON_CHANGE`.

use super::given::Given;
use super::{OptionItem, OptionValue};
use crate::Error;

/// What was said about files that were loaded before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OnceOptions {
    /// Whether only files are loaded that were not loaded before.
    pub(crate) once: bool,
    pub(crate) on_change: ChangeChoice,
}

/// What to do about a file that has changed since it was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ChangeChoice {
    #[default]
    Error,
    /// Leave it as it was loaded.
    Ignore,
    /// Load all of it, beside the rows that it gave before.
    Append,
    /// Load what was appended to it.
    Continue,
}

impl OnceOptions {
    pub(super) fn new(given: &Given<'_>) -> Result<Self, Error> {
        let once = given.flag("ONCE")?.unwrap_or(false);
        let on_change = given.choice("ON_CHANGE", |name| match name {
            "error" => Some(ChangeChoice::Error),
            "ignore" => Some(ChangeChoice::Ignore),
            "append" => Some(ChangeChoice::Append),
            "continue" => Some(ChangeChoice::Continue),
            _ => None,
        })?;
        if on_change.is_some() && !once {
            return Err(given.bad("ON_CHANGE", "it is about files that were loaded before; set ONCE"));
        }
        if on_change == Some(ChangeChoice::Continue) {
            // What is found out, or counted, begins with the file.
            let flags = ["AUTO", "ROW_NUMBER"].into_iter().filter(|name| given.item(name).is_some_and(is_set));
            let json = given.item("FORMAT").filter(|item| is_word(&item.value, "json")).map(|_| "FORMAT json");
            if let Some(other) = flags.chain(json).next() {
                return Err(given.bad(
                    "ON_CHANGE",
                    &format!("continue reads a file from its middle on, which {other} cannot; leave one of them out"),
                ));
            }
        }
        Ok(Self { once, on_change: on_change.unwrap_or_default() })
    }
}

impl OnceOptions {
    /// Refuses ONCE where the table is yet to be made.
    pub(crate) fn check_table_exists(self, table: &str) -> Result<(), Error> {
        if !self.once {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "option ONCE: table {table} does not exist, and what makes it is not noted as a load of its files; create it first"
        )))
    }
}

fn is_word(value: &OptionValue, wanted: &str) -> bool {
    matches!(value, OptionValue::Word(word) | OptionValue::Text(word) if word.eq_ignore_ascii_case(wanted))
}

/// Whether an option does anything.
fn is_set(item: &OptionItem) -> bool {
    !is_word(&item.value, "false")
}
