//! What values become, and that the decoders and the fast checks agree with it.

use longshore_csv::decode::exact;
use longshore_testing::Random;

use super::*;

fn decide(values: &[&str]) -> Decision {
    let reading = Reading::default();
    let set = values.iter().fold(TypeSet::EVERY, |set, value| set.join(classify(value.as_bytes(), false, &reading)));
    set.decide(&reading)
}

fn type_of(values: &[&str]) -> String {
    decide(values).value_type.to_string()
}

#[test]
fn the_narrowest_type_without_loss() {
    for (values, expected) in [
        (&["1", "0", "-5"][..], "INTEGER"),
        (&["0", "1"], "INTEGER"),
        (&["2147483648"], "BIGINT"),
        (&["-9223372036854775808", "5"], "BIGINT"),
        (&["9223372036854775808"], "DECIMAL(38,0)"),
        (&["1", "2.50"], "DECIMAL(18,2)"),
        (&["12345678901234567.8", "0.25"], "DECIMAL(38,2)"),
        (&["1e5", "2.5"], "DOUBLE PRECISION"),
        (&["nan", "2.5", "-inf"], "DOUBLE PRECISION"),
        (&["5", "0.1", "1.7976931348623157e308"], "DOUBLE PRECISION"),
        (&["1e5", "12345678901234567.1234"], "TEXT"),
        (&["1e400"], "TEXT"),
        (&["123456789012345678901234567890123456789"], "TEXT"),
        (&["007", "8"], "TEXT"),
        (&["-01"], "TEXT"),
        (&["+49"], "TEXT"),
        (&["1,5"], "TEXT"),
        (&["true", "False"], "BOOLEAN"),
        (&["true", "1"], "TEXT"),
        (&["yes", "no"], "TEXT"),
        (&["t"], "TEXT"),
        (&["2024-02-29", "1999-1-1"], "DATE"),
        (&["2023-02-29"], "TEXT"),
        (&["2024-02-29", "2024-02-29 12:00"], "TIMESTAMP"),
        (&["2024-02-29T12:00:00.123456"], "TIMESTAMP"),
        (&["2024-02-29T12:00:00.1234567"], "TEXT"),
        (&["2024-02-29T12:00:00Z", "2024-02-29 12:00:00+02"], "TIMESTAMP WITH TIME ZONE"),
        (&["2024-02-29T12:00:00Z", "2024-02-29 12:00:00"], "TEXT"),
        (&["12:30", "9:05:06.5"], "TIME"),
        (&["3:2"], "TEXT"),
        (&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "UUID"),
        (&["{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}"], "UUID"),
        (&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"], "TEXT"),
        (&["a0ee-bc99-9c0b-4ef8-bb6d6bb9bd380a11"], "TEXT"),
        (&[" a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"], "TEXT"),
        (&["12/31/2024", "01/02/2024"], "DATE"),
        (&["31/12/2024 08:15", "01/02/2024 9:00"], "TIMESTAMP"),
        (&["01/02/2024"], "TEXT"),
        (&["12/31/2024", "31/12/2024"], "TEXT"),
        (&["01.02.2024"], "DATE"),
        (&["5-Jan-2024"], "DATE"),
        (&["01/02/24"], "TEXT"),
        (&[""], "TEXT"),
        (&["x"], "TEXT"),
    ] {
        assert_eq!(type_of(values), expected, "{values:?}");
    }
}

#[test]
fn common_null_texts_count_where_they_give_a_type() {
    let typed = decide(&["NA", "5", "-"]);
    assert_eq!((typed.value_type, typed.null_texts), (InferredType::Integer, vec!["NA", "-"]));
    assert!(typed.reason.contains("taking 'NA', '-' for NULL"), "{}", typed.reason);
    let text = decide(&["NA", "x"]);
    assert_eq!((text.value_type, text.null_texts.len(), text.is_settled()), (InferredType::Text, 0, true));
    let open = decide(&["NA"]);
    assert_eq!((open.value_type, open.null_texts.len(), open.is_settled()), (InferredType::Text, 0, false));
}

#[test]
fn an_order_of_day_and_month_is_not_guessed() {
    let open = decide(&["01/02/2024"]);
    assert!(open.open == Some(OpenQuestion::DateOrder) && open.reason.contains("DATE_ORDER"), "{}", open.reason);
    let reading = Reading { date_order: Some(DateOrder::DayFirst), ..Reading::default() };
    let set = classify(b"01/02/2024", false, &reading);
    assert_eq!(set.decide(&reading).reason, "every value is DATE as %d/%m/%Y");
    let settled = set.join(classify(b"12/31/2024", false, &reading));
    assert_eq!(settled.decide(&reading).reason, "every value is DATE as %m/%d/%Y");
}

#[test]
fn a_decimal_comma_is_read_where_it_is_the_separator() {
    let reading = Reading { decimal_separator: b',', thousands_separator: Some(b'.'), ..Reading::default() };
    let decide = |text: &[u8]| classify(text, false, &reading).decide(&reading).value_type.to_string();
    assert_eq!(decide(b"1,50"), "DECIMAL(18,2)");
    assert_eq!(decide(b"1.234.567,5"), "DECIMAL(18,1)");
    assert_eq!(decide(b"1.5"), "TEXT");
    assert_eq!(decide(b"12"), "INTEGER");
}

#[test]
fn blanks_around_uuids_do_not_count_where_fields_are_trimmed() {
    let reading = Reading { trim: true, ..Reading::default() };
    let decide = |text: &[u8], quoted| classify(text, quoted, &reading).decide(&reading).value_type;
    let padded = b" \ta0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 ";
    assert_eq!((decide(padded, false), decide(padded, true)), (InferredType::Uuid, InferredType::Text));
}

/// What the decoders read, for the types that `classify` admits.
fn reads(content: &[u8], value_type: &InferredType) -> bool {
    match *value_type {
        InferredType::Boolean => exact::boolean(content).is_ok(),
        InferredType::Integer => exact::int32(content).is_ok(),
        InferredType::BigInt => exact::int64(content).is_ok(),
        InferredType::Decimal { precision, scale } => exact::decimal128(content, precision, scale).is_ok(),
        InferredType::Double => exact::float64(content).is_ok(),
        InferredType::Date(None) => exact::date(content).is_ok(),
        InferredType::Time => exact::time(content).is_ok(),
        InferredType::Timestamp(None) => exact::timestamp(content).is_ok(),
        InferredType::TimestampTz => exact::timestamptz(content).is_ok(),
        InferredType::Uuid => exact::uuid(content).is_ok(),
        InferredType::Text | InferredType::Date(_) | InferredType::Timestamp(_) => true,
    }
}

const TYPES: [InferredType; 13] = [
    InferredType::Boolean,
    InferredType::Integer,
    InferredType::BigInt,
    InferredType::Decimal { precision: 18, scale: 0 },
    InferredType::Decimal { precision: 18, scale: 2 },
    InferredType::Decimal { precision: 38, scale: 10 },
    InferredType::Double,
    InferredType::Date(None),
    InferredType::Time,
    InferredType::Timestamp(None),
    InferredType::TimestampTz,
    InferredType::Uuid,
    InferredType::Text,
];

/// Words from pieces that numbers, dates and words consist of.
fn words() -> impl Iterator<Item = String> {
    const PIECES: [&str; 33] = [
        "0",
        "1",
        "7",
        "12",
        "2024",
        "-",
        "+",
        ".",
        "e",
        "E5",
        ":",
        "05",
        "30",
        "2024-01-31",
        "T",
        " ",
        "12:30:00",
        "Z",
        "+02",
        "true",
        "f",
        "NA",
        "99999999",
        ".123456",
        ".1234567",
        "\"",
        "/",
        "31",
        "00",
        "nan",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "a0ee-bc99-9c0b-4ef8-bb6d6bb9bd380a11",
    ];
    let mut random = Random::new(1);
    let mut below = move |bound: usize| random.below(bound);
    (0..25_000).map(move |_| (0..=below(4)).map(|_| PIECES[below(PIECES.len())]).collect())
}

#[test]
fn decoders_read_what_is_admitted() {
    let reading = Reading::default();
    for word in words() {
        let set = classify(word.as_bytes(), false, &reading);
        for value_type in &TYPES {
            let null = COMMON_NULL_TEXTS.contains(&word.as_str());
            assert!(null || !set.admits(value_type) || reads(word.as_bytes(), value_type), "{word:?} as {value_type}");
        }
    }
}

#[test]
fn fast_checks_agree_with_exact_ones() {
    use longshore_csv::{Dialect, Kernel, Marks, PADDING, Padded, Rows, Scanner, Shape, TextTraits};
    let (reading, dialect) = (Reading::default(), Dialect::default());
    let nulls = Nulls { texts: vec![Box::default()], quoted: false, trim: false };
    let mut marks = Marks::new();
    for word in words() {
        for field in [word.replace('"', ""), format!("\"{}\"", word.replace('"', "\"\""))] {
            let mut text = format!("{field}\n").into_bytes();
            let length = text.len();
            text.resize(length + PADDING, 0);
            let padded = Padded::new(&text, length);
            Scanner::new(Kernel::best(), &dialect, TextTraits::ALL).scan(padded, &mut marks);
            let shape = Shape { fields: 1, trailing_delimiter: false };
            let records = Rows::new(padded, &mut marks, shape, TextTraits::ALL, &dialect);
            let set = classify_column(&records.rows, 0, &nulls, &reading);
            let quoted = field.starts_with('"');
            let content = if quoted { word.clone() } else { field.clone() };
            for value_type in &TYPES {
                let admitted = content.is_empty() && !quoted || set.admits(value_type);
                if admitted || reads(content.as_bytes(), value_type) {
                    let verified = verify(&records.rows, 0, value_type, &nulls, &reading);
                    assert_eq!(verified, admitted, "{field:?} as {value_type}");
                }
            }
        }
    }
}

#[test]
fn layouts_have_a_format_each() {
    let formats: std::collections::BTreeSet<_> = Layout::all().map(Layout::format).collect();
    assert_eq!(formats.len(), Layout::all().count());
    assert!(formats.contains("%d.%m.%Y %H:%M:%S"), "{formats:?}");
}
