//! `uuid_in(text)`: the stored form of a UUID, which casts to UUID are (`statement::resolve`).

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use longshore_value::uuid::canonical;

use crate::datafusion::errors::external;
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

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [argument] = args.args.as_slice() else { return internal_err!("uuid_in takes one text") };
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
        let texts = cast(&argument.to_array(args.number_rows)?, &DataType::Utf8View)?;
        let uuids = texts.as_string_view().iter().map(|text| text.map(stored).transpose());
        Ok(ColumnarValue::Array(Arc::new(uuids.collect::<Result<StringViewArray>>()?)))
    }
}

fn stored(text: &str) -> Result<String> {
    let invalid =
        || external(Error::new(ErrorKind::InvalidText, format!("invalid input syntax for type uuid: \"{text}\"")));
    let bytes = canonical(text.as_bytes()).map_err(|_| invalid())?;
    String::from_utf8(bytes.to_vec()).map_err(|_| invalid())
}
