//! Every decoder of every kernel against its exact twin: valid fields, and fields with a byte changed, inserted
//! or removed, quoted and unquoted.

use crate::decoding::seeds::seeds;
use crate::decoding::{Field, check, dialects, mutate, nulls};
use longshore_csv::{Dialect, FieldRule, ValueType};
use longshore_testing::{Random, parts, share};

/// A few ways in which NULL may be written.
fn rules(value_type: ValueType) -> Vec<FieldRule> {
    let rule = FieldRule::new(value_type);
    vec![
        FieldRule { null_texts: nulls(&[b"\\N"]), ..rule.clone() },
        FieldRule { null_texts: nulls(&[b"NULL"]), nullable: false, ..rule.clone() },
        FieldRule { null_texts: nulls(&[b"0"]), quoted_nulls: true, ..rule.clone() },
        FieldRule { null_texts: nulls(&[b"1996-03-13"]), ..rule.clone() },
        FieldRule { null_texts: nulls(&[b"t"]), force_not_null: true, ..rule.clone() },
        FieldRule { null_texts: nulls(&[b"\""]), quoted_nulls: true, ..rule.clone() },
        FieldRule { nullable: false, ..rule.clone() },
        FieldRule { quoted_nulls: true, ..rule.clone() },
        FieldRule { force_not_null: true, ..rule.clone() },
        rule,
    ]
}

#[test]
fn every_byte_at_every_place() {
    let (dialect, parts) = (Dialect::default(), parts());
    // Of the decimals, which have most fields, one of each width.
    let one_of_its_kind = |value_type: &ValueType| match *value_type {
        ValueType::Decimal64 { precision, scale } => (precision, scale) == (15, 2),
        ValueType::Decimal128 { precision, scale } => (precision, scale) == (38, 2),
        ValueType::Numeric(limit) => limit.is_none(),
        _ => true,
    };
    for (value_type, seeds) in seeds().into_iter().filter(|(value_type, _)| one_of_its_kind(value_type)) {
        let rule = FieldRule::new(value_type);
        let (mut plain, mut quoted) = (Vec::new(), Vec::new());
        for seed in seeds {
            let seed = seed.as_bytes();
            plain.extend(Field::from_raw(seed, &dialect));
            quoted.push(Field::quoted(seed, &dialect));
            for at in 0..seed.len() {
                // Of the bytes that are part of no value, a few will do in long fields.
                let is_due = |byte: &u8| at < 12 || byte.is_ascii() || byte % 16 == at as u8 % 16;
                let in_share = |byte: &u8| (usize::from(*byte) + at).is_multiple_of(parts);
                for byte in (0..=u8::MAX).filter(|byte| in_share(byte) && is_due(byte)) {
                    let mut content = seed.to_vec();
                    content[at] = byte;
                    plain.extend(Field::from_raw(&content, &dialect).filter(|field| !field.quoted));
                    quoted.push(Field::quoted(&content, &dialect));
                }
            }
        }
        assert!(check(&rule, &dialect, &plain) > 0, "{value_type:?}");
        assert!(check(&rule, &dialect, &quoted) > 0, "{value_type:?}");
    }
}

#[test]
fn mutated_fields() {
    let mut random = Random::new(1);
    for (value_type, seeds) in seeds() {
        for dialect in &dialects() {
            for rule in rules(value_type) {
                let null_text = rule.null_texts[0].clone();
                let (mut plain, mut mixed) = (Vec::new(), Vec::new());
                for _ in 0..share(200) {
                    let seed = random.pick(&seeds).as_bytes();
                    let content = if random.below(4) == 0 { seed.to_vec() } else { mutate(seed, &mut random) };
                    let raw = if random.below(20) == 0 { null_text.to_vec() } else { content.clone() };
                    plain.extend(Field::from_raw(&raw, dialect).filter(|field| !field.quoted));
                    if dialect.quote().is_some() {
                        let field = Field::quoted(&content, dialect);
                        // Quotes and escapes where nobody would write them.
                        mixed.extend(Field::from_raw(&mutate(&field.raw, &mut random), dialect));
                        mixed.extend(Field::from_raw(&raw, dialect));
                        mixed.push(field);
                        mixed.push(Field::quoted(&null_text, dialect));
                    }
                }
                check(&rule, dialect, &plain);
                check(&rule, dialect, &mixed);
            }
        }
    }
}

#[test]
fn digits_of_every_length() {
    let mut random = Random::new(2);
    let dialect = Dialect::default();
    for (value_type, _) in seeds() {
        let mut fields = Vec::new();
        for _ in 0..share(60) {
            for len in 0..=40 {
                let mut content: Vec<u8> = (0..len).map(|_| b'0' + random.below(10) as u8).collect();
                if len > 0 && random.below(2) == 0 {
                    content[random.below(len)] = b'.';
                }
                if len > 0 && random.below(3) == 0 {
                    content[0] = b'-';
                }
                fields.extend(Field::from_raw(&content, &dialect));
            }
        }
        check(&FieldRule::new(value_type), &dialect, &fields);
        let quoted: Vec<_> = fields.iter().map(|field| Field::quoted(&field.content, &dialect)).collect();
        check(&FieldRule::new(value_type), &dialect, &quoted);
    }
}

#[test]
fn text_of_every_length() {
    let mut random = Random::new(3);
    let dialect = Dialect::default();
    for non_ascii in [false, true] {
        for quoted in [false, true] {
            for mix in [14, 40, 100, 300] {
                let mut fields = Vec::new();
                for _ in 0..share(2000) {
                    let len = random.below(mix);
                    let mut content: Vec<u8> = (0..len).map(|_| b'a' + random.below(26) as u8).collect();
                    if non_ascii && len > 3 && random.below(3) == 0 {
                        let at = random.below(len - 1);
                        content[at..at + 2].copy_from_slice("\u{e4}".as_bytes());
                    }
                    if non_ascii && len > 3 && random.below(50) == 0 {
                        content[random.below(len)] = 0xE4;
                    }
                    if quoted && random.below(3) == 0 && len > 0 {
                        content[random.below(len)] = b'"';
                    }
                    let plain = Field::from_raw(&content, &dialect).filter(|_| !quoted || random.below(2) == 0);
                    fields.push(plain.unwrap_or_else(|| Field::quoted(&content, &dialect)));
                }
                for value_type in [ValueType::Text, ValueType::Varchar(50), ValueType::Char(50)] {
                    check(&FieldRule::new(value_type), &dialect, &fields);
                }
            }
        }
    }
}
