//! Variables of the shell: `\set name value`, and `:name` in statements.

use std::collections::BTreeMap;

/// The variables by their names, which are case-sensitive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether a variable is set to what means yes.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| truth(value) == Some(true))
    }

    /// Sets a variable.
    pub(crate) fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// Removes a variable.
    pub(crate) fn unset(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// All names and values, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What `:name`, `:'name'`, `:"name"` or `:{?name}` at the start of `text` stands for, and its length; nothing for what is
    /// not set, or is no variable.
    pub(crate) fn at(&self, text: &str) -> Option<(usize, String)> {
        let rest = text.strip_prefix(':')?;
        match rest.as_bytes().first()? {
            quote @ (b'\'' | b'"') => {
                let name = name_in(&rest[1..]);
                let closes = rest.as_bytes().get(1 + name.len()) == Some(quote);
                let value = self.get(name).filter(|_| closes)?;
                let quoted = if *quote == b'\'' { literal(value) } else { quoted_name(value) };
                Some((name.len() + 3, quoted))
            }
            b'{' => {
                let name = name_in(rest.strip_prefix("{?")?);
                let closes = !name.is_empty() && rest.as_bytes().get(2 + name.len()) == Some(&b'}');
                let is_set = if self.get(name).is_some() { "TRUE" } else { "FALSE" };
                closes.then(|| (name.len() + 4, is_set.to_owned()))
            }
            _ => {
                let name = name_in(rest);
                self.get(name).map(|value| (name.len() + 1, value.to_owned()))
            }
        }
    }
}

/// The name of a variable at the start of `text`.
pub(crate) fn name_in(text: &str) -> &str {
    let end = text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80));
    &text[..end.unwrap_or(text.len())]
}

/// What a word for yes or no says.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "off" | "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// A text as SQL writes it.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as SQL writes it in quotes.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
