//! Every decoder with other spellings than the default against its exact twin: valid fields, and fields with a byte
//! changed, inserted or removed, quoted and unquoted, with blanks around them.

use crate::decoding::seeds::seeds;
use crate::decoding::{Field, check, dialects, mutate, nulls};
use longshore_csv::{BooleanWords, DateTimeFormat, Dialect, FieldRule, ValueType};
use longshore_testing::{Random, share};

/// Checks fields made of `seeds`: as they are, mutated, quoted, with blanks around. Returns how many are values.
fn check_around(rule: &FieldRule, dialect: &Dialect, seeds: &[Vec<u8>], random: &mut Random) -> usize {
    const BLANKS: [&[u8]; 4] = [b"", b" ", b"\t ", b"  "];
    let (mut plain, mut mixed) = (Vec::new(), Vec::new());
    for _ in 0..share(100) {
        let seed = if random.below(10) == 0 && !rule.null_texts.is_empty() {
            rule.null_texts[random.below(rule.null_texts.len())].to_vec()
        } else {
            seeds[random.below(seeds.len())].clone()
        };
        let content = if random.below(3) == 0 { mutate(&seed, random) } else { seed };
        let around = |raw: &[u8], random: &mut Random| [random.pick(&BLANKS), raw, random.pick(&BLANKS)].concat();
        let bare = if random.below(3) == 0 { around(&content, random) } else { content.clone() };
        plain.extend(Field::from_raw(&bare, dialect).filter(|field| !field.quoted));
        mixed.extend(Field::from_raw(&bare, dialect));
        if dialect.quote().is_some() {
            let field = Field::quoted(&content, dialect);
            mixed.extend(Field::from_raw(&around(&field.raw, random), dialect));
            mixed.extend(Field::from_raw(&mutate(&field.raw, random), dialect));
            mixed.push(field);
        }
    }
    check(rule, dialect, &plain) + check(rule, dialect, &mixed)
}

fn bytes(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

#[test]
fn several_null_texts_and_trimming() {
    let mut random = Random::new(3);
    for (value_type, seeds) in seeds() {
        let rule = FieldRule::new(value_type);
        let rules = [
            FieldRule { null_texts: nulls(&[b"", b"NA", b"null", b"\\N"]), ..rule.clone() },
            FieldRule { null_texts: nulls(&[b"NA", b"0", b"1996-03-13", b"t", b"a string"]), ..rule.clone() },
            FieldRule { null_texts: nulls(&[b"-", b"", b"7"]), quoted_nulls: true, ..rule.clone() },
            FieldRule { null_texts: nulls(&[b"x", b"0"]), force_not_null: true, quoted_nulls: true, ..rule.clone() },
            FieldRule { null_texts: nulls(&[b"x", b""]), nullable: false, ..rule.clone() },
            FieldRule { null_texts: Vec::new(), quoted_nulls: true, ..rule.clone() },
            FieldRule { trim: true, ..rule.clone() },
            FieldRule { trim: true, null_texts: nulls(&[b"NA", b"a b"]), quoted_nulls: true, ..rule.clone() },
            FieldRule { trim: true, force_not_null: true, ..rule },
        ];
        for rule in rules {
            for dialect in &dialects() {
                check_around(&rule, dialect, &bytes(&seeds), &mut random);
            }
        }
    }
}

/// The number with separators, its digits grouped if that is asked for.
fn separated(number: &str, decimal: char, thousands: Option<char>) -> String {
    let (sign, rest) = number.split_at(number.len() - number.trim_start_matches(['-', '+', ' ']).len());
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (integer, fraction) = rest.split_at(end);
    let mut grouped = String::new();
    for (place, digit) in integer.chars().enumerate() {
        if place > 0 && (integer.len() - place).is_multiple_of(3) {
            grouped.extend(thousands);
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{}", fraction.replace('.', &decimal.to_string()))
}

#[test]
fn separators_of_other_countries() {
    let mut random = Random::new(4);
    let separators = [(b',', None), (b',', Some('.')), (b'.', Some(',')), (b',', Some(' ')), (b'.', Some('\''))];
    let wide = [(b',', Some('\u{202F}')), (b';', Some('\u{A0}'))];
    for (value_type, seeds) in seeds().into_iter().filter(|(value_type, _)| value_type.is_number()) {
        for (decimal, thousands) in separators.into_iter().chain(wide) {
            let rule = FieldRule {
                decimal_separator: decimal,
                thousands_separator: thousands,
                null_texts: nulls(&[b"", b"0"]),
                ..FieldRule::new(value_type)
            };
            let grouped = seeds.iter().map(|seed| separated(seed, char::from(decimal), thousands));
            let ungrouped = seeds.iter().map(|seed| separated(seed, char::from(decimal), None));
            let seeds: Vec<Vec<u8>> = grouped.chain(ungrouped).map(String::into_bytes).collect();
            let dialects = dialects();
            let some = [dialects[0], random.pick(&dialects), random.pick(&dialects)];
            let values: usize =
                some.into_iter().map(|dialect| check_around(&rule, &dialect, &seeds, &mut random)).sum();
            assert!(values > share(50), "{rule:?}: {values}");
        }
    }
}

#[test]
fn other_words_for_booleans() {
    let mut random = Random::new(5);
    let words = |words: &[&[u8]]| Some(nulls(words));
    let seeds =
        bytes(&["ja", "Nein", "JA", "x", "", "t", "true", "false", "0", "off", "wahr", "oui", "\u{4f}ui", "si"]);
    for boolean_words in [
        BooleanWords { truths: words(&[b"ja", b"oui", b"x"]), falsehoods: words(&[b"nein", b"non", b""]) },
        BooleanWords { truths: words(&[b"x", "s\u{ed}".as_bytes()]), falsehoods: None },
        BooleanWords { truths: None, falsehoods: words(&[b"-", b"falsch"]) },
    ] {
        for trim in [false, true] {
            let rule = FieldRule {
                boolean_words: boolean_words.clone(),
                trim,
                null_texts: nulls(&[b"NA"]),
                ..FieldRule::new(ValueType::Boolean)
            };
            for dialect in &dialects() {
                check_around(&rule, dialect, &seeds, &mut random);
            }
        }
    }
}

const DATES_AND_TIMES: &str = "\
    03/04/2021|3/4/2021|13/04/2021|12-31-1999|31.12.1999|1.1.2000|29.02.2000|29.02.1900|03/04/2021 12:34:56|\
    03/04/2021 1:02 PM|03/04/2021 12:00 AM|31.12.1999 23:59:59.999999|31.12.9999 23:59:59.9999999|12:34:56|1:2:3|\
    12:34 pm|13:00 PM|20210304|20210304T123456Z|20210304123456|04-Mar-2021|4 march 2021|Mar 4, 2021|\
    Thu Mar  4 12:34:56 2021|Fri, 04 Mar 2021 12:34:56 GMT|Thu, 04 Mar 2021 12:34:56 +0200|1614861296|-1|0|\
    1614861296.25|1614861296250|99999999999999999999|2021-03-04|2021-03-04 12:34:56|2021-060|2021-366|2020-366|\
    69-01-01|68-01-01|2021-03-04T12:34:56.123456789+05:30|00:00:00|24:00:00|2021|2021-03|03/04/2021 00:00:00|\
    2021\u{5e74}03\u{6708}04\u{65e5}";

#[test]
fn dates_and_times_of_other_formats() {
    let mut random = Random::new(6);
    let seeds: Vec<Vec<u8>> = DATES_AND_TIMES.split('|').map(|seed| seed.as_bytes().to_vec()).collect();
    let mut formats: Vec<DateTimeFormat> = DateTimeFormat::candidates().to_vec();
    let lists: [&[&str]; 14] = [
        &["us"],
        &["eu"],
        &["iso", "us"],
        &["eu", "us", "iso"],
        &["%d.%m.%Y", "%m/%d/%Y"],
        &["epoch"],
        &["epoch_ms"],
        &["epoch_us"],
        &["%Y-%j"],
        &["%y-%m-%d"],
        &["%FT%T.%f%z"],
        &["%R", "%T"],
        &["%Y", "%Y-%m"],
        &["%Y\u{5e74}%m\u{6708}%d\u{65e5}"],
    ];
    formats.extend(lists.iter().map(|list| DateTimeFormat::new(list).unwrap()));
    let mut values = 0;
    for value_type in [ValueType::Date, ValueType::Time, ValueType::Timestamp, ValueType::TimestampTz] {
        for format in formats.iter().filter(|format| format.check(value_type).is_ok()) {
            let rule = FieldRule {
                date_time_format: Some(format.clone()),
                null_texts: nulls(&[b"", b"00.00.0000"]),
                ..FieldRule::new(value_type)
            };
            let dialects = dialects();
            for dialect in [dialects[0], random.pick(&dialects)] {
                values += check_around(&rule, &dialect, &seeds, &mut random);
            }
        }
    }
    assert!(values > share(5_000), "{values}");
}
