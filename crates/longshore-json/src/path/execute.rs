//! What a path finds in a value.
//!
//! In lax mode arrays are unwrapped where no array is wanted, scalars are wrapped where one is, and members that are not
//! there are no errors. Within a condition, an error makes it unknown.

mod conditions;
mod methods;

use super::{Chain, Item, LAST_LEVEL, Path, number, symbol};
use crate::arithmetic::{self, Operation};
use crate::error::{JsonError, Problem};
use crate::number::Number;
use crate::value::Value;

pub(super) fn query(path: &Path, root: &Value, variables: Option<&Value>) -> Result<Vec<Value>, JsonError> {
    let (values, done) = query_until_error(path, root, variables);
    done.map(|()| values)
}

pub(super) fn query_until_error(
    path: &Path,
    root: &Value,
    variables: Option<&Value>,
) -> (Vec<Value>, Result<(), JsonError>) {
    let mut found = Found::all();
    let done = Executor::new(path, root, variables).follow(&path.chain, root, root, &mut found);
    (found.values, done.map(|_| ()))
}

pub(super) fn exists(path: &Path, root: &Value, variables: Option<&Value>) -> Result<bool, JsonError> {
    // In strict mode, all must be looked at to see that there is no error.
    if !path.is_lax {
        return Ok(!query(path, root, variables)?.is_empty());
    }
    let mut found = Found::first();
    Executor::new(path, root, variables).follow(&path.chain, root, root, &mut found)
}

/// What was found, or whether anything was.
struct Found {
    values: Vec<Value>,
    wants_all: bool,
}

impl Found {
    fn all() -> Self {
        Self { values: Vec::new(), wants_all: true }
    }

    fn first() -> Self {
        Self { values: Vec::new(), wants_all: false }
    }
}

/// Whether something was found.
type Outcome = Result<bool, JsonError>;
/// Whether a condition holds; `None` if that is not known.
type Holds = Result<Option<bool>, JsonError>;

struct Executor<'a> {
    root: &'a Value,
    variables: Option<&'a Value>,
    is_lax: bool,
    ignores_structure: bool,
    /// Elements of the array whose subscripts are evaluated.
    elements: Option<usize>,
}

impl<'a> Executor<'a> {
    fn new(path: &Path, root: &'a Value, variables: Option<&'a Value>) -> Self {
        Self { root, variables, is_lax: path.is_lax, ignores_structure: path.is_lax, elements: None }
    }

    /// Takes `value` along `chain`; `current` is what `@` means.
    fn follow(&mut self, chain: &[Item], value: &Value, current: &Value, found: &mut Found) -> Outcome {
        self.step(chain, value, current, found, self.is_lax)
    }

    /// The rest of a chain, or the value itself where nothing follows.
    fn next(&mut self, rest: &[Item], value: &Value, current: &Value, found: &mut Found) -> Outcome {
        if rest.is_empty() {
            if found.wants_all {
                found.values.push(value.clone());
            }
            return Ok(true);
        }
        self.follow(rest, value, current, found)
    }

    fn step(&mut self, chain: &[Item], value: &Value, current: &Value, found: &mut Found, unwraps: bool) -> Outcome {
        let Some((item, rest)) = chain.split_first() else { return self.next(chain, value, current, found) };
        match item {
            Item::Root => self.next(rest, self.root, current, found),
            Item::Current => self.next(rest, current, current, found),
            Item::Literal(literal) => self.next(rest, literal, current, found),
            Item::Variable(name) => {
                let value = self.variable(name)?;
                self.next(rest, &value, current, found)
            }
            Item::Last => {
                let last = self.elements.map_or(0, |elements| elements as i64) - 1;
                self.next(rest, &number(last), current, found)
            }
            Item::Member(name) => match value {
                Value::Object(_) => match value.member(name) {
                    Some(member) => self.next(rest, member, current, found),
                    None => {
                        self.structural(Problem::NoMember, || format!("JSON object does not contain key \"{name}\""))
                    }
                },
                Value::Array(elements) if unwraps => self.each(chain, elements, current, found, false),
                _ => self.structural(Problem::NoMember, || {
                    "jsonpath member accessor can only be applied to an object".to_owned()
                }),
            },
            Item::AnyMember => match value {
                Value::Object(members) => {
                    let members = members.iter().map(|(_, member)| member);
                    self.each_of(rest, members, current, found, self.is_lax)
                }
                Value::Array(elements) if unwraps => self.each(chain, elements, current, found, false),
                _ => self.structural(Problem::NoObject, || {
                    "jsonpath wildcard member accessor can only be applied to an object".to_owned()
                }),
            },
            Item::AnyElement => match value {
                Value::Array(elements) => self.each(rest, elements, current, found, self.is_lax),
                _ if self.is_lax => self.next(rest, value, current, found),
                _ => self.structural(Problem::NoArray, || {
                    "jsonpath wildcard array accessor can only be applied to an array".to_owned()
                }),
            },
            Item::Elements(subscripts) => self.elements(subscripts, rest, value, current, found),
            Item::Descend { first, last } => self.descend((*first, *last), rest, value, current, found),
            Item::Filter(condition) => match value {
                Value::Array(elements) if unwraps => self.each(chain, elements, current, found, false),
                _ => match self.holds(condition, value, value)? {
                    Some(true) => self.next(rest, value, current, found),
                    _ => Ok(false),
                },
            },
            Item::Method(method) => self.method(*method, chain, value, current, found, unwraps),
            Item::Arithmetic(operation, left, right) => {
                let left = self.operand(*operation, left, "left", value, current)?;
                let right = self.operand(*operation, right, "right", value, current)?;
                let result = Value::Number(arithmetic::compute(*operation, &left, &right)?);
                self.next(rest, &result, current, found)
            }
            Item::Plus(operand) => self.sign('+', operand, rest, value, current, found),
            Item::Minus(operand) => self.sign('-', operand, rest, value, current, found),
            _ => {
                let value = self.holds(std::slice::from_ref(item), value, current)?.map_or(Value::Null, Value::Bool);
                self.next(rest, &value, current, found)
            }
        }
    }

    /// An error, unless the structure of values is not looked at closely.
    fn structural(&self, problem: Problem, message: impl FnOnce() -> String) -> Outcome {
        if self.ignores_structure { Ok(false) } else { Err(JsonError::new(problem, message())) }
    }

    fn each(
        &mut self,
        chain: &[Item],
        elements: &[Value],
        current: &Value,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome {
        self.each_of(chain, elements.iter(), current, found, unwraps)
    }

    fn each_of<'v>(
        &mut self,
        chain: &[Item],
        values: impl Iterator<Item = &'v Value>,
        current: &Value,
        found: &mut Found,
        unwraps: bool,
    ) -> Outcome {
        let mut any = false;
        for value in values {
            any |= self.step(chain, value, current, found, unwraps)?;
            if any && !found.wants_all {
                break;
            }
        }
        Ok(any)
    }

    fn variable(&self, name: &str) -> Result<Value, JsonError> {
        let Some(variables) = self.variables else { return Ok(Value::Null) };
        variables
            .member(name)
            .cloned()
            .ok_or_else(|| JsonError::new(Problem::NoVariable, format!("could not find jsonpath variable \"{name}\"")))
    }

    fn elements(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        rest: &[Item],
        value: &Value,
        current: &Value,
        found: &mut Found,
    ) -> Outcome {
        let elements = match value {
            Value::Array(elements) => elements.as_slice(),
            scalar if self.is_lax => std::slice::from_ref(scalar),
            _ => {
                return self.structural(Problem::NoArray, || {
                    "jsonpath array accessor can only be applied to an array".to_owned()
                });
            }
        };
        let outer = self.elements.replace(elements.len());
        let mut any = false;
        for (from, to) in subscripts {
            let from = self.subscript(from, value, current)?;
            let to = to.as_ref().map_or(Ok(from), |to| self.subscript(to, value, current))?;
            if from < 0 || from > to || to >= elements.len() as i64 {
                let message = || "jsonpath array subscript is out of bounds".to_owned();
                self.structural(Problem::Subscript, message)?;
            }
            let end = ((to + 1).max(0) as usize).min(elements.len());
            let start = (from.max(0) as usize).min(end);
            for element in &elements[start..end] {
                any |= self.next(rest, element, current, found)?;
                if any && !found.wants_all {
                    break;
                }
            }
            if any && !found.wants_all {
                break;
            }
        }
        self.elements = outer;
        Ok(any)
    }

    fn subscript(&mut self, chain: &Chain, value: &Value, current: &Value) -> Result<i64, JsonError> {
        let mut indexes = Found::all();
        self.follow(chain, value, current, &mut indexes)?;
        let [Value::Number(index)] = indexes.values.as_slice() else {
            let message = "jsonpath array subscript is not a single numeric value";
            return Err(JsonError::new(Problem::Subscript, message));
        };
        let index = index.truncated().filter(|index| i32::try_from(*index).is_ok());
        index.ok_or_else(|| JsonError::new(Problem::Subscript, "jsonpath array subscript is out of integer range"))
    }

    fn descend(
        &mut self,
        (first, last): (u32, u32),
        rest: &[Item],
        value: &Value,
        current: &Value,
        found: &mut Found,
    ) -> Outcome {
        let outer = std::mem::replace(&mut self.ignores_structure, true);
        let any = if first == 0 { self.next(rest, value, current, found) } else { Ok(false) };
        let any = any.and_then(|any| {
            if any && !found.wants_all {
                return Ok(true);
            }
            Ok(self.below((first, last), 1, rest, value, current, found)? || any)
        });
        self.ignores_structure = outer;
        any
    }

    fn below(
        &mut self,
        (first, last): (u32, u32),
        level: u32,
        rest: &[Item],
        value: &Value,
        current: &Value,
        found: &mut Found,
    ) -> Outcome {
        if level > last {
            return Ok(false);
        }
        let children: Vec<&Value> = match value {
            Value::Array(elements) => elements.iter().collect(),
            Value::Object(members) => members.iter().map(|(_, member)| member).collect(),
            _ => Vec::new(),
        };
        let mut any = false;
        for child in children {
            let wants_leaves = first == LAST_LEVEL && last == LAST_LEVEL;
            if level >= first || (wants_leaves && child.is_scalar()) {
                any |= if rest.is_empty() {
                    self.next(rest, child, current, found)?
                } else {
                    self.step(rest, child, current, found, self.is_lax)?
                };
            }
            if any && !found.wants_all {
                break;
            }
            if level < last && !child.is_scalar() {
                any |= self.below((first, last), level + 1, rest, child, current, found)?;
            }
            if any && !found.wants_all {
                break;
            }
        }
        Ok(any)
    }

    /// The only number that `chain` gives.
    fn operand(
        &mut self,
        operation: Operation,
        chain: &Chain,
        side: &str,
        value: &Value,
        current: &Value,
    ) -> Result<Number, JsonError> {
        let mut values = self.unwrapped(chain, value, current, true)?;
        match (values.pop(), values.is_empty()) {
            (Some(Value::Number(number)), true) => Ok(number),
            _ => Err(JsonError::new(
                Problem::Singleton,
                format!("{side} operand of jsonpath operator {} is not a single numeric value", symbol(operation)),
            )),
        }
    }

    fn sign(
        &mut self,
        sign: char,
        operand: &Chain,
        rest: &[Item],
        value: &Value,
        current: &Value,
        found: &mut Found,
    ) -> Outcome {
        let is_enough = !found.wants_all && rest.is_empty();
        let mut any = false;
        for operand in self.unwrapped(operand, value, current, true)? {
            let operand = match operand {
                Value::Number(_) if is_enough => return Ok(true),
                Value::Number(number) if sign == '-' => Value::Number(arithmetic::negated(&number)),
                Value::Number(number) => Value::Number(number),
                _ if is_enough => continue,
                _ => {
                    let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                    return Err(JsonError::new(Problem::NonNumeric, message));
                }
            };
            any |= self.next(rest, &operand, current, found)?;
            if any && !found.wants_all {
                break;
            }
        }
        Ok(any)
    }

    /// What `chain` gives; in lax mode the elements of arrays, if `unwraps`.
    fn unwrapped(
        &mut self,
        chain: &Chain,
        value: &Value,
        current: &Value,
        unwraps: bool,
    ) -> Result<Vec<Value>, JsonError> {
        let mut found = Found::all();
        self.follow(chain, value, current, &mut found)?;
        if !(unwraps && self.is_lax) {
            return Ok(found.values);
        }
        let each = found.values.into_iter().flat_map(|value| match value {
            Value::Array(elements) => elements,
            other => vec![other],
        });
        Ok(each.collect())
    }
}

#[cfg(test)]
mod tests;
