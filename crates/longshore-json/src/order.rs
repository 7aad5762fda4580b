//! Bytes that compare as the values of `jsonb` do, by their operators `<` and `=`.
//!
//! The order is PostgreSQL's: null, strings, numbers, booleans, arrays, objects; of two arrays or objects the one with more
//! elements is greater; an empty array is less than any scalar, if neither stands within another value.

use crate::number::Number;
use crate::value::Value;

/// The bytes of `value`: two values are equal if their bytes are, and in the order of their bytes.
#[must_use]
pub fn key(value: &Value) -> Vec<u8> {
    let mut key = Vec::new();
    let place = match value {
        Value::Array(elements) if elements.is_empty() => 0,
        Value::Array(_) => 2,
        Value::Object(_) => 3,
        _ => 1,
    };
    key.push(place);
    write(value, &mut key);
    key
}

fn write(value: &Value, key: &mut Vec<u8>) {
    match value {
        Value::Null => key.push(1),
        Value::String(text) => {
            key.push(2);
            write_text(text, key);
        }
        Value::Number(number) => {
            key.push(3);
            write_number(number, key);
        }
        Value::Bool(value) => key.extend([4, u8::from(*value)]),
        Value::Array(elements) => {
            key.push(5);
            write_count(elements.len(), key);
            for element in elements {
                write(element, key);
            }
        }
        Value::Object(members) => {
            key.push(6);
            write_count(members.len(), key);
            for (name, member) in members {
                write_text(name, key);
                write(member, key);
            }
        }
    }
}

fn write_count(count: usize, key: &mut Vec<u8>) {
    key.extend((count as u64).to_be_bytes());
}

/// No text has a zero byte, so one ends it.
fn write_text(text: &str, key: &mut Vec<u8>) {
    key.extend(text.as_bytes());
    key.push(0);
}

/// Sign, place of the first digit, digits; all turned round for negative numbers.
fn write_number(number: &Number, key: &mut Vec<u8>) {
    let (is_negative, whole, fraction) = number.parts();
    if whole.is_empty() && fraction.is_empty() {
        key.push(1);
        return;
    }
    key.push(if is_negative { 0 } else { 2 });
    let start = key.len();
    let leading = fraction.len() - fraction.trim_start_matches('0').len();
    let exponent = if whole.is_empty() { -(leading as i32) } else { whole.len() as i32 };
    key.extend(exponent.wrapping_sub(i32::MIN).cast_unsigned().to_be_bytes());
    let digits = if whole.is_empty() { [&fraction[leading..], ""] } else { [whole, fraction] };
    key.extend(digits.concat().trim_end_matches('0').as_bytes());
    key.push(0);
    if is_negative {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_compare_as_values() {
        let ordered = [
            "[]",
            "null",
            "\"\"",
            "\"a\"",
            "\"ab\"",
            "\"b\"",
            "-100",
            "-10.5",
            "-10",
            "-0.1",
            "-0.05",
            "0",
            "0.05",
            "0.1",
            "1",
            "1.5",
            "10",
            "99",
            "100",
            "1e20",
            "false",
            "true",
            "[null]",
            "[1]",
            "[2]",
            "[[]]",
            "[{}]",
            "[1, 2]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 1}",
            "{\"a\": 1, \"b\": 1}",
        ];
        let keys: Vec<Vec<u8>> = ordered.iter().map(|text| key(&Value::parse(text).unwrap())).collect();
        for (at, pair) in keys.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{} {}", ordered[at], ordered[at + 1]);
        }
        for (left, right) in [("1", "1.00"), ("-0", "0"), ("[1e1]", "[10]"), ("100", "1e2")] {
            assert_eq!(key(&Value::parse(left).unwrap()), key(&Value::parse(right).unwrap()), "{left}");
        }
    }
}
