//! Values that are made of others: concatenated, deleted from, set and inserted into at paths.

use crate::error::{JsonError, Problem};
use crate::node::{Kind, Node, index, place};
use crate::value::{Value, compare_keys, escape};

/// What is done with the value at a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum At<'a> {
    /// It goes.
    Delete,
    /// It becomes this value; nothing happens where there is none.
    Replace(&'a Value),
    /// It becomes this value, which is added where there is none.
    Set(&'a Value),
    /// This value comes before it, or is a member that is not there yet.
    Before(&'a Value),
    /// This value comes behind it, or is a member that is not there yet.
    Behind(&'a Value),
}

/// `left || right`.
#[must_use]
pub fn concat(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Object(mut members), Value::Object(more)) => {
            members.extend(more);
            Value::object(members)
        }
        (left, right) => {
            let elements = |value| match value {
                Value::Array(elements) => elements,
                other => vec![other],
            };
            let mut all = elements(left);
            all.extend(elements(right));
            Value::Array(all)
        }
    }
}

/// `value - names`: an object without these members, an array without these strings.
///
/// # Errors
/// If it is neither.
pub fn without(value: Value, names: &[&str]) -> Result<Value, JsonError> {
    Ok(match value {
        Value::Object(mut members) => {
            members.retain(|(key, _)| !names.contains(&key.as_str()));
            Value::Object(members)
        }
        Value::Array(mut elements) => {
            elements.retain(|element| !matches!(element, Value::String(text) if names.contains(&text.as_str())));
            Value::Array(elements)
        }
        _ => return Err(argument("cannot delete from scalar")),
    })
}

/// `value - index`: an array without the element of this number.
///
/// # Errors
/// If it is no array.
pub fn without_element(value: Value, index: i64) -> Result<Value, JsonError> {
    match value {
        Value::Array(mut elements) => {
            if let Some(place) = place(index, elements.len()) {
                elements.remove(place);
            }
            Ok(Value::Array(elements))
        }
        Value::Object(_) => Err(argument("cannot delete from object using integer index")),
        _ => Err(argument("cannot delete from scalar")),
    }
}

/// `value` with something done `at` the `path`.
///
/// # Errors
/// If it is a scalar, a step among elements is no number, or what shall be inserted is there.
pub fn at_path(mut value: Value, path: &[Option<&str>], at: At<'_>) -> Result<Value, JsonError> {
    if value.is_scalar() {
        let verb = if at == At::Delete { "delete" } else { "set" };
        return Err(argument(&format!("cannot {verb} path in scalar")));
    }
    // Of an empty value nothing goes and nothing is replaced, whatever the path is.
    let is_empty = matches!(&value, Value::Array(elements) if elements.is_empty());
    if is_empty && matches!(at, At::Delete | At::Replace(_)) {
        return Ok(value);
    }
    change(&mut value, path, 0, at)?;
    Ok(value)
}

fn change(value: &mut Value, path: &[Option<&str>], level: usize, at: At<'_>) -> Result<(), JsonError> {
    let Some(step) = path.get(level) else { return Ok(()) };
    let is_last = level + 1 == path.len();
    if value.is_scalar() {
        return Ok(());
    }
    let Some(step) = step else {
        return Err(JsonError::new(Problem::NullStep, format!("path element at position {} is null", level + 1)));
    };
    match value {
        Value::Object(members) => {
            let found = members.binary_search_by(|(key, _)| compare_keys(key, step));
            match (found, is_last, at) {
                (Ok(found), false, _) => change(&mut members[found].1, path, level + 1, at),
                (Err(_), false, _) | (Err(_), true, At::Delete | At::Replace(_)) => Ok(()),
                (Ok(found), true, At::Delete) => {
                    members.remove(found);
                    Ok(())
                }
                (Ok(found), true, At::Replace(new) | At::Set(new)) => {
                    members[found].1 = new.clone();
                    Ok(())
                }
                (Ok(_), true, At::Before(_) | At::Behind(_)) => Err(argument("cannot replace existing key")),
                (Err(place), true, At::Set(new) | At::Before(new) | At::Behind(new)) => {
                    members.insert(place, ((*step).to_owned(), new.clone()));
                    Ok(())
                }
            }
        }
        Value::Array(elements) => {
            let Some(index) = index(step) else {
                return Err(JsonError::new(
                    Problem::InvalidText,
                    format!("path element at position {} is not an integer: \"{step}\"", level + 1),
                ));
            };
            let found = place(index, elements.len());
            match (found, is_last, at) {
                (Some(found), false, _) => change(&mut elements[found], path, level + 1, at)?,
                (None, false, _) | (None, true, At::Delete | At::Replace(_)) => {}
                (Some(found), true, At::Delete) => {
                    elements.remove(found);
                }
                (Some(found), true, At::Replace(new) | At::Set(new)) => elements[found] = new.clone(),
                (Some(found), true, At::Before(new)) => elements.insert(found, new.clone()),
                (Some(found), true, At::Behind(new)) => elements.insert(found + 1, new.clone()),
                (None, true, At::Set(new) | At::Before(new) | At::Behind(new)) => {
                    elements.insert(if index < 0 { 0 } else { elements.len() }, new.clone());
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `value` without the members that are null, at any depth.
pub fn strip_nulls(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(strip_nulls),
        Value::Object(members) => {
            members.retain(|(_, member)| *member != Value::Null);
            for (_, member) in members {
                strip_nulls(member);
            }
        }
        _ => {}
    }
}

/// Appends `node` to `out`, without the members that are null and without white space.
pub fn write_stripped(node: &Node<'_>, out: &mut String) {
    match &node.kind {
        Kind::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_stripped(element, out);
            }
            out.push(']');
        }
        Kind::Object(members) => {
            out.push('{');
            let mut separator = "";
            for (key, member) in members.iter().filter(|(_, member)| !matches!(member.kind, Kind::Null)) {
                out.push_str(separator);
                separator = ",";
                escape(key, out);
                out.push(':');
                write_stripped(member, out);
            }
            out.push('}');
        }
        Kind::String(text) => escape(text, out),
        _ => out.push_str(node.text),
    }
}

fn argument(message: &str) -> JsonError {
    JsonError::new(Problem::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn value(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn values_are_concatenated() {
        for (left, right, expected) in [
            ("{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}", "{\"a\": 1, \"b\": 3, \"c\": 4}"),
            ("[1]", "[2, 3]", "[1, 2, 3]"),
            ("[1]", "\"a\"", "[1, \"a\"]"),
            ("1", "2", "[1, 2]"),
            ("{\"a\":1}", "[1]", "[{\"a\": 1}, 1]"),
            ("[]", "{\"a\":1}", "[{\"a\": 1}]"),
        ] {
            assert_eq!(concat(value(left), value(right)).to_text(), expected);
        }
    }

    #[test]
    fn paths_are_changed() {
        let new = value("9");
        for (text, path, at, expected) in [
            ("{\"a\":[1,2]}", &["a", "1"][..], At::Set(&new), "{\"a\": [1, 9]}"),
            ("{\"a\":[1,2]}", &["a", "5"], At::Set(&new), "{\"a\": [1, 2, 9]}"),
            ("{\"a\":[1,2]}", &["a", "-5"], At::Set(&new), "{\"a\": [9, 1, 2]}"),
            ("{\"a\":[1,2]}", &["a", "5"], At::Replace(&new), "{\"a\": [1, 2]}"),
            ("{\"a\":[1,2]}", &["b"], At::Set(&new), "{\"a\": [1, 2], \"b\": 9}"),
            ("{\"a\":[1,2]}", &["b", "c"], At::Set(&new), "{\"a\": [1, 2]}"),
            ("{\"a\":[1,2]}", &["a", "-1"], At::Delete, "{\"a\": [1]}"),
            ("[1,2]", &["1"], At::Before(&new), "[1, 9, 2]"),
            ("[1,2]", &["1"], At::Behind(&new), "[1, 2, 9]"),
            ("[1,2]", &["-3"], At::Behind(&new), "[9, 1, 2]"),
            ("{\"a\":1}", &[], At::Set(&new), "{\"a\": 1}"),
            ("[]", &["a"], At::Delete, "[]"),
        ] {
            let path: Vec<Option<&str>> = path.iter().map(|step| Some(*step)).collect();
            assert_eq!(at_path(value(text), &path, at).unwrap().to_text(), expected, "{text} {path:?}");
        }
        assert!(at_path(value("1"), &[Some("a")], At::Delete).is_err());
        assert!(at_path(value("[1]"), &[Some("a")], At::Delete).is_err());
        assert!(at_path(value("{\"a\":1}"), &[Some("a")], At::Before(&new)).is_err());
        assert!(at_path(value("{\"a\":1}"), &[None], At::Delete).is_err());
    }

    #[test]
    fn nulls_are_stripped() {
        let text = "{\"a\" : null, \"b\":[null, {\"c\":null,\"d\": 1.0}]}";
        let mut stripped = value(text);
        strip_nulls(&mut stripped);
        assert_eq!(stripped.to_text(), "{\"b\": [null, {\"d\": 1.0}]}");
        let mut out = String::new();
        write_stripped(&parse(text).unwrap(), &mut out);
        assert_eq!(out, "{\"b\":[null,{\"d\":1.0}]}");
    }
}
