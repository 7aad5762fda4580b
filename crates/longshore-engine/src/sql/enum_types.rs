//! The type of an enumeration as statements carry it to the planner: its name, with its labels behind it as if they were
//! modifiers, `mood("mood", "sad", "ok")`. So whoever plans a cast knows the labels without a look at the catalog, and the text
//! of a view or a default reads back as what it was.

use sqlparser::ast::{DataType, ObjectName};

/// The enumeration `name`, shown as `shown`, with its labels.
pub(crate) fn with_labels(name: ObjectName, shown: &str, labels: &[String]) -> DataType {
    let words = std::iter::once(shown).chain(labels.iter().map(String::as_str)).map(modifier);
    DataType::Custom(name, words.collect())
}

/// How an enumeration is shown, and its labels; `None` of other types.
pub(crate) fn labels(data_type: &DataType) -> Option<(String, Vec<String>)> {
    let DataType::Custom(_, modifiers) = data_type else { return None };
    let mut words = modifiers.iter().map(|modifier| word(modifier));
    let shown = words.next()??;
    Some((shown, words.collect::<Option<_>>()?))
}

/// A word in double quotes. sqlparser does not double the quotes within when it writes one, so they are written otherwise.
fn modifier(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\q"))
}

fn word(modifier: &str) -> Option<String> {
    let inner = modifier.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' if characters.next() == Some('q') => '"',
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::build;

    #[test]
    fn labels_come_back() {
        let given = ["sad".to_owned(), "a \"b\" \\q".to_owned(), String::new()];
        let data_type = with_labels(build::written("mood"), "s.mood", &given);
        assert_eq!(labels(&data_type), Some(("s.mood".to_owned(), given.to_vec())));
        assert_eq!(labels(&DataType::Custom(build::written("bpchar"), Vec::new())), None);
    }
}
