//! Capitals and small letters. As in PostgreSQL, a character becomes one character, or stays.

use crate::datafusion::functions::calls::Kind::Text;
use crate::datafusion::functions::calls::{Overload, of};

pub(super) const OVERLOADS: &[Overload] = &[
    of("upper", &[Text], Text, |row| {
        let text = row.text(0);
        Ok(if text.is_ascii() { text.to_ascii_uppercase() } else { text.chars().map(upper).collect() }.into())
    }),
    of("lower", &[Text], Text, |row| {
        let text = row.text(0);
        Ok(if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(lower).collect() }.into())
    }),
    of("initcap", &[Text], Text, |row| {
        let mut is_within = false;
        let mut cased = |character: char| {
            let own = if is_within { lower(character) } else { upper(character) };
            is_within = character.is_alphanumeric();
            own
        };
        Ok(row.text(0).chars().map(&mut cased).collect::<String>().into())
    }),
];

fn upper(character: char) -> char {
    only(character.to_uppercase()).unwrap_or(character)
}

fn lower(character: char) -> char {
    only(character.to_lowercase()).unwrap_or(character)
}

/// The character that is all of `characters`.
fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    characters.next().filter(|_| characters.next().is_none())
}
