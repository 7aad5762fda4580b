//! Which options are refused whatever their values are, and NULL texts that could not be told from what is around them.

use super::language::Language;
use super::{OptionItem, Use, at_place, rules};
use crate::Error;

/// Refuses options that are unknown, given twice, or without meaning in `place`.
pub(super) fn check_names(items: &[OptionItem], place: Use) -> Result<(), Error> {
    for (index, item) in items.iter().enumerate() {
        let OptionItem { name, at, .. } = item;
        let rule = rules::rule_of(name);
        if !rule.is_some_and(|rule| rule.places.contains(&place)) {
            let problem = match (rule, rules::meant(name, place)) {
                (Some(rule), _) => {
                    let places: Vec<_> = rule.places().collect();
                    format!("has a meaning for {} only", places.join(" and "))
                }
                (None, Some(meant)) => format!("is not known; did you mean {meant}?"),
                (None, None) => "is not known".to_owned(),
            };
            let known: Vec<_> = rules::known(place).collect();
            let separator = if problem.ends_with('?') { "" } else { ";" };
            return Err(Error::invalid(format!(
                "option {name}{} {problem}{separator} the options of {} are {}",
                at_place(*at),
                place.name(),
                known.join(", ")
            )));
        }
        if items[..index].iter().any(|earlier| earlier.name == *name) {
            return Err(Error::invalid(format!("option {name}{} is given twice; keep one of them", at_place(*at))));
        }
    }
    Ok(())
}

/// Refuses NULL texts that could not be told from what is around them.
pub(super) fn check_nulls(nulls: &[String], language: &Language) -> Result<(), Error> {
    let delimiter = language.delimiter.as_deref().unwrap_or(",");
    let quote = language.quote.unwrap_or(Some(b'"'));
    for null in nulls {
        let problem = if null.contains(['\n', '\r']) {
            "must not contain a line break"
        } else if !delimiter.is_empty() && null.contains(delimiter) {
            "must not contain the delimiter"
        } else if quote.is_some_and(|quote| null.as_bytes().contains(&quote)) {
            "must not contain the quote character"
        } else {
            continue;
        };
        return Err(Error::invalid(format!("option NULL: the text {null:?} {problem}; choose another one")));
    }
    Ok(())
}
