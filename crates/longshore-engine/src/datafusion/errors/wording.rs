//! What the planner refuses, in PostgreSQL's words and with its SQLSTATE.
//!
//! `DataFusion` has one kind of error for most of it, so the texts are recognised. One that is not keeps its words.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DataFusionError, SchemaError};

use crate::ErrorKind;
use crate::datafusion::type_name::type_name as own_type_name;
use crate::sql::{headings, slips};

/// Columns that an error shows, at most.
const COLUMNS_SHOWN_MAX: usize = 20;
/// Functions that need OVER.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// The kind and the words of an error whose text is `message`; `None` if PostgreSQL has none that are known here.
pub(super) fn of(error: &DataFusionError, message: &str) -> Option<(ErrorKind, String)> {
    if let DataFusionError::SchemaError(error, _) = error {
        return of_schema(error);
    }
    of_text(message)
}

fn of_schema(error: &SchemaError) -> Option<(ErrorKind, String)> {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => Some(no_column(field, valid_fields)),
        SchemaError::AmbiguousReference { field } => {
            Some((ErrorKind::Ambiguous, format!("column reference \"{}\" is ambiguous", field.name)))
        }
        SchemaError::DuplicateQualifiedField { qualifier, .. } => {
            let text = format!("table name \"{}\" specified more than once", qualifier.table());
            Some((ErrorKind::DuplicateAlias, text))
        }
        SchemaError::DuplicateUnqualifiedField { .. } => None,
    }
}

fn no_column(field: &Column, valid_fields: &[Column]) -> (ErrorKind, String) {
    // Two columns of a query in FROM that have one name are marked.
    if valid_fields.iter().any(|column| headings::shown(&column.name) == Some(&field.name)) {
        return (ErrorKind::Ambiguous, format!("column reference \"{}\" is ambiguous", field.name));
    }
    let Some(relation) = &field.relation else {
        let text = format!("column \"{}\" does not exist{}", field.name, columns(&field.name, valid_fields));
        return (ErrorKind::NoColumn, text);
    };
    let table = relation.table();
    let is_there = |column: &Column| column.relation.as_ref().is_some_and(|other| other.table() == table);
    if valid_fields.iter().any(is_there) {
        let text = format!("column {table}.{} does not exist{}", field.name, columns(&field.name, valid_fields));
        return (ErrorKind::NoColumn, text);
    }
    (
        ErrorKind::NotFound,
        format!("missing FROM-clause entry for table \"{table}\"{}", columns(&field.name, valid_fields)),
    )
}

/// The column that may have been meant by `name`, and those that there are: each once, and not too many of them.
fn columns(name: &str, columns: &[Column]) -> String {
    let mut distinct: Vec<&Column> = Vec::new();
    for column in columns {
        let is_ours = column.name.contains("(hidden)") || headings::shown(&column.name).is_some();
        if !is_ours && !distinct.contains(&column) {
            distinct.push(column);
        }
    }
    if distinct.is_empty() {
        return String::new();
    }
    let hint = slips::hint(name, distinct.iter().map(|column| column.name.as_str()));
    let shown: Vec<String> = distinct.iter().take(COLUMNS_SHOWN_MAX).map(|column| column.quoted_flat_name()).collect();
    let more = match distinct.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{hint}; there are {}{more}", shown.join(", "))
}

fn of_text(message: &str) -> Option<(ErrorKind, String)> {
    let between = |start: &str, end: &str| {
        let (_, rest) = message.split_once(start)?;
        rest.split_once(end).map(|(found, _)| found)
    };
    if message.contains("must appear in the GROUP BY clause or must be part of an aggregate function") {
        let column = between("column \"", "\" must appear")?;
        let text =
            format!("column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function");
        return Some((ErrorKind::Grouping, text));
    }
    if message.starts_with("Aggregate functions are not allowed in the WHERE clause") {
        return Some((ErrorKind::Grouping, "aggregate functions are not allowed in WHERE".to_owned()));
    }
    if message.starts_with("Aggregate function calls cannot be nested") {
        return Some((ErrorKind::Grouping, "aggregate function calls cannot be nested".to_owned()));
    }
    if let Some(rest) = message.strip_prefix("Order by column out of bounds, specified: ") {
        let place = rest.split(',').next()?;
        return Some((ErrorKind::ConflictTarget, format!("ORDER BY position {place} is not in select list")));
    }
    if let Some(rest) = message.strip_prefix("Cannot find column with position ") {
        let place = rest.split(' ').next()?;
        return Some((ErrorKind::ConflictTarget, format!("GROUP BY position {place} is not in select list")));
    }
    if let Some(operation) = message.strip_suffix(" queries have different number of columns") {
        let text = format!("each {operation} query must have the same number of columns");
        return Some((ErrorKind::Syntax, text));
    }
    if message.starts_with("INTERSECT/EXCEPT query must have the same number of columns") {
        let text = "each INTERSECT or EXCEPT query must have the same number of columns";
        return Some((ErrorKind::Syntax, text.to_owned()));
    }
    if message.starts_with("Too many columns! The subquery should only return one column") {
        return Some((ErrorKind::Syntax, "subquery must return only one column".to_owned()));
    }
    if message.starts_with("Cannot create filter with non-boolean predicate") {
        let (_, found) = message.rsplit_once(" returning ")?;
        let text = format!("argument of WHERE must be type boolean, not type {}", type_name(found));
        return Some((ErrorKind::TypeMismatch, text));
    }
    for (start, place) in [
        ("Unary operator 'NOT' requires a boolean expression, got ", "NOT"),
        ("Join condition must be boolean type, but got ", "JOIN/ON"),
    ] {
        if let Some(found) = message.strip_prefix(start) {
            let text = format!("argument of {place} must be type boolean, not type {}", type_name(found));
            return Some((ErrorKind::TypeMismatch, text));
        }
    }
    if message.starts_with("negative count not allowed") {
        return Some((ErrorKind::Substring, "negative substring length not allowed".to_owned()));
    }
    if message.starts_with("LIMIT must be >") {
        return Some((ErrorKind::Coded("2201W"), "LIMIT must not be negative".to_owned()));
    }
    if message.starts_with("OFFSET must be >") {
        return Some((ErrorKind::Coded("2201X"), "OFFSET must not be negative".to_owned()));
    }
    if message.starts_with("Inconsistent data length across values list") {
        return Some((ErrorKind::Syntax, "VALUES lists must all be the same length".to_owned()));
    }
    if message.starts_with("Physical plan does not support logical expression WindowFunction") {
        return Some((ErrorKind::Windowing, "window functions are not allowed in WHERE".to_owned()));
    }
    of_window(message).or_else(|| of_function(message)).or_else(|| of_operator(message))
}

fn of_window(message: &str) -> Option<(ErrorKind, String)> {
    let text = match message {
        "NTILE requires a positive integer" => {
            return Some((ErrorKind::Data, "argument of ntile must be greater than zero".to_owned()));
        }
        _ => match message.strip_prefix("Invalid window frame: ").unwrap_or(message) {
            "start bound cannot be UNBOUNDED FOLLOWING" => "frame start cannot be UNBOUNDED FOLLOWING",
            "end bound cannot be UNBOUNDED PRECEDING" => "frame end cannot be UNBOUNDED PRECEDING",
            "RANGE requires exactly one ORDER BY column" => {
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            }
            "GROUPS requires an ORDER BY clause" => "GROUPS mode requires an ORDER BY clause",
            _ => return None,
        },
    };
    Some((ErrorKind::Windowing, text.to_owned()))
}

fn of_function(message: &str) -> Option<(ErrorKind, String)> {
    if let Some(rest) = message.strip_prefix("Invalid function '") {
        let (name, _) = rest.split_once('\'')?;
        if WINDOW_FUNCTIONS.contains(&name) {
            let text = format!("window function {name} requires an OVER clause");
            return Some((ErrorKind::WrongObject, text));
        }
        let meant = rest.split('\'').nth(2).filter(|meant| slips::closest(name, std::iter::once(*meant)).is_some());
        let hint = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        return Some((ErrorKind::NoFunction, format!("function {name} does not exist{hint}")));
    }
    let no_function = |name: &str, types: &str| {
        let types: Vec<String> = split_types(types).into_iter().map(type_name).collect();
        let list = match name {
            "coalesce" | "greatest" | "least" => name.to_uppercase(),
            "make_array" => "ARRAY".to_owned(),
            "nullif" if types.len() == 2 => {
                let text = format!("operator does not exist: {} = {}", types[0], types[1]);
                return Some((ErrorKind::NoFunction, text));
            }
            _ => String::new(),
        };
        if let (false, Some(first), Some(other)) =
            (list.is_empty(), types.first(), types.iter().find(|other| Some(*other) != types.first()))
        {
            return Some((ErrorKind::TypeMismatch, format!("{list} types {first} and {other} cannot be matched")));
        }
        Some((ErrorKind::NoFunction, format!("function {name}({}) does not exist", types.join(", "))))
    };
    if let Some((_, rest)) = message.split_once("given name and argument types '") {
        let (name, rest) = rest.split_once('(')?;
        let (types, _) = rest.split_once(")'")?;
        return no_function(name, types);
    }
    if let Some((_, rest)) = message.split_once("to satisfy a call to '") {
        let (name, rest) = rest.split_once('\'')?;
        let (_, rest) = rest.split_once("coercion from ")?;
        let (types, _) = rest.split_once(" to the signature")?;
        return no_function(name, types);
    }
    if let Some((_, rest)) = message.split_once("For function '")
        && let Some((types, _)) = rest.split_once(" is not comparable")
    {
        let (name, types) = types.split_once("' ")?;
        return no_function(name, &types.replace(" and ", ", "));
    }
    let (name, rest) = message.split_once("Function '").map(|(_, rest)| rest)?.split_once('\'')?;
    if rest.starts_with(" failed to match any signature") || rest.starts_with(" requires ") {
        let (_, found) = rest.split_once("(DataType: ")?;
        let (found, _) = found.split_once(").")?;
        return no_function(name, found);
    }
    None
}

fn of_operator(message: &str) -> Option<(ErrorKind, String)> {
    let operation = message
        .strip_prefix("Cannot coerce arithmetic expression ")
        .and_then(|rest| rest.strip_suffix(" to valid types"))
        .or_else(|| message.strip_prefix("Cannot infer common argument type for comparison operation "))
        .or_else(|| message.strip_prefix("Cannot infer common argument type for logical boolean operation "))
        .or_else(|| message.strip_prefix("Cannot infer common type for bitwise operation "))?;
    let parts: Vec<&str> = operation.split(' ').collect();
    let operator = parts.iter().position(|part| part.chars().all(|c| "+-*/%=<>!&|#~^".contains(c)))?;
    let (left, right) = (parts[..operator].join(" "), parts[operator + 1..].join(" "));
    let text = format!("operator does not exist: {} {} {}", type_name(&left), parts[operator], type_name(&right));
    Some((ErrorKind::NoFunction, text))
}

/// The types of a list, in which a type may have arguments itself.
fn split_types(types: &str) -> Vec<&str> {
    let (mut depth, mut first, mut found) = (0, 0, Vec::new());
    for (at, character) in types.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(types[first..at].trim());
                first = at + 1;
            }
            _ => {}
        }
    }
    if !types[first..].trim().is_empty() {
        found.push(types[first..].trim());
    }
    found
}

/// What PostgreSQL calls a type of Arrow.
fn type_name(arrow: &str) -> String {
    // Of a type that Arrow has not, the only field has the name.
    let wrapped = arrow.strip_prefix("Struct(\"$").and_then(|rest| rest.split_once('"'));
    match (arrow, wrapped) {
        (_, Some(("timetz", _))) => "time with time zone".to_owned(),
        (_, Some((name, _))) => name.to_owned(),
        ("String", _) => "text".to_owned(),
        ("UInt64", _) => "bigint".to_owned(),
        _ => arrow.parse::<DataType>().map_or_else(|_| arrow.to_owned(), |known| own_type_name(&known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_in_the_words_of_postgresql() {
        for (message, expected) in [
            (
                "Cannot coerce arithmetic expression Int32 + Utf8View to valid types",
                "operator does not exist: integer + text",
            ),
            (
                "Cannot infer common argument type for comparison operation Boolean = Timestamp(ns)",
                "operator does not exist: boolean = timestamp without time zone",
            ),
            (
                "Cannot infer common argument type for comparison operation Decimal128(2, 1) = Struct(\"$jsonb\": Utf8View)",
                "operator does not exist: numeric = jsonb",
            ),
            ("UNION queries have different number of columns", "each UNION query must have the same number of columns"),
            ("Order by column out of bounds, specified: 9, max: 3", "ORDER BY position 9 is not in select list"),
            (
                "Failed to coerce arguments to satisfy a call to 'lower' function: coercion from Int64, Decimal128(3, 1) to the \
                 signature X failed",
                "function lower(bigint, numeric) does not exist",
            ),
            (
                "No function matches the given name and argument types 'abs(Utf8)'. You might need to add casts",
                "function abs(text) does not exist",
            ),
        ] {
            assert_eq!(of_text(message).map(|(_, text)| text).as_deref(), Some(expected), "{message}");
        }
        assert_eq!(of_text("something else"), None);
    }
}
