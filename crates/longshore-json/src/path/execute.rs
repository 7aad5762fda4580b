//! What a path finds in a value.
//!
//! In lax mode arrays are unwrapped where no array is wanted, scalars are wrapped where one is, and members that are not
//! there are no errors. Within a condition, an error makes it unknown.

use super::{Chain, Comparison, Item, LAST_LEVEL, Method, Path, number, symbol};
use crate::arithmetic::{self, Operation};
use crate::error::{JsonError, Problem};
use crate::number::Number;
use crate::value::Value;

pub(super) fn query(path: &Path, root: &Value, variables: Option<&Value>) -> Result<Vec<Value>, JsonError> {
    let mut found = Found::all();
    Executor::new(path, root, variables).follow(&path.chain, root, root, &mut found)?;
    Ok(found.values)
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

    fn method(
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

    /// The same, where an error is not one of the query but makes a condition unknown.
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

    fn holds(&mut self, chain: &[Item], value: &Value, current: &Value) -> Holds {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_what_postgresql_finds() {
        for (json, path, expected) in [
            ("{\"a\":[1,2,3]}", "$.a[*] ? (@ > 1)", "[2, 3]"),
            ("{\"a\":[1,2,3]}", "$.a[last]", "[3]"),
            ("{\"a\":[1,2,3]}", "$.a[0 to 1, 2]", "[1, 2, 3]"),
            ("[{\"a\":1},{\"a\":2}]", "$.a", "[1, 2]"),
            ("[{\"a\":1},{\"b\":2}]", "$[*].a + 1", "[2]"),
            ("{\"a\":{\"b\":[1]}}", "$.**", "[{\"a\": {\"b\": [1]}}, {\"b\": [1]}, [1], 1]"),
            ("{\"a\":{\"b\":[1]}}", "$.**{2}", "[[1]]"),
            ("[1,\"x\",null]", "$[*].type()", "[\"number\", \"string\", \"null\"]"),
            ("[-1.5,2]", "$[*].abs()", "[1.5, 2]"),
            ("[1,2]", "-$[*]", "[-1, -2]"),
            ("[\"abc\",\"b\"]", "$[*] ? (@ starts with \"a\")", "[\"abc\"]"),
            ("[\"abc\",\"b\"]", "$[*] ? (@ like_regex \"^A\" flag \"i\")", "[\"abc\"]"),
            ("{\"a\":1}", "$.a == 1", "[true]"),
            ("{\"a\":1}", "$.a == \"x\"", "[null]"),
            ("{\"a\":1}", "exists($.b)", "[false]"),
            ("{\"a\":1,\"b\":2}", "$.* ? (@ == 2 && !(@ == 1))", "[2]"),
            ("1", "$[0]", "[1]"),
            ("[]", "$.size()", "[0]"),
        ] {
            let found = Path::parse(path).unwrap().query(&Value::parse(json).unwrap(), None).unwrap();
            assert_eq!(Value::Array(found).to_text(), expected, "{json} {path}");
        }
        for (json, path) in [("{}", "strict $.a"), ("1", "strict $[0]"), ("[1]", "strict $[1]"), ("\"a\"", "$ + 1")] {
            assert!(Path::parse(path).unwrap().query(&Value::parse(json).unwrap(), None).is_err(), "{path}");
        }
    }

    #[test]
    fn paths_have_a_normal_form() {
        for (path, expected) in [
            ("$", "$"),
            ("strict $.a.b", "strict $.\"a\".\"b\""),
            ("$.a/+-1", "($.\"a\" / -1)"),
            ("$.a + 1 * 2", "($.\"a\" + 1 * 2)"),
            ("($.a + 1) * 2", "(($.\"a\" + 1) * 2)"),
            ("$.g ? (@.a == 1 || !(@.x >= 123))", "$.\"g\"?(@.\"a\" == 1 || !(@.\"x\" >= 123))"),
            ("$.a[1, 2 to 16]", "$.\"a\"[1,2 to 16]"),
            ("$.**{2 to last}.b", "$.**{2 to last}.\"b\""),
            ("1 .type()", "(1).type()"),
            ("($).a", "$.\"a\""),
            ("$.a ? (@ like_regex \"x\" flag \"si\")", "$.\"a\"?(@ like_regex \"x\" flag \"is\")"),
            ("($ > 1).type()", "($ > 1).type()"),
        ] {
            let parsed = Path::parse(path).unwrap();
            assert_eq!(parsed.to_string(), expected);
            assert_eq!(Path::parse(expected).unwrap().to_string(), expected);
        }
        for path in ["", "@ + 1", "last", "1a", "00", "$.a[", "$ ? ($)", "1 == 2 == 3", "$ + (1 == 1)", "!$", "\"a"] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
        assert!(Path::parse(&"(".repeat(100_000)).is_err());
        assert!(Path::parse(&"-".repeat(100_000)).is_err());
        assert!(Path::parse(&format!("{}(1 == 1)", "!".repeat(100_000))).is_err());
    }
}
