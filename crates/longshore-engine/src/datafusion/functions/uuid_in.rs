//! `uuid_in(text)`: the stored form of a UUID, which casts to UUID are (`statement::resolve`).

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use longshore_value::uuid::Uuid;

use crate::datafusion::errors::external;
use crate::datafusion::functions::element_wise::map_values;
use crate::{Error, ErrorKind};

/// The function.
pub(in crate::datafusion) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(UuidIn { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UuidIn {
    signature: Signature,
}

impl ScalarUDFImpl for UuidIn {
    fn name(&self) -> &'static str {
        "uuid_in"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match types {
            [list @ DataType::List(_)] => list.clone(),
            _ => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [argument] = args.args.as_slice() else { return internal_err!("uuid_in takes one text") };
        if matches!(argument.data_type(), DataType::List(_)) {
            return map_values(argument, of_elements);
        }
        let is_text =
            matches!(argument.data_type(), DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        if !is_text {
            return Err(external(Error::new(ErrorKind::TypeMismatch, "only texts are cast to uuid")));
        }
        if let ColumnarValue::Scalar(value) = argument {
            let text = match value.try_as_str() {
                Some(Some(text)) => Some(stored(text)?),
                _ => None,
            };
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(text)));
        }
        Ok(ColumnarValue::Array(of_texts(&argument.to_array(args.number_rows)?)?))
    }
}

fn of_texts(array: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast(array, &DataType::Utf8View)?;
    let uuids = texts.as_string_view().iter().map(|text| text.map(stored).transpose());
    Ok(Arc::new(uuids.collect::<Result<StringViewArray>>()?))
}

/// Arrays of texts, of any dimensions, as arrays of UUIDs.
fn of_elements(array: &ArrayRef) -> Result<ArrayRef> {
    let (DataType::List(item), Some(lists)) = (array.data_type(), array.as_list_opt::<i32>()) else {
        return of_texts(array);
    };
    let values = of_elements(lists.values())?;
    let offsets = lists.offsets().clone();
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, lists.nulls().cloned())?))
}

/// The usual spelling of the UUID that a text spells.
///
/// # Errors
/// It spells none.
pub(in crate::datafusion) fn stored(text: &str) -> Result<String> {
    let invalid = || Error::new(ErrorKind::InvalidText, format!("invalid input syntax for type uuid: \"{text}\""));
    let uuid = Uuid::parse(text.as_bytes()).map_err(|_| external(invalid()))?;
    Ok(uuid.to_string())
}
