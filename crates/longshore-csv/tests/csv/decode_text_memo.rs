//! Columns of text that have the same few fields over and over: what a memo remembers of them.

use longshore_csv::format::Missing;
use longshore_csv::{Decoder, Dialect, FieldRule, RowText, ValueType};
use longshore_testing::{Random, share};

use crate::decoding::memo::has_codes;
use crate::decoding::{Field, check, nulls};

/// So many different texts, of up to so many bytes.
fn texts(count: usize, bytes_max: usize, random: &mut Random) -> Vec<String> {
    let tail = |random: &mut Random| {
        let characters = ["a", "b", " ", "\u{e4}", "\u{1F600}", "x\0"];
        let mut text = String::new();
        for _ in 0..random.below(bytes_max) {
            text.push_str(random.pick(&characters));
        }
        while text.len() > bytes_max.saturating_sub(3) {
            text.pop();
        }
        text
    };
    let mut texts: Vec<String> = (0..count).map(|at| format!("{}{at}", tail(random))).collect();
    texts[0].clear();
    texts
}

#[test]
fn few_fields_in_many_rows() {
    let mut random = Random::new(5);
    let dialect = Dialect::default();
    for _ in 0..share(150) {
        let count = [1, 2, 3, 10, 100, 256, 257, 300][random.below(8)];
        let bytes_max = [4, 8, 12, 16, 30, 60][random.below(6)];
        let texts = texts(count, bytes_max, &mut random);
        let value_type = match random.below(4) {
            0 => ValueType::Text,
            1 => ValueType::Char(25),
            2 => ValueType::Varchar(60),
            // Some are too long.
            _ => ValueType::Varchar(9),
        };
        let rule = FieldRule {
            null_texts: nulls([&[&b""[..]][..], &[b"\\N"], &[b"", b"a1"]][random.below(3)]),
            nullable: !random.once_in(8),
            trim: random.once_in(4),
            ..FieldRule::new(value_type)
        };
        let is_quoted = random.below(3);
        let field = |text: &String, random: &mut Random| {
            let raw = Field::from_raw(text.as_bytes(), &dialect).filter(|_| random.below(3) >= is_quoted);
            raw.unwrap_or_else(|| Field::quoted(text.as_bytes(), &dialect))
        };
        let rows = [1, 63, 64, 65, 700, 1500][random.below(6)];
        let fields: Vec<Field> = (0..rows)
            .map(|_| {
                let text = &texts[random.below(texts.len())];
                field(text, &mut random)
            })
            .collect();
        check(&rule, &dialect, &fields);
    }
}

/// The rows of these texts in one column.
fn rows_of<'a>(texts: impl Iterator<Item = &'a str>) -> RowText {
    let mut rows = RowText::new(vec![Missing::default()], 0);
    for text in texts {
        rows.push_quoted(text.as_bytes(), 0);
        rows.end_record(0, 0);
    }
    rows.seal();
    rows
}

#[test]
fn what_has_codes() {
    let decoder = Decoder::new(FieldRule::new(ValueType::Varchar(60)), RowText::dialect());
    let of = |texts: &[String]| {
        let twice = || texts.iter().chain(texts).map(String::as_str);
        has_codes(&decoder, rows_of(twice()).rows(), 0)
    };
    let numbered = |count: usize| (0..count).map(|at| format!("a text of {at}")).collect::<Vec<_>>();
    for count in [1, 2, 60, 256] {
        assert!(of(&numbered(count)), "{count} texts");
    }
    assert!(!of(&numbered(257)), "codes take a byte");
    assert!(of(&["x".repeat(28)]));
    assert!(!of(&["x".repeat(40)]), "a long field");
    assert!(!of(&["a".to_owned(), "x".repeat(61)]), "a bad field");
}
