//! Whether a condition of a path holds: an error within it makes it unknown.

use super::{Executor, Found, Holds};
use crate::error::{JsonError, Problem};
use crate::path::{Chain, Comparison, Item};
use crate::value::Value;

impl Executor<'_> {
    /// What `chain` gives, where an error is not one of the query but makes a condition unknown.
    fn operands(
        &mut self,
        chain: &Chain,
        value: &Value,
        current: &Value,
        unwraps: bool,
    ) -> Result<Option<Vec<Value>>, JsonError> {
        let ignores_structure = self.ignores_structure;
        let elements = self.elements;
        let values = self.unwrapped(chain, value, current, unwraps);
        self.ignores_structure = ignores_structure;
        self.elements = elements;
        suppressed(values)
    }

    /// Whether the condition that `chain` is holds.
    pub(super) fn holds(&mut self, chain: &[Item], value: &Value, current: &Value) -> Holds {
        let [item] = chain else { return Ok(None) };
        Ok(match item {
            Item::And(left, right) => match self.holds(left, value, current)? {
                Some(false) => Some(false),
                left => match self.holds(right, value, current)? {
                    Some(true) => left,
                    right => right,
                },
            },
            Item::Or(left, right) => match self.holds(left, value, current)? {
                Some(true) => Some(true),
                left => match self.holds(right, value, current)? {
                    Some(false) => left,
                    right => right,
                },
            },
            Item::Not(condition) => self.holds(condition, value, current)?.map(|holds| !holds),
            Item::IsUnknown(condition) => Some(self.holds(condition, value, current)?.is_none()),
            Item::Exists(chain) => {
                if self.is_lax {
                    let (ignores_structure, elements) = (self.ignores_structure, self.elements);
                    let found = self.follow(chain, value, current, &mut Found::first());
                    (self.ignores_structure, self.elements) = (ignores_structure, elements);
                    suppressed(found)?
                } else {
                    self.operands(chain, value, current, false)?.map(|values| !values.is_empty())
                }
            }
            Item::Compare(comparison, left, right) => {
                let Some(left) = self.operands(left, value, current, true)? else { return Ok(None) };
                let Some(right) = self.operands(right, value, current, true)? else { return Ok(None) };
                let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
                self.any(pairs.map(|(left, right)| compare(*comparison, left, right)))
            }
            Item::StartsWith(whole, start) => {
                let Some(whole) = self.operands(whole, value, current, true)? else { return Ok(None) };
                let Some(start) = self.operands(start, value, current, false)? else { return Ok(None) };
                let pairs = whole.iter().flat_map(|whole| start.iter().map(move |start| (whole, start)));
                self.any(pairs.map(|pair| match pair {
                    (Value::String(whole), Value::String(start)) => Some(whole.starts_with(start.as_str())),
                    _ => None,
                }))
            }
            Item::LikeRegex { value: chain, regex, .. } => {
                let Some(values) = self.operands(chain, value, current, true)? else { return Ok(None) };
                self.any(values.iter().map(|value| match value {
                    Value::String(text) => Some(regex.is_match(text)),
                    _ => None,
                }))
            }
            _ => None,
        })
    }

    /// Whether one of them holds; in strict mode all must be known.
    fn any(&self, all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
        let (mut found, mut unknown) = (false, false);
        for holds in all {
            match holds {
                None if !self.is_lax => return None,
                None => unknown = true,
                Some(true) if self.is_lax => return Some(true),
                Some(true) => found = true,
                Some(false) => {}
            }
        }
        if found {
            Some(true)
        } else if unknown {
            None
        } else {
            Some(false)
        }
    }
}

/// `None` for an error that makes a condition unknown.
fn suppressed<T>(result: Result<T, JsonError>) -> Result<Option<T>, JsonError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.problem == Problem::NoVariable => Err(error),
        Err(_) => Ok(None),
    }
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Option<bool> {
    use std::cmp::Ordering;
    let order = match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) | (_, Value::Null) => return Some(comparison == Comparison::NotEqual),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => return None,
    };
    Some(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}
