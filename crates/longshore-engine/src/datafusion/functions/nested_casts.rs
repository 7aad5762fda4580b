//! Casts of and to JSON, arrays and rows, which are functions here.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::element_wise::map_values;
use super::json_types::name_of;
use super::nested::cast::cast_in;
use super::nested::text_out::is_nested;
use super::time::session::SessionTime;
use crate::builtin_types::PG_TYPE;

/// Puts functions in the place of such casts.
#[derive(Debug)]
pub(in crate::datafusion) struct NestedCasts;

impl FunctionRewrite for NestedCasts {
    fn name(&self) -> &'static str {
        "nested_casts"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        // What its elements must be, is looked at where it is known (`casts`).
        if matches!(&expr, Expr::Cast(Cast { field, .. }) if field.metadata().keys().any(|key| key != PG_TYPE)) {
            return Ok(Transformed::no(expr));
        }
        Self::cast(expr, schema)
    }
}

impl NestedCasts {
    /// `expr`, with a function in its place if it is such a cast.
    pub(super) fn cast(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::Cast(Cast { expr: inner, field }) = expr else { return Ok(Transformed::no(expr)) };
        let from = inner.get_type(schema)?;
        let to = field.data_type();
        if !is_ours(&from, to) {
            return Ok(Transformed::no(Expr::Cast(Cast { expr: inner, field })));
        }
        Ok(Transformed::yes(cast(*inner, to)))
    }
}

fn is_ours(from: &DataType, to: &DataType) -> bool {
    if from == to || *from == DataType::Null {
        return false;
    }
    let is_list = |data_type: &DataType| matches!(data_type, DataType::List(_));
    name_of(from).is_some()
        || name_of(to).is_some()
        || (is_nested(from) && to.is_string())
        || (is_list(to) && (from.is_string() || is_list(from)))
}

/// `expr` in the type `to`.
pub(in crate::datafusion) fn cast(expr: Expr, to: &DataType) -> Expr {
    let function = Arc::new(ScalarUDF::new_from_impl(CastTo::new(to.clone())));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CastTo {
    to: DataType,
    name: String,
    signature: Signature,
}

impl CastTo {
    fn new(to: DataType) -> Self {
        let name = format!("as {}", crate::datafusion::type_name::type_name(&to));
        Self { to, name, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for CastTo {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(&self.name, self.to.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name) };
        let session = SessionTime::of(&args.config_options);
        map_values(value, |array| cast_in(array, &self.to, &session))
    }
}
