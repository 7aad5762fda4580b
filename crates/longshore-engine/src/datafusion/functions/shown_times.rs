//! Dates, times and intervals of results as text, as the session that asked for them wants to see them.
//!
//! What a session has set travels with the schema of its results, so that whoever shows them needs to know nothing of it.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, Schema, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use longshore_time::calendar::{MICROS_PER_DAY, days_of};
use longshore_time::settings::{IntervalStyle, Settings};
use longshore_time::zone::Zone;

use super::nested::text_out::texts_in;
use super::time::kinds::{has_times, time_kind};
use super::time::session::SessionTime;

const ZONE: &str = "longshore.time_zone";
const DATE_STYLE: &str = "longshore.date_style";
const INTERVAL_STYLE: &str = "longshore.interval_style";

/// The days from 0001-01-01 to 9999-12-31, which every format writes alike.
const USUAL_DAYS: std::ops::Range<i64> = days_of(1, 1, 1)..days_of(10_000, 1, 1);

/// `schema` with what its session has set; `None` if that is nothing.
pub(in crate::datafusion) fn with_settings(schema: &Schema, settings: &Settings) -> Option<Schema> {
    if *settings == Settings::default() {
        return None;
    }
    let mut metadata = schema.metadata().clone();
    metadata.insert(ZONE.to_owned(), settings.zone.name().to_owned());
    metadata.insert(DATE_STYLE.to_owned(), settings.date_style());
    metadata.insert(INTERVAL_STYLE.to_owned(), settings.interval_style.to_string());
    Some(Schema::new_with_metadata(schema.fields().clone(), metadata))
}

fn settings_of(metadata: &HashMap<String, String>) -> Settings {
    let mut settings = Settings::default();
    if let Some(style) = metadata.get(DATE_STYLE) {
        settings = settings.clone().with_date_style(style).unwrap_or(settings);
    }
    if let Some(zone) = metadata.get(ZONE).and_then(|name| Zone::named(name)) {
        settings.zone = zone;
    }
    if let Some(style) = metadata.get(INTERVAL_STYLE).and_then(|name| IntervalStyle::named(name)) {
        settings.interval_style = style;
    }
    settings
}

/// Whether values of a type are written as texts, where a schema has this metadata.
pub(crate) fn is_shown_as_text(data_type: &DataType, metadata: &HashMap<String, String>) -> bool {
    match data_type {
        DataType::Struct(_) if time_kind(data_type).is_some() => true,
        DataType::Struct(_) | DataType::List(_) => metadata.contains_key(DATE_STYLE) && has_times(data_type),
        DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, _) => metadata.contains_key(DATE_STYLE),
        _ => false,
    }
}

/// The texts of dates, times or intervals, or of arrays and rows with such in them, where a schema has this metadata.
pub(crate) fn time_texts(array: &ArrayRef, metadata: &HashMap<String, String>) -> Result<ArrayRef, ArrowError> {
    let settings = settings_of(metadata);
    let texts = texts_in(array, &SessionTime::with(&settings));
    texts.map(|texts| Arc::new(texts) as ArrayRef).map_err(|error| ArrowError::ExternalError(Box::new(error)))
}

/// `batch` with texts in the place of dates, times and intervals that are not written as usual; `None` if it has none.
///
/// # Errors
/// Values that are none of their types.
pub fn shown_times(batch: &RecordBatch) -> Result<Option<RecordBatch>, ArrowError> {
    let schema = batch.schema();
    let is_shown = |array: &ArrayRef| {
        is_shown_as_text(array.data_type(), schema.metadata())
            || match array.data_type() {
                DataType::Date32 => has_unusual_days(array),
                DataType::Timestamp(TimeUnit::Microsecond, _) => has_unusual_moments(array),
                DataType::Time64(TimeUnit::Microsecond) => has_end_of_day(array),
                _ => false,
            }
    };
    if !batch.columns().iter().any(is_shown) {
        return Ok(None);
    }
    let columns = batch
        .columns()
        .iter()
        .map(|array| if is_shown(array) { time_texts(array, schema.metadata()) } else { Ok(Arc::clone(array)) });
    let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    let fields = schema
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, array)| Field::new(field.name(), array.data_type().clone(), true));
    let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map(Some)
}

fn has_unusual_days(array: &ArrayRef) -> bool {
    let days = array.as_primitive::<Date32Type>();
    days.values().iter().any(|days| !USUAL_DAYS.contains(&i64::from(*days)))
}

fn has_unusual_moments(array: &ArrayRef) -> bool {
    let moments = array.as_primitive::<TimestampMicrosecondType>();
    let usual = USUAL_DAYS.start * MICROS_PER_DAY..USUAL_DAYS.end * MICROS_PER_DAY;
    moments.values().iter().any(|moment| !usual.contains(moment))
}

/// Whether 24:00:00 is among times, which Arrow does not write.
fn has_end_of_day(array: &ArrayRef) -> bool {
    array.as_primitive::<Time64MicrosecondType>().values().iter().any(|micros| *micros >= MICROS_PER_DAY)
}
