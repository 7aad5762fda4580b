//! What a value contains, and what lies at a path of names and numbers.

use crate::node::index;
use crate::value::Value;

/// `left @> right`.
#[must_use]
pub fn contains(left: &Value, right: &Value) -> bool {
    match (left, right) {
        // An array may contain a scalar as if it stood in an array.
        (Value::Array(elements), right) if right.is_scalar() => elements.contains(right),
        _ => contains_within(left, right),
    }
}

fn contains_within(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(_), Value::Object(members)) => {
            members.iter().all(|(name, wanted)| left.member(name).is_some_and(|member| contains_within(member, wanted)))
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| elements.iter().any(|element| contains_within(element, wanted)))
        }
        _ => left.is_scalar() && left == right,
    }
}

/// `value ? name`: whether it has a member of this name, or is or has this string.
#[must_use]
pub fn exists(value: &Value, name: &str) -> bool {
    let is_it = |value: &Value| matches!(value, Value::String(text) if text == name);
    match value {
        Value::Object(_) => value.member(name).is_some(),
        Value::Array(elements) => elements.iter().any(is_it),
        other => is_it(other),
    }
}

/// What lies at `path`: names of members, and numbers of elements.
#[must_use]
pub fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Object(_) => value.member(step),
        Value::Array(_) => value.element(index(step)?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn containment_is_that_of_postgresql() {
        for (left, right, expected) in [
            ("{\"a\":1,\"b\":2}", "{\"b\":2.0}", true),
            ("{\"a\":1}", "{\"a\":2}", false),
            ("{\"a\":[1,2,{\"c\":3}]}", "{\"a\":[{\"c\":3},1,1]}", true),
            ("[1,[2]]", "[2]", false),
            ("[1,[2]]", "[[2]]", true),
            ("[\"a\"]", "\"a\"", true),
            ("\"a\"", "[\"a\"]", false),
            ("\"a\"", "\"a\"", true),
            ("[[1]]", "[1]", false),
            ("{}", "[]", false),
            ("[1]", "[]", true),
            ("[[\"a\"]]", "\"a\"", false),
        ] {
            assert_eq!(contains(&value(left), &value(right)), expected, "{left} @> {right}");
        }
    }

    #[test]
    fn names_exist_in_objects_and_arrays() {
        for (text, expected) in [("{\"a\":null}", true), ("[\"b\",\"a\"]", true), ("\"a\"", true), ("[[\"a\"]]", false)]
        {
            assert_eq!(exists(&value(text), "a"), expected, "{text}");
        }
    }

    #[test]
    fn paths_lead_to_values() {
        let tree = value("{\"a\":[1,{\"b\":2}]}");
        assert_eq!(at(&tree, &["a", "-1", "b"]), Some(&value("2")));
        assert_eq!(at(&tree, &["a", "x"]), None);
        assert_eq!(at(&tree, &[]), Some(&tree));
    }
}
