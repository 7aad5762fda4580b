//! `round` of a DOUBLE PRECISION or REAL: halves go to the even neighbour, as PostgreSQL's `round` and its casts have it.
//! `DataFusion` lets them go away from zero, as PostgreSQL does for NUMERIC only.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::Result;
use datafusion::functions::math;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::element_wise::map_values;

/// The function; what it is not about is left to `DataFusion`'s.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::datafusion) struct Round {
    theirs: Arc<ScalarUDF>,
}

impl Round {
    pub(in crate::datafusion) fn new() -> Self {
        Self { theirs: math::round() }
    }
}

impl ScalarUDFImpl for Round {
    fn name(&self) -> &'static str {
        "round"
    }

    fn signature(&self) -> &Signature {
        self.theirs.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.theirs.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.theirs.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.theirs.coerce_types(arg_types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return self.theirs.invoke_with_args(args) };
        match value.data_type() {
            DataType::Float64 => map_values(value, |array| {
                Ok(Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even)))
            }),
            DataType::Float32 => map_values(value, |array| {
                Ok(Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round_ties_even)))
            }),
            _ => self.theirs.invoke_with_args(args),
        }
    }
}
