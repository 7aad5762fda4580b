//! A parameter in a physical plan: a function without arguments, whose value is set before the plan is run.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// The values that the parameters of one plan have now.
#[derive(Debug, Default)]
pub(super) struct Values(Mutex<Vec<ScalarValue>>);

impl Values {
    fn values(&self) -> MutexGuard<'_, Vec<ScalarValue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the parameters these values.
    pub(super) fn set(&self, values: Vec<ScalarValue>) {
        *self.values() = values;
    }

    /// The parameter of this number, whose values have this type.
    pub(super) fn parameter(self: &Arc<Self>, number: usize, data_type: &DataType) -> Expr {
        let parameter = Parameter {
            number,
            data_type: data_type.clone(),
            values: Arc::clone(self),
            // What is volatile is not pushed towards the tables.
            signature: Signature::nullary(Volatility::Stable),
        };
        ScalarUDF::new_from_impl(parameter).call(Vec::new())
    }
}

/// The value that a parameter has now; `None` of any other expression.
pub(super) fn value_of(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    function.fun().inner().downcast_ref::<Parameter>()?.value().ok()
}

#[derive(Debug)]
struct Parameter {
    number: usize,
    data_type: DataType,
    values: Arc<Values>,
    signature: Signature,
}

impl Parameter {
    fn value(&self) -> Result<ScalarValue> {
        let value = self.values.values().get(self.number).cloned();
        value.ok_or_else(|| internal_datafusion_err!("parameter {} has no value", self.number + 1))
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.values, &other.values)
    }
}

impl Eq for Parameter {}

impl Hash for Parameter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl ScalarUDFImpl for Parameter {
    fn name(&self) -> &'static str {
        "parameter"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(self.value()?))
    }
}
