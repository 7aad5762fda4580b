//! `ARRAY[...]`, whose elements may be a NUMERIC and other numbers.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::functions_nested::make_array::MakeArray;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};

use crate::datafusion::functions::nested::list_of;
use crate::datafusion::functions::operators::of_list;

/// `DataFusion`'s function, with the type that such elements have; they are cast to it before (`functions::operators`).
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayLiteral(MakeArray);

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![ScalarUDF::new_from_impl(ArrayLiteral(MakeArray::new()))]
}

impl ScalarUDFImpl for ArrayLiteral {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if of_list(types).is_some() { Ok(types.to_vec()) } else { self.0.coerce_types(types) }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        of_list(types).map_or_else(|| self.0.return_type(types), |common| Ok(list_of(common)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(args)
    }
}
