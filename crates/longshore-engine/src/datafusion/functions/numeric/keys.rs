//! The key of a number: what of a NUMERIC compares as the number does, whatever its scale.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_value::numeric;

use super::is_exact;
use super::values::Numbers;
use crate::datafusion::functions::element_wise::map_values;

static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(NumericKey::function(false)));
static TEXT_KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(NumericKey::function(true)));

/// The name of the function.
pub(in crate::datafusion) const KEY_NAME: &str = "numeric key";

/// The key of `expr`, which is an exact number.
pub(in crate::datafusion) fn key(expr: Expr) -> Expr {
    if let Expr::Literal(value, None) = &expr
        && let Ok(keys) = value.to_array().and_then(|array| keys(&array))
        && let Ok(value) = ScalarValue::try_from_array(&keys, 0)
    {
        return Expr::Literal(value, None);
    }
    KEY.call(vec![expr])
}

/// The same as a text, by which a window can be sorted: `DataFusion` has no frames over bytes. A byte is a character.
pub(in crate::datafusion) fn text_key(expr: Expr) -> Expr {
    TEXT_KEY.call(vec![expr])
}

/// What the key is of, if `expr` is one.
pub(in crate::datafusion) fn keyed(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == KEY_NAME => call.args.first(),
        _ => None,
    }
}

/// The function, which nobody can call by its name.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NumericKey {
    is_text: bool,
    signature: Signature,
}

impl NumericKey {
    fn function(is_text: bool) -> ScalarUDF {
        let signature = Signature::user_defined(Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { is_text, signature })
    }

    fn data_type(&self) -> DataType {
        if self.is_text { DataType::Utf8View } else { DataType::BinaryView }
    }
}

impl ScalarUDFImpl for NumericKey {
    fn name(&self) -> &'static str {
        if self.is_text { "numeric key as text" } else { KEY_NAME }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.data_type())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.data_type(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{KEY_NAME} takes one argument") };
        map_values(value, |array| if self.is_text { keys(array).map(|keys| texts(&keys)) } else { keys(array) })
    }
}

/// Keys as texts, in the same order: each byte is the character of that number.
pub(in crate::datafusion) fn texts(keys: &ArrayRef) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(keys.len());
    for key in keys.as_binary_view() {
        builder.append_option(key.map(|key| key.iter().copied().map(char::from).collect::<String>()));
    }
    Arc::new(builder.finish())
}

/// The keys of exact numbers.
pub(in crate::datafusion) fn keys(array: &ArrayRef) -> Result<ArrayRef> {
    if !is_exact(array.data_type()) && !array.data_type().is_null() {
        return internal_err!("{} has no key of a number", array.data_type());
    }
    let numbers = Numbers::of(array)?;
    let mut builder = BinaryViewBuilder::with_capacity(array.len());
    let mut room = Vec::new();
    for row in 0..array.len() {
        if let Some(bytes) = numbers.bytes(row) {
            builder.append_value(numeric::key(bytes));
            continue;
        }
        match numbers.get(row)? {
            Some(number) => {
                room.clear();
                number.push_bytes(&mut room);
                builder.append_value(numeric::key(&room));
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}
