//! Enumerations: texts whose order is that of their labels.
//!
//! A value of an enumeration is a text to Arrow. A cast names the enumeration with its labels among the metadata of its field
//! ([`ENUM`]). Whatever compares or sorts such values does so by their ranks, which are the places of their labels. Not here:
//! which expressions of a plan are of an enumeration (`planning::enums`).

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListBuilder, StringViewArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int32Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::element_wise::map_values;
use super::nested::list_of;
use super::row_function::RowFunction;
use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Among the metadata of the field that a cast names: the enumeration.
pub(in crate::datafusion) const ENUM: &str = "longshore.enum";
/// Stands between the words of an enumeration among metadata.
const SEPARATOR: char = '\u{1f}';

/// `enum_first(value)`, `enum_last(value)` and `enum_range(value [, value])`, which the types of their arguments decide
/// (`planning::enums`).
pub(in crate::datafusion) const FIRST: &str = "enum_first";
pub(in crate::datafusion) const LAST: &str = "enum_last";
pub(in crate::datafusion) const RANGE: &str = "enum_range";

/// A type that orders its values by their labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct Enumeration {
    pub(in crate::datafusion) name: String,
    pub(in crate::datafusion) labels: Vec<String>,
}

impl Enumeration {
    /// As metadata.
    pub(in crate::datafusion) fn as_metadata(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.labels);
        words.map(String::as_str).collect::<Vec<_>>().join(&SEPARATOR.to_string())
    }

    /// That of the type that a cast names.
    pub(in crate::datafusion) fn of(field: &Field) -> Option<Self> {
        let mut words = field.metadata().get(ENUM)?.split(SEPARATOR).map(str::to_owned);
        Some(Self { name: words.next()?, labels: words.collect() })
    }

    /// The place of a label.
    ///
    /// # Errors
    /// When it is none.
    pub(in crate::datafusion) fn rank(&self, label: &str) -> Result<i32> {
        match self.labels.iter().position(|known| known == label) {
            Some(place) => Ok(place as i32),
            None => Err(external(Error::new(
                ErrorKind::InvalidText,
                format!("invalid input value for enum {}: \"{label}\"", self.name),
            ))),
        }
    }

    fn label(&self, rank: i32) -> Option<&str> {
        usize::try_from(rank).ok().and_then(|rank| self.labels.get(rank)).map(String::as_str)
    }

    /// A label as a value of the type.
    pub(in crate::datafusion) fn literal(&self, label: Option<&String>) -> Expr {
        let value = Expr::Literal(ScalarValue::Utf8(label.cloned()), None);
        let metadata = [(ENUM.to_owned(), self.as_metadata())].into();
        let field = Field::new("", DataType::Utf8View, true).with_metadata(metadata);
        Expr::Cast(Cast { expr: Box::new(value), field: Arc::new(field) })
    }
}

/// What is computed of values of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// A text, or an array of texts, if they are labels.
    Input,
    /// The rank of a label.
    Rank,
    /// The label of a rank.
    Label,
    /// The labels from one to another.
    Range,
}

/// A text, or an array of texts, as a value of the enumeration.
pub(in crate::datafusion) fn input(value: Expr, of: &Arc<Enumeration>, is_array: bool) -> Expr {
    call(Step::Input, of, is_array, vec![value])
}

/// By what a value is compared and sorted.
///
/// # Errors
/// When it is a literal that is no label.
pub(in crate::datafusion) fn rank(value: Expr, of: &Arc<Enumeration>) -> Result<Expr> {
    Ok(match &value {
        Expr::Literal(ScalarValue::Utf8(text) | ScalarValue::Utf8View(text), _) => {
            Expr::Literal(ScalarValue::Int32(text.as_deref().map(|text| of.rank(text)).transpose()?), None)
        }
        Expr::Literal(ScalarValue::Null, _) => Expr::Literal(ScalarValue::Int32(None), None),
        _ => call(Step::Rank, of, false, vec![value]),
    })
}

/// The value that has a rank.
pub(in crate::datafusion) fn label(rank: Expr, of: &Arc<Enumeration>) -> Expr {
    call(Step::Label, of, false, vec![rank])
}

/// An array of the values between two bounds, of which NULL is none.
pub(in crate::datafusion) fn range(from: Expr, to: Expr, of: &Arc<Enumeration>) -> Expr {
    call(Step::Range, of, true, vec![from, to])
}

/// The enumeration that a function here gives a value of.
pub(in crate::datafusion) fn given(call: &ScalarFunction) -> Option<Arc<Enumeration>> {
    let own = call.func.inner().downcast_ref::<OfEnum>()?;
    (own.step == Step::Label || own.step == Step::Input && !own.is_array).then(|| Arc::clone(&own.of))
}

/// The enumeration that a function here gives an array of.
pub(in crate::datafusion) fn elements(call: &ScalarFunction) -> Option<Arc<Enumeration>> {
    let own = call.func.inner().downcast_ref::<OfEnum>()?;
    own.is_array.then(|| Arc::clone(&own.of))
}

/// Functions whose enumeration is not known before their arguments are.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    [
        RowFunction::new(FIRST, |_| Ok(DataType::Utf8View), unknown),
        RowFunction::new(LAST, |_| Ok(DataType::Utf8View), unknown),
        RowFunction::new(RANGE, |_| Ok(list_of(DataType::Utf8View)), unknown),
    ]
    .map(RowFunction::function)
    .into_iter()
}

fn unknown(_: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    Err(external(Error::new(ErrorKind::TypeMismatch, "could not determine actual enum type")))
}

fn call(step: Step, of: &Arc<Enumeration>, is_array: bool, arguments: Vec<Expr>) -> Expr {
    let what = match step {
        Step::Input => "as",
        Step::Rank => "rank of",
        Step::Label => "label of",
        Step::Range => "range of",
    };
    let signature = Signature::any(arguments.len(), Volatility::Immutable);
    let function = OfEnum { step, of: Arc::clone(of), is_array, name: format!("{what} {}", of.name), signature };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(function)), arguments))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfEnum {
    step: Step,
    of: Arc<Enumeration>,
    /// Whether it gives an array.
    is_array: bool,
    name: String,
    signature: Signature,
}

impl OfEnum {
    /// Texts, or arrays of them, all of which are labels.
    fn checked(&self, array: &ArrayRef) -> Result<ArrayRef> {
        if let Some(lists) = array.as_list_opt::<i32>() {
            let offsets = lists.value_offsets();
            let (start, end) = (offsets[0] as usize, offsets[lists.len()] as usize);
            self.checked(&lists.values().slice(start, end - start))?;
            return Ok(Arc::clone(array));
        }
        let texts = cast(array, &DataType::Utf8View)?;
        for text in texts.as_string_view().iter().flatten() {
            self.of.rank(text)?;
        }
        Ok(texts)
    }

    fn ranks(&self, array: &ArrayRef) -> Result<Int32Array> {
        let texts = cast(array, &DataType::Utf8View)?;
        texts.as_string_view().iter().map(|text| text.map(|text| self.of.rank(text)).transpose()).collect()
    }

    fn ranges(&self, from: &ArrayRef, to: &ArrayRef) -> Result<ArrayRef> {
        let (from, to) = (self.ranks(from)?, self.ranks(to)?);
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for (from, to) in from.iter().zip(&to) {
            let end = to.map_or(self.of.labels.len() as i32, |to| to + 1);
            for rank in from.unwrap_or(0)..end {
                lists.values().append_option(self.of.label(rank));
            }
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }
}

impl ScalarUDFImpl for OfEnum {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match (self.step, types) {
            (Step::Input, [list @ DataType::List(_)]) => list.clone(),
            (Step::Input | Step::Label, _) => DataType::Utf8View,
            (Step::Rank, _) => DataType::Int32,
            (Step::Range, _) => list_of(DataType::Utf8View),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match (self.step, args.args.as_slice()) {
            (Step::Input, [value]) => map_values(value, |array| self.checked(array)),
            (Step::Rank, [value]) => map_values(value, |array| Ok(Arc::new(self.ranks(array)?) as ArrayRef)),
            (Step::Label, [value]) => map_values(value, |array| {
                let ranks = cast(array, &DataType::Int32)?;
                let labels =
                    ranks.as_primitive::<Int32Type>().iter().map(|rank| rank.and_then(|rank| self.of.label(rank)));
                Ok(Arc::new(labels.collect::<StringViewArray>()) as ArrayRef)
            }),
            (Step::Range, [ColumnarValue::Scalar(from), ColumnarValue::Scalar(to)]) => {
                let array = self.ranges(&from.to_array()?, &to.to_array()?)?;
                ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar)
            }
            (Step::Range, [from, to]) => {
                let (from, to) = (from.to_array(args.number_rows)?, to.to_array(args.number_rows)?);
                self.ranges(&from, &to).map(ColumnarValue::Array)
            }
            _ => internal_err!("{} takes other arguments", self.name),
        }
    }
}
