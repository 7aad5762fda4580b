//! PostgreSQL's built-in types: their names, OIDs and lengths, and which of them a value of a result has.
//!
//! `pg_catalog.pg_type` and programs that speak PostgreSQL's protocol know types by these numbers (`pg_type.dat` of PostgreSQL).

use arrow_schema::{DataType, Field};
use longshore_storage::{ColumnType, TimeType};

/// Bytes that PostgreSQL counts beside a length or a precision in a type modifier.
pub(crate) const MODIFIER_OFFSET: i32 = 4;

/// Among the metadata of a field of a result: the name of its type in `pg_type`, where Arrow's type does not tell it, as of an
/// `oid` or a `name`.
pub const PG_TYPE: &str = "longshore.pg_type";

/// Beside [`PG_TYPE`]: the modifier of the type, if it has one.
pub(crate) const PG_MODIFIER: &str = "longshore.pg_modifier";

/// A type that PostgreSQL has built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltinType {
    /// Its name in `pg_type`: `int4`.
    pub name: &'static str,
    /// Its OID.
    pub oid: u32,
    /// The OID of arrays of it, or 0.
    pub array_oid: u32,
    /// Bytes of a value, -1 where they vary, -2 for a text that ends with NUL.
    pub length: i16,
    /// `typcategory`: `N` for numbers, `S` for texts, `D` for dates and times, ...
    pub category: char,
    /// Its name in SQL: `integer`.
    pub sql_name: &'static str,
}

/// The type of a column of a result as PostgreSQL's programs know it, and where the column is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId {
    /// The OID in `pg_type`.
    pub oid: u32,
    /// Bytes of a value, -1 where they vary.
    pub length: i16,
    /// `atttypmod`: a length or a precision in PostgreSQL's encoding, or -1.
    pub modifier: i32,
    /// The OID of the table or view whose column it shows as it is, or 0.
    pub table: u32,
    /// The number of that column in the table, from 1, or 0.
    pub column: i16,
}

const fn builtin(
    name: &'static str,
    oid: u32,
    array_oid: u32,
    length: i16,
    category: char,
    sql_name: &'static str,
) -> BuiltinType {
    BuiltinType { name, oid, array_oid, length, category, sql_name }
}

/// All of them, by OID.
pub const BUILTIN_TYPES: &[BuiltinType] = &[
    builtin("bool", 16, 1000, 1, 'B', "boolean"),
    builtin("bytea", 17, 1001, -1, 'U', "bytea"),
    builtin("char", 18, 1002, 1, 'Z', "\"char\""),
    builtin("name", 19, 1003, 64, 'S', "name"),
    builtin("int8", 20, 1016, 8, 'N', "bigint"),
    builtin("int2", 21, 1005, 2, 'N', "smallint"),
    builtin("int2vector", 22, 1006, -1, 'A', "int2vector"),
    builtin("int4", 23, 1007, 4, 'N', "integer"),
    builtin("regproc", 24, 1008, 4, 'N', "regproc"),
    builtin("text", 25, 1009, -1, 'S', "text"),
    builtin("oid", 26, 1028, 4, 'N', "oid"),
    builtin("tid", 27, 1010, 6, 'U', "tid"),
    builtin("xid", 28, 1011, 4, 'U', "xid"),
    builtin("oidvector", 30, 1013, -1, 'A', "oidvector"),
    builtin("json", 114, 199, -1, 'U', "json"),
    builtin("float4", 700, 1021, 4, 'N', "real"),
    builtin("float8", 701, 1022, 8, 'N', "double precision"),
    builtin("unknown", 705, 0, -2, 'X', "unknown"),
    builtin("bpchar", 1042, 1014, -1, 'S', "character"),
    builtin("varchar", 1043, 1015, -1, 'S', "character varying"),
    builtin("date", 1082, 1182, 4, 'D', "date"),
    builtin("time", 1083, 1183, 8, 'D', "time without time zone"),
    builtin("timestamp", 1114, 1115, 8, 'D', "timestamp without time zone"),
    builtin("timestamptz", 1184, 1185, 8, 'D', "timestamp with time zone"),
    builtin("interval", 1186, 1187, 16, 'T', "interval"),
    builtin("timetz", 1266, 1270, 12, 'D', "time with time zone"),
    builtin("numeric", 1700, 1231, -1, 'N', "numeric"),
    builtin("refcursor", 1790, 2201, -1, 'U', "refcursor"),
    builtin("regclass", 2205, 2210, 4, 'N', "regclass"),
    builtin("regtype", 2206, 2211, 4, 'N', "regtype"),
    builtin("record", 2249, 2287, -1, 'P', "record"),
    builtin("void", 2278, 0, 4, 'P', "void"),
    builtin("uuid", 2950, 2951, 16, 'U', "uuid"),
    builtin("jsonb", 3802, 3807, -1, 'U', "jsonb"),
    builtin("jsonpath", 4072, 4073, -1, 'U', "jsonpath"),
    builtin("regnamespace", 4089, 4090, 4, 'N', "regnamespace"),
    builtin("regrole", 4096, 4097, 4, 'N', "regrole"),
];

impl TypeId {
    /// Characters of a value of CHAR(n); 0 for other types, and where n is not known.
    pub(crate) fn char_width(&self) -> usize {
        let is_char = BuiltinType::named("bpchar").is_some_and(|bpchar| bpchar.oid == self.oid);
        if is_char { usize::try_from(self.modifier - MODIFIER_OFFSET).unwrap_or(0) } else { 0 }
    }

    /// The type of a column of such values, which is `of_values` by their type in Arrow: that has one type for TEXT, CHAR(n),
    /// VARCHAR(n) and UUID. It is TEXT where a length is not known.
    pub(crate) fn column_type(&self, of_values: ColumnType) -> ColumnType {
        let length = u32::try_from(self.modifier - MODIFIER_OFFSET).ok().filter(|length| *length > 0);
        let text = BuiltinType::of_oid(self.oid).and_then(|(known, _)| match known.name {
            "bpchar" => length.map(ColumnType::Char),
            "varchar" => length.map(ColumnType::Varchar),
            "uuid" => Some(ColumnType::Uuid),
            _ => None,
        });
        match (of_values, text) {
            (ColumnType::Text, Some(text)) => text,
            (ColumnType::Array(ColumnType::Text, dimensions), Some(text)) => {
                (0..dimensions).try_fold(text, |of_values, _| of_values.array()).unwrap_or(of_values)
            }
            _ => of_values,
        }
    }
}

impl BuiltinType {
    /// The type of this name in `pg_type`.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        BUILTIN_TYPES.iter().find(|known| known.name == name)
    }

    /// The type of this OID, and whether the OID is that of arrays of it.
    #[must_use]
    pub fn of_oid(oid: u32) -> Option<(&'static Self, bool)> {
        let known = BUILTIN_TYPES.iter().find(|known| oid != 0 && (known.oid == oid || known.array_oid == oid))?;
        Some((known, known.oid != oid))
    }

    /// Whether its values are numbers of objects, which have four bytes without a sign.
    #[must_use]
    pub fn is_oid(&self) -> bool {
        self.name.starts_with("reg") || matches!(self.name, "oid" | "xid")
    }

    /// The type of the values of an Arrow array, and whether they are arrays of it. What PostgreSQL has no type for is text.
    #[must_use]
    pub fn of_values(data_type: &DataType) -> (&'static Self, bool) {
        match data_type {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _) => (Self::of_values(field.data_type()).0, true),
            DataType::Dictionary(_, values) => Self::of_values(values),
            other => {
                let known = Self::of_scalars(other).or_else(|| Self::named("text"));
                (known.unwrap_or(&UNKNOWN), false)
            }
        }
    }

    /// The type of the values of an Arrow array that are no arrays; `None` if PostgreSQL has none.
    pub(crate) fn of_scalars(data_type: &DataType) -> Option<&'static Self> {
        let name = match data_type {
            DataType::Boolean => "bool",
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => "int2",
            DataType::UInt16 | DataType::Int32 => "int4",
            DataType::UInt32 | DataType::Int64 => "int8",
            DataType::UInt64
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => "numeric",
            DataType::Float16 | DataType::Float32 => "float4",
            DataType::Float64 => "float8",
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "bytea",
            DataType::Date32 => "date",
            DataType::Date64 | DataType::Timestamp(_, None) => "timestamp",
            DataType::Timestamp(_, Some(_)) => "timestamptz",
            DataType::Time32(_) | DataType::Time64(_) => "time",
            DataType::Interval(_) | DataType::Duration(_) => "interval",
            // Of a type that Arrow has not, the field has the name.
            DataType::Struct(fields) => match fields.as_ref() {
                [field] => field.name().strip_prefix('$').unwrap_or("record"),
                _ => "record",
            },
            _ => return None,
        };
        Self::named(name)
    }

    /// The type of this name in `pg_type`, and whether values of `data_type` of which it is told are arrays of it; `None` if they
    /// cannot be of it, or if Arrow's type says it.
    pub(crate) fn told(name: &str, data_type: &DataType) -> Option<(&'static Self, bool)> {
        let (element, is_array) = name.strip_prefix('_').map_or((name, false), |element| (element, true));
        let known = Self::named(element)?;
        let values = match data_type {
            // NULL that takes the type of what it meets.
            DataType::Null => return Some((known, is_array)),
            DataType::List(element) if is_array => innermost(element.data_type()),
            data_type if !is_array => data_type,
            _ => return None,
        };
        // A cast may leave the metadata of what was cast.
        let fits = if values.is_integer() { known.is_oid() } else { !known.is_oid() && values.is_string() };
        fits.then_some((known, is_array))
    }

    /// The type of a column of a table, and whether it holds arrays of it.
    #[must_use]
    pub fn of_column(column_type: ColumnType) -> (&'static Self, bool) {
        let name = match column_type {
            ColumnType::Array(element, _) => return (Self::of_column(*element).0, true),
            ColumnType::Char(_) => "bpchar",
            ColumnType::Varchar(_) => "varchar",
            ColumnType::Uuid => "uuid",
            other => return Self::of_values(&other.arrow()),
        };
        (Self::named(name).unwrap_or(&UNKNOWN), false)
    }
}

/// The field of a column of this type, whose metadata tell the type where Arrow's does not.
pub(crate) fn told_field(field: &Field, column_type: ColumnType) -> Field {
    let (known, is_array) = BuiltinType::of_column(column_type);
    if (known, is_array) == BuiltinType::of_values(field.data_type()) {
        return field.clone();
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(PG_TYPE.to_owned(), format!("{}{}", if is_array { "_" } else { "" }, known.name));
    metadata.insert(PG_MODIFIER.to_owned(), modifier(column_type).to_string());
    field.clone().with_metadata(metadata)
}

/// What a name that is in no table of types would stand for.
static UNKNOWN: BuiltinType = builtin("unknown", 705, 0, -2, 'X', "unknown");

impl TypeId {
    fn new((known, is_array): (&BuiltinType, bool), modifier: i32) -> Self {
        let (oid, length) = if is_array { (known.array_oid, -1) } else { (known.oid, known.length) };
        Self { oid, length, modifier, table: 0, column: 0 }
    }

    /// The same of a column that shows the column `at` of a table.
    pub(crate) fn shown_of(self, table: u32, at: usize) -> Self {
        Self { table, column: i16::try_from(at + 1).unwrap_or(0), ..self }
    }

    /// A type without a modifier.
    #[must_use]
    pub fn of_builtin(known: &BuiltinType) -> Self {
        Self::new((known, false), -1)
    }

    /// That of the values of an Arrow array.
    #[must_use]
    pub fn of_values(data_type: &DataType) -> Self {
        let modifier = match data_type {
            DataType::Decimal128(precision, scale @ 0..) => numeric_modifier((*precision).into(), (*scale).into()),
            _ => -1,
        };
        Self::new(BuiltinType::of_values(data_type), modifier)
    }

    /// That of a column of a result, which its metadata may tell ([`PG_TYPE`]).
    #[must_use]
    pub fn of_field(field: &Field) -> Self {
        let modifier = field.metadata().get(PG_MODIFIER).and_then(|modifier| modifier.parse().ok()).unwrap_or(-1);
        match field.metadata().get(PG_TYPE) {
            Some(name) => Self::told(name, modifier, field.data_type()),
            None => Self::of_values(field.data_type()),
        }
    }

    /// That of values of which is told that they are of the type of this name in `pg_type`, if they can be.
    pub(crate) fn told(name: &str, modifier: i32, data_type: &DataType) -> Self {
        match BuiltinType::told(name, data_type) {
            Some(known) => Self::new(known, modifier),
            None => Self::of_values(data_type),
        }
    }

    /// That of a column of a table.
    #[must_use]
    pub fn of_column(column_type: ColumnType) -> Self {
        Self::new(BuiltinType::of_column(column_type), modifier(column_type))
    }
}

/// The type of the elements of an array, of any dimensions.
fn innermost(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(element) => innermost(element.data_type()),
        other => other,
    }
}

/// The modifier of the type of a column of a table.
pub(crate) fn modifier(column_type: ColumnType) -> i32 {
    match column_type {
        ColumnType::Array(element, _) => modifier(*element),
        ColumnType::Char(length) | ColumnType::Varchar(length) => length as i32 + MODIFIER_OFFSET,
        ColumnType::Decimal { precision, scale } => numeric_modifier(precision.into(), scale.into()),
        ColumnType::Numeric(Some(limit)) => numeric_modifier(limit.precision.into(), limit.scale.into()),
        // All fields of an interval are there.
        ColumnType::Rounded(TimeType::Interval, digits) => 0x7FFF << 16 | i32::from(digits),
        ColumnType::Rounded(_, digits) => digits.into(),
        _ => -1,
    }
}

/// The precision in the upper 16 bits, the scale, which may be negative, in 11 bits below.
fn numeric_modifier(precision: i32, scale: i32) -> i32 {
    (precision << 16 | scale & 0x7FF) + MODIFIER_OFFSET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_those_of_postgresql() {
        for (column_type, oid, modifier) in [
            (ColumnType::Varchar(10), 1043, 14),
            (ColumnType::Char(3), 1042, 7),
            (ColumnType::Decimal { precision: 10, scale: 2 }, 1700, 655_366),
            (ColumnType::TimestampTz, 1184, -1),
            (ColumnType::Rounded(TimeType::Timestamp, 3), 1114, 3),
            (ColumnType::Rounded(TimeType::Interval, 3), 1186, 2_147_418_115),
            (ColumnType::Uuid, 2950, -1),
            (ColumnType::Jsonb, 3802, -1),
        ] {
            let id = TypeId::of_column(column_type);
            assert_eq!((id.oid, id.modifier), (oid, modifier), "{column_type:?}");
        }
        let array = ColumnType::Integer.array().expect("an array");
        assert_eq!(TypeId::of_column(array), TypeId { oid: 1007, length: -1, modifier: -1, table: 0, column: 0 });
    }

    #[test]
    fn metadata_tell_types_that_arrow_has_not() {
        let told = |data_type: DataType, name: &str| {
            let metadata = [(PG_TYPE.to_owned(), name.to_owned())].into();
            TypeId::of_field(&Field::new("a", data_type, true).with_metadata(metadata)).oid
        };
        assert_eq!(told(DataType::Int64, "oid"), 26);
        assert_eq!(told(DataType::Utf8View, "oid"), 25);
        assert_eq!(told(DataType::Utf8View, "name"), 19);
        assert_eq!(told(DataType::new_list(DataType::Int64, true), "_oid"), 1028);
        assert_eq!(told(DataType::new_list(DataType::Utf8View, true), "_oid"), 1009);
        assert_eq!(told(DataType::new_list(DataType::Utf8View, true), "_name"), 1003);
        assert_eq!(told(DataType::Int64, "_oid"), 20);
        assert_eq!(TypeId::of_field(&Field::new("a", DataType::Int64, true)).oid, 20);
    }

    #[test]
    fn types_are_in_the_order_of_their_oids() {
        assert!(BUILTIN_TYPES.is_sorted_by_key(|known| known.oid));
    }
}
