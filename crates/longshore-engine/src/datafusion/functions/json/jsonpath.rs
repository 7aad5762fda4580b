//! Functions and operators that follow a path.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, StringViewArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use longshore_json::path::Path;
use longshore_json::{JsonError, Problem, Value};

use super::arguments::{Memo, get, value};
use super::rows::{ListBuilder, list};
use crate::datafusion::functions::json_types::{failed, invalid, jsonb, texts, wrapped};
use crate::datafusion::functions::row_function::RowFunction;

const PARAMETERS: [&str; 4] = ["target", "path", "vars", "silent"];

pub(super) fn functions() -> Vec<RowFunction> {
    let boolean = |_: &[DataType]| Ok(DataType::Boolean);
    let own = [
        RowFunction::new("jsonb_path_exists", boolean, |args, _| conditions(args, exists)),
        RowFunction::new("jsonb_path_exists_tz", boolean, |args, _| conditions(args, exists)),
        RowFunction::new("jsonb_path_match", boolean, |args, _| conditions(args, matches)),
        RowFunction::new("jsonb_path_match_tz", boolean, |args, _| conditions(args, matches)),
        RowFunction::new("jsonb_path_query", |_| Ok(list(jsonb())), query),
        RowFunction::new("jsonb_path_query_tz", |_| Ok(list(jsonb())), query),
        RowFunction::new("jsonb_path_query_array", |_| Ok(jsonb()), |args, to| values(args, to, Value::Array)),
        RowFunction::new("jsonb_path_query_array_tz", |_| Ok(jsonb()), |args, to| values(args, to, Value::Array)),
        RowFunction::new("jsonb_path_query_first", |_| Ok(jsonb()), first),
        RowFunction::new("jsonb_path_query_first_tz", |_| Ok(jsonb()), first),
    ];
    let operators = [
        RowFunction::new("jsonb_path_exists_opr", boolean, |args, _| operator(args, exists)),
        RowFunction::new("jsonb_path_match_opr", boolean, |args, _| operator(args, matches)),
    ];
    let own = own.map(|function| function.with_parameters(&PARAMETERS));
    own.into_iter().chain(operators).collect()
}

/// Finds something in a value by a path and variables.
type Finder<T> = fn(&Path, &Value, Option<&Value>) -> Result<T, JsonError>;

/// The arguments of a function that follows a path.
struct Arguments {
    values: StringViewArray,
    paths: StringViewArray,
    variables: Option<StringViewArray>,
    silent: Option<StringViewArray>,
    path_memo: Memo<Path>,
    variables_memo: Memo<Value>,
    is_operator: bool,
}

impl Arguments {
    fn new(args: &[ArrayRef]) -> Result<Self> {
        let [values, paths, rest @ ..] = args else { return plan_err!("a path and a value are wanted") };
        Ok(Self {
            values: texts(values)?,
            paths: texts(paths)?,
            variables: rest.first().map(texts).transpose()?,
            silent: rest.get(1).map(texts).transpose()?,
            path_memo: Memo::new(),
            variables_memo: Memo::new(),
            is_operator: false,
        })
    }

    /// All values in `row`; those before the first error, if errors are not told. `None` if an argument is NULL.
    fn find_all(&mut self, row: usize) -> Result<Option<Vec<Value>>> {
        let found = self.find(row, |path, root, variables| {
            let (values, done) = path.query_until_error(root, variables);
            match done {
                Err(error) if error.problem == Problem::NoVariable => Err(error),
                done => Ok((values, done.err())),
            }
        })?;
        let Some((values, error)) = found else { return Ok(None) };
        match error {
            Some(error) if !self.is_silent(row) => Err(failed(error)),
            _ => Ok(Some(values)),
        }
    }

    /// Whether errors are not told in `row`.
    fn is_silent(&self, row: usize) -> bool {
        let silent = self.silent.as_ref().map(|silent| get(silent, row));
        silent.map_or(self.is_operator, |silent| matches!(silent, Some("true" | "t")))
    }

    /// What `find` finds in `row`; `None` if an argument is NULL, or if errors are not told and there is one.
    fn find<T>(&mut self, row: usize, find: Finder<T>) -> Result<Option<T>> {
        let arguments = (get(&self.values, row), get(&self.paths, row));
        let (Some(target), Some(path)) = arguments else { return Ok(None) };
        let variables = match &self.variables {
            Some(variables) => match get(variables, row) {
                Some(variables) => variables,
                None => return Ok(None),
            },
            None => "{}",
        };
        if self.silent.as_ref().is_some_and(|silent| silent.is_null(row)) {
            return Ok(None);
        }
        let is_silent = self.is_silent(row);
        let path = self.path_memo.get(path, Path::parse)?;
        let variables = self.variables_memo.get(variables, value)?;
        if !matches!(variables, Value::Object(_)) {
            return Err(invalid(
                "\"vars\" argument is not an object: Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
            ));
        }
        let variables = (!self.is_operator).then_some(variables);
        match find(path, &value(target).map_err(failed)?, variables) {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_silent && error.problem != Problem::NoVariable => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

fn exists(path: &Path, root: &Value, variables: Option<&Value>) -> Result<Option<bool>, JsonError> {
    path.exists(root, variables).map(Some)
}

fn matches(path: &Path, root: &Value, variables: Option<&Value>) -> Result<Option<bool>, JsonError> {
    match path.query(root, variables)?.as_slice() {
        [Value::Bool(holds)] => Ok(Some(*holds)),
        [Value::Null] => Ok(None),
        _ => Err(JsonError::new(Problem::Singleton, "single boolean result is expected")),
    }
}

fn conditions(args: &[ArrayRef], find: Finder<Option<bool>>) -> Result<ArrayRef> {
    answers(Arguments::new(args)?, find)
}

fn operator(args: &[ArrayRef], find: Finder<Option<bool>>) -> Result<ArrayRef> {
    answers(Arguments { is_operator: true, ..Arguments::new(args)? }, find)
}

fn answers(mut arguments: Arguments, find: Finder<Option<bool>>) -> Result<ArrayRef> {
    let rows = arguments.values.len();
    let answers = (0..rows).map(|row| Ok(arguments.find(row, find)?.flatten()));
    Ok(Arc::new(answers.collect::<Result<BooleanArray>>()?))
}

fn query(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let mut arguments = Arguments::new(args)?;
    let rows = arguments.values.len();
    let (mut lists, mut items) = (ListBuilder::new(rows), StringViewBuilder::new());
    for row in 0..rows {
        let found = arguments.find_all(row)?;
        lists.append(found.as_ref().map(Vec::len));
        found.iter().flatten().for_each(|value| items.append_value(value.to_text()));
    }
    Ok(lists.finish(wrapped(items.finish(), &jsonb())))
}

fn values(args: &[ArrayRef], to: &DataType, make: fn(Vec<Value>) -> Value) -> Result<ArrayRef> {
    let mut arguments = Arguments::new(args)?;
    let rows = arguments.values.len();
    let mut builder = StringViewBuilder::with_capacity(rows);
    let is_null =
        |arguments: &Arguments, row| get(&arguments.values, row).is_none() || get(&arguments.paths, row).is_none();
    for row in 0..rows {
        match arguments.find_all(row)? {
            Some(found) => builder.append_value(make(found).to_text()),
            None if is_null(&arguments, row) => builder.append_null(),
            // An error that is not told.
            None => builder.append_value(make(Vec::new()).to_text()),
        }
    }
    Ok(wrapped(builder.finish(), to))
}

fn first(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let mut arguments = Arguments::new(args)?;
    let rows = arguments.values.len();
    let mut builder = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        let found = arguments.find_all(row)?;
        builder.append_option(found.and_then(|found| found.first().map(Value::to_text)));
    }
    Ok(wrapped(builder.finish(), to))
}
