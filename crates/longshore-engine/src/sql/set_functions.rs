//! The names of functions that give rows.

use sqlparser::ast::{Expr, ObjectName};

/// Functions that give rows.
pub(super) const SET_RETURNING: [&str; 26] = [
    "_pg_expandarray",
    "aclexplode",
    "generate_series",
    "generate_subscripts",
    "json_array_elements",
    "json_array_elements_text",
    "json_each",
    "json_each_text",
    "json_object_keys",
    "json_populate_recordset",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_object_keys",
    "jsonb_path_query",
    "jsonb_path_query_tz",
    "jsonb_populate_recordset",
    "pg_get_keywords",
    "pg_listening_channels",
    "pg_options_to_table",
    "pg_partition_ancestors",
    "pg_partition_tree",
    "regexp_matches",
    "regexp_split_to_table",
    "string_to_table",
];
/// The one that is no function of values.
pub(crate) const UNNEST: &str = "unnest";

/// Whether the function `name` gives rows.
pub(crate) fn is_set_returning(name: &str) -> bool {
    SET_RETURNING.contains(&name) || name == UNNEST
}

/// The name of a function, be it in quotes or not, without the schema of such functions.
pub(super) fn function_called(name: &ObjectName) -> String {
    let parts = name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.to_lowercase());
    let parts: Vec<String> = parts.collect();
    match parts.as_slice() {
        [schema, own] if schema == "information_schema" => own.clone(),
        parts => parts.join("."),
    }
}

/// Whether it is a call of a function that gives rows, other than `unnest`.
pub(super) fn is_set_call(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if SET_RETURNING.contains(&function_called(&function.name).as_str()))
}
