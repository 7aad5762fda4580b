//! Functions that are written as what they make of the values of one row.
//!
//! An [`Overload`] says for which kinds of arguments a function of some name is called, and what it gives. All overloads of a
//! name are one function of `DataFusion`'s ([`udf`]), which takes the one that PostgreSQL would take ([`choose`]). Arrays
//! are taken apart and put together in one place ([`columns`]). Not here: the functions themselves (`text`, `bytes`,
//! `patterns`, `math`, `system`).

pub(super) mod choose;
pub(super) mod columns;
pub(super) mod udf;

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::{ScalarUDF, Volatility};

use crate::Error;

/// What sort of values an argument or a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    Int,
    BigInt,
    Double,
    Text,
    Bytes,
    /// Arrays of texts, of integers and of doubles.
    Texts,
    BigInts,
    Doubles,
    /// An array of arrays of texts.
    TextLists,
    /// An array of any elements.
    AnyList,
    /// A value of any type, which is a text or a truth value when it arrives (`datafusion::functions::anything`).
    Any,
    /// A value of any type of which only counts whether it is NULL.
    Presence,
}

impl Kind {
    /// The type of such values.
    pub(super) fn data_type(self) -> DataType {
        let list = |item: DataType| DataType::List(Arc::new(Field::new_list_field(item, true)));
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int32,
            Self::BigInt => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::Text | Self::Any | Self::AnyList | Self::Presence => DataType::Utf8View,
            Self::Bytes => DataType::BinaryView,
            Self::Texts => list(DataType::Utf8View),
            Self::BigInts => list(DataType::Int64),
            Self::Doubles => list(DataType::Float64),
            Self::TextLists => list(list(DataType::Utf8View)),
        }
    }
}

/// A value of an argument.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i32),
    BigInt(i64),
    Double(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    List(ArrayRef),
    /// It is there.
    Present,
}

/// What a function gives for a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Null,
    Bool(bool),
    Int(i32),
    BigInt(i64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Texts(Vec<Option<String>>),
    TextLists(Vec<Vec<Option<String>>>),
}

macro_rules! given {
    ($($native:ty => $variant:ident),* $(,)?) => {
        $(impl From<$native> for Given {
            fn from(value: $native) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

given! {
    bool => Bool, i32 => Int, i64 => BigInt, f64 => Double, String => Text, &str => Text, Vec<u8> => Bytes,
    Vec<Option<String>> => Texts, Vec<Vec<Option<String>>> => TextLists,
}

impl<T: Into<Given>> From<Option<T>> for Given {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A number of characters or bytes, which a value has less of than an `i32` counts.
pub(super) fn count(number: usize) -> Given {
    Given::Int(i32::try_from(number).unwrap_or(i32::MAX))
}

/// The arguments of one row; the accessors are for arguments that are not NULL.
#[derive(Debug)]
pub(super) struct Row<'a>(pub(super) &'a [Value<'a>]);

impl<'a> Row<'a> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_null(&self, at: usize) -> bool {
        matches!(self.0[at], Value::Null)
    }

    pub(super) fn bool(&self, at: usize) -> bool {
        matches!(self.0[at], Value::Bool(true))
    }

    pub(super) fn int(&self, at: usize) -> i32 {
        if let Value::Int(value) = self.0[at] { value } else { 0 }
    }

    pub(super) fn bigint(&self, at: usize) -> i64 {
        if let Value::BigInt(value) = self.0[at] { value } else { 0 }
    }

    pub(super) fn double(&self, at: usize) -> f64 {
        if let Value::Double(value) = self.0[at] { value } else { 0.0 }
    }

    pub(super) fn text(&self, at: usize) -> &'a str {
        if let Value::Text(value) = self.0[at] { value } else { "" }
    }

    pub(super) fn bytes(&self, at: usize) -> &'a [u8] {
        if let Value::Bytes(value) = self.0[at] { value } else { &[] }
    }

    /// The value of an argument of any type as PostgreSQL shows it; `None` for NULL.
    pub(super) fn shown(&self, at: usize) -> Option<&'a str> {
        match self.0[at] {
            Value::Text(value) => Some(value),
            Value::Bool(value) => Some(if value { "t" } else { "f" }),
            _ => None,
        }
    }

    /// The elements of an array.
    pub(super) fn list(&self, at: usize) -> Option<&ArrayRef> {
        if let Value::List(list) = &self.0[at] { Some(list) } else { None }
    }
}

/// What a function makes of a row.
pub(super) type Ours = fn(&Row<'_>) -> Result<Given, Error>;

/// How an overload computes.
#[derive(Clone, Copy)]
pub(super) enum Body {
    Ours(Ours),
    /// A function of `DataFusion`'s that does the same.
    Theirs(fn() -> Arc<ScalarUDF>),
}

/// A function for some kinds of arguments.
#[derive(Clone, Copy)]
pub(super) struct Overload {
    pub(super) name: &'static str,
    pub(super) takes: &'static [Kind],
    /// What any number of further arguments are.
    pub(super) rest: Option<Kind>,
    pub(super) gives: Kind,
    /// Whether NULL among the arguments makes the result NULL.
    pub(super) is_strict: bool,
    pub(super) volatility: Volatility,
    pub(super) body: Body,
}

/// A function of such arguments that gives NULL for NULL.
pub(super) const fn of(name: &'static str, takes: &'static [Kind], gives: Kind, body: Ours) -> Overload {
    Overload {
        name,
        takes,
        rest: None,
        gives,
        is_strict: true,
        volatility: Volatility::Immutable,
        body: Body::Ours(body),
    }
}

/// A function of `DataFusion`'s for such arguments.
pub(super) const fn theirs(
    name: &'static str,
    takes: &'static [Kind],
    gives: Kind,
    function: fn() -> Arc<ScalarUDF>,
) -> Overload {
    Overload { body: Body::Theirs(function), ..of(name, takes, gives, nothing) }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where functions of ours do")]
fn nothing(_: &Row<'_>) -> Result<Given, Error> {
    Ok(Given::Null)
}

impl Overload {
    /// It is called for NULL, too.
    pub(super) const fn called_on_null(self) -> Self {
        Self { is_strict: false, ..self }
    }

    /// It takes any number of further arguments.
    pub(super) const fn with_rest(self, rest: Kind) -> Self {
        Self { rest: Some(rest), ..self }
    }

    /// What the argument at this place is.
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.takes.get(at).copied().or(self.rest)
    }
}
