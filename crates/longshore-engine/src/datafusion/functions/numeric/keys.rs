//! The key of a number: what of a NUMERIC compares as the number does, whatever its scale.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, BinaryViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use longshore_value::numeric;

use super::is_exact;
use super::values::Numbers;
use crate::datafusion::functions::element_wise::map_values;

static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(NumericKey { signature: Signature::user_defined(Volatility::Immutable) }))
});

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
    signature: Signature,
}

impl ScalarUDFImpl for NumericKey {
    fn name(&self) -> &'static str {
        KEY_NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), DataType::BinaryView, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{KEY_NAME} takes one argument") };
        map_values(value, keys)
    }
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
