//! Assignments to a part of a value, as `j['a'][3] = new` makes them: what is missing on the way to the part is made.
//!
//! The rules are those of `setPath` (PostgreSQL's `jsonfuncs.c`) with paths created and gaps filled: an element beyond the
//! end of an array comes behind nulls, and a step is a number or the name of a member as it is written.

use crate::error::{JsonError, Problem};
use crate::node::index;
use crate::value::{Value, compare_keys};

/// Elements of an array that is filled with nulls, at most.
const ELEMENTS_MAX: i64 = 1 << 24;

/// `value` in which `new` lies at the `path`.
///
/// # Errors
/// If a scalar lies on the way, a step into an array is no number or lies before its first element, or an array would have
/// too many elements.
pub fn assign(mut value: Value, path: &[&str], new: Value) -> Result<Value, JsonError> {
    put(&mut value, path, 0, new)?;
    Ok(value)
}

fn put(value: &mut Value, path: &[&str], level: usize, new: Value) -> Result<(), JsonError> {
    let Some(step) = path.get(level) else {
        *value = new;
        return Ok(());
    };
    let rest = &path[level + 1..];
    match value {
        Value::Object(members) => match members.binary_search_by(|(key, _)| compare_keys(key, step)) {
            Ok(found) => put(&mut members[found].1, path, level + 1, new),
            Err(place) => {
                members.insert(place, ((*step).to_owned(), made(rest, new)?));
                Ok(())
            }
        },
        Value::Array(elements) => {
            let at = position(step, level, elements.len())?;
            if let Some(element) = usize::try_from(at).ok().and_then(|at| elements.get_mut(at)) {
                return put(element, path, level + 1, new);
            }
            fill(elements, at)?;
            elements.push(made(rest, new)?);
            Ok(())
        }
        _ => Err(JsonError {
            problem: Problem::InvalidArgument,
            message: "cannot replace existing key".to_owned(),
            detail: Some("The path assumes key is a composite object, but it is a scalar value.".to_owned()),
        }),
    }
}

/// The place that a step means in an array of `len` elements, which may lie beyond its end.
fn position(step: &str, level: usize, len: usize) -> Result<i64, JsonError> {
    let level = level + 1;
    let Some(index) = index(step) else {
        let message = format!("path element at position {level} is not an integer: \"{step}\"");
        return Err(JsonError::new(Problem::InvalidText, message));
    };
    let at = if index < 0 { index + len as i64 } else { index };
    if at < 0 {
        let message = format!("path element at position {level} is out of range: {index}");
        return Err(JsonError::new(Problem::InvalidArgument, message));
    }
    Ok(at)
}

/// Appends nulls until there are `len` elements.
fn fill(elements: &mut Vec<Value>, len: i64) -> Result<(), JsonError> {
    if len >= ELEMENTS_MAX {
        let message = format!("number of jsonb array elements exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(JsonError::new(Problem::TooLarge, message));
    }
    let len = usize::try_from(len).unwrap_or(0).max(elements.len());
    elements.resize(len, Value::Null);
    Ok(())
}

/// A value that has nothing but `new`, at the `path`.
fn made(path: &[&str], new: Value) -> Result<Value, JsonError> {
    path.iter().rev().try_fold(new, |inner, step| {
        let Some(index) = index(step) else { return Ok(Value::object(vec![((*step).to_owned(), inner)])) };
        let mut elements = Vec::new();
        fill(&mut elements, index)?;
        elements.push(inner);
        Ok(Value::Array(elements))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(text: &str, path: &[&str]) -> Result<String, JsonError> {
        assign(Value::parse(text)?, path, Value::parse("9")?).map(|value| value.to_text())
    }

    #[test]
    fn what_is_missing_is_made() {
        for (text, path, expected) in [
            ("{}", &["a"][..], "{\"a\": 9}"),
            ("{\"a\": [1, 2]}", &["a", "-1"], "{\"a\": [1, 9]}"),
            ("[0]", &["3"], "[0, null, null, 9]"),
            ("[]", &["2"], "[null, null, 9]"),
            ("{}", &["a", "0", "b", "1"], "{\"a\": [{\"b\": [null, 9]}]}"),
            ("{}", &["0", "a"], "{\"0\": {\"a\": 9}}"),
            ("[]", &["1", "a"], "[null, {\"a\": 9}]"),
            ("{\"a\": {}}", &["a", "b", "-2"], "{\"a\": {\"b\": [9]}}"),
            ("{\"a\": {\"b\": 1}}", &["a"], "{\"a\": 9}"),
        ] {
            assert_eq!(assigned(text, path).as_deref(), Ok(expected), "{text} {path:?}");
        }
    }

    #[test]
    fn what_cannot_be_assigned_is_an_error() {
        for (text, path, problem) in [
            ("1", &["a"][..], Problem::InvalidArgument),
            ("null", &["0"], Problem::InvalidArgument),
            ("{\"a\": 1}", &["a", "b"], Problem::InvalidArgument),
            ("[0]", &["-2"], Problem::InvalidArgument),
            ("[]", &["-1"], Problem::InvalidArgument),
            ("[0]", &["a"], Problem::InvalidText),
            ("[0]", &["2147483647"], Problem::TooLarge),
            ("{}", &["a", "2147483647"], Problem::TooLarge),
        ] {
            assert_eq!(assigned(text, path).map_err(|error| error.problem), Err(problem), "{text} {path:?}");
        }
    }
}
