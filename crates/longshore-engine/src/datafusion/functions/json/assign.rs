//! Assignments to parts of JSONB, as in `SET j['a'][0] = '1'`.

use datafusion::arrow::array::{Array, ArrayRef, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use longshore_json::{JsonError, Problem, Value, assign};

use super::arguments::{get, value};
use crate::datafusion::errors::external;
use crate::datafusion::functions::json_types::{failed, is_jsonb, jsonb, texts, wrapped};
use crate::{Error, ErrorKind};

/// The type of JSONB in which something is assigned to a part: a value of JSONB, at names and numbers.
pub(super) fn assigned_type(types: &[DataType]) -> Result<DataType> {
    let mismatch = |message: String| Err(external(Error::new(ErrorKind::TypeMismatch, message)));
    match types {
        [_, new, steps @ ..] => {
            if !is_jsonb(new) && !new.is_string() && !new.is_null() {
                return mismatch(format!(
                    "subscripted assignment requires type jsonb but expression is of type {new}; write to_jsonb(...)"
                ));
            }
            match steps.iter().find(|step| !step.is_string() && !step.is_integer() && !step.is_null()) {
                None => Ok(jsonb()),
                Some(step) => mismatch(format!(
                    "subscript type {step} is not supported: jsonb subscript must be coercible to either integer or text"
                )),
            }
        }
        _ => mismatch("a value to assign to, and a value, are wanted".to_owned()),
    }
}

/// The first argument with the second one at the path of the others; a NULL becomes a value that the path goes through, and
/// NULL is assigned as null.
pub(super) fn assigned(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let (old, new) = (texts(&args[0])?, texts(&args[1])?);
    let steps = args[2..].iter().map(texts).collect::<Result<Vec<_>>>()?;
    let is_numbered = args.get(2).is_some_and(|step| step.data_type().is_integer());
    let mut builder = StringViewBuilder::with_capacity(old.len());
    for row in 0..old.len() {
        let path: Option<Vec<&str>> = steps.iter().map(|step| get(step, row)).collect();
        let path = path.ok_or_else(|| {
            failed(JsonError::new(Problem::NullStep, "jsonb subscript in assignment must not be null"))
        })?;
        let old = match get(&old, row) {
            Some(text) => value(text),
            None if is_numbered => Ok(Value::Array(Vec::new())),
            None => Ok(Value::Object(Vec::new())),
        };
        let new = get(&new, row).map_or(Ok(Value::Null), value);
        let changed = assign(old.map_err(failed)?, &path, new.map_err(failed)?);
        builder.append_value(changed.map_err(failed)?.to_text());
    }
    Ok(wrapped(builder.finish(), to))
}
