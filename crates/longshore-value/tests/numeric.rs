//! NUMERIC: what is read, written, rounded and compared.

use longshore_value::numeric::{GROWTH_MAX, Limit, Numeric, NumericError, key, limited, read};

fn bytes(text: &str) -> Result<Vec<u8>, NumericError> {
    let mut bytes = Vec::new();
    read(text.as_bytes(), None, &mut |byte| bytes.push(byte)).map(|()| bytes)
}

#[test]
fn texts_lead_back_to_themselves() {
    for (text, shown) in [
        ("0", "0"),
        ("-0", "0"),
        ("0.000", "0.000"),
        ("1", "1"),
        ("10", "10"),
        ("-100.50", "-100.50"),
        ("0.05", "0.05"),
        ("0.005", "0.005"),
        ("-0.00123", "-0.00123"),
        ("00012.5", "12.5"),
        (" 1.5 ", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1.50e1", "15.0"),
        ("12345e-3", "12.345"),
        ("1e-5", "0.00001"),
        ("0e5", "0"),
        ("0e-3", "0.000"),
        ("123456789012345678901234567890.123456789", "123456789012345678901234567890.123456789"),
        ("NaN", "NaN"),
        ("inf", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("+Infinity", "Infinity"),
    ] {
        let bytes = bytes(text).unwrap();
        assert_eq!(Numeric::of(&bytes).unwrap().to_string(), shown, "{text}");
        assert!(bytes.len() <= text.len() + GROWTH_MAX, "{text}");
    }
    for text in ["", "-", ".", "1.2.3", "1e", "1e+", "x", "-nan", "1 2", "1_000"] {
        assert_eq!(bytes(text), Err(NumericError::Syntax), "{text}");
    }
    for text in ["1e131072", "1e-16384", "1e99999999999999999999"] {
        assert_eq!(bytes(text), Err(NumericError::Range), "{text}");
    }
    for text in ["1e131071", "1e-16383", "-1e500", "-1e-500"] {
        let shown = Numeric::of(&bytes(text).unwrap()).unwrap().to_string();
        assert_eq!(bytes(&shown), bytes(text), "{text}");
    }
}

#[test]
fn a_limit_rounds_and_refuses() {
    for (text, precision, scale, shown) in [
        ("1.005", 5, 2, Some("1.01")),
        ("-1.004", 5, 2, Some("-1.00")),
        ("999.994", 5, 2, Some("999.99")),
        ("999.995", 5, 2, None),
        ("99.995", 5, 2, Some("100.00")),
        ("0.004", 5, 2, Some("0.00")),
        ("0.0000004", 5, 2, Some("0.00")),
        ("9.5", 2, 0, Some("10")),
        ("0.5", 2, 0, Some("1")),
        ("1250", 3, -2, Some("1300")),
        ("99950", 3, -2, None),
        ("49", 3, -2, Some("0")),
        ("50", 3, -2, Some("100")),
        ("4", 3, -2, Some("0")),
        ("0.00123", 3, 5, Some("0.00123")),
        ("0.01", 3, 5, None),
        ("1e200", 210, 5, Some("1")),
        ("NaN", 3, 0, Some("NaN")),
        ("Infinity", 3, 0, None),
    ] {
        let limit = Limit::new(precision, scale).unwrap();
        let mut direct = Vec::new();
        let read = read(text.as_bytes(), Some(limit), &mut |byte| direct.push(byte));
        let whole = bytes(text).unwrap();
        let mut later = Vec::new();
        let rounded = limited(Numeric::of(&whole).unwrap(), limit, &mut |byte| later.push(byte));
        assert_eq!((read, &direct), (rounded, &later), "{text}");
        let found = read.ok().map(|()| Numeric::of(&direct).unwrap().to_string());
        match (found, shown) {
            (Some(found), Some(shown)) => assert!(found.starts_with(shown), "{text}: {found}"),
            (found, shown) => assert_eq!(found.as_deref(), shown, "{text}"),
        }
    }
}

#[test]
fn keys_are_in_the_order_of_the_numbers() {
    let ascending = [
        "-Infinity",
        "-1e131071",
        "-1e200",
        "-1000",
        "-100.5",
        "-100.49",
        "-100",
        "-99",
        "-10",
        "-9.9",
        "-1",
        "-0.1",
        "-0.01",
        "-0.001",
        "-1e-200",
        "-1e-16383",
        "0",
        "1e-16383",
        "1e-200",
        "0.001",
        "0.01",
        "0.011",
        "0.1",
        "0.9",
        "1",
        "1.0001",
        "1.5",
        "9.9",
        "10",
        "10.01",
        "11",
        "99",
        "99.999",
        "100",
        "101",
        "1000",
        "1e200",
        "1e131071",
        "Infinity",
        "NaN",
    ];
    let keys: Vec<Vec<u8>> = ascending.iter().map(|text| key(&bytes(text).unwrap()).to_vec()).collect();
    for (at, pair) in keys.windows(2).enumerate() {
        assert!(pair[0] < pair[1], "{} and {}", ascending[at], ascending[at + 1]);
    }
    for (one, other) in [("1", "1.000"), ("100", "1e2"), ("0", "-0.00"), ("0.10", ".1")] {
        assert_eq!(key(&bytes(one).unwrap()), key(&bytes(other).unwrap()));
    }
}

#[test]
fn other_bytes_are_no_values() {
    let good = bytes("-12.345").unwrap();
    for at in 0..good.len() {
        assert_eq!(Numeric::of(&good[..at]), None);
    }
    // A zero with a digit, a pair of zeros at the end, and first bytes that no number has.
    for bad in [&[0x80, 0, 0, 0][..], &[0x82, 1, 0, 0, 0], &[0xFF, 0, 1], &[0, 0, 0], &[0xFC, 0, 0]] {
        assert_eq!(Numeric::of(bad), None, "{bad:?}");
    }
    let mut short = good.clone();
    *short.last_mut().unwrap() = 2;
    assert_eq!(Numeric::of(&short), None, "a digit behind the last that is shown");
}
