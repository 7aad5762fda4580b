//! Integers as programs of version 1 wrote them come back.

use super::super::plane::tests::{Written, split, width_of};
use super::*;
use crate::native::wire::Writer;

fn round_trip<T: Written + std::fmt::Debug>(values: &[T], validity: Option<&[u8]>) -> IntegerCode {
    let mut sections: Vec<Vec<u8>> = Vec::new();
    let code = encode(values, validity, |bytes| sections.push(bytes.to_vec()));
    let mut writer = Writer::default();
    write(&code, &mut writer);
    let bytes = writer.into_bytes();
    assert_eq!(IntegerCode::read(&mut Reader::new(&bytes), T::BITS), Ok(code));

    let planes = Planes::new(code.width, values.len(), &mut sections.iter().map(Vec::as_slice))
        .expect("the planes have the lengths of the code");
    for set in InstructionSet::all() {
        let mut out = vec![MaybeUninit::new(T::default()); values.len()];
        join(set, &code, &planes, &mut out);
        for (row, (slot, value)) in out.iter().zip(values).enumerate() {
            // SAFETY: the vector was filled above.
            let found = unsafe { slot.assume_init() };
            if validity.is_none_or(|v| is_valid(v, row)) {
                assert_eq!(found, *value, "row {row} of {code:?} by {}", set.name());
            }
        }
    }
    code
}

#[test]
fn extremes_come_back() {
    round_trip(&[i16::MIN, i16::MAX, 0], None);
    round_trip(&[i32::MIN, i32::MAX, -1, i32::MAX, i32::MIN], None);
    round_trip(&[i64::MIN, i64::MAX, 0, i64::MAX, i64::MIN], None);
    round_trip(&[i128::MIN, i128::MAX, 0, i128::MIN], None);
    round_trip(&[u32::MAX, 0], None);
    round_trip(&[i64::MIN], None);
}

#[test]
fn equal_values_take_no_bytes() {
    assert_eq!(round_trip(&vec![-7_i64; 5000], None).width, 0);
}

#[test]
fn sequences_take_no_bytes() {
    let values: Vec<i64> = (0..5000).map(|i| 10_000_000_000 - 3 * i).collect();
    let code = round_trip(&values, None);
    assert_eq!((code.width, code.shape), (0, Shape::Slope { slope: -3 }));
}

#[test]
fn sorted_keys_take_a_few_bits() {
    let values: Vec<i32> = (0..60_000).map(|i| (i / 7) * 32 + i % 7).collect();
    assert_eq!(round_trip(&values, None).width, 8);
}

#[test]
fn whole_seconds_lose_their_microseconds() {
    let values: Vec<i64> = (0..5000).map(|i| 1_600_000_000_000_000 + (i * 7919 % 86_400) * 1_000_000).collect();
    let code = round_trip(&values, None);
    assert_eq!((code.width, code.shape), (20, Shape::Frame { step: 1_000_000 }));
}

#[test]
fn every_width_of_every_type_comes_back() {
    for width_bits in 0..64_u32 {
        let values: Vec<i64> = (0..2500_u64)
            .map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1 >> (63 - width_bits)) as i64 - 40)
            .collect();
        round_trip(&values, None);
        round_trip(&values.iter().map(|v| *v as i16).collect::<Vec<_>>(), None);
        round_trip(&values.iter().map(|v| *v as i32).collect::<Vec<_>>(), None);
        round_trip(&values.iter().map(|v| i128::from(*v) << 60).collect::<Vec<_>>(), None);
    }
}

#[test]
fn nulls_do_not_widen_a_block() {
    let mut values = vec![1_000_000_i32; 100];
    values[3] = 0;
    (values[50], values[51]) = (1_000_100, 1_000_001);
    let mut validity = vec![0xFF_u8; 13];
    validity[0] &= !(1 << 3);
    assert_eq!(round_trip(&values, Some(&validity)).width, 8);
}

#[test]
fn nulls_do_not_break_a_step() {
    let mut values: Vec<i64> = (0..100).map(|i| 5_000_000_000 + 1000 * (i * 37 % 100)).collect();
    values[3] = 0;
    let mut validity = vec![0xFF_u8; 13];
    validity[0] &= !(1 << 3);
    let code = round_trip(&values, Some(&validity));
    assert_eq!((code.width, code.shape), (8, Shape::Frame { step: 1000 }));
}

/// Chooses a code for `values` and hands each plane of residuals to `section`.
///
/// `validity` has one bit per value, if some are null: the nulls are left out of the choice and come back as any
/// value. There must be at least one that is not null.
fn encode<T: Written>(values: &[T], validity: Option<&[u8]>, section: impl FnMut(&[u8])) -> IntegerCode {
    let code = choose(values, validity);
    let mut residuals: Vec<T> = match code.shape {
        Shape::Frame { step } => frame_residuals(values, T::truncate(code.base), step),
        Shape::Slope { slope } => slope_residuals(values, T::truncate(slope)),
    };
    if let Some(validity) = validity {
        for (row, residual) in residuals.iter_mut().enumerate() {
            if !is_valid(validity, row) {
                *residual = T::default();
            }
        }
    }
    split(&residuals, code.width, section);
    code
}

/// Whether bit `row` of `validity` is set.
fn is_valid(validity: &[u8], row: usize) -> bool {
    validity[row / 8] >> (row % 8) & 1 == 1
}

fn choose<T: Written>(values: &[T], validity: Option<&[u8]>) -> IntegerCode {
    let (least, greatest) = bounds(values, validity);
    let range = greatest.sub(least).unsigned();
    let frame = IntegerCode { base: least.widen(), shape: Shape::Frame { step: 1 }, width: width_of(range) };
    if frame.width == 0 {
        return frame;
    }
    if validity.is_none()
        && let Some(sloped) = choose_slope(values, range).filter(|s| s.width < frame.width)
    {
        return sloped;
    }
    let step = u64::try_from(range).map_or(1, |_| common_step(values, validity, least));
    let stepped = width_of(range / u128::from(step.max(1)));
    if stepped < frame.width {
        return IntegerCode { shape: Shape::Frame { step: i128::from(step) }, width: stepped, ..frame };
    }
    frame
}

fn bounds<T: Written>(values: &[T], validity: Option<&[u8]>) -> (T, T) {
    let fold = |(least, greatest): (T, T), value: T| (least.min(value), greatest.max(value));
    let Some(validity) = validity else {
        return values.iter().copied().fold((values[0], values[0]), fold);
    };
    let mut valid = values.iter().enumerate().filter(|(row, _)| is_valid(validity, *row)).map(|(_, value)| *value);
    let first = valid.next().expect("a block of nulls alone is not encoded");
    valid.fold((first, first), fold)
}

/// The slope of `values`, whose distance from least to greatest is `range`.
fn choose_slope<T: Written>(values: &[T], range: u128) -> Option<IntegerCode> {
    // Differences must neither overflow the type nor, between themselves, its unsigned twin.
    if range >> (T::BITS - 2) != 0 {
        return None;
    }
    let difference = |pair: &[T; 2]| pair[1].sub(pair[0]);
    let pairs = values.array_windows::<2>();
    let (least, greatest) = pairs.map(difference).fold(None, |bounds: Option<(T, T)>, d| {
        Some(bounds.map_or((d, d), |(least, greatest)| (least.min(d), greatest.max(d))))
    })?;
    Some(IntegerCode {
        base: values[0].widen(),
        shape: Shape::Slope { slope: least.widen() },
        width: width_of(greatest.sub(least).unsigned()),
    })
}

/// The greatest number that divides the distance of every value from `least`; 0 if all are equal.
/// The distances must fit 64 bits.
fn common_step<T: Written>(values: &[T], validity: Option<&[u8]>, least: T) -> u64 {
    let mut step = 0;
    for (row, value) in values.iter().enumerate() {
        if validity.is_some_and(|validity| !is_valid(validity, row)) {
            continue;
        }
        let distance = value.sub(least).high(0);
        if step == 0 || distance % step != 0 {
            step = greatest_common_divisor(step, distance);
            if step == 1 {
                break;
            }
        }
    }
    step
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn frame_residuals<T: Written>(values: &[T], base: T, step: i128) -> Vec<T> {
    if step == 1 {
        return values.iter().map(|value| value.sub(base)).collect();
    }
    // `choose` gives steps only to distances of 64 bits; the distance of a null, which is masked out, may be longer.
    let step = step as u64;
    values.iter().map(|value| T::truncate(i128::from(value.sub(base).high(0) / step))).collect()
}

fn slope_residuals<T: Written>(values: &[T], slope: T) -> Vec<T> {
    let mut expected = values[0];
    values
        .iter()
        .map(|&value| {
            let residual = value.sub(expected);
            expected = value.add(slope);
            residual
        })
        .collect()
}

/// Appends a code to a directory.
fn write(code: &IntegerCode, writer: &mut Writer) {
    let (tag, parameter) = match code.shape {
        Shape::Frame { step } => (0, step),
        Shape::Slope { slope } => (1, slope),
    };
    writer.u8(tag);
    writer.u8(code.width);
    writer.i128(code.base);
    writer.i128(parameter);
}
