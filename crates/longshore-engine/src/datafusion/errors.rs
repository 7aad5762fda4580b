//! `DataFusion`'s errors as ours, and ours through `DataFusion`.

mod wording;

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, SchemaError};
use longshore_load::LoadError;
use longshore_storage::OutOfMemory;
use tokio::task::JoinError;

use super::type_name::type_name;
use crate::sql::names::{CATALOG, SCHEMA};
use crate::{Error, ErrorKind, panics};

/// How the end of an internal error begins.
const REPORT_TO_DATAFUSION: &str = "\nThis issue was likely caused by a bug in DataFusion's code";
/// What `DataFusion` says of a subquery that is no value.
const MORE_THAN_ONE_ROW: &str = "Scalar subquery returned more than one row";

/// What it says behind the name of a parameter without a value.
const WITHOUT_A_VALUE: &str = "' was not provided a value for execution.";

/// An error of ours on its way through `DataFusion`; [`from_datafusion`] takes it out again.
pub(super) fn external(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

/// How the error of temporary files that would become larger than they may begins.
pub(super) const TEMP_FILES_TOO_LARGE: &str = "temporary file size exceeds temp_file_limit";

/// What `DataFusion` reports, as an error of ours.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn from_datafusion(error: DataFusionError) -> Error {
    let root = error.find_root();
    if let DataFusionError::External(inner) = root {
        if let Some(own) = inner.downcast_ref::<Error>() {
            return own.clone();
        }
        if let Some(ArrowError::ExternalError(inner)) = inner.downcast_ref::<ArrowError>()
            && let Some(own) = inner.downcast_ref::<Error>()
        {
            return own.clone();
        }
    }
    if let DataFusionError::ArrowError(arrow, _) = root
        && let ArrowError::ExternalError(inner) = arrow.as_ref()
        && let Some(own) = inner.downcast_ref::<Error>()
    {
        return own.clone();
    }
    if let DataFusionError::ArrowError(arrow, _) = root
        && let ArrowError::CastError(text) = arrow.as_ref()
        && let Some(error) = of_cast(text)
    {
        return error;
    }
    if let Some(memory) = out_of_memory(root) {
        return memory.clone().into();
    }
    if let Some(panic) = panic_of_task(root) {
        return panics::of_text(&panic.to_string());
    }
    let message = message(root);
    if let Some(at) = message.find(TEMP_FILES_TOO_LARGE) {
        return Error::new(ErrorKind::Coded("53400"), &message[at..]);
    }
    if let Some(missing) = missing_function(&message) {
        return Error::new(ErrorKind::NoFunction, missing);
    }
    if is_of_subquery(&message) {
        return Error::unsupported(
            "a subquery that depends on the query around it is not supported in this place; join its tables in FROM instead",
        );
    }
    if let Some((kind, text)) = wording::of(root, &message) {
        return Error::new(kind, text);
    }
    let unknown = message.strip_prefix("Placeholder '").and_then(|rest| rest.strip_suffix(WITHOUT_A_VALUE));
    if let Some(parameter) = unknown {
        return Error::new(ErrorKind::Coded("42P02"), format!("there is no parameter {parameter}"));
    }
    if message == MORE_THAN_ONE_ROW {
        return Error::new(ErrorKind::Cardinality, "more than one row returned by a subquery used as an expression");
    }
    let kind = match root {
        DataFusionError::SQL(..) => ErrorKind::Syntax,
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::SchemaError(error, _) if is_of_repeated_column(error) => ErrorKind::DuplicateColumn,
        DataFusionError::Plan(_) if message.starts_with("Projections require unique") => ErrorKind::DuplicateColumn,
        DataFusionError::Plan(_) if message.contains("must be in GROUP BY or an aggregate function") => {
            ErrorKind::Grouping
        }
        DataFusionError::Plan(_) if message.ends_with("does not exist") => ErrorKind::NotFound,
        DataFusionError::Plan(_) | DataFusionError::SchemaError(..) | DataFusionError::Configuration(_) => {
            ErrorKind::Invalid
        }
        DataFusionError::ResourcesExhausted(_) => ErrorKind::Memory,
        DataFusionError::ArrowError(error, _) if is_of_file(error) => ErrorKind::Damaged,
        DataFusionError::ArrowError(error, _) if matches!(**error, ArrowError::DivideByZero) => {
            ErrorKind::DivisionByZero
        }
        DataFusionError::ArrowError(error, _) if is_overflow(error) => ErrorKind::OutOfRange,
        DataFusionError::Execution(text) if text.to_ascii_lowercase().contains("overflow") => ErrorKind::OutOfRange,
        DataFusionError::ParquetError(_) => ErrorKind::Damaged,
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => ErrorKind::Data,
        DataFusionError::IoError(_) | DataFusionError::ObjectStore(_) => ErrorKind::Io,
        DataFusionError::External(inner) if inner.is::<LoadError>() => ErrorKind::Data,
        _ => ErrorKind::Internal,
    };
    Error::new(kind, message)
}

/// Whether two columns have one name.
fn is_of_repeated_column(error: &SchemaError) -> bool {
    matches!(error, SchemaError::DuplicateQualifiedField { .. } | SchemaError::DuplicateUnqualifiedField { .. })
}

/// What a function of ours says of arguments that it does not take, out of what `DataFusion` makes of it.
fn missing_function(message: &str) -> Option<String> {
    let (_, own) = message.split_once(" user-defined coercion failed with: External error: ")?;
    let end = own.find(" does not exist")? + " does not exist".len();
    // Of an operator, its arguments follow.
    if own[end..].starts_with(": ") {
        return own.split(". No function matches").next().map(str::to_owned);
    }
    Some(own[..end].to_owned())
}

/// Whether the planner found no join to put in the place of a subquery.
fn is_of_subquery(message: &str) -> bool {
    let of_expression = message.strip_prefix("Physical plan does not support logical expression ");
    of_expression
        .is_some_and(|rest| ["ScalarSubquery", "InSubquery", "Exists"].iter().any(|kind| rest.starts_with(kind)))
        || message.starts_with("Correlated scalar subquery ")
        // Relations that the planner makes of subqueries, and looks for columns of the query around in.
        || (message.starts_with("column ")
            && ["__correlated_", "__scalar_sq_", "__always_true"].iter().any(|relation| message.contains(relation)))
}

/// What Arrow says of a cast that failed, with the type's name in SQL.
fn of_cast(text: &str) -> Option<Error> {
    let in_sql = |arrow: &str| Some((arrow.parse::<DataType>().ok()?, type_name(&arrow.parse::<DataType>().ok()?)));
    if let Some(rest) = text.strip_prefix("Cannot cast string ").or_else(|| text.strip_prefix("Cannot cast value ")) {
        let (value, arrow) = rest.rsplit_once(" to value of ")?;
        let (_, wanted) = in_sql(arrow.strip_suffix(" type")?)?;
        let value = value.trim_matches('\'');
        return Some(Error::new(
            ErrorKind::InvalidText,
            format!("invalid input syntax for type {wanted}: \"{value}\""),
        ));
    }
    let of_number = text.strip_prefix("Can't cast value ").and_then(|rest| rest.rsplit_once(" to type "));
    let of_decimal = || text.strip_prefix("value of ").and_then(|rest| rest.rsplit_once(" is out of range "));
    let (value, arrow) = of_number.or_else(of_decimal)?;
    let (data_type, name) = in_sql(arrow)?;
    let message = match data_type {
        integer if integer.is_integer() => format!("{name} out of range"),
        DataType::Decimal128(..) => "numeric field overflow".to_owned(),
        _ => format!("{value} is out of range for type {name}"),
    };
    Some(Error::new(ErrorKind::OutOfRange, message))
}

/// The memory limit, where that is what `error` comes from.
fn out_of_memory<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a OutOfMemory> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.find_map(|error| error.downcast_ref())
}

/// The panic of a task that an operator started, where that is what `error` comes from.
fn panic_of_task<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a JoinError> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    let of_task = |error: &'a (dyn std::error::Error + 'static)| {
        // An exchange tells all who wait for its rows.
        error.downcast_ref::<JoinError>().or_else(|| error.downcast_ref::<Arc<JoinError>>().map(Arc::as_ref))
    };
    causes.find_map(of_task).filter(|error| error.is_panic())
}

/// Whether an error of Arrow is about the file that was read, and not about values.
fn is_of_file(error: &ArrowError) -> bool {
    matches!(error, ArrowError::IpcError(_) | ArrowError::ParquetError(_) | ArrowError::IoError(..))
}

/// Whether an error of Arrow is about a number that does not fit.
fn is_overflow(error: &ArrowError) -> bool {
    match error {
        ArrowError::ArithmeticOverflow(_) => true,
        ArrowError::ComputeError(text) => text.to_ascii_lowercase().contains("overflow"),
        ArrowError::InvalidArgumentError(text) | ArrowError::CastError(text) => {
            text.contains("too large to store in a Decimal")
                || text.contains("too small to store in a Decimal")
                || text.contains(" is out of range ")
                || text.contains("Overflowing on")
        }
        _ => false,
    }
}

/// The text of an error without its kind in front, and with names as the user wrote them.
fn message(error: &DataFusionError) -> String {
    let text = match error {
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::ArithmeticOverflow(text)
            | ArrowError::CastError(text)
            | ArrowError::ComputeError(text)
            | ArrowError::InvalidArgumentError(text)
            | ArrowError::ParseError(text) => text.clone(),
            ArrowError::DivideByZero => "division by zero".to_owned(),
            other => other.to_string(),
        },
        other => {
            let text = other.strip_backtrace();
            let prefixes = [
                "Error during planning: ",
                "Schema error: ",
                "Execution error: ",
                "Resources exhausted: ",
                "This feature is not implemented: ",
                "Invalid or Unsupported Configuration: ",
            ];
            let cut = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
            cut.map_or_else(|| text.clone(), str::to_owned)
        }
    };
    // Whose bug it is nobody knows yet.
    let text = match text.split_once(REPORT_TO_DATAFUSION) {
        Some((text, _)) => format!("{text}; please report this message and the statement"),
        None => text,
    };
    let text = text.replace(&format!("{CATALOG}.{SCHEMA}."), "");
    match text.strip_prefix("table '").and_then(|rest| rest.strip_suffix("' not found")) {
        Some(name) => format!("relation \"{name}\" does not exist"),
        None => text,
    }
}
