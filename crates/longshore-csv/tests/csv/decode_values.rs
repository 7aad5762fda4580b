//! The language of values, a line per rule; each line runs on every kernel and on the exact twin.

use crate::decoding::{Cell, Field, check, expected, nulls};
use longshore_csv::ValueType::{
    Boolean, Bytea, Char, Date, Decimal64, Decimal128, Float32, Float64, Int16, Int32, Int64, Text, Time, Timestamp,
    TimestampTz, Uuid, Varchar,
};
use longshore_csv::{BooleanWords, DateTimeFormat, Decoder, Dialect, Expected, FieldRule, Reason, ValueType};

/// What a raw field means by a rule, once every kernel says the same.
fn value(rule: &FieldRule, raw: &str) -> Result<Cell, Reason> {
    let dialect = Dialect::default();
    let field = Field::from_raw(raw.as_bytes(), &dialect).unwrap();
    // Once alone, and once so often that it fills blocks.
    check(rule, &dialect, std::slice::from_ref(&field));
    check(rule, &dialect, &vec![field.clone(); 200]);
    expected(rule, &dialect, &field)
}

/// Fields of a type that are numbers, or have the value of one.
macro_rules! reads {
    ($name:ident, $value_type:expr, $($raw:literal => $number:expr),+ $(,)?) => {
        #[test]
        fn $name() {
            let rule = FieldRule::new($value_type);
            $(assert_eq!(value(&rule, $raw), Ok(Cell::Number($number)), "{}", $raw);)+
        }
    };
}

/// Fields of a type of text.
macro_rules! reads_text {
    ($name:ident, $value_type:expr, $($raw:literal => $text:expr),+ $(,)?) => {
        #[test]
        fn $name() {
            let rule = FieldRule::new($value_type);
            $(assert_eq!(value(&rule, $raw), Ok(Cell::Bytes($text.to_vec())), "{}", $raw);)+
        }
    };
}

/// Fields that are not of a type, and why.
macro_rules! refuses {
    ($name:ident, $value_type:expr, $($raw:literal => $reason:literal),+ $(,)?) => {
        #[test]
        fn $name() {
            let value_type: ValueType = $value_type;
            let rule = FieldRule { nullable: false, ..FieldRule::new(value_type) };
            $(
                let reason = value(&rule, $raw).unwrap_err();
                assert_eq!(reason.to_string(), $reason, "{}", $raw);
                assert!(!reason.remedy(&value_type).is_empty());
            )+
        }
    };
}

const PRICE: ValueType = Decimal64 { precision: 15, scale: 2 };
const DAY: i128 = 86_400_000_000;

reads!(small_integers, Int16, "32767" => 32767, "-32768" => -32768, " 7 " => 7, "+7" => 7, "-0" => 0);
reads!(integers, Int32, "2147483647" => 2_147_483_647, "-2147483648" => -2_147_483_648, "\"42\"" => 42);
reads!(big_integers, Int64, "9223372036854775807" => i64::MAX.into(), "-9223372036854775808" => i64::MIN.into());
reads!(
    decimals, PRICE,
    "17" => 1700, "0.04" => 4, "21168.23" => 2_116_823, "-.5" => -50, "5." => 500, "1e3" => 100_000, "12.5" => 1250,
    "9999999999999.99" => 999_999_999_999_999, "1.5e-2" => 2, "+1.00" => 100
);
reads!(halves_go_away_from_zero, PRICE, "0.005" => 1, "-0.005" => -1, "0.00499999999999999999999" => 0);
reads!(
    long_decimals, Decimal128 { precision: 38, scale: 2 },
    "999999999999999999999999999999999999.99" => 10_i128.pow(38) - 1, "-1234567890123456789.05" => -123_456_789_012_345_678_905
);
reads!(dates, Date, "1970-01-01" => 0, "1996-03-13" => 9568, "2000-2-29" => 11016, "0001-01-01" => -719_162);
reads!(
    dates_beyond, Date,
    "infinity" => i32::MAX.into(), "-infinity" => i32::MIN.into(), "0001-12-31 BC" => -719_163, "10000-01-01" => 2_932_897
);
reads!(timestamps_beyond, Timestamp, "infinity" => i64::MAX.into(), "0001-12-31 00:00:00 BC" => -719_163 * DAY);
reads!(timestamps_in_utc_beyond, TimestampTz, "10000-01-01 02:00:00+02" => 2_932_897 * DAY);
reads!(times, Time, "00:00:01" => 1_000_000, "24:00:00" => DAY, "1:02" => 3_720_000_000, "00:00:00.1234565" => 123_457);
reads!(timestamps, Timestamp, "1970-01-02" => DAY, "1970-01-02T00:00:00.5" => DAY + 500_000);
reads!(
    timestamps_in_utc, TimestampTz,
    "1970-01-02 00:00:00Z" => DAY, "1970-01-02 02:30:00+02:30" => DAY, "1970-01-01 19:00:00-05" => DAY,
    "1970-01-02 00:00:00" => DAY, "1970-01-02 02:30:00 +0230" => DAY
);
reads!(booleans, Boolean, "t" => 1, "FALSE" => 0, "yes" => 1, "of" => 0, "1" => 1, "\"n\"" => 0, " tr " => 1);
reads_text!(texts, Text, "a b " => b"a b ", "\"\"" => b"", "\"a\"\"b\"" => b"a\"b", "x\"y,z\"" => b"xy,z");
reads_text!(limited_texts, Varchar(3), "abc" => b"abc", "abc  " => b"abc", "\u{e4}\u{f6}\u{fc}" => "\u{e4}\u{f6}\u{fc}".as_bytes());
reads_text!(padded_texts, Char(3), "a  " => b"a", "abc   " => b"abc", "   " => b"");
reads!(
    uuids, Uuid,
    "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}" => 0x20EE_BC99_9C0B_4EF8_BB6D_6BB9_BD38_0A11,
    "20eebc999c0b4ef8bb6d6bb9bd380a11" => 0x20EE_BC99_9C0B_4EF8_BB6D_6BB9_BD38_0A11 + i128::MIN
);
reads_text!(bytes, Bytea, "\\xDEADbeef" => [0xDE, 0xAD, 0xBE, 0xEF], "\\x" => []);

refuses!(
    no_integers, Int16,
    "32768" => "out of range", "\"1,0\"" => "found ',' where a digit is expected", "x" => "found 'x' where a number is expected",
    "-" => "ends where a digit is expected", "\"\"" => "is empty", "1.0" => "found '.' where a digit is expected",
    "" => "is NULL but the column is NOT NULL"
);
refuses!(
    no_decimals, PRICE,
    "10000000000000" => "out of range: more than 13 digits before the decimal point",
    "9999999999999.995" => "out of range: more than 13 digits before the decimal point",
    "." => "ends where a digit is expected", "1e" => "ends where a digit is expected", "NaN" => "found 'N' where a number is expected"
);
refuses!(no_floats, Float64, "1e999" => "out of range", "1e-999" => "out of range: too close to zero");
refuses!(no_singles, Float32, "1e39" => "out of range", "1e-60" => "out of range: too close to zero");
refuses!(
    no_dates, Date,
    "0000-01-01" => "the year is not within 0001 to 9999", "1996-13-01" => "the month is not within 1 to 12",
    "1900-02-29" => "the month has no such day", "1996/03/13" => "found '/' where '-' is expected",
    "1996-03-13x" => "found 'x' where the end is expected"
);
refuses!(no_times, Time, "24:00:01" => "the time is not within 00:00:00 to 23:59:59.999999");
refuses!(
    no_timestamps, Timestamp,
    "1996-03-13 10:00:00+02" => "has a zone offset", "1996-03-13x" => "found 'x' where ' ' or 'T' is expected",
    "9999-12-31 23:59:59.9999999" => "the year is not within 0001 to 9999"
);
refuses!(
    no_timestamps_in_utc, TimestampTz,
    "1996-03-13 10:00:00+16" => "the zone offset is not within -15:59:59 to +15:59:59",
    "1996-03-13 10:00:00x" => "found 'x' where 'Z', '+' or '-' is expected"
);
refuses!(no_booleans, Boolean, "o" => "neither true, yes, on, 1 nor false, no, off, 0");
refuses!(no_limited_texts, Varchar(3), "abcd" => "longer than 3 characters", "abc x" => "longer than 3 characters");
refuses!(no_padded_texts, Char(3), "abcd  " => "longer than 3 characters");
refuses!(no_uuids, Uuid, "a0eebc99-9c0b" => "ends where a hexadecimal digit is expected", "g" => "found 'g' where a hexadecimal digit is expected",
    " a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" => "found ' ' where a hexadecimal digit is expected",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 " => "found ' ' where the end is expected");
refuses!(no_bytes, Bytea, "abc" => "does not begin with \\x", "\\x0" => "ends where a hexadecimal digit is expected");

#[test]
fn null_is_the_unquoted_null_text_by_default() {
    let rule = FieldRule::new(Text);
    assert_eq!(value(&rule, ""), Ok(Cell::Null));
    assert_eq!(value(&rule, "\"\""), Ok(Cell::Bytes(vec![])));
    let rule = FieldRule { null_texts: nulls(&[b"NA"]), ..rule };
    assert_eq!(value(&rule, "NA"), Ok(Cell::Null));
    assert_eq!(value(&rule, "DE"), Ok(Cell::Bytes(b"DE".to_vec())));
    assert_eq!(value(&rule, "\"NA\""), Ok(Cell::Bytes(b"NA".to_vec())));
    assert_eq!(value(&rule, ""), Ok(Cell::Bytes(vec![])));
}

#[test]
fn null_may_be_forced_both_ways() {
    let rule = FieldRule { quoted_nulls: true, ..FieldRule::new(Int32) };
    assert_eq!(value(&rule, "\"\""), Ok(Cell::Null));
    let rule = FieldRule { force_not_null: true, ..FieldRule::new(Text) };
    assert_eq!(value(&rule, ""), Ok(Cell::Bytes(vec![])));
    let rule = FieldRule { force_not_null: true, ..FieldRule::new(Int32) };
    assert_eq!(value(&rule, ""), Err(Reason::Empty));
    let rule = FieldRule { null_texts: nulls(&[b"0"]), ..FieldRule::new(Int32) };
    assert_eq!(value(&rule, "0"), Ok(Cell::Null));
    assert_eq!(value(&rule, "00"), Ok(Cell::Number(0)));
    assert_eq!(value(&rule, "\"0\""), Ok(Cell::Number(0)));
}

#[test]
fn text_must_be_utf_8() {
    let dialect = Dialect::default();
    for raw in [&b"abc\xFFdef"[..], b"\"abc\xFFdef\"", &[&[b'a'; 100][..], &[0xC3]].concat()] {
        let field = Field::from_raw(raw, &dialect).unwrap();
        let rule = FieldRule::new(Text);
        check(&rule, &dialect, &[field.clone(), field.clone()]);
        let reason = expected(&rule, &dialect, &field).unwrap_err();
        assert!(matches!(reason, Reason::InvalidUtf8 { at: 3 | 100 }));
    }
}

#[test]
fn unprintable_bytes_are_named_by_their_number() {
    let reason = Reason::Unexpected { found: 0xE4, expected: Expected::Digit };
    assert_eq!(reason.to_string(), "found byte 0xE4 where a digit is expected");
}

/// What the user is told about a bad field.
fn told(rule: &FieldRule, raw: &str) -> String {
    let dialect = Dialect::default();
    let reason = value(rule, raw).unwrap_err();
    let advice = Decoder::new(rule.clone(), &dialect).advice(raw.as_bytes(), reason);
    format!("{}; {}", advice.reason, advice.remedy)
}

#[test]
fn remedies_name_the_option_that_would_read_the_value() {
    for (value_type, raw, expected) in [
        (PRICE, "\"1,20\"", "found ',' where a digit is expected; set DECIMAL_SEPARATOR ','"),
        (PRICE, "\"1,234.56\"", "found ',' where a digit is expected; set THOUSANDS_SEPARATOR ','"),
        (
            PRICE,
            "\"1.234,56\"",
            "found ',' where a digit is expected; set DECIMAL_SEPARATOR ',' and THOUSANDS_SEPARATOR '.'",
        ),
        (
            Float64,
            "\"1,234\"",
            "found ',' where a digit is expected; set DECIMAL_SEPARATOR ',' if the fraction follows, or \
             THOUSANDS_SEPARATOR ',' if it groups digits",
        ),
        (Int32, "1 234", "found ' ' where a digit is expected; set THOUSANDS_SEPARATOR ' '"),
        (
            Int32,
            "1.5",
            "found '.' where a digit is expected; write a whole number, or declare the column DECIMAL, DOUBLE PRECISION or TEXT",
        ),
        (
            Date,
            "03/04/2021",
            "found '/' where a digit is expected; set DATE_FORMAT '%m/%d/%Y' if the month comes first, or '%d/%m/%Y' if the \
             day does",
        ),
        (Date, "13/04/2021", "found '/' where a digit is expected; set DATE_FORMAT '%d/%m/%Y'"),
        (Date, "4-Mar-21", "found '-' where a digit is expected; set DATE_FORMAT '%d-%b-%y'"),
        (Timestamp, "31.12.1999 23:59", "found '.' where a digit is expected; set TIMESTAMP_FORMAT '%d.%m.%Y %H:%M'"),
        (Time, "1:02 PM", "found ' ' where the end is expected; set TIME_FORMAT '%I:%M %p'"),
        (Int32, "N/A", "found 'N' where a number is expected; set NULL ('', 'N/A') if it stands for NULL"),
        (
            Int32,
            "\"\"",
            "is empty; give a value, or set QUOTED_NULLS (FORCE_NULL for some columns) if quoted empty fields are NULL",
        ),
        (
            Boolean,
            "ja",
            "neither true, yes, on, 1 nor false, no, off, 0; list the words for true in TRUE_VALUES and those for false \
             in FALSE_VALUES, 'ja' among them, or declare the column TEXT",
        ),
        (Int16, "99999", "out of range; declare the column INTEGER or BIGINT"),
    ] {
        assert_eq!(told(&FieldRule::new(value_type), raw), expected);
    }
}

#[test]
fn other_spellings_are_named_in_reasons() {
    let date_time_format = Some(DateTimeFormat::new(&["%d.%m.%Y", "us"]).unwrap());
    let rule = FieldRule { date_time_format, ..FieldRule::new(Date) };
    assert_eq!(value(&rule, "3/4/2021"), value(&FieldRule::new(Date), "2021-03-04"));
    assert_eq!(
        told(&rule, "2021-03-04"),
        "not of the format '%d.%m.%Y' or 'us': found '2' where '.' is expected; add 'iso' to DATE_FORMAT"
    );
    assert_eq!(
        told(&rule, "31.02.2021"),
        "not of the format '%d.%m.%Y' or 'us': the month has no such day; write it as '%d.%m.%Y' or 'us', add the \
         format that it has to DATE_FORMAT, or declare the column TEXT"
    );
    let rule = FieldRule { decimal_separator: b',', ..FieldRule::new(PRICE) };
    assert_eq!(told(&rule, "1.5"), "found '.' where a digit is expected; set DECIMAL_SEPARATOR '.'");
    assert_eq!(value(&rule, "\"-1,5\""), Ok(Cell::Number(-150)));
    let rule = FieldRule { thousands_separator: Some(','), ..FieldRule::new(Int64) };
    assert_eq!(value(&rule, "\"1,234,567\""), Ok(Cell::Number(1_234_567)));
    assert_eq!(value(&rule, "\"1,234,56\""), Err(Reason::Grouping));
}

#[test]
fn blanks_around_fields_are_trimmed_on_request() {
    let rule = FieldRule { trim: true, null_texts: nulls(&[b"", b"NA"]), ..FieldRule::new(Text) };
    let text = |text: &str| Ok(Cell::Bytes(text.as_bytes().to_vec()));
    assert_eq!(value(&rule, " a b\t"), text("a b"));
    assert_eq!(value(&rule, "  \" a \" "), text(" a "));
    assert_eq!(value(&rule, " NA "), Ok(Cell::Null));
    assert_eq!(value(&rule, "  "), Ok(Cell::Null));
    assert_eq!(value(&rule, " \"NA\""), text("NA"));
}

#[test]
fn rules_that_contradict_themselves_are_refused() {
    let comma = Dialect::default();
    let rule = FieldRule::new(PRICE);
    let bare = Dialect::new(b',', None, None).unwrap();
    let apostrophe = Dialect::new(b';', Some(b'\''), None).unwrap();
    let error = |rule: FieldRule, dialect: &Dialect| rule.check(dialect).unwrap_err().to_string();
    assert_eq!(FieldRule { decimal_separator: b',', ..rule.clone() }.check(&comma), Ok(()));
    for (rule, dialect, expected) in [
        (
            FieldRule { decimal_separator: b',', ..rule.clone() },
            bare,
            "DECIMAL_SEPARATOR is ',', which no field can hold",
        ),
        (
            FieldRule { thousands_separator: Some('\''), ..rule.clone() },
            apostrophe,
            "THOUSANDS_SEPARATOR is '\\'', which no field can hold",
        ),
        (
            FieldRule { thousands_separator: Some('.'), ..rule.clone() },
            comma,
            "DECIMAL_SEPARATOR and THOUSANDS_SEPARATOR are both '.'",
        ),
        (FieldRule { decimal_separator: b'5', ..rule.clone() }, comma, "DECIMAL_SEPARATOR cannot be '5'"),
        (FieldRule { thousands_separator: Some('-'), ..rule.clone() }, comma, "THOUSANDS_SEPARATOR cannot be '-'"),
        (FieldRule { null_texts: nulls(&[b"", b"a,b"]), ..rule.clone() }, comma, "the NULL text \"a,b\" contains ','"),
        (FieldRule { trim: true, null_texts: nulls(&[b" "]), ..rule.clone() }, comma, "the NULL text \" \" begins"),
        (
            FieldRule { trim: true, ..rule.clone() },
            Dialect::new(b',', Some(b' '), None).unwrap(),
            "TRIM would take off the quotes",
        ),
        (
            FieldRule {
                boolean_words: BooleanWords { truths: Some(nulls(&[b"No"])), falsehoods: None },
                ..FieldRule::new(Boolean)
            },
            comma,
            "\"No\" of TRUE_VALUES means the opposite as well",
        ),
        (
            FieldRule { date_time_format: Some(DateTimeFormat::new(&["%H:%M"]).unwrap()), ..FieldRule::new(Date) },
            comma,
            "'%H:%M': has no year (%Y or %y)",
        ),
    ] {
        let found = error(rule, &dialect);
        assert!(found.starts_with(expected), "{found}");
    }
}
