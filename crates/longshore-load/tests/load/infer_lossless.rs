//! Types that are found out lose nothing: every value of generated columns of mixed texts reads back as itself, or as
//! what its type writes for the same value, and which that is, is told here by other means than the decoders'.

use crate::harness::infer::{file, input, request};
use crate::harness::rejects::some_of;
use crate::harness::{Machine, comma, dump, machines};
use longshore_csv::reference::{self, RawField};
use longshore_format::sniff::types::COMMON_NULL_TEXTS;
use longshore_format::sniff::{Given, QuoteChoice};
use longshore_load::{Control, InferRequest, TextFormat, load_inferred};
use longshore_storage::ColumnType;
use longshore_testing::{Random, share};

/// Texts of one kind each; a column mixes some of them.
const KINDS: [&[&str]; 18] = [
    &["0", "1", "42", "-7", "2147483647", "-2147483648"],
    &["2147483648", "-9223372036854775808", "9223372036854775807", "3000000000"],
    &["9223372036854775808", "99999999999999999999", "12345678901234567890123456789012345678"],
    &["123456789012345678901234567890123456789", "-170141183460469231731687303715884105729"],
    &["007", "00", "-0", "+5", "01.5", "1_000", "0x1F", "--1", "1-1"],
    &["1.5", "-0.25", "1.50", "100.000", ".5", "7.", "0.1", "-.75", "123456789012345678.123456789012345678"],
    &["1e5", "1E-3", "-2.5e10", "1e400", "4.9e-324", "1.7976931348623157e308", "1e05"],
    &["0.1234567890123456789", "1.00000000000000000001", "12345678901234567.5"],
    &["nan", "NaN", "inf", "-Infinity", "Infinity"],
    &["true", "FALSE", "True", "t", "f", "yes"],
    &["2024-01-31", "1999-12-31", "2024-02-29", "0001-01-01", "9999-12-31"],
    &["2023-02-29", "2024-13-01", "2024-1-5", "24-01-01", "2024-01-32"],
    &["01/02/2024", "03/04/2024", "11/12/2023", "13/01/2024", "12/25/2024", "1/2/2024"],
    &["31.12.2023", "01.02.2024", "5.6.2024", "2024.01.02"],
    &["12:30:00", "23:59:59.999999", "12:30", "12:30:00.1234567", "24:00:00"],
    &["2024-01-31 12:30:00", "2024-01-31T12:30:00.5", "2024-01-31 12:30:00+02", "2024-01-31T12:30:00Z"],
    &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99"],
    &["", "NA", "null", "-", "n/a", "x", " 5", "6 ", "ä", "a,b", "say \"x\""],
];

/// A number as its digits, without zeros at either end, and the place of its point; `None` if it is none.
fn number(text: &str) -> Option<(bool, String, i64)> {
    let text = text.trim();
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, 0), |(m, e)| (m, e.parse().unwrap_or(i64::MAX)));
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{behind}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) || exponent == i64::MAX {
        return None;
    }
    let mut point = before.len() as i64 + exponent;
    let significant = digits.trim_start_matches('0');
    point -= (digits.len() - significant.len()) as i64;
    let significant = significant.trim_end_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    Some((negative, significant.to_owned(), point))
}

/// Year, month and day of a date of numbers, by the order of these.
fn date(text: &str, order: [usize; 3]) -> Option<String> {
    if text.contains('.') && order == [2, 0, 1] {
        // Nobody writes months before days with points.
        return None;
    }
    let parts: Vec<u32> = text.trim().split(['/', '.', '-']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = order.map(|place| parts.get(place).copied());
    let (year, month, day) = (year?, month?, day?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let is_date = parts.len() == 3 && (1..=12).contains(&month) && day >= 1 && day <= days[month as usize - 1];
    is_date.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [2, 1, 0], [2, 0, 1]];

/// Whether `read`, of a column of this type, is the value that `text` says.
fn is_same(text: &str, read: &str, column_type: &ColumnType) -> bool {
    let trimmed = text.trim();
    match column_type {
        ColumnType::Text => text == read,
        // Zero has no sign but in a double.
        ColumnType::Integer | ColumnType::BigInt => trimmed == read || trimmed == "-0" && read == "0",
        ColumnType::Decimal { .. } => {
            let leads = trimmed.trim_start_matches('-');
            let plain = !leads.contains(['e', 'E', '+'])
                && (!leads.starts_with('0') || leads == "0" || leads.starts_with("0."));
            plain && number(trimmed).is_some() && number(trimmed) == number(read)
        }
        ColumnType::Double => {
            let special = |text: &str| text.to_lowercase().replace("infinity", "inf");
            (number(trimmed).is_some() && number(trimmed) == number(read)) || special(trimmed) == special(read)
        }
        ColumnType::Boolean => matches!((&*trimmed.to_lowercase(), read), ("true", "t") | ("false", "f")),
        ColumnType::Date => ORDERS.iter().any(|order| date(trimmed, *order).as_deref() == Some(read)),
        ColumnType::Time => {
            let full = if trimmed.len() == 5 { format!("{trimmed}:00") } else { trimmed.to_owned() };
            full == read
        }
        // A date is the begin of its day.
        ColumnType::Timestamp if !trimmed.contains([' ', 'T']) => {
            date(trimmed, [0, 1, 2]).is_some_and(|date| format!("{date} 00:00:00") == read)
        }
        ColumnType::Timestamp => trimmed.replace('T', " ").trim_end_matches('0') == read.trim_end_matches('0'),
        ColumnType::TimestampTz => {
            let utc = trimmed.replace('T', " ").replace('Z', "+00");
            utc == read || utc.replace("12:30:00+02", "10:30:00+00") == read
        }
        ColumnType::Uuid => trimmed.eq_ignore_ascii_case(read),
        other => panic!("no column is inferred as {other}"),
    }
}

/// A field of CSV, quoted where it must be, and sometimes where it need not.
fn field(text: &str, quoted: bool) -> String {
    if quoted || text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn records(text: &[u8]) -> Vec<Vec<RawField>> {
    let TextFormat::Csv(dialect) = comma().format else { panic!("comma() is CSV") };
    reference::records(text, &dialect).expect("CSV").into_iter().map(|record| record.fields).collect()
}

fn given() -> Given {
    Given {
        delimiter: Some(b",".to_vec()),
        quote: Some(QuoteChoice::Byte(b'"')),
        header: Some(false),
        trailing_delimiter: Some(false),
        skip_lines: Some(0),
        comment: Some(Vec::new()),
        decimal_separator: Some(b'.'),
        ..Given::default()
    }
}

/// Loads one column beside a key, and checks every value.
fn check(machine: &Machine, values: &[(String, bool)]) {
    let lines: Vec<String> =
        values.iter().enumerate().map(|(key, (text, quoted))| format!("k{key},{}\n", field(text, *quoted))).collect();
    let text = lines.concat();
    let file = file(text.as_bytes());
    let mut request = InferRequest { given: given(), ..request(&machine.tuning) };
    request.options.mode = machine.mode;
    let (relation, inferred, _) = load_inferred(vec![input(file.path(), machine.stream)], &request, &Control::new())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let column_type = inferred.columns[1].column_type;
    let told = format!("{machine:?}, {column_type} ({})\n{text}", inferred.columns[1].reason);
    let rows = records(dump(&relation).as_bytes());
    assert_eq!(rows.len(), values.len(), "{told}");
    for (row, (text, _)) in rows.iter().zip(values) {
        let read = String::from_utf8(row[1].value.clone()).expect("UTF-8");
        if row[1].quoted {
            assert!(is_same(text, &read, &column_type), "{text:?} became {read:?}; {told}");
        } else {
            let is_common = COMMON_NULL_TEXTS.contains(&&**text) && column_type != ColumnType::Text;
            assert!(text.is_empty() || is_common, "{text:?} became NULL; {told}");
        }
    }
    if column_type == ColumnType::Date {
        let texts: Vec<&str> = values.iter().map(|(text, _)| text.trim()).collect();
        let is_value = |text: &&&str| !text.is_empty() && !COMMON_NULL_TEXTS.contains(*text);
        let fits = |order: &&[usize; 3]| texts.iter().filter(is_value).all(|text| date(text, **order).is_some());
        let fitting: Vec<Vec<Option<String>>> =
            ORDERS.iter().filter(fits).map(|order| texts.iter().map(|text| date(text, *order)).collect()).collect();
        let open = fitting.iter().any(|dates| *dates != fitting[0]);
        assert!(!fitting.is_empty() && !open, "no order of day and month is told; {told}");
    }
}

#[test]
fn every_value_of_mixed_columns_reads_back() {
    let all: Vec<Machine> = machines();
    let mut random = Random::new(41);
    for turn in 0..share(1200) {
        let kinds: Vec<&[&str]> = (0..=random.below(3)).map(|_| KINDS[random.below(KINDS.len())]).collect();
        let count = 1 + random.below([3, 8, 40][turn % 3]);
        let value = |random: &mut Random| {
            // The first kind is the usual one, so that others come late.
            let kind = if random.below(3) > 0 { kinds[0] } else { kinds[random.below(kinds.len())] };
            (random.pick(kind).to_owned(), random.below(6) == 0)
        };
        let values: Vec<(String, bool)> = (0..count).map(|_| value(&mut random)).collect();
        for machine in some_of(&mut random, &all, 2) {
            check(&machine, &values);
        }
    }
}

#[test]
fn each_kind_alone_and_each_pair_of_values() {
    let machine = &machines()[7];
    let all: Vec<&str> = KINDS.concat();
    for one in &all {
        check(machine, &[((*one).to_owned(), false)]);
    }
    let mut random = Random::new(42);
    for _ in 0..share(2000) {
        let pair = [random.pick(&all), random.pick(&all)].map(|text| (text.to_owned(), random.below(4) == 0));
        check(machine, &pair);
    }
}
