//! Types as SQL spells them, to the types of columns.

use longshore_storage::{ColumnType, TimeType};
use longshore_value::numeric::Limit;
use longshore_value::times::DIGITS_MAX;
use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, ObjectNamePart, TimezoneInfo,
};

use crate::Error;
use crate::sql::enum_types;

/// Digits of a DECIMAL, at most; one of more is a NUMERIC with a limit.
const PRECISION_MAX: u64 = 38;

/// Characters of CHAR(n) and VARCHAR(n), at most; as in PostgreSQL.
const LENGTH_MAX: u64 = 10_485_760;

/// Bits of the mantissa up to which FLOAT(n) is REAL, and up to which it is DOUBLE PRECISION; as in PostgreSQL.
const REAL_BITS_MAX: u64 = 24;
const DOUBLE_BITS_MAX: u64 = 53;

/// The column type that `data_type` stands for.
pub(crate) fn column_type(data_type: &DataType) -> Result<ColumnType, Error> {
    Ok(match data_type {
        DataType::Bool | DataType::Boolean => ColumnType::Boolean,
        DataType::SmallInt(None) | DataType::Int2(None) => ColumnType::SmallInt,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => ColumnType::Integer,
        DataType::BigInt(None) | DataType::Int8(None) => ColumnType::BigInt,
        DataType::Real | DataType::Float4 => ColumnType::Real,
        DataType::DoublePrecision | DataType::Double(ExactNumberInfo::None) | DataType::Float8 => ColumnType::Double,
        DataType::Float(info) => float(data_type, info)?,
        DataType::Decimal(info) | DataType::Numeric(info) | DataType::Dec(info) => decimal(info)?,
        DataType::Char(length) | DataType::Character(length) => {
            ColumnType::Char(character_length(data_type, length.as_ref())?.unwrap_or(1))
        }
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            match character_length(data_type, length.as_ref())? {
                Some(length) => ColumnType::Varchar(length),
                None => ColumnType::Text,
            }
        }
        DataType::Text | DataType::String(None) => ColumnType::Text,
        DataType::Date => ColumnType::Date,
        DataType::Time(precision, zone) => {
            let of = if is_zoned(*zone) { TimeType::TimeTz } else { TimeType::Time };
            of.rounded(fraction_digits(data_type, *precision)?)
        }
        DataType::Timestamp(precision, zone) => {
            let of = if is_zoned(*zone) { TimeType::TimestampTz } else { TimeType::Timestamp };
            of.rounded(fraction_digits(data_type, *precision)?)
        }
        DataType::Interval { fields: None, precision } => {
            TimeType::Interval.rounded(fraction_digits(data_type, *precision)?)
        }
        DataType::Interval { .. } => {
            let message =
                format!("{data_type}: intervals of some fields only are not supported for columns; use INTERVAL");
            return Err(Error::unsupported(message));
        }
        DataType::Uuid => ColumnType::Uuid,
        DataType::Bytea => ColumnType::Bytea,
        // PostgreSQL's type of names, which it cuts at 63 bytes.
        DataType::Custom(name, modifiers) if modifiers.is_empty() && is_name(name) => ColumnType::Text,
        // An enumeration, whose column has a check.
        other if enum_types::labels(other).is_some() => ColumnType::Text,
        DataType::JSON => ColumnType::Json,
        DataType::JSONB => ColumnType::Jsonb,
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            let element = column_type(element)?;
            if element != element.unrounded() {
                let message = format!("{data_type}: arrays keep times to the microsecond; leave the precision out");
                return Err(Error::unsupported(message));
            }
            let array = element.array();
            array.ok_or_else(|| Error::invalid(format!("{data_type}: an array has 6 dimensions at most")))?
        }
        other => return Err(refused(other)),
    })
}

/// How a statement spells `column_type`.
pub(crate) fn data_type(column_type: ColumnType) -> DataType {
    let length = |length: u32| Some(CharacterLength::IntegerLength { length: length.into(), unit: None });
    match column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::SmallInt => DataType::SmallInt(None),
        ColumnType::Integer => DataType::Integer(None),
        ColumnType::BigInt => DataType::BigInt(None),
        ColumnType::Real => DataType::Real,
        ColumnType::Double => DataType::DoublePrecision,
        ColumnType::Decimal { precision, scale } => {
            DataType::Decimal(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
        }
        ColumnType::Char(characters) => DataType::Char(length(characters)),
        ColumnType::Varchar(characters) => DataType::Varchar(length(characters)),
        ColumnType::Text => DataType::Text,
        ColumnType::Date => DataType::Date,
        ColumnType::Time => DataType::Time(None, TimezoneInfo::None),
        ColumnType::Timestamp => DataType::Timestamp(None, TimezoneInfo::None),
        ColumnType::TimestampTz => DataType::Timestamp(None, TimezoneInfo::WithTimeZone),
        ColumnType::TimeTz => DataType::Time(None, TimezoneInfo::WithTimeZone),
        ColumnType::Interval => DataType::Interval { fields: None, precision: None },
        ColumnType::Rounded(of, digits) => {
            let precision = Some(u64::from(digits));
            match of {
                TimeType::Time => DataType::Time(precision, TimezoneInfo::None),
                TimeType::TimeTz => DataType::Time(precision, TimezoneInfo::WithTimeZone),
                TimeType::Timestamp => DataType::Timestamp(precision, TimezoneInfo::None),
                TimeType::TimestampTz => DataType::Timestamp(precision, TimezoneInfo::WithTimeZone),
                TimeType::Interval => DataType::Interval { fields: None, precision },
            }
        }
        ColumnType::Uuid => DataType::Uuid,
        ColumnType::Bytea => DataType::Bytea,
        ColumnType::Json => DataType::JSON,
        ColumnType::Jsonb => DataType::JSONB,
        ColumnType::Array(element, dimensions) => (0..dimensions).fold(self::data_type(*element), |inner, _| {
            DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(inner), None))
        }),
        ColumnType::Numeric(None) => DataType::Numeric(ExactNumberInfo::None),
        ColumnType::Numeric(Some(Limit { precision, scale })) => {
            DataType::Numeric(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
        }
    }
}

/// For UUID and arrays of it the type of the texts that they are read from.
pub(crate) fn texts_of_uuids(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Uuid => Some(DataType::Text),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, length)) => {
            Some(DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(texts_of_uuids(element)?), *length)))
        }
        _ => None,
    }
}

/// Whether a type is `name`.
fn is_name(name: &ObjectName) -> bool {
    matches!(name.0.as_slice(), [ObjectNamePart::Identifier(only)] if only.value.eq_ignore_ascii_case("name"))
}

fn float(data_type: &DataType, info: &ExactNumberInfo) -> Result<ColumnType, Error> {
    match *info {
        ExactNumberInfo::None => Ok(ColumnType::Double),
        ExactNumberInfo::Precision(bits) if (1..=REAL_BITS_MAX).contains(&bits) => Ok(ColumnType::Real),
        ExactNumberInfo::Precision(bits) if (1..=DOUBLE_BITS_MAX).contains(&bits) => Ok(ColumnType::Double),
        _ => Err(Error::invalid(format!("{data_type}: FLOAT(n) takes 1 to {DOUBLE_BITS_MAX} bits"))),
    }
}

fn decimal(info: &ExactNumberInfo) -> Result<ColumnType, Error> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(ColumnType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let limit = Limit::new(precision, scale);
    let Some(limit) = limit else {
        let max = Limit::MAX;
        let message = if (1..=u64::from(max)).contains(&precision) {
            format!("NUMERIC scale {scale} must be between -{max} and {max}")
        } else {
            format!("NUMERIC precision {precision} must be between 1 and {max}")
        };
        return Err(Error::invalid(message));
    };
    Ok(match u8::try_from(scale).ok().filter(|scale| u64::from(*scale) <= precision) {
        Some(scale) if precision <= PRECISION_MAX => ColumnType::Decimal { precision: precision as u8, scale },
        _ => ColumnType::Numeric(Some(limit)),
    })
}

/// The length in characters that a type has, if it has one.
pub(crate) fn character_length(data_type: &DataType, length: Option<&CharacterLength>) -> Result<Option<u32>, Error> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length, unit: None }) if (1..=LENGTH_MAX).contains(length) => {
            Ok(Some(*length as u32))
        }
        Some(_) => Err(Error::invalid(format!("{data_type}: the length must be from 1 to {LENGTH_MAX} characters"))),
    }
}

/// Whether a type has a time zone.
fn is_zoned(zone: TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
}

/// Digits of fractions of a second. More of them than there are count as all, as in PostgreSQL.
fn fraction_digits(data_type: &DataType, precision: Option<u64>) -> Result<u8, Error> {
    let digits = precision.unwrap_or(DIGITS_MAX.into());
    match u32::try_from(digits) {
        Ok(digits) => Ok(digits.min(DIGITS_MAX.into()) as u8),
        Err(_) => Err(Error::invalid(format!("{data_type}: the precision must not be more than {DIGITS_MAX}"))),
    }
}

/// A type that columns cannot have, with the one to use instead where that is known.
fn refused(data_type: &DataType) -> Error {
    let instead = match data_type {
        DataType::TinyInt(_) | DataType::SmallInt(_) | DataType::Int2(_) => "SMALLINT",
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) | DataType::MediumInt(_) => "INTEGER",
        DataType::BigInt(_) | DataType::Int8(_) | DataType::Int64 => "BIGINT",
        DataType::HugeInt | DataType::UBigInt | DataType::BigIntUnsigned(_) => "DECIMAL(38,0)",
        DataType::Double(_) | DataType::Float64 => "DOUBLE PRECISION",
        DataType::Float32 => "REAL",
        DataType::Clob(_) | DataType::String(_) => "TEXT",
        DataType::Nvarchar(Some(_)) => "VARCHAR(n)",
        DataType::Blob(_) | DataType::Binary(_) | DataType::Varbinary(_) | DataType::Bytes(_) => "BYTEA",
        DataType::Datetime(_) | DataType::TimestampNtz(_) => "TIMESTAMP",
        _ => "",
    };
    let remedy = if instead.is_empty() {
        String::from(
            "the types are BOOLEAN, SMALLINT, INTEGER, BIGINT, REAL, DOUBLE PRECISION, DECIMAL(p,s), CHAR(n), \
             VARCHAR(n), TEXT, DATE, TIME, TIMESTAMP, both WITH TIME ZONE, INTERVAL, UUID, BYTEA, JSON, JSONB and arrays",
        )
    } else {
        format!("use {instead}")
    };
    let message = format!("the type {data_type} is not supported for columns; {remedy}");
    match data_type {
        DataType::Custom(name, _) if !OTHER_TYPES.contains(&name.to_string().to_ascii_lowercase().as_str()) => {
            Error::no_object(format!("type \"{name}\" does not exist; {remedy}"))
        }
        _ => Error::unsupported(message),
    }
}

/// Types that PostgreSQL has, and nobody else is to make.
const OTHER_TYPES: [&str; 26] = [
    "aclitem",
    "box",
    "cidr",
    "circle",
    "daterange",
    "inet",
    "int4range",
    "int8range",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "numrange",
    "oid",
    "path",
    "pg_lsn",
    "point",
    "polygon",
    "regclass",
    "regtype",
    "tsquery",
    "tsrange",
    "tstzrange",
    "tsvector",
    "xml",
];

#[cfg(test)]
mod tests {
    use sqlparser::parser::Parser;

    use super::*;
    use crate::sql::dialect::LongshoreDialect;
    use crate::sql::in_text::column_type as parse_column_type;

    #[test]
    fn every_spelling_has_its_type() {
        for (text, expected) in [
            ("bool", ColumnType::Boolean),
            ("int2", ColumnType::SmallInt),
            ("INT", ColumnType::Integer),
            ("int8", ColumnType::BigInt),
            ("float(24)", ColumnType::Real),
            ("float(25)", ColumnType::Double),
            ("float", ColumnType::Double),
            ("double precision", ColumnType::Double),
            ("double", ColumnType::Double),
            ("numeric", ColumnType::Numeric(None)),
            ("numeric(39)", ColumnType::Numeric(Limit::new(39, 0))),
            ("numeric(3, 5)", ColumnType::Numeric(Limit::new(3, 5))),
            ("numeric(3, -5)", ColumnType::Numeric(Limit::new(3, -5))),
            ("numeric(38)", ColumnType::Decimal { precision: 38, scale: 0 }),
            ("decimal(15, 2)", ColumnType::Decimal { precision: 15, scale: 2 }),
            ("char", ColumnType::Char(1)),
            ("character(7)", ColumnType::Char(7)),
            ("character varying(7)", ColumnType::Varchar(7)),
            ("varchar", ColumnType::Text),
            ("string", ColumnType::Text),
            ("time without time zone", ColumnType::Time),
            ("timestamp(6)", ColumnType::Timestamp),
            ("timestamp(9)", ColumnType::Timestamp),
            ("timestamp(2)", ColumnType::Rounded(TimeType::Timestamp, 2)),
            ("timestamptz(0)", ColumnType::Rounded(TimeType::TimestampTz, 0)),
            ("time(3)", ColumnType::Rounded(TimeType::Time, 3)),
            ("timetz", ColumnType::TimeTz),
            ("time(3) with time zone", ColumnType::Rounded(TimeType::TimeTz, 3)),
            ("interval", ColumnType::Interval),
            ("interval(1)", ColumnType::Rounded(TimeType::Interval, 1)),
            ("timestamptz", ColumnType::TimestampTz),
            ("timestamp with time zone", ColumnType::TimestampTz),
            ("uuid", ColumnType::Uuid),
            ("bytea", ColumnType::Bytea),
            ("json", ColumnType::Json),
            ("jsonb", ColumnType::Jsonb),
            ("int[]", ColumnType::Integer.array().unwrap()),
            ("text[3][]", ColumnType::Text.array().unwrap().array().unwrap()),
        ] {
            assert_eq!(parse_column_type(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_type_reads_back_from_its_own_spelling() {
        for column_type in [
            ColumnType::Boolean,
            ColumnType::SmallInt,
            ColumnType::Integer,
            ColumnType::BigInt,
            ColumnType::Real,
            ColumnType::Double,
            ColumnType::Decimal { precision: 38, scale: 10 },
            ColumnType::Char(3),
            ColumnType::Varchar(9),
            ColumnType::Text,
            ColumnType::Date,
            ColumnType::Time,
            ColumnType::Timestamp,
            ColumnType::TimestampTz,
            ColumnType::TimeTz,
            ColumnType::Interval,
            ColumnType::Rounded(TimeType::Time, 0),
            ColumnType::Rounded(TimeType::TimeTz, 1),
            ColumnType::Rounded(TimeType::Timestamp, 2),
            ColumnType::Rounded(TimeType::TimestampTz, 3),
            ColumnType::Rounded(TimeType::Interval, 4),
            ColumnType::Uuid,
            ColumnType::Bytea,
        ] {
            assert_eq!(parse_column_type(&column_type.to_string()).unwrap(), column_type);
            let parsed =
                Parser::new(&LongshoreDialect).try_with_sql(&column_type.to_string()).unwrap().parse_data_type();
            assert_eq!(parsed.unwrap(), data_type(column_type), "{column_type}");
        }
    }

    #[test]
    fn what_no_column_can_hold_is_refused_with_a_remedy() {
        for (text, part) in [
            ("decimal(1001)", "between 1 and 1000"),
            ("decimal(5,1001)", "between -1000 and 1000"),
            ("decimal(0)", "between 1 and 1000"),
            ("varchar(0)", "1 to 10485760"),
            ("float(54)", "1 to 53"),
            ("timestamp(3)[]", "microsecond"),
            ("interval year to month", "some fields"),
            ("tinyint", "SMALLINT"),
            ("blob", "BYTEA"),
            ("geometry", "the types are"),
            ("int x", "not the name of a type"),
        ] {
            let message = parse_column_type(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
