//! JSON and JSONB: their types, casts, operators and functions. What they mean is in the crate `longshore-json`.
//!
//! A value of `json` or `jsonb` is a struct of one field, which has the type's name and holds the text: as it was written
//! for `json`, in its normal form for `jsonb`. So what is part of a `jsonb` is a part of its text.

pub(in crate::datafusion) mod aggregates;
mod arguments;
mod assign;
mod build;
mod change;
mod histogram;
mod jsonpath;
mod keys;
mod moments;
pub(in crate::datafusion) mod operators;
mod parts;
mod records;
mod rows;
mod write;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;

use super::json_types;

pub(in crate::datafusion) use keys::{key, keys, text_key};

/// Functions whose first argument is no value of `jsonb`.
const MADE: [&str; 7] = [
    "jsonb_build_object",
    "jsonb_build_array",
    "jsonb_object",
    "jsonb_populate_record",
    "jsonb_to_record",
    "jsonb_populate_recordset",
    "jsonb_to_recordset",
];

/// All scalar functions.
pub(in crate::datafusion) fn functions() -> impl Iterator<Item = ScalarUDF> {
    let tables =
        [parts::functions(), rows::functions(), change::functions(), jsonpath::functions(), records::functions()];
    let own = tables.into_iter().flatten().map(|function| {
        // What jsonb keeps, also where it is given as a text.
        let takes_jsonb = function.name().starts_with("jsonb_") && !MADE.contains(&function.name());
        if takes_jsonb { function.with_text_as(json_types::jsonb) } else { function }.function()
    });
    own.chain(build::functions())
}

/// The type of JSONB in which something is assigned to a part.
pub(in crate::datafusion) fn assigned_type(types: &[DataType]) -> Result<DataType> {
    assign::assigned_type(types)
}

/// JSONB in which something is assigned to a part.
pub(in crate::datafusion) fn assigned(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    assign::assigned(args, to)
}

/// `value[step]...` of JSONB.
pub(in crate::datafusion) fn subscript(args: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    parts::subscript(args, to)
}
