//! What `information_schema.columns` says of the type of a column.

use longshore_storage::ColumnType;

use crate::datafusion::type_name::type_name;

/// What there is to say of a type.
#[derive(Default)]
pub(super) struct Measures {
    pub(super) name: String,
    /// What PostgreSQL calls it within.
    pub(super) udt: &'static str,
    pub(super) characters: Option<i32>,
    pub(super) octets: Option<i32>,
    pub(super) precision: Option<i32>,
    pub(super) radix: Option<i32>,
    pub(super) scale: Option<i32>,
    pub(super) datetime: Option<i32>,
}

/// Bytes of a text, at most.
const OCTETS_MAX: i32 = 1 << 30;
/// Bytes of a character, at most.
const CHARACTER_OCTETS: i32 = 4;

impl Measures {
    pub(super) fn of(column_type: ColumnType) -> Self {
        let name = || type_name(&column_type.arrow());
        let texts = |name: &str, udt, characters: u32| {
            let characters = i32::try_from(characters).unwrap_or(i32::MAX);
            let octets = Some(characters.saturating_mul(CHARACTER_OCTETS));
            Self { name: name.to_owned(), udt, characters: Some(characters), octets, ..Self::default() }
        };
        let numbers = |udt, precision, scale| Self {
            name: name(),
            udt,
            precision: Some(precision),
            radix: Some(2),
            scale,
            ..Self::default()
        };
        let moments = |udt, digits| Self { name: name(), udt, datetime: Some(digits), ..Self::default() };
        let others = |udt| Self { name: name(), udt, ..Self::default() };
        match column_type {
            ColumnType::Boolean => others("bool"),
            ColumnType::SmallInt => numbers("int2", 16, Some(0)),
            ColumnType::Integer => numbers("int4", 32, Some(0)),
            ColumnType::BigInt => numbers("int8", 64, Some(0)),
            ColumnType::Real => numbers("float4", 24, None),
            ColumnType::Double => numbers("float8", 53, None),
            ColumnType::Decimal { precision, scale } => Self {
                name: name(),
                udt: "numeric",
                precision: Some(precision.into()),
                radix: Some(10),
                scale: Some(scale.into()),
                ..Self::default()
            },
            ColumnType::Numeric(limit) => Self {
                name: name(),
                udt: "numeric",
                precision: limit.map(|limit| limit.precision.into()),
                radix: Some(10),
                scale: limit.map(|limit| limit.scale.into()),
                ..Self::default()
            },
            ColumnType::Char(characters) => texts("character", "bpchar", characters),
            ColumnType::Varchar(characters) => texts("character varying", "varchar", characters),
            ColumnType::Text => Self { octets: Some(OCTETS_MAX), ..others("text") },
            ColumnType::Date => moments("date", 0),
            ColumnType::Rounded(..)
            | ColumnType::Time
            | ColumnType::TimeTz
            | ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::Interval => {
                let digits = column_type.time_type().map_or(0, |(_, digits)| digits.into());
                moments(array_name(column_type).trim_start_matches('_'), digits)
            }
            ColumnType::Uuid => Self { name: "uuid".to_owned(), ..others("uuid") },
            ColumnType::Bytea => others("bytea"),
            ColumnType::Json => others("json"),
            ColumnType::Jsonb => others("jsonb"),
            ColumnType::Array(element, _) => Self { name: "ARRAY".to_owned(), ..others(array_name(*element)) },
        }
    }
}

/// What PostgreSQL's catalog calls arrays of a type.
fn array_name(element: ColumnType) -> &'static str {
    match element {
        ColumnType::Boolean => "_bool",
        ColumnType::SmallInt => "_int2",
        ColumnType::Integer => "_int4",
        ColumnType::BigInt => "_int8",
        ColumnType::Real => "_float4",
        ColumnType::Double => "_float8",
        ColumnType::Decimal { .. } | ColumnType::Numeric(_) => "_numeric",
        ColumnType::Char(_) => "_bpchar",
        ColumnType::Varchar(_) => "_varchar",
        ColumnType::Text => "_text",
        ColumnType::Date => "_date",
        ColumnType::Time => "_time",
        ColumnType::TimeTz => "_timetz",
        ColumnType::Timestamp => "_timestamp",
        ColumnType::TimestampTz => "_timestamptz",
        ColumnType::Interval => "_interval",
        ColumnType::Rounded(..) => array_name(element.unrounded()),
        ColumnType::Uuid => "_uuid",
        ColumnType::Bytea => "_bytea",
        ColumnType::Json => "_json",
        ColumnType::Jsonb => "_jsonb",
        ColumnType::Array(element, _) => array_name(*element),
    }
}
