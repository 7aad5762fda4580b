//! Every decoder of every kernel against its exact twin: valid fields, and fields with a byte changed, inserted
//! or removed, quoted and unquoted.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod decoding;

use decoding::{Field, Random, check};
use longshore_csv::{Dialect, FieldRule, ValueType};

/// Types with fields that are values of them, or nearly.
fn seeds() -> Vec<(ValueType, Vec<&'static str>)> {
    let integers = vec![
        "0",
        "-0",
        "7",
        "-7",
        "42",
        "123",
        "1234",
        "32767",
        "32768",
        "-32768",
        "-32769",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "12345678",
        "123456789",
        "999999999999999",
        "1234567890123456",
        "12345678901234567",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999",
        "18446744073709551617",
        "+5",
        " 5",
        "5 ",
        "\t-5\t",
        "00000012",
        "0000000000000000000000001",
        "--5",
        "-",
        "+",
        "1.0",
        "1e3",
        "1_000",
    ];
    let decimals = vec![
        "0",
        "-0",
        "0.00",
        "-0.01",
        "17",
        "12.5",
        "12.50",
        "-12.50",
        "21168.23",
        "104949.50",
        "0.04",
        "1234567.89",
        "123456789012.34",
        "1234567890123.45",
        "12345678901234.56",
        "-1234567890123.45",
        "9999999999999.99",
        "9999999999999.994",
        "9999999999999.995",
        "-9999999999999.995",
        "0.005",
        "-0.005",
        "0.0049999999999999999999",
        ".5",
        "5.",
        ".",
        "-.",
        "-.5",
        "1e3",
        "1.5e-2",
        "1E+2",
        "1e",
        "1e+",
        "1e99999999999",
        "1e-99999999999",
        "0e99999999999",
        "1.2.3",
        "1,5",
        "+12.50",
        " 12.50 ",
        "123456789012345678",
        "99999999999999999999999999999999999999",
        "100000000000000000000000000000000000000",
        "999999999999999999999999999999999999.99",
        "0.99999999999999999999999999999999999999",
        "000000000000000000000000000000000000000001.25",
        "12345678901234567890.12",
        "-12345678901234567890.12",
        "1234567890123456.7",
        "123456789012345.67",
        "-123456789012345.67",
    ];
    let floats = vec![
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "1.5",
        "-1.5",
        ".5",
        "5.",
        ".",
        "1e3",
        "1E-3",
        "1.7976931348623157e308",
        "1.8e308",
        "-1e400",
        "1e-400",
        "4.9e-324",
        "2.2250738585072014e-308",
        "2e-324",
        "0e-400",
        "0.1",
        "123456.789",
        "3.4028235e38",
        "3.4028236e38",
        "1e-46",
        "1.4e-45",
        "9007199254740992",
        "9007199254740993",
        "16777216",
        "16777217",
        "0.30000000000000004",
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "+Infinity",
        "INFINITY",
        "infinit",
        "1e",
        "1e+",
        "e5",
        "+1.5",
        " 1.5 ",
        "0x10",
        "1_0",
        "7.038531e-26",
        "1.00000017881393432617187499",
        "1.00000017881393421514957253748434595763683319091796875001",
        "1.000000059604645",
        "1.0000000596046448",
        "123456789012345.6",
        "8388608.5",
        "8388609.5",
    ];
    let dates = vec![
        "1996-03-13",
        "1970-01-01",
        "0001-01-01",
        "9999-12-31",
        "2000-02-29",
        "1900-02-29",
        "2004-02-29",
        "2001-02-29",
        "2024-04-31",
        "0000-01-01",
        "1996-3-13",
        "1996-03-1",
        "1996-3-1",
        "1996-13-01",
        "1996-00-01",
        "1996-01-00",
        "1996-01-32",
        "199-01-01",
        "19960-01-01",
        "1996/03/13",
        " 1996-03-13",
        "1996-03-13 ",
        "1996-03-13x",
        "19960313",
        "+996-01-01",
        "1996-003-13",
    ];
    let times = vec![
        "00:00:00",
        "23:59:59",
        "23:59:59.999999",
        "23:59:59.9999999",
        "23:59:59.9999994",
        "12:34:56.5",
        "12:34:56.123",
        "12:34:56.1234567",
        "12:34",
        "1:02",
        "1:2:3",
        "24:00:00",
        "12:60:00",
        "12:00:60",
        "12:34:56.",
        "12:34:56.x",
        " 12:34:56 ",
        "123:00:00",
        "12:34:56Z",
        "12-34-56",
    ];
    let timestamps = vec![
        "1996-03-13 12:34:56",
        "1996-03-13T12:34:56",
        "1996-03-13t12:34:56.789",
        "1996-03-13 12:34:56.123456",
        "1996-03-13",
        "1996-03-13 12:34",
        "9999-12-31 23:59:59.999999",
        "9999-12-31 23:59:59.9999999",
        "0001-01-01 00:00:00",
        "1996-03-13 12:34:56Z",
        "1996-03-13 12:34:56+00",
        "1996-03-13 12:34:56+00:00",
        "1996-03-13 12:34:56.5+02",
        "1996-03-13 12:34:56-05:30",
        "1996-03-13 12:34:56+02:30:15",
        "1996-03-13 12:34:56+0230",
        "1996-03-13 12:34:56 +02",
        "1996-03-13 12:34:56+16",
        "1996-03-13 12:34:56+2",
        "0001-01-01 00:00:00+01",
        "9999-12-31 23:59:59-01",
        "1996-03-13Z",
        "1996-03-13 ",
        "1996-03-13  12:34:56",
        "1996-02-30 00:00:00",
        "1996-03-13 24:00:00",
        "1996-03-13+00",
        "1996-03-13 12:34+00",
        "1996-03-13 12:34Z",
        "1996-03-13 12+00:00",
        "1996-03-13 12:34:56+02:",
        "1996-03-13 12:34:56.1234564+00:00",
    ];
    let texts = vec![
        "",
        "a",
        "ab",
        "NONE",
        "COLLECT COD",
        "twelve bytes",
        "thirteen byte",
        "TAKE BACK RETURN",
        "DELIVER IN PERSON",
        "a string of exactly thirty-two b",
        "a string of exactly sixty-four bytes, which fill one block of 64",
        "sixty-three bytes are one less than a block holds, and no more.",
        "a string that is longer than one block of 64 bytes, so that what is left over has to be copied as well",
        "blanks   ",
        "   ",
        " ",
        "ten chars!",
        "eleven char",
        "ten chars!    ",
        "ten chars!  x",
        "\u{e4}\u{f6}\u{fc}",
        "\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}",
        "\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{f6}\u{fc}\u{e4}\u{e4}",
        "\u{1F600}\u{1F600}",
        "NULL",
        "\\N",
        "l\u{e4}ngerer Text mit Umlauten und mehr als vierundsechzig Bytes, n\u{e4}mlich noch ein paar",
    ];
    let booleans = vec![
        "t", "f", "T", "F", "true", "false", "TRUE", "False", "y", "n", "yes", "no", "on", "off", "of", "o", "1", "0",
        "tr", "fals", "2", "10", "truex", " t ", "\u{11}", "\u{10}", "TruE", "yess", "00",
    ];
    let uuids = vec![
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        " a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
    ];
    let byteas = vec![
        "\\x",
        "\\x00",
        "\\xDEADbeef",
        "\\x000102030405060708090a0b",
        "\\x000102030405060708090a0b0c",
        "\\x0",
        "\\x0g",
        "x00",
        "\\X00",
        "",
        "\\",
        "\\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f",
    ];
    let mut seeds = Vec::new();
    for value_type in [ValueType::Int16, ValueType::Int32, ValueType::Int64] {
        seeds.push((value_type, integers.clone()));
    }
    for (precision, scale) in [(15, 2), (18, 0), (18, 18), (4, 2), (1, 0), (1, 1), (12, 6), (18, 3)] {
        seeds.push((ValueType::Decimal64 { precision, scale }, decimals.clone()));
    }
    for (precision, scale) in [
        (15, 2),
        (38, 0),
        (38, 38),
        (38, 2),
        (4, 2),
        (20, 0),
        (22, 2),
        (19, 19),
        (38, 20),
    ] {
        seeds.push((ValueType::Decimal128 { precision, scale }, decimals.clone()));
    }
    for value_type in [ValueType::Float32, ValueType::Float64] {
        seeds.push((value_type, floats.clone()));
    }
    for value_type in [
        ValueType::Text,
        ValueType::Varchar(10),
        ValueType::Char(10),
        ValueType::Char(1000),
    ] {
        seeds.push((value_type, texts.clone()));
    }
    seeds.push((ValueType::Boolean, booleans));
    seeds.push((ValueType::Date, dates));
    seeds.push((ValueType::Time, times));
    seeds.push((ValueType::Timestamp, timestamps.clone()));
    seeds.push((ValueType::TimestampTz, timestamps));
    seeds.push((ValueType::Uuid, uuids));
    seeds.push((ValueType::Bytea, byteas));
    seeds
}

/// A few ways in which NULL may be written.
fn rules(value_type: ValueType) -> Vec<FieldRule> {
    let rule = FieldRule::new(value_type);
    vec![
        FieldRule {
            null_text: b"\\N"[..].into(),
            ..rule.clone()
        },
        FieldRule {
            null_text: b"NULL"[..].into(),
            nullable: false,
            ..rule.clone()
        },
        FieldRule {
            null_text: b"0"[..].into(),
            force_null: true,
            ..rule.clone()
        },
        FieldRule {
            null_text: b"1996-03-13"[..].into(),
            ..rule.clone()
        },
        FieldRule {
            null_text: b"t"[..].into(),
            force_not_null: true,
            ..rule.clone()
        },
        FieldRule {
            null_text: b"\""[..].into(),
            force_null: true,
            ..rule.clone()
        },
        FieldRule {
            nullable: false,
            ..rule.clone()
        },
        FieldRule {
            force_null: true,
            ..rule.clone()
        },
        FieldRule {
            force_not_null: true,
            ..rule.clone()
        },
        rule,
    ]
}

/// Changes a few bytes of `content`.
fn mutate(content: &[u8], random: &mut Random) -> Vec<u8> {
    const LIKELY: &[u8] = b"0123456789+-.:eE TZx,|\"'\\\t\n\r\0azAZ{}/";
    let mut bytes = content.to_vec();
    for _ in 0..=random.below(3) {
        let byte = if random.below(4) == 0 {
            random.next() as u8
        } else {
            *random.pick(LIKELY)
        };
        let at = random.below(bytes.len() + 1);
        match random.below(4) {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 if !bytes.is_empty() => {
                let (from, len) = (random.below(bytes.len()), random.below(20));
                let piece = bytes[from..(from + len).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ if at < bytes.len() => bytes[at] = byte,
            _ => {}
        }
    }
    bytes
}

fn dialects() -> Vec<Dialect> {
    vec![
        Dialect::default(),
        Dialect::new(b'|', None, None).unwrap(),
        Dialect::new(b'\t', Some(b'\''), Some(b'\\')).unwrap(),
        Dialect::new(b';', Some(b'"'), Some(b'1')).unwrap(),
        Dialect::new(b'.', Some(b'0'), None).unwrap(),
        Dialect::new(b'-', Some(b' '), Some(b'x')).unwrap(),
        Dialect::new(b'1', Some(b'\\'), None).unwrap(),
    ]
}

#[test]
fn every_byte_at_every_place() {
    let dialect = Dialect::default();
    for (value_type, seeds) in seeds() {
        let rule = FieldRule::new(value_type);
        let (mut plain, mut quoted) = (Vec::new(), Vec::new());
        for seed in seeds {
            let seed = seed.as_bytes();
            plain.extend(Field::from_raw(seed, &dialect));
            quoted.push(Field::quoted(seed, &dialect));
            for at in 0..seed.len() {
                for byte in 0..=u8::MAX {
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
    let mut random = Random(1);
    for (value_type, seeds) in seeds() {
        for dialect in &dialects() {
            for rule in rules(value_type) {
                let (mut plain, mut mixed) = (Vec::new(), Vec::new());
                for _ in 0..400 {
                    let seed = random.pick(&seeds).as_bytes();
                    let content = if random.below(4) == 0 {
                        seed.to_vec()
                    } else {
                        mutate(seed, &mut random)
                    };
                    let raw = if random.below(20) == 0 {
                        rule.null_text.to_vec()
                    } else {
                        content.clone()
                    };
                    plain.extend(Field::from_raw(&raw, dialect).filter(|field| !field.quoted));
                    if dialect.quote().is_some() {
                        let field = Field::quoted(&content, dialect);
                        // Quotes and escapes where nobody would write them.
                        mixed.extend(Field::from_raw(&mutate(&field.raw, &mut random), dialect));
                        mixed.extend(Field::from_raw(&raw, dialect));
                        mixed.push(field);
                        mixed.push(Field::quoted(&rule.null_text, dialect));
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
    let mut random = Random(2);
    let dialect = Dialect::default();
    for (value_type, _) in seeds() {
        let mut fields = Vec::new();
        for _ in 0..60 {
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
        let quoted: Vec<_> = fields
            .iter()
            .map(|field| Field::quoted(&field.content, &dialect))
            .collect();
        check(&FieldRule::new(value_type), &dialect, &quoted);
    }
}

#[test]
fn text_of_every_length() {
    let mut random = Random(3);
    let dialect = Dialect::default();
    for non_ascii in [false, true] {
        for quoted in [false, true] {
            for mix in [14, 40, 100, 300] {
                let mut fields = Vec::new();
                for _ in 0..2000 {
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
