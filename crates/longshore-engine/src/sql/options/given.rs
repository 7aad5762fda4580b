//! The values of options: texts, single characters, choices, numbers, columns.
//!
//! Not here: which options there are and what they mean (the module above).

use longshore_load::ColumnChoice;

use super::{OptionItem, OptionValue, at_place, rules};
use crate::Error;

/// A truth value as options take it.
pub(super) fn boolean(name: &str) -> Option<bool> {
    match name {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The options that were given, by name.
pub(super) struct Given<'a> {
    pub(super) items: &'a [OptionItem],
}

impl<'a> Given<'a> {
    pub(super) fn item(&self, name: &str) -> Option<&'a OptionItem> {
        self.items.iter().find(|item| item.name == name)
    }

    pub(super) fn bad(&self, name: &str, problem: &str) -> Error {
        let place = self.item(name).map(|item| at_place(item.at)).unwrap_or_default();
        Error::invalid(format!("option {name}{place}: {problem}"))
    }

    pub(super) fn word(&self, name: &str) -> Option<&'a str> {
        match self.item(name) {
            Some(OptionItem { value: OptionValue::Word(word), .. }) => Some(word),
            _ => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.item(name).map(|item| &item.value) {
            None => Ok(None),
            Some(OptionValue::Text(text) | OptionValue::Word(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.bad(name, "a text in quotes is expected")),
        }
    }

    /// A single character of one byte.
    pub(super) fn byte(&self, name: &str) -> Result<Option<u8>, Error> {
        match self.item(name).map(|item| &item.value) {
            None => Ok(None),
            Some(OptionValue::Text(text)) if text.len() == 1 => Ok(Some(text.as_bytes()[0])),
            Some(OptionValue::Text(text)) if text.starts_with('\\') => Err(self.bad(
                name,
                &format!("one character of one byte is expected, found {text:?}; with backslashes write E'{text}'"),
            )),
            Some(OptionValue::Text(text)) => {
                Err(self.bad(name, &format!("one character of one byte is expected, found {text:?}")))
            }
            Some(_) => Err(self.bad(name, "one character in single quotes is expected")),
        }
    }

    /// One of several words, in quotes or not; case does not matter.
    pub(super) fn choice<T>(&self, name: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
        let text = match self.item(name).map(|item| &item.value) {
            None => return Ok(None),
            Some(OptionValue::Text(text) | OptionValue::Word(text) | OptionValue::Number(text)) => text,
            Some(_) => return Err(self.bad(name, &format!("a value is expected: {}", choices(name)))),
        };
        match read(&text.to_ascii_lowercase()) {
            Some(value) => Ok(Some(value)),
            None => Err(self.bad(name, &format!("{text:?} is not a value it takes; the values are {}", choices(name)))),
        }
    }

    /// A truth value, which may be left out.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.item(name).map(|item| &item.value) {
            Some(OptionValue::None) => Ok(Some(true)),
            _ => self.choice(name, boolean),
        }
    }

    /// A number from 1 to `max`.
    pub(super) fn number(&self, name: &str, max: usize) -> Result<Option<usize>, Error> {
        let number = match self.item(name).map(|item| &item.value) {
            None => return Ok(None),
            Some(OptionValue::Number(digits) | OptionValue::Text(digits)) => digits.parse::<usize>().ok(),
            Some(_) => None,
        };
        match number {
            Some(number) if (1..=max).contains(&number) => Ok(Some(number)),
            _ => Err(self.bad(name, &format!("a number from 1 to {max} is expected"))),
        }
    }

    /// A number from 0.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.item(name).map(|item| &item.value) {
            None => Ok(None),
            Some(OptionValue::Number(digits) | OptionValue::Text(digits)) => match digits.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(self.bad(name, "a number from 0 is expected")),
            },
            Some(_) => Err(self.bad(name, "a number from 0 is expected")),
        }
    }

    /// Columns: one, or several in parentheses.
    pub(super) fn names(&self, name: &str) -> Result<Vec<String>, Error> {
        match self.item(name).map(|item| &item.value) {
            None => Ok(Vec::new()),
            Some(OptionValue::Names(names)) => Ok(names.clone()),
            Some(OptionValue::Word(column) | OptionValue::Text(column)) => Ok(vec![column.clone()]),
            Some(_) => Err(self.bad(name, "columns in parentheses are expected, as in (a, b)")),
        }
    }

    pub(super) fn columns(&self, name: &str) -> Result<ColumnChoice, Error> {
        match self.item(name).map(|item| &item.value) {
            None => Ok(ColumnChoice::None),
            Some(OptionValue::All) => Ok(ColumnChoice::All),
            Some(OptionValue::Names(names)) => Ok(ColumnChoice::Names(names.clone())),
            Some(_) => Err(self.bad(name, "columns in parentheses or * are expected, as in (a, b)")),
        }
    }
}

/// The words of an option that takes one of several.
fn choices(name: &str) -> String {
    rules::rule_of(name).map_or_else(String::new, |rule| rule.words.join(", "))
}
