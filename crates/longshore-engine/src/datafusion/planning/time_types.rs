//! The types of dates, times and intervals as SQL names them. `DataFusion` would count nanoseconds, which reach from 1677 to
//! 2262 only.
//!
//! What a type says beside its name, as `timestamp(3)` does, comes in the metadata of its field ([`MODIFIER`]), where
//! casts find it.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use sqlparser::ast::{DataType as SqlType, TimezoneInfo};

use crate::datafusion::functions::time::casts::MODIFIER;
use crate::datafusion::functions::time::kinds::Kind;

/// The type of a date, a time or an interval.
pub(in crate::datafusion) fn time_type(sql_type: &SqlType) -> Option<FieldRef> {
    let is_zoned = |zone: &TimezoneInfo| matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
    let (kind, has_modifier) = match sql_type {
        SqlType::Date => (Kind::Date, false),
        SqlType::Timestamp(precision, zone) if is_zoned(zone) => (Kind::TimestampTz, precision.is_some()),
        SqlType::Datetime(precision) | SqlType::Timestamp(precision, _) => (Kind::Timestamp, precision.is_some()),
        SqlType::Time(precision, zone) if is_zoned(zone) => (Kind::TimeTz, precision.is_some()),
        SqlType::Time(precision, _) => (Kind::Time, precision.is_some()),
        SqlType::Interval { fields, precision } => (Kind::Interval, fields.is_some() || precision.is_some()),
        _ => return None,
    };
    let field = Field::new("", kind.data_type(), true);
    if !has_modifier {
        return Some(Arc::new(field));
    }
    let metadata = HashMap::from([(MODIFIER.to_owned(), sql_type.to_string().to_lowercase())]);
    Some(Arc::new(field.with_metadata(metadata)))
}
