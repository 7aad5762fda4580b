//! Python's values as parameters of statements: a type of PostgreSQL, and a value of it.
//!
//! Types are those that psycopg gives: a text has none, so that the statement says what it means; integers have the smallest
//! that holds them; lists are arrays, and dictionaries JSON. What a [`Datum`] has no form for goes as its text.

use longshore_engine::BuiltinType;
use longshore_storage::Datum;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple};

use crate::errors;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    I32(i32),
    I64(i64),
    F64(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// The same to be given to a statement.
    pub(crate) fn datum(&self) -> Datum<'_> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(*value),
            Self::I32(value) => Datum::I32(*value),
            Self::I64(value) => Datum::I64(*value),
            Self::F64(value) => Datum::F64(*value),
            Self::Text(text) => Datum::Text(text),
            Self::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

/// Values of parameters, each with the OID of its type; 0 leaves that open.
pub(crate) type Parameters = Vec<(u32, Value)>;

/// The values of a row of parameters.
pub(crate) fn row(values: &Bound<'_, PyAny>) -> PyResult<Parameters> {
    values.try_iter()?.map(|value| parameter(&value?)).collect()
}

fn typed(name: &str, value: Value) -> (u32, Value) {
    (BuiltinType::named(name).map_or(0, |builtin| builtin.oid), value)
}

fn parameter(value: &Bound<'_, PyAny>) -> PyResult<(u32, Value)> {
    if value.is_none() {
        return Ok((0, Value::Null));
    }
    if value.is_exact_instance_of::<PyString>() {
        return Ok((0, Value::Text(text(value)?)));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(typed("bool", Value::Bool(value.extract()?)));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(typed("float8", Value::F64(value.extract()?)));
    }
    if value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
    {
        let bytes = value.py().get_type::<PyBytes>().call1((value,))?;
        return Ok(typed("bytea", Value::Bytes(bytes.cast::<PyBytes>()?.as_bytes().to_vec())));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return array(value);
    }
    if value.is_instance_of::<PyDict>() {
        let json =
            value.py().import(intern!(value.py(), "json"))?.call_method1(intern!(value.py(), "dumps"), (value,))?;
        return Ok(typed("json", Value::Text(text(&json)?)));
    }
    other(value)
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<(u32, Value)> {
    Ok(match value.extract::<i64>() {
        Ok(number) => match i32::try_from(number) {
            Ok(small) => typed("int4", Value::I32(small)),
            Err(_) => typed("int8", Value::I64(number)),
        },
        Err(_) => typed("numeric", Value::Text(value.str()?.extract()?)),
    })
}

fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text: String = value.extract()?;
    if text.contains('\0') {
        // PostgreSQL's texts have no such character.
        return Err(errors::own(value.py(), "22021", "a text with the character NUL cannot be a value of a parameter"));
    }
    Ok(text)
}

/// Values whose class is known by its name: those of modules that need not be there.
fn other(value: &Bound<'_, PyAny>) -> PyResult<(u32, Value)> {
    let py = value.py();
    let helper = py.import(intern!(py, "longshore._adapt"))?.getattr(intern!(py, "adapt"))?;
    let adapted = helper.call1((value,))?;
    if adapted.is_none() {
        let class = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a {class} cannot be a value of a parameter; give it as str, int, float, Decimal, bytes, a date or a time"
        )));
    }
    let (name, plain): (Option<String>, Bound<'_, PyAny>) = adapted.extract()?;
    match name {
        Some(name) => Ok(typed(&name, Value::Text(text(&plain)?))),
        None => parameter(&plain),
    }
}

/// A list as an array, in the form that PostgreSQL writes them in; its type is that of its first value.
fn array(list: &Bound<'_, PyAny>) -> PyResult<(u32, Value)> {
    let mut written = String::new();
    let mut element = 0;
    write_array(list, &mut written, &mut element)?;
    let array_oid = BuiltinType::of_oid(element).map_or(0, |(builtin, _)| builtin.array_oid);
    Ok((array_oid, Value::Text(written)))
}

fn write_array(list: &Bound<'_, PyAny>, out: &mut String, element: &mut u32) -> PyResult<()> {
    out.push('{');
    for (at, value) in list.try_iter()?.enumerate() {
        let value = value?;
        if at > 0 {
            out.push(',');
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            write_array(&value, out, element)?;
            continue;
        }
        let (oid, value) = parameter(&value)?;
        // An int8 among int4s makes all of them int8, and a float makes them floats.
        *element = match (*element, oid) {
            (0, oid) | (oid, 0) => oid,
            (20, 23) | (23, 20) => 20,
            (701, 20 | 23) | (20 | 23, 701) => 701,
            (1700, 20 | 23) | (20 | 23, 1700) => 1700,
            (first, _) => first,
        };
        match value {
            Value::Null => out.push_str("NULL"),
            Value::Bool(value) => out.push_str(if value { "t" } else { "f" }),
            Value::I32(value) => out.push_str(&value.to_string()),
            Value::I64(value) => out.push_str(&value.to_string()),
            Value::F64(value) => out.push_str(&float(value)),
            Value::Text(text) => quoted(&text, out),
            Value::Bytes(bytes) => {
                let mut text = "\\x".to_owned();
                for byte in bytes {
                    text.extend(
                        [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
                    );
                }
                quoted(&text, out);
            }
        }
    }
    out.push('}');
    Ok(())
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        (if value > 0.0 { "Infinity" } else { "-Infinity" }).to_owned()
    } else {
        value.to_string()
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}
