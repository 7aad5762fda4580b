//! Decides how a single value is written, the same in every format.
//!
//! As PostgreSQL writes them: floats as short as they round-trip, dates in ISO order, a space between date and time,
//! BYTEA as `\x` and hex digits, arrays as `{1,2}`, rows as `(1,2)`; but booleans are `true` and `false`. NULL is the
//! formats' own affair.

use std::fmt::{self, Write as _};

use arrow::array::{
    Array, ArrayRef, AsArray as _, BinaryViewArray, BooleanArray, Decimal128Array, GenericBinaryArray,
    GenericStringArray, PrimitiveArray, StringViewArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use longshore_engine::nested_texts;
use longshore_storage::ColumnType;
use longshore_value::numeric::Numeric;

const NANOSECONDS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;

/// One column of a batch, ready to write its values.
pub(super) struct Column<'a> {
    array: &'a ArrayRef,
    values: Values<'a>,
}

enum Values<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Decimal128(&'a Decimal128Array, i8),
    Utf8(&'a GenericStringArray<i32>),
    LargeUtf8(&'a GenericStringArray<i64>),
    Utf8View(&'a StringViewArray),
    Binary(&'a GenericBinaryArray<i32>),
    LargeBinary(&'a GenericBinaryArray<i64>),
    BinaryView(&'a BinaryViewArray),
    Date(&'a PrimitiveArray<Date32Type>),
    TimeMicroseconds(&'a PrimitiveArray<Time64MicrosecondType>),
    TimeNanoseconds(&'a PrimitiveArray<Time64NanosecondType>),
    TimestampSeconds(&'a PrimitiveArray<TimestampSecondType>, Zone),
    TimestampMilliseconds(&'a PrimitiveArray<TimestampMillisecondType>, Zone),
    TimestampMicroseconds(&'a PrimitiveArray<TimestampMicrosecondType>, Zone),
    TimestampNanoseconds(&'a PrimitiveArray<TimestampNanosecondType>, Zone),
    /// Arrays, rows and JSON.
    Nested(StringViewArray),
    Numeric(&'a BinaryViewArray),
    Other(Box<ArrayFormatter<'a>>),
}

/// What follows a timestamp.
#[derive(Clone, Copy)]
enum Zone {
    None,
    Utc,
}

impl<'a> Column<'a> {
    /// Readies `array`.
    ///
    /// # Errors
    ///
    /// A type that arrow cannot show.
    pub(super) fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let values = match array.data_type() {
            DataType::Boolean => Values::Boolean(array.as_boolean()),
            DataType::Int8 => Values::Int8(array.as_primitive()),
            DataType::Int16 => Values::Int16(array.as_primitive()),
            DataType::Int32 => Values::Int32(array.as_primitive()),
            DataType::Int64 => Values::Int64(array.as_primitive()),
            DataType::UInt8 => Values::UInt8(array.as_primitive()),
            DataType::UInt16 => Values::UInt16(array.as_primitive()),
            DataType::UInt32 => Values::UInt32(array.as_primitive()),
            DataType::UInt64 => Values::UInt64(array.as_primitive()),
            DataType::Float32 => Values::Float32(array.as_primitive()),
            DataType::Float64 => Values::Float64(array.as_primitive()),
            DataType::Decimal128(_, scale) if *scale >= 0 => Values::Decimal128(array.as_primitive(), *scale),
            DataType::Utf8 => Values::Utf8(array.as_string()),
            DataType::LargeUtf8 => Values::LargeUtf8(array.as_string()),
            DataType::Utf8View => Values::Utf8View(array.as_string_view()),
            DataType::Binary => Values::Binary(array.as_binary()),
            DataType::LargeBinary => Values::LargeBinary(array.as_binary()),
            DataType::BinaryView => Values::BinaryView(array.as_binary_view()),
            DataType::Date32 => Values::Date(array.as_primitive()),
            DataType::Time64(TimeUnit::Microsecond) => Values::TimeMicroseconds(array.as_primitive()),
            DataType::Time64(TimeUnit::Nanosecond) => Values::TimeNanoseconds(array.as_primitive()),
            DataType::Timestamp(unit, zone) => match zone.as_deref() {
                None => timestamps(array, *unit, Zone::None),
                Some("UTC" | "+00:00" | "Z") => timestamps(array, *unit, Zone::Utc),
                Some(_) => other(array)?,
            },
            data_type if is_unlimited(data_type) => Values::Numeric(array.as_struct().column(0).as_binary_view()),
            _ => match nested_texts(array) {
                Some(texts) => Values::Nested(texts),
                None => other(array)?,
            },
        };
        Ok(Self { array, values })
    }

    /// Whether the value of `row` is NULL.
    pub(super) fn is_null(&self, row: usize) -> bool {
        // Arrays of type Null have no validity bitmap.
        self.array.is_null(row) || self.array.data_type() == &DataType::Null
    }

    /// Appends the value of `row`, which is not NULL, to `out`.
    ///
    /// # Errors
    ///
    /// A value that arrow cannot show.
    pub(super) fn write(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        match &self.values {
            Values::Boolean(array) => {
                out.push_str(if array.value(row) { "true" } else { "false" });
                Ok(())
            }
            Values::Int8(array) => write!(out, "{}", array.value(row)),
            Values::Int16(array) => write!(out, "{}", array.value(row)),
            Values::Int32(array) => write!(out, "{}", array.value(row)),
            Values::Int64(array) => write!(out, "{}", array.value(row)),
            Values::UInt8(array) => write!(out, "{}", array.value(row)),
            Values::UInt16(array) => write!(out, "{}", array.value(row)),
            Values::UInt32(array) => write!(out, "{}", array.value(row)),
            Values::UInt64(array) => write!(out, "{}", array.value(row)),
            Values::Float32(array) => {
                let value = array.value(row);
                float(f64::from(value), 1e6, &value, out)
            }
            Values::Float64(array) => {
                let value = array.value(row);
                float(value, 1e15, &value, out)
            }
            Values::Decimal128(array, scale) => decimal(array.value(row), *scale as usize, out),
            Values::Utf8(array) => out.write_str(array.value(row)),
            Values::LargeUtf8(array) => out.write_str(array.value(row)),
            Values::Utf8View(array) => out.write_str(array.value(row)),
            Values::Nested(texts) => out.write_str(texts.value(row)),
            Values::Binary(array) => hex(array.value(row), out),
            Values::LargeBinary(array) => hex(array.value(row), out),
            Values::BinaryView(array) => hex(array.value(row), out),
            Values::Date(array) => date(i128::from(array.value(row)), out),
            Values::TimeMicroseconds(array) => time(i128::from(array.value(row)) * 1000, out),
            Values::TimeNanoseconds(array) => time(i128::from(array.value(row)), out),
            Values::TimestampSeconds(array, zone) => {
                timestamp(i128::from(array.value(row)) * NANOSECONDS_PER_SECOND, *zone, out)
            }
            Values::TimestampMilliseconds(array, zone) => {
                timestamp(i128::from(array.value(row)) * 1_000_000, *zone, out)
            }
            Values::TimestampMicroseconds(array, zone) => timestamp(i128::from(array.value(row)) * 1000, *zone, out),
            Values::TimestampNanoseconds(array, zone) => timestamp(i128::from(array.value(row)), *zone, out),
            Values::Numeric(array) => match Numeric::of(array.value(row)) {
                Some(value) => write!(out, "{value}"),
                None => Err(fmt::Error),
            },
            Values::Other(formatter) => return formatter.value(row).write(out),
        }
        .map_err(|fmt::Error| ArrowError::CastError(String::from("formatting failed")))
    }
}

/// Whether values of this type are written to the right of their column.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || is_unlimited(data_type)
}

/// Whether it is NUMERIC, for which Arrow has no type.
pub(super) fn is_unlimited(data_type: &DataType) -> bool {
    ColumnType::from_arrow(data_type) == Some(ColumnType::Numeric(None))
}

fn other(array: &ArrayRef) -> Result<Values<'_>, ArrowError> {
    static OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("NULL");
    ArrayFormatter::try_new(array, &OPTIONS).map(|formatter| Values::Other(Box::new(formatter)))
}

fn timestamps(array: &ArrayRef, unit: TimeUnit, zone: Zone) -> Values<'_> {
    match unit {
        TimeUnit::Second => Values::TimestampSeconds(array.as_primitive(), zone),
        TimeUnit::Millisecond => Values::TimestampMilliseconds(array.as_primitive(), zone),
        TimeUnit::Microsecond => Values::TimestampMicroseconds(array.as_primitive(), zone),
        TimeUnit::Nanosecond => Values::TimestampNanoseconds(array.as_primitive(), zone),
    }
}

/// Plain digits between 0.0001 and `plain_below`, else an exponent of at least two digits, as PostgreSQL does.
fn float(
    value: f64,
    plain_below: f64,
    shortest: &(impl fmt::Display + fmt::LowerExp),
    out: &mut String,
) -> fmt::Result {
    let magnitude = value.abs();
    if value.is_nan() {
        out.write_str("NaN")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else if magnitude == 0.0 || (1e-4..plain_below).contains(&magnitude) {
        write!(out, "{shortest}")
    } else {
        let text = format!("{shortest:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        match exponent.strip_prefix('-') {
            Some(digits) => write!(out, "{mantissa}e-{digits:0>2}"),
            None => write!(out, "{mantissa}e+{exponent:0>2}"),
        }
    }
}

fn decimal(value: i128, scale: usize, out: &mut String) -> fmt::Result {
    if scale == 0 {
        return write!(out, "{value}");
    }
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    write!(out, "{sign}{whole}.{fraction}")
}

fn hex(bytes: &[u8], out: &mut String) -> fmt::Result {
    out.push_str("\\x");
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// A day of the proleptic Gregorian calendar, by its distance from 1970-01-01.
fn date(days: i128, out: &mut String) -> fmt::Result {
    // Days since 0000-03-01, in eras of 400 years: the leap day is then the last of its year
    // (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    if year > 0 {
        write!(out, "{year:04}-{month:02}-{day:02}")
    } else {
        write!(out, "{:04}-{month:02}-{day:02} BC", 1 - year)
    }
}

fn time(nanoseconds: i128, out: &mut String) -> fmt::Result {
    let seconds = nanoseconds.div_euclid(NANOSECONDS_PER_SECOND);
    let fraction = nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "{hour:02}:{minute:02}:{second:02}")?;
    if fraction != 0 {
        let digits = format!("{fraction:09}");
        write!(out, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

fn timestamp(nanoseconds: i128, zone: Zone, out: &mut String) -> fmt::Result {
    let day = SECONDS_PER_DAY * NANOSECONDS_PER_SECOND;
    date(nanoseconds.div_euclid(day), out)?;
    out.push(' ');
    time(nanoseconds.rem_euclid(day), out)?;
    match zone {
        Zone::None => Ok(()),
        Zone::Utc => out.write_str("+00"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(act: impl FnOnce(&mut String) -> fmt::Result) -> String {
        let mut text = String::new();
        act(&mut text).expect("formatting into memory");
        text
    }

    #[test]
    fn floats_as_postgresql_writes_them() {
        let double = |value: f64| shown(|out| float(value, 1e15, &value, out));
        let real = |value: f32| shown(|out| float(f64::from(value), 1e6, &value, out));
        assert_eq!(double(1.0), "1");
        assert_eq!(double(0.1), "0.1");
        assert_eq!(double(-0.0), "-0");
        assert_eq!(double(0.0001), "0.0001");
        assert_eq!(double(0.00001), "1e-05");
        assert_eq!(double(123_456_789_012_345.0), "123456789012345");
        assert_eq!(double(1e15), "1e+15");
        assert_eq!(double(1.5e300), "1.5e+300");
        assert_eq!(double(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(real(0.1), "0.1");
        assert_eq!(real(1_234_567.0), "1.234567e+06");
    }

    #[test]
    fn decimals_keep_their_scale() {
        let show = |value, scale| shown(|out| decimal(value, scale, out));
        assert_eq!(show(1234, 2), "12.34");
        assert_eq!(show(-5, 2), "-0.05");
        assert_eq!(show(0, 3), "0.000");
        assert_eq!(show(42, 0), "42");
    }

    #[test]
    fn dates_and_times() {
        let day = |days| shown(|out| date(days, out));
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(-1), "1969-12-31");
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(-719_162), "0001-01-01");
        assert_eq!(day(-719_163), "0001-12-31 BC");
        let stamp = |nanoseconds, zone| shown(|out| timestamp(nanoseconds, zone, out));
        assert_eq!(stamp(0, Zone::Utc), "1970-01-01 00:00:00+00");
        assert_eq!(stamp(-500_000_000, Zone::None), "1969-12-31 23:59:59.5");
    }

    #[test]
    fn bytes_are_hex() {
        assert_eq!(shown(|out| hex(b"\x00\xff", out)), "\\x00ff");
    }
}
