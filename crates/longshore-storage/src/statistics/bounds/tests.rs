//! The vector loops against plain ones, and the bounds of awkward values.

#[cfg(target_arch = "x86_64")]
use super::super::extremes::extremes_avx2;
use super::super::extremes::extremes_inline;
use super::*;

/// A row of values, some of them NULL, and the same as an iterator of those that are not.
fn mixed(count: usize, offset: usize) -> (Vec<i64>, Vec<u8>, Vec<i64>) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ (count as u64) << 20 ^ offset as u64;
    let mut values = Vec::new();
    let mut bits = vec![0; (offset + count).div_ceil(8)];
    let mut valid = Vec::new();
    for row in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let value = (state >> 40) as i64 - (1 << 23);
        // Runs of all valid, all NULL and mixed groups.
        let is_valid = match (row / 64) % 3 {
            0 => true,
            1 => false,
            _ => state >> 33 & 1 == 1,
        };
        values.push(value);
        if is_valid {
            bits[(offset + row) / 8] |= 1 << ((offset + row) % 8);
            valid.push(value);
        }
    }
    (values, bits, valid)
}

#[test]
fn masked_extremes_are_those_of_valid_values() {
    for count in (0..70).chain([127, 128, 129, 1000]) {
        for offset in 0..9 {
            let (values, bits, valid) = mixed(count, offset);
            let mut bounds = Bounds::new(Physical::I64);
            bounds.add(Values::I64(&values), Some((&bits, offset)));
            let mut plain = Bounds::new(Physical::I64);
            if let (Some(&min), Some(&max)) = (valid.iter().min(), valid.iter().max()) {
                plain = Bounds::Integer { min, max };
            }
            assert_eq!(bounds, plain, "{count} values, bits from {offset}");
        }
    }
}

#[test]
fn every_instruction_set_finds_the_same() {
    let (values, bits, _) = mixed(1001, 3);
    let short: Vec<i16> = values.iter().map(|&value| value as i16).collect();
    let floats: Vec<f32> = values.iter().map(|&value| value as f32 / 7.0).collect();
    let views: Vec<u128> = values.iter().map(|&value| (value as u128) << 32 | 4).collect();
    for validity in [None, Some((&bits[..], 3))] {
        macro_rules! check {
            ($values:expr) => {{
                let (plain, best) = (extremes_inline(&$values, validity), extremes(&$values, validity));
                assert_eq!((plain.min, plain.max, plain.nan), (best.min, best.max, best.nan));
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the feature it needs is there.
                    let middle = unsafe { extremes_avx2(&$values, validity) };
                    assert_eq!((plain.min, plain.max, plain.nan), (middle.min, middle.max, middle.nan));
                }
            }};
        }
        check!(values);
        check!(short);
        check!(floats);
        check!(views);
    }
}

#[test]
fn no_values_leave_no_trace() {
    let mut bounds = Bounds::new(Physical::I16);
    bounds.add(Values::I16(&[0, 0, 0]), Some((&[0], 0)));
    assert_eq!(bounds, Bounds::new(Physical::I16));
    assert_eq!(bounds.statistics(ColumnType::SmallInt, 3, 3).min, None);
}

fn float_bounds(values: &[f64]) -> ColumnStatistics {
    let mut bounds = Bounds::new(Physical::F64);
    bounds.add(Values::F64(values), None);
    bounds.statistics(ColumnType::Double, values.len() as u64, 0)
}

#[test]
fn a_nan_takes_the_bounds_away() {
    for count in [1, 16, 40] {
        for at in 0..count {
            let mut values = vec![1.0; count];
            values[at] = -f64::NAN;
            assert_eq!(float_bounds(&values).min, None);
            assert_eq!(float_bounds(&values).max, None);
        }
    }
}

#[test]
fn zero_bounds_hold_for_both_zeros() {
    for values in [[0.0, -0.0], [-0.0, 0.0]] {
        let statistics = float_bounds(&values);
        assert!(matches!(statistics.min, Some(Value::Float(min)) if min.is_sign_negative()));
        assert!(matches!(statistics.max, Some(Value::Float(max)) if max.is_sign_positive()));
        assert!(!statistics.exact);
    }
    let statistics = float_bounds(&[f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(statistics.min, Some(Value::Float(f64::NEG_INFINITY)));
    assert_eq!(statistics.max, Some(Value::Float(f64::INFINITY)));
    assert!(statistics.exact);
}

fn view(text: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[0] = text.len() as u8;
    let shown = text.len().min(12);
    bytes[4..4 + shown].copy_from_slice(&text[..shown]);
    u128::from_le_bytes(bytes)
}

fn text_bounds(column_type: ColumnType, texts: &[&[u8]]) -> (Option<Value>, Option<Value>) {
    let views: Vec<u128> = texts.iter().map(|text| view(text)).collect();
    let mut bounds = Bounds::new(Physical::View);
    bounds.add(Values::Views(&views), None);
    let statistics = bounds.statistics(column_type, texts.len() as u64, 0);
    assert!(!statistics.exact);
    (statistics.min, statistics.max)
}

#[test]
fn texts_are_bounded_by_whole_characters() {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(text_bounds(ColumnType::Text, &[b"b", b"abcdef", b"ab"]), (text("ab"), text("c")));
    assert_eq!(text_bounds(ColumnType::Text, &["abcé".as_bytes()]), (text("abc"), text("abd")));
    assert_eq!(text_bounds(ColumnType::Text, &[b""]), (text(""), None));
    assert_eq!(text_bounds(ColumnType::Text, &["\u{D7FF}x".as_bytes()]).1, text("\u{D7FF}y"));
    assert_eq!(text_bounds(ColumnType::Text, &["\u{D7FF}".as_bytes()]).1, text("\u{E000}"));
    assert_eq!(text_bounds(ColumnType::Text, &["a\u{10FFFF}".as_bytes()]).1, text("b"));
    assert_eq!(text_bounds(ColumnType::Text, &["\u{10FFFF}".as_bytes()]).1, None);
}

#[test]
fn bytes_are_bounded_by_bytes() {
    let bytes = |bytes: &[u8]| Some(Value::Bytes(bytes.to_vec()));
    assert_eq!(
        text_bounds(ColumnType::Bytea, &[b"\xFF\x01\xFF\xFF\xFF"]),
        (bytes(b"\xFF\x01\xFF\xFF"), bytes(b"\xFF\x02"))
    );
    assert_eq!(text_bounds(ColumnType::Bytea, &[b"\xFF\xFF"]), (bytes(b"\xFF\xFF"), None));
    assert_eq!(text_bounds(ColumnType::Bytea, &[b"\0", b"\x07\0"]), (bytes(b""), bytes(b"\x08")));
}
