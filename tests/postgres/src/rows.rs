//! Answers that can be compared, whoever gives them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use longshore_engine::{nested_texts, shown_times};
use longshore_storage::ColumnType;
use longshore_value::numeric::Numeric;

use crate::shapes::KNOWN_ERRORS;

/// A value of an answer.
#[derive(Clone, Debug)]
pub enum Value {
    /// NULL.
    Null,
    /// An exact number, without zeros at the end of its fraction.
    Number(String),
    /// A floating-point number.
    Double(f64),
    /// Anything else.
    Text(String),
}

/// The rows that a query gives, or why it gives none.
pub type Answer = Result<Vec<Vec<Value>>, Refusal>;

/// Why a statement failed.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Its code.
    pub sqlstate: String,
    /// What it says.
    pub message: String,
}

/// By how much floating-point numbers may differ: sums depend on the order of their parts.
const DIFFERENCE: f64 = 1e-9;

impl Value {
    /// An exact number that is written as `text`.
    #[must_use]
    pub fn number(text: &str) -> Self {
        let text = match text.split_once('.') {
            Some((_, fraction)) if fraction.contains(['e', 'E']) => text,
            Some(_) => text.trim_end_matches('0').trim_end_matches('.'),
            None => text,
        };
        Self::Number(if text == "-0" { "0".to_owned() } else { text.to_owned() })
    }

    /// A time that is written as `text`, in UTC if it has a zone.
    #[must_use]
    pub fn time(text: &str) -> Self {
        const UTC: &str = "+00";
        let (text, zone) = text.strip_suffix(UTC).map_or((text, ""), |time| (time, UTC));
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        Self::Text(format!("{text}{zone}"))
    }

    fn double(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        let rounded = |value: f64| format!("{value:.7e}").parse::<f64>().unwrap_or(value) + 0.0;
        match (self, other, self.double(), other.double()) {
            (Self::Number(exact), Self::Number(others), Some(one), Some(other)) => {
                one.total_cmp(&other).then_with(|| exact.cmp(others))
            }
            (_, _, Some(one), Some(other)) => rounded(one).total_cmp(&rounded(other)),
            _ => self.to_string().cmp(&other.to_string()),
        }
    }

    /// Whether it is the same value.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Number(one), Self::Number(other)) | (Self::Text(one), Self::Text(other)) => one == other,
            _ => match (self.double(), other.double()) {
                (Some(one), Some(other)) => {
                    let size = one.abs().max(other.abs()).max(1.0);
                    one.to_bits() == other.to_bits()
                        || one.is_nan() && other.is_nan()
                        || (one - other).abs() <= size * DIFFERENCE
                }
                _ => false,
            },
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Number(text) => f.write_str(text),
            Self::Double(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "'{text}'"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate, self.message)
    }
}

impl Refusal {
    /// Whether it says that the program is wrong, and not the statement, in a way that is not known.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.sqlstate.starts_with("XX") && !KNOWN_ERRORS.iter().any(|(part, _)| self.message.contains(part))
    }

    /// Whether a value is the reason: whether it is met can depend on the plan.
    #[must_use]
    pub fn is_about_values(&self) -> bool {
        self.sqlstate.starts_with("22") && !matches!(self.sqlstate.as_str(), "22023")
    }
}

/// The rows of a batch.
///
/// # Panics
/// When a value has no text.
#[must_use]
pub fn of_batch(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let times = shown_times(batch).expect("times have texts");
    let batch = times.as_ref().unwrap_or(batch);
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f+00"));
    let columns = batch.columns().iter().map(|column| {
        let formatter = ArrayFormatter::try_new(column, &options).expect("every type has a text");
        (column, formatter)
    });
    let columns: Vec<_> = columns.collect();
    let rows = (0..batch.num_rows()).map(|row| {
        let values = columns.iter().map(|(column, formatter)| {
            if column.is_null(row) {
                return Value::Null;
            }
            if let Some(text) = numeric(column, row) {
                return Value::number(&text);
            }
            let text = formatter.value(row).to_string();
            match column.data_type() {
                data_type if data_type.is_integer() => Value::number(&text),
                DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..)
                | DataType::Decimal256(..) => Value::number(&text),
                data_type if data_type.is_floating() => {
                    text.parse().map_or_else(|_| Value::Text(text.clone()), Value::Double)
                }
                data_type if data_type.is_binary() => Value::Text(format!("\\x{text}")),
                DataType::List(_) => Value::Text(array_text(column.as_list::<i32>().value(row).as_ref())),
                DataType::Timestamp(..) | DataType::Time32(_) | DataType::Time64(_) => Value::time(&text),
                _ => Value::Text(text),
            }
        });
        values.collect()
    });
    rows.collect()
}

/// The rows of a batch, as text.
///
/// # Panics
/// When a value has no text.
#[must_use]
pub fn texts_of_batch(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let times = shown_times(batch).expect("times have texts");
    let batch = times.as_ref().unwrap_or(batch);
    let options = FormatOptions::default().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
    // Arrays, rows and JSON as the shell shows them.
    let shown = |column: &ArrayRef| match nested_texts(column) {
        Some(texts) => Arc::new(texts) as ArrayRef,
        None => Arc::clone(column),
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(shown).collect();
    let columns: Vec<_> = columns
        .iter()
        .map(|column| (column, ArrayFormatter::try_new(column, &options).expect("every type has a text")))
        .collect();
    let text = |(column, formatter): &(&ArrayRef, ArrayFormatter<'_>), row| {
        let shown = || numeric(column, row).unwrap_or_else(|| formatter.value(row).to_string());
        let text = column.is_valid(row).then(shown)?;
        Some(if column.data_type() == &DataType::Boolean { text[..1].to_owned() } else { text })
    };
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| text(column, row)).collect()).collect()
}

/// A value of an array of NUMERIC, for which Arrow has no type; `None` of other arrays.
fn numeric(array: &ArrayRef, row: usize) -> Option<String> {
    if ColumnType::from_arrow(array.data_type()) != Some(ColumnType::Numeric(None)) {
        return None;
    }
    let bytes = array.as_struct().column(0).as_binary_view().value(row);
    Some(Numeric::of(bytes).expect("the bytes of a number").to_string())
}

/// The text that PostgreSQL has for an array of these elements.
fn array_text(elements: &dyn Array) -> String {
    let options = FormatOptions::default().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
    let formatter = ArrayFormatter::try_new(elements, &options).expect("every type has a text");
    let element = |at: usize| {
        if elements.is_null(at) {
            return "NULL".to_owned();
        }
        if let Some(lists) = elements.as_list_opt::<i32>() {
            return array_text(lists.value(at).as_ref());
        }
        let text = formatter.value(at).to_string();
        if elements.data_type().is_binary() {
            return format!("\"\\\\x{text}\"");
        }
        let is_plain = |c: char| !matches!(c, '{' | '}' | ',' | '"' | '\\') && !c.is_ascii_whitespace();
        if *elements.data_type() == DataType::Boolean {
            text[..1].to_owned()
        } else if elements.data_type().is_floating() {
            text.trim_end_matches(".0").to_owned()
        } else if !text.is_empty() && text.chars().all(is_plain) && !text.eq_ignore_ascii_case("null") {
            text
        } else {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
    };
    let elements: Vec<String> = (0..elements.len()).map(element).collect();
    format!("{{{}}}", elements.join(","))
}

/// The same rows in an order that depends on them only.
#[must_use]
pub fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort_by(|one, other| {
        one.iter()
            .zip(other)
            .map(|(one, other)| one.order(other))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    });
    rows
}

/// Whether both have the same rows in the same order.
#[must_use]
pub fn are_same(one: &[Vec<Value>], other: &[Vec<Value>]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is(other)))
}

/// An answer as text, a row a line, the first ones only.
#[must_use]
pub fn shown(answer: &Answer) -> String {
    const ROWS_SHOWN: usize = 12;
    match answer {
        Ok(rows) => {
            let mut text = format!("{} rows", rows.len());
            for row in rows.iter().take(ROWS_SHOWN) {
                let values: Vec<_> = row.iter().map(ToString::to_string).collect();
                text = format!("{text}\n    {}", values.join(" | "));
            }
            text
        }
        Err(refusal) => refusal.to_string(),
    }
}
