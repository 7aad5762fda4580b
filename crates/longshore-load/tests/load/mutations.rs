//! Rows of TPC-H, quoted rows and random bytes, mutated at random and loaded on random machines: every one must agree
//! with the slow twin, or fail with the same message as all others.

use std::sync::Arc;

use crate::harness::{Machine, check_on, comma, machines, pipe, schema, texts};
use longshore_load::{Dialect, Header, TextOptions};
use longshore_storage::{ColumnType, Schema};
use longshore_testing::{Random, share};
use longshore_value::numeric::Limit;

/// Machines that each text is tried on.
const MACHINES_PER_TEXT: usize = 6;

fn lineitem() -> Arc<Schema> {
    let money = ColumnType::Decimal { precision: 15, scale: 2 };
    schema(&[
        ColumnType::BigInt,
        ColumnType::Integer,
        ColumnType::Integer,
        ColumnType::SmallInt,
        money,
        money,
        money,
        money,
        ColumnType::Text,
        ColumnType::Text,
        ColumnType::Date,
        ColumnType::Date,
        ColumnType::Date,
        ColumnType::Text,
        ColumnType::Text,
        ColumnType::Text,
    ])
}

fn lineitem_text(random: &mut Random, delimiter: char, quoted: bool, rows: usize) -> String {
    let mut text = String::new();
    for _ in 0..rows {
        let fields = [
            random.below(6_000_000).to_string(),
            random.below(200_000).to_string(),
            random.below(10_000).to_string(),
            random.below(8).to_string(),
            random.below(51).to_string(),
            format!("{}.{:02}", random.below(100_000), random.below(100)),
            format!("0.{:02}", random.below(11)),
            format!("0.{:02}", random.below(9)),
            "ARN"[random.below(3)..].chars().take(1).collect(),
            "OF"[random.below(2)..].chars().take(1).collect(),
            format!("199{}-{:02}-{:02}", random.below(9), 1 + random.below(12), 1 + random.below(28)),
            format!("199{}-{:02}-{:02}", random.below(9), 1 + random.below(12), 1 + random.below(28)),
            format!("199{}-{:02}-{:02}", random.below(9), 1 + random.below(12), 1 + random.below(28)),
            ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"][random.below(4)].to_owned(),
            ["TRUCK", "MAIL", "REG AIR", ""][random.below(4)].to_owned(),
            "egular courts above the\n, \"final\" requests"[..random.below(40)].replace('"', "'"),
        ];
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                text.push(delimiter);
            }
            if quoted || field.contains('\n') || field.contains(delimiter) {
                text.push('"');
                text.push_str(field);
                text.push('"');
            } else {
                text.push_str(field);
            }
        }
        if delimiter == '|' {
            text.push('|');
        }
        text.push('\n');
    }
    text
}

/// Up to three changes: a byte replaced, removed, doubled, or a special one put in.
fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    const SPECIAL: &[u8] = b"\"\",|\n\r\\ -.0a\xc3\xa9\x00";
    for _ in 0..random.below(4) {
        if text.is_empty() {
            return;
        }
        let at = random.below(text.len());
        let special = SPECIAL[random.below(SPECIAL.len())];
        match random.below(5) {
            0 => text[at] = special,
            1 => text.insert(at, special),
            2 => drop(text.remove(at)),
            3 => text[at] = random.next() as u8,
            _ => text.truncate(at),
        }
    }
}

fn some_machines(random: &mut Random, all: &[Machine]) -> Vec<Machine> {
    (0..MACHINES_PER_TEXT).map(|_| all[random.below(all.len())].clone()).collect()
}

fn fuzz(seed: u64, texts: usize, schema: &Arc<Schema>, options: &TextOptions, make: impl Fn(&mut Random) -> Vec<u8>) {
    let all = machines();
    let mut random = Random::new(seed);
    for _ in 0..share(texts) {
        let mut text = make(&mut random);
        mutate(&mut random, &mut text);
        check_on(&some_machines(&mut random, &all), &text, schema, options);
    }
}

#[test]
fn mutated_rows_of_dbgen() {
    fuzz(1, 600, &lineitem(), &pipe(), |random| {
        let rows = random.below(12);
        lineitem_text(random, '|', false, rows).into_bytes()
    });
}

#[test]
fn mutated_rows_with_some_quotes() {
    fuzz(2, 600, &lineitem(), &comma(), |random| {
        let rows = random.below(12);
        lineitem_text(random, ',', false, rows).into_bytes()
    });
}

#[test]
fn mutated_rows_with_all_fields_quoted() {
    fuzz(3, 600, &lineitem(), &comma(), |random| {
        let rows = random.below(12);
        lineitem_text(random, ',', true, rows).into_bytes()
    });
}

#[test]
fn random_bytes_of_a_small_alphabet() {
    fuzz(4, 2_000, &texts(2), &comma(), |random| {
        (0..random.below(200)).map(|_| b"\",\n\rab\"\n"[random.below(8)]).collect()
    });
}

#[test]
fn random_bytes_with_an_escape_character() {
    let options = TextOptions {
        header: Header::Skip,
        ..TextOptions::new(Dialect::new(b';', Some(b'\''), Some(b'\\')).expect("a dialect"))
    };
    fuzz(5, 2_000, &texts(2), &options, |random| {
        (0..random.below(200)).map(|_| b"';\n\\ab'\\"[random.below(8)]).collect()
    });
}

#[test]
fn random_bytes() {
    fuzz(6, 1_000, &texts(1), &comma(), |random| (0..random.below(100)).map(|_| random.next() as u8).collect());
}

#[test]
fn random_numbers() {
    let types = [
        ColumnType::Integer,
        ColumnType::Double,
        ColumnType::Numeric(None),
        ColumnType::Numeric(Limit::new(50, 2)),
        ColumnType::Decimal { precision: 6, scale: 3 },
    ];
    fuzz(7, 2_000, &schema(&types), &comma(), |random| {
        let mut text = Vec::new();
        for _ in 0..random.below(5) {
            for column in 0..types.len() {
                text.push(b"17"[random.below(2)]);
                for _ in 0..random.below(6) {
                    text.push(b"0123456789.-+eE "[random.below(16)]);
                }
                text.push(if column + 1 == types.len() { b'\n' } else { b',' });
            }
        }
        text
    });
}
