//! Columns of text to decode: the usual spellings of each type, made from a seed.

use std::fmt::Write as _;

use longshore_csv::decode::{Reason, ValueType, exact};
use longshore_storage::Uuid;

use super::ROWS;
use crate::workload::random::Random;

/// One field a record.
pub(super) struct Column {
    /// What it is.
    pub(super) name: &'static str,
    pub(super) value_type: ValueType,
    /// Whether every field is in quotes.
    pub(super) quoted: bool,
    /// The records.
    pub(super) text: Vec<u8>,
    /// The slow, obvious twin, and what its value is reduced to: a number as it is, a float's bits, and of a string
    /// the low half of its view (length and first four bytes).
    pub(super) exact: fn(&[u8]) -> Result<i128, Reason>,
    /// Sum over all records.
    pub(super) digest: i128,
}

/// Columns of every type that the decoders treat differently.
pub(super) fn all() -> Vec<Column> {
    let decimal64 = ValueType::Decimal64 { precision: 15, scale: 2 };
    let decimal128 = ValueType::Decimal128 { precision: 19, scale: 2 };
    vec![
        column(
            "BOOLEAN",
            ValueType::Boolean,
            |r| r.pick(&["t", "f", "true", "false"]).into(),
            |b| exact::boolean(b).map(i128::from),
        ),
        column("SMALLINT", ValueType::Int16, |r| r.below(32_000).to_string(), |b| exact::int16(b).map(i128::from)),
        column("INTEGER", ValueType::Int32, |r| r.below(2_000_000).to_string(), |b| exact::int32(b).map(i128::from)),
        column("BIGINT", ValueType::Int64, |r| r.below(6_000_000_000).to_string(), |b| exact::int64(b).map(i128::from)),
        column("DECIMAL(15,2) in 64 bits", decimal64, money, |b| exact::decimal64(b, 15, 2).map(i128::from)),
        column("DECIMAL(19,2) in 128 bits", decimal128, money, |b| exact::decimal128(b, 19, 2)),
        column("REAL", ValueType::Float32, money, |b| exact::float32(b).map(|v| i128::from(v.to_bits()))),
        column("DOUBLE PRECISION", ValueType::Float64, money, |b| exact::float64(b).map(|v| i128::from(v.to_bits()))),
        column("DATE", ValueType::Date, date, |b| exact::date(b).map(i128::from)),
        column("TIME", ValueType::Time, time, |b| exact::time(b).map(i128::from)),
        column(
            "TIMESTAMP",
            ValueType::Timestamp,
            |r| date(r) + " " + &time(r),
            |b| exact::timestamp(b).map(i128::from),
        ),
        column(
            "CHAR(10), short",
            ValueType::Char(10),
            |r| r.pick(&["AIR", "TRUCK", "REG AIR", "SHIP"]).into(),
            |b| exact::character(b, 10).map(|text| view(text.as_bytes())),
        ),
        column("VARCHAR(44), long", ValueType::Varchar(44), sentence, |b| {
            exact::varchar(b, 44).map(|text| view(text.as_bytes()))
        }),
        column(
            "VARCHAR(44), quoted",
            ValueType::Varchar(44),
            |r| format!("\"{}\"", sentence(r)),
            |b| exact::varchar(b, 44).map(|text| view(text.as_bytes())),
        ),
        column(
            "TEXT, not ASCII",
            ValueType::Text,
            |r| sentence(r) + " größer als zwölf",
            |b| exact::text(b).map(|text| view(text.as_bytes())),
        ),
        column("UUID", ValueType::Uuid, uuid, |b| exact::uuid(b).map(Uuid::stored)),
        column(
            "BYTEA",
            ValueType::Bytea,
            |r| format!("\\x{:016x}{:016x}", r.number(), r.number()),
            |b| {
                let mut bytes = Vec::new();
                exact::bytea(b, &mut bytes).map(|()| view(&bytes))
            },
        ),
    ]
}

fn column(
    name: &'static str,
    value_type: ValueType,
    field: fn(&mut Random) -> String,
    exact: fn(&[u8]) -> Result<i128, Reason>,
) -> Column {
    let mut random = Random::new(1);
    let mut text = String::new();
    let mut digest = 0_i128;
    let mut quoted = false;
    for _ in 0..ROWS {
        let field = field(&mut random);
        let content = field.trim_matches('"');
        quoted = content.len() < field.len();
        digest = digest.wrapping_add(exact(content.as_bytes()).expect("the field is a usual spelling of its type"));
        writeln!(text, "{field}").expect("a string takes any text");
    }
    Column { name, value_type, quoted, text: text.into_bytes(), exact, digest }
}

/// The low half of the view of a string.
fn view(bytes: &[u8]) -> i128 {
    let mut low = [0; 8];
    low[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    let prefix = bytes.len().min(4);
    low[4..4 + prefix].copy_from_slice(&bytes[..prefix]);
    i128::from(u64::from_le_bytes(low))
}

fn money(random: &mut Random) -> String {
    format!("{}.{:02}", random.below(105_000), random.below(100))
}

fn date(random: &mut Random) -> String {
    format!("{:04}-{:02}-{:02}", 1992 + random.below(7), 1 + random.below(12), 1 + random.below(28))
}

fn time(random: &mut Random) -> String {
    format!("{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60))
}

fn sentence(random: &mut Random) -> String {
    let words = ["furiously", "even", "deposits", "sleep", "ironic", "packages", "above", "the"];
    let mut sentence = String::from("carefully");
    while sentence.len() < 16 + random.below(12) as usize {
        sentence += " ";
        sentence += random.pick(&words);
    }
    sentence
}

fn uuid(random: &mut Random) -> String {
    let digits = format!("{:016x}{:016x}", random.number(), random.number());
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
