//! `coalesce`, `nullif`, `greatest` and `least` where NUMERIC is among their arguments; the rest is `DataFusion`'s.
//!
//! They take such arguments here while a statement is planned; what is done is put in their place when types are final
//! (`functions::operators`).

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::functions::core;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::datafusion::functions::numeric::{data_type, is_number, is_numeric};
use crate::datafusion::functions::untyped::type_of_literals;

/// The functions.
pub(in crate::datafusion) fn functions() -> Vec<ScalarUDF> {
    let theirs = [core::coalesce(), core::nullif(), core::greatest(), core::least()];
    theirs.into_iter().map(|theirs| ScalarUDF::new_from_impl(OfOneType::new(theirs))).collect()
}

/// A function whose arguments have one type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfOneType {
    theirs: Arc<ScalarUDF>,
    signature: Signature,
}

impl OfOneType {
    fn new(theirs: Arc<ScalarUDF>) -> Self {
        let signature = match &theirs.signature().type_signature {
            TypeSignature::UserDefined => Signature::user_defined(Volatility::Immutable),
            other => {
                let either = vec![TypeSignature::UserDefined, other.clone()];
                Signature::one_of(either, Volatility::Immutable)
            }
        };
        Self { theirs, signature }
    }

    fn inner(&self) -> &dyn ScalarUDFImpl {
        self.theirs.inner().as_ref()
    }

    /// The type of the result, where NUMERIC is among these.
    fn of(types: &[DataType]) -> Option<DataType> {
        let may_be_number = |known: &DataType| is_number(known) || known.is_string() || known.is_null();
        if !types.iter().any(is_numeric) || !types.iter().all(may_be_number) {
            return None;
        }
        Some(if types.iter().any(DataType::is_floating) { DataType::Float64 } else { data_type() })
    }

    /// The one type of time among these, where all others are literals that have no type yet.
    fn of_time(types: &[DataType]) -> Option<DataType> {
        let time = types.iter().find(|known| known.is_temporal())?;
        let fits = |known: &DataType| known == time || known.is_string() || known.is_null();
        types.iter().all(fits).then(|| time.clone())
    }

    /// The type of all of these, where they are bytes or NULL.
    fn of_bytes(types: &[DataType]) -> Option<DataType> {
        let are_bytes =
            types.iter().any(DataType::is_binary) && types.iter().all(|known| known.is_binary() || known.is_null());
        are_bytes.then_some(DataType::BinaryView)
    }

    /// The one type among these that literals without a type take on, where there are such.
    fn of_literals(types: &[DataType]) -> Option<DataType> {
        let typed: Vec<DataType> = types.iter().filter(|known| **known != DataType::Utf8).cloned().collect();
        if typed.len() == types.len() { None } else { type_of_literals(&typed) }
    }
}

impl ScalarUDFImpl for OfOneType {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn aliases(&self) -> &[String] {
        self.theirs.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if Self::of(types).is_some() || Self::of_literals(types).is_some() {
            return Ok(types.to_vec());
        }
        if let Some(common) = Self::of_time(types).or_else(|| Self::of_bytes(types)) {
            return Ok(vec![common; types.len()]);
        }
        self.inner().coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        if let Some(of) = Self::of_literals(types) {
            return Ok(of);
        }
        match Self::of(types) {
            Some(of) if self.name() != "nullif" || types.first().is_some_and(is_numeric) => Ok(of),
            Some(_) => Ok(types[0].clone()),
            None => self.inner().return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        if Self::of(&types).is_none() && Self::of_literals(&types).is_none() {
            return self.inner().return_field_from_args(args);
        }
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, true)))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner().simplify(args, info)
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner().conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner().short_circuits()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner().invoke_with_args(args)
    }
}
