//! Scalar functions that are one Rust function over arrays, with the types of arguments left to them.

use std::hash::{Hash, Hasher};

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::nested::cast::cast_to;
use super::no_function;

/// What a function gives for the types of its arguments.
pub(in crate::datafusion) type Returns = fn(&[DataType]) -> Result<DataType>;
/// A function over the values of its arguments, which are arrays of one length; the type is that which it gives.
pub(in crate::datafusion) type Call = fn(&[ArrayRef], &DataType) -> Result<ArrayRef>;

/// A function as a row of a table of functions.
#[derive(Clone, Debug)]
pub(in crate::datafusion) struct RowFunction {
    name: &'static str,
    returns: Returns,
    call: Call,
    /// The type that a text becomes as the first argument.
    text_becomes: Option<fn() -> DataType>,
    signature: Signature,
}

impl RowFunction {
    /// A function of any arguments, which `returns` checks.
    pub(in crate::datafusion) fn new(name: &'static str, returns: Returns, call: Call) -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { name, returns, call, text_becomes: None, signature }
    }

    /// The same function, of which a text as the first argument becomes a value of this type.
    pub(in crate::datafusion) fn with_text_as(mut self, data_type: fn() -> DataType) -> Self {
        self.text_becomes = Some(data_type);
        self
    }

    /// The same function with names for its arguments.
    pub(in crate::datafusion) fn with_parameters(mut self, names: &[&str]) -> Self {
        self.signature.parameter_names = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    pub(in crate::datafusion) fn name(&self) -> &'static str {
        self.name
    }

    pub(in crate::datafusion) fn function(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(self)
    }
}

impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RowFunction {}

impl Hash for RowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for RowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        (self.returns)(types).map_err(|error| match error {
            DataFusionError::Plan(_) => no_function(self.name, types),
            error => error,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let mut arrays = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        if let (Some(becomes), Some(first)) = (self.text_becomes, arrays.first_mut())
            && first.data_type().is_string()
        {
            *first = cast_to(first, &becomes())?;
        }
        let result = (self.call)(&arrays, args.return_field.data_type())?;
        if is_constant && result.len() == 1 {
            return ScalarValue::try_from_array(&result, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(result))
    }
}
