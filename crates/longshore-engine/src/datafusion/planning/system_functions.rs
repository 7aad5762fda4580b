//! Functions over system tables: `pg_get_indexdef`, `format_type`, `obj_description`, `'t'::regclass` and their like.
//!
//! They are functions of one statement, since they look into what its session sees of the database. Not here: the objects
//! themselves (`system_tables`), functions that need no catalog (`functions::system`).

mod acl;
mod backends;
mod comments;
mod definitions;
mod names;
mod notifications;
mod privileges;
mod properties;
mod sets;
mod settings;
mod sizes;
mod true_types;
mod types;
mod visibility;
mod written;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_storage::ColumnType;

use super::system_tables::{SystemCatalog, typed};
use crate::Error;
use crate::datafusion::errors::external;
use crate::datafusion::functions::nested::{int_lists, text_lists};

pub(super) use names::{SHOWN_VECTOR, shown};
pub(super) use written::{UNTOLD, VECTOR_SUBSCRIPTS};

/// What an argument is taken as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// An OID, or another number; a text is read as one.
    Int,
    Text,
    Bool,
    /// A number or a text.
    Either,
    /// An array of numbers.
    Ints,
    /// Something that is not looked at.
    Nothing,
}

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// A type of `pg_type` that metadata tell.
    Typed(&'static str),
    Int,
    BigInt,
    Text,
    Bool,
    Moment,
    Double,
    /// An array of `integer`.
    Ints,
    /// An array of `text`.
    Texts,
}

/// A value of an argument or a result.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Int(i64),
    Text(String),
    Bool(bool),
    Double(f64),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl Value {
    fn int(&self) -> i64 {
        match self {
            Self::Int(value) => *value,
            Self::Text(text) => text.trim().parse().unwrap_or(0),
            _ => 0,
        }
    }

    /// The OID that it is, or 0.
    fn oid(&self) -> u32 {
        u32::try_from(self.int()).unwrap_or(0)
    }

    fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }
}

macro_rules! values {
    ($($native:ty => $variant:ident),* $(,)?) => {
        $(impl From<$native> for Value {
            fn from(value: $native) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

values! { i64 => Int, u32 => Int, i32 => Int, String => Text, &str => Text, bool => Bool }

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

type Body = fn(&SystemCatalog, &[Value]) -> Result<Value, Error>;

/// A function as a row of a table of functions.
#[derive(Clone, Copy)]
struct Entry {
    name: &'static str,
    takes: &'static [Takes],
    /// Arguments that must be there.
    least: usize,
    gives: Gives,
    /// Whether it is called where an argument is NULL.
    takes_null: bool,
    /// Whether it does something, once for each row.
    acts: bool,
    body: Body,
}

const fn entry(name: &'static str, takes: &'static [Takes], gives: Gives, body: Body) -> Entry {
    Entry { name, takes, least: takes.len(), gives, takes_null: false, acts: false, body }
}

impl Entry {
    /// The same, where only so many arguments must be there.
    const fn least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// The same, which does something.
    const fn acting(self) -> Self {
        Self { acts: true, ..self }
    }

    /// The same, which is called for NULL, too.
    const fn called_on_null(self) -> Self {
        Self { takes_null: true, ..self }
    }
}

/// Counters of nobody's work: `pg_stat_get_live_tuples` and its like.
const COUNTED: &str = "pg_stat_get_";
const COUNTERS: Entry =
    entry(COUNTED, &[Takes::Nothing, Takes::Nothing], Gives::BigInt, |_, _| Ok(0_i64.into())).least(0);

fn entries() -> impl Iterator<Item = &'static Entry> {
    let all = [
        backends::ENTRIES,
        comments::ENTRIES,
        definitions::ENTRIES,
        names::ENTRIES,
        notifications::ENTRIES,
        privileges::ENTRIES,
        properties::ENTRIES,
        settings::ENTRIES,
        sizes::ENTRIES,
        types::ENTRIES,
        visibility::ENTRIES,
    ];
    all.into_iter().flatten()
}

/// The function of this name, for a statement that sees `catalog`.
pub(super) fn function(name: &str, catalog: &Arc<SystemCatalog>) -> Option<Arc<ScalarUDF>> {
    if let Some(function) = acl::function(name, catalog) {
        return Some(Arc::new(function));
    }
    let by_arrays = sets::function(name).or_else(|| written::function(name)).or_else(|| true_types::function(name));
    if let Some(function) = by_arrays {
        return Some(function);
    }
    let entry = entries().find(|entry| entry.name == name);
    let entry = entry.or_else(|| name.starts_with(COUNTED).then_some(&COUNTERS))?;
    let volatility = if entry.acts { Volatility::Volatile } else { Volatility::Stable };
    let signature = Signature::user_defined(volatility);
    let function = SystemFunction { entry, name: name.to_owned(), catalog: Arc::clone(catalog), signature };
    Some(Arc::new(ScalarUDF::new_from_impl(function)))
}

/// Whether a function is one that does something for the session whose statement it is.
pub(super) fn acts(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<SystemFunction>().is_some_and(|function| function.entry.acts)
}

/// The names of all of them.
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let are_words = |name: &&str| !name.contains(' ') && *name != COUNTED;
    entries().map(|entry| entry.name).filter(are_words)
}

/// A function over what a statement sees.
struct SystemFunction {
    entry: &'static Entry,
    name: String,
    catalog: Arc<SystemCatalog>,
    signature: Signature,
}

impl fmt::Debug for SystemFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for SystemFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for SystemFunction {}

impl Hash for SystemFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl SystemFunction {
    fn results(&self, results: &[Value]) -> ArrayRef {
        let ints = || results.iter().map(|value| if let Value::Int(value) = value { Some(*value) } else { None });
        match self.entry.gives {
            Gives::Typed(name) if typed("", name).data_type() != &DataType::Int64 => texts(results),
            Gives::Typed(_) | Gives::BigInt => Arc::new(ints().collect::<Int64Array>()),
            Gives::Int => {
                Arc::new(ints().map(|int| int.and_then(|int| i32::try_from(int).ok())).collect::<Int32Array>())
            }
            Gives::Text => texts(results),
            Gives::Bool => {
                let bools =
                    results.iter().map(|value| if let Value::Bool(value) = value { Some(*value) } else { None });
                Arc::new(bools.collect::<BooleanArray>())
            }
            Gives::Moment => Arc::new(ints().collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
            Gives::Double => {
                let doubles =
                    results.iter().map(|value| if let Value::Double(value) = value { Some(*value) } else { None });
                Arc::new(doubles.collect::<Float64Array>())
            }
            Gives::Texts => text_lists(results.iter().map(|value| match value {
                Value::Texts(texts) => Some(texts.as_slice()),
                _ => None,
            })),
            Gives::Ints => int_lists::<Int32Type>(results.iter().map(|value| match value {
                Value::Ints(ints) => Some(ints.as_slice()),
                _ => None,
            })),
        }
    }
}

fn texts(results: &[Value]) -> ArrayRef {
    let texts = results.iter().map(|value| if let Value::Text(text) = value { Some(text.as_str()) } else { None });
    Arc::new(texts.collect::<StringViewArray>())
}

fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            Value::Ints(items.as_primitive::<Int64Type>().iter().flatten().collect())
        }
        _ => Value::Bool(true),
    }
}

impl ScalarUDFImpl for SystemFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.len() < self.entry.least || types.len() > self.entry.takes.len() {
            return Err(crate::datafusion::functions::no_function(&self.name, types));
        }
        let becomes = |(data_type, takes): (&DataType, &Takes)| match takes {
            Takes::Int | Takes::Either if data_type.is_string() => DataType::Utf8View,
            Takes::Int | Takes::Either => DataType::Int64,
            Takes::Text => DataType::Utf8View,
            Takes::Bool => DataType::Boolean,
            Takes::Ints => DataType::new_list(DataType::Int64, true),
            Takes::Nothing => data_type.clone(),
        };
        Ok(types.iter().zip(self.entry.takes).map(becomes).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.entry.gives {
            Gives::Typed(name) => typed("", name).data_type().clone(),
            Gives::Int => DataType::Int32,
            Gives::BigInt => DataType::Int64,
            Gives::Text => DataType::Utf8View,
            Gives::Bool => DataType::Boolean,
            Gives::Moment => ColumnType::TimestampTz.arrow(),
            Gives::Double => DataType::Float64,
            Gives::Ints => DataType::new_list(DataType::Int32, true),
            Gives::Texts => DataType::new_list(DataType::Utf8View, true),
        })
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(match self.entry.gives {
            Gives::Typed(type_name) => typed(&self.name, type_name),
            _ => Field::new(&self.name, self.return_type(&[])?, true),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // What does something does it for each row, and not where there is none.
        let is_constant = !self.entry.acts && args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let mut arrays = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            arrays.push(plain(&arg.to_array(rows)?)?);
        }
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let values: Vec<Value> = arrays.iter().map(|array| value(array, row)).collect();
            let is_null = !self.entry.takes_null && values.contains(&Value::Null);
            results.push(if is_null {
                Value::Null
            } else {
                (self.entry.body)(&self.catalog, &values).map_err(external)?
            });
        }
        let array = self.results(&results);
        if is_constant {
            return ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// An argument as one of the arrays that values are taken of.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::List(item) if item.data_type().is_integer() => {
            Ok(cast(array, &DataType::new_list(DataType::Int64, true))?)
        }
        data_type if data_type.is_integer() => Ok(cast(array, &DataType::Int64)?),
        data_type if data_type.is_string() => Ok(cast(array, &DataType::Utf8View)?),
        DataType::Boolean | DataType::Null => Ok(Arc::clone(array)),
        other if other.is_nested() => Ok(Arc::clone(array)),
        other => plan_err!("a system function takes no value of the type {other}"),
    }
}
