//! The methods of a path, such as `.type()`.

use super::{Executor, Found, Outcome};
use crate::arithmetic;
use crate::error::{JsonError, Problem};
use crate::number::Number;
use crate::path::{Item, Method, number};
use crate::value::Value;

impl Executor<'_> {
    /// What `method` makes of `value`, or of its elements, and what follows it in `chain` of that.
    pub(super) fn method(
        &mut self,
        method: Method,
        chain: &[Item],
        value: &Value,
        current: &Value,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome {
        let rest = &chain[1..];
        if let Value::Array(elements) = value
            && unwraps
            && !matches!(method, Method::Type | Method::Size)
        {
            return self.each(chain, elements, current, found, false);
        }
        let name = method.name();
        let result = match (method, value) {
            (Method::Type, value) => Value::String(value.type_name().to_owned()),
            (Method::Size, Value::Array(elements)) => number(elements.len() as i64),
            (Method::Size, _) if self.is_lax => number(1),
            (Method::Size, _) => {
                return self.structural(Problem::NoArray, || {
                    format!("jsonpath item method .{name}() can only be applied to an array")
                });
            }
            (Method::Abs, Value::Number(number)) if number.as_str().starts_with('-') => {
                Value::Number(arithmetic::negated(number))
            }
            (Method::Abs, Value::Number(_)) => value.clone(),
            (Method::Floor, Value::Number(number)) => Value::Number(arithmetic::floor(number)?),
            (Method::Ceiling, Value::Number(number)) => Value::Number(arithmetic::ceiling(number)?),
            (Method::Abs | Method::Floor | Method::Ceiling, _) => {
                let message = format!("jsonpath item method .{name}() can only be applied to a numeric value");
                return Err(JsonError::new(Problem::NonNumeric, message));
            }
            (Method::Double, value) => double(value)?,
            (Method::KeyValue, Value::Object(members)) => {
                let pairs: Vec<Value> = members
                    .iter()
                    .map(|(key, member)| {
                        Value::object(vec![
                            ("key".to_owned(), Value::String(key.clone())),
                            ("value".to_owned(), member.clone()),
                            ("id".to_owned(), number(0)),
                        ])
                    })
                    .collect();
                let mut any = false;
                for pair in &pairs {
                    any |= self.next(rest, pair, current, found)?;
                    if any && !found.wants_all {
                        break;
                    }
                }
                return Ok(any);
            }
            (Method::KeyValue, _) => {
                let message = format!("jsonpath item method .{name}() can only be applied to an object");
                return Err(JsonError::new(Problem::NoObject, message));
            }
        };
        self.next(rest, &result, current, found)
    }
}

/// A number or a text as a float.
fn double(value: &Value) -> Result<Value, JsonError> {
    let refused = |message: &str| Err(JsonError::new(Problem::NonNumeric, message));
    match value {
        Value::Number(number) if number.as_f64().is_finite() => Ok(value.clone()),
        Value::Number(_) => {
            refused("numeric argument of jsonpath item method .double() is out of range for type double precision")
        }
        Value::String(text) => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let Some(number) = number else {
                return refused(
                    "string argument of jsonpath item method .double() is not a valid representation of a double \
                     precision number",
                );
            };
            // As many digits as a float holds for certain.
            let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
            Ok(Value::Number(Number::new(&rounded.to_string())?))
        }
        _ => refused("jsonpath item method .double() can only be applied to a string or numeric value"),
    }
}
