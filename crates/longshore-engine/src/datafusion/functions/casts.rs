//! Casts that mean what they mean in PostgreSQL where `DataFusion`'s would give something else without a word.
//!
//! Text becomes BYTEA by PostgreSQL's two notations (`\x00ff`, and bytes with octal escapes) instead of byte by byte,
//! and BYTEA becomes text as `\x00ff`; numbers become numbers of other types as [`numeric`] says. This holds for CAST,
//! `::` and INSERT. Not here: texts that are compared with BYTEA (`operators`).

pub(in crate::datafusion) mod lengths;
pub(in crate::datafusion) mod numeric;
mod text;

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use longshore_value::numeric::Limit;

use super::bytea_text::{bytes_of_texts, encode};
use super::element_wise::map_values;
use super::enums::{self, Enumeration};
use super::nested_casts::NestedCasts;
use super::numeric::{convert, limit};
use lengths::Length;

/// Puts functions before casts that need them, or in their place.
#[derive(Debug)]
pub(in crate::datafusion) struct PostgresCasts {
    decode: Arc<ScalarUDF>,
    encode: Arc<ScalarUDF>,
}

impl PostgresCasts {
    pub(in crate::datafusion) fn new() -> Self {
        let bytes = |direction| Arc::new(ScalarUDF::new_from_impl(ByteText::new(direction)));
        Self { decode: bytes(Direction::Decode), encode: bytes(Direction::Encode) }
    }

    /// What is to be done before a value of the type `from` is cast to the type `to`.
    fn before(&self, from: &DataType, to: &DataType) -> Option<&Arc<ScalarUDF>> {
        if from.is_string() && to.is_binary() {
            Some(&self.decode)
        } else if from.is_binary() && to.is_string() {
            Some(&self.encode)
        } else {
            None
        }
    }
}

impl FunctionRewrite for PostgresCasts {
    fn name(&self) -> &'static str {
        "postgres_casts"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _config: &ConfigOptions) -> Result<Transformed<Expr>> {
        self.cast(expr, schema)
    }
}

impl PostgresCasts {
    /// `expr`, if it is a cast, as PostgreSQL means it.
    fn cast(&self, expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
        let Expr::Cast(Cast { expr: inner, field }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let (length, enumeration) = (Length::of(&field), Enumeration::of(&field).map(Arc::new));
        if length.is_some() || enumeration.is_some() {
            let is_array = field.data_type().is_nested();
            let text = Expr::Cast(Cast::new(inner, field.data_type().clone()));
            let text = self.cast(NestedCasts::cast(text, schema)?.data, schema)?.data;
            return Ok(Transformed::yes(match (length, enumeration) {
                (Some(length), _) => lengths::cut(text, length),
                (None, Some(of)) => enums::input(text, &of, is_array),
                (None, None) => text,
            }));
        }
        let from = inner.get_type(schema)?;
        if numeric::is_ours(&from, field.data_type()) {
            return Ok(Transformed::yes(number(*inner, field.data_type(), limit(&field))));
        }
        let Some(function) = self.before(&from, field.data_type()) else {
            return Ok(Transformed::no(Expr::Cast(Cast { expr: inner, field })));
        };
        let prepared = ScalarFunction::new_udf(Arc::clone(function), vec![*inner]);
        Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(Expr::ScalarFunction(prepared)), field })))
    }
}

/// `expr` in the type `to`, where both are types of numbers.
pub(in crate::datafusion) fn cast_number(expr: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let from = expr.get_type(schema)?;
    // A subquery is cast within, where Arrow can do it.
    let is_within = matches!(expr, Expr::ScalarSubquery(_)) && !convert::is_ours(&from, to);
    if numeric::is_ours(&from, to) && !is_within {
        return Ok(number(expr, to, None));
    }
    expr.cast_to(to, schema)
}

/// A conversion between two types of numbers that is ours; of a literal, what it gives.
fn number(expr: Expr, to: &DataType, limit: Option<Limit>) -> Expr {
    if let Expr::Literal(value, None) = &expr
        && let Ok(array) = value.to_array().and_then(|array| converted(&array, to, limit))
        && let Ok(value) = ScalarValue::try_from_array(&array, 0)
    {
        return Expr::Literal(value, None);
    }
    let function = Arc::new(ScalarUDF::new_from_impl(NumberCast::new(to.clone(), limit)));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

/// Whether a call is such a conversion to NUMERIC.
pub(in crate::datafusion) fn is_cast_to_numeric(call: &ScalarFunction) -> bool {
    call.func.name() == name_of(&super::numeric::data_type())
}

fn name_of(to: &DataType) -> String {
    format!("number_as_{to}")
}

fn converted(array: &ArrayRef, to: &DataType, limit: Option<Limit>) -> Result<ArrayRef> {
    match limit {
        Some(_) => convert::convert(array, to, limit),
        None => numeric::convert(array, to),
    }
}

/// A number in another type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberCast {
    to: DataType,
    limit: Option<Limit>,
    name: String,
    signature: Signature,
}

impl NumberCast {
    fn new(to: DataType, limit: Option<Limit>) -> Self {
        let name = name_of(&to);
        Self { to, limit, name, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for NumberCast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(&self.name, self.to.clone(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name) };
        map_values(value, |array| converted(array, &self.to, self.limit))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Direction {
    Decode,
    Encode,
}

/// Text to BYTEA, or back.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByteText {
    direction: Direction,
    signature: Signature,
}

impl ByteText {
    fn new(direction: Direction) -> Self {
        Self { direction, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn convert(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match self.direction {
            Direction::Decode => bytes_of_texts(array),
            Direction::Encode => {
                let bytes = cast(array, &DataType::BinaryView)?;
                let mut texts = StringViewBuilder::with_capacity(bytes.len());
                for bytes in bytes.as_binary_view() {
                    texts.append_option(bytes.map(encode));
                }
                Ok(Arc::new(texts.finish()))
            }
        }
    }
}

impl ScalarUDFImpl for ByteText {
    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Decode => "bytea_in",
            Direction::Encode => "bytea_out",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(match self.direction {
            Direction::Decode => DataType::BinaryView,
            Direction::Encode => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else { return internal_err!("{} takes one argument", self.name()) };
        map_values(value, |array| self.convert(array))
    }
}
