//! Made values of all types, in the shapes that encodings are for.

use longshore_testing::Random;

/// Whole numbers in many ranges, around many bases, with and without divisors.
pub(super) fn whole(random: &mut Random, rows: usize) -> Vec<i128> {
    let bits = random.below(128) as u32;
    let range = if bits == 0 { 0 } else { u128::MAX >> (128 - bits) };
    let base = [0, -1, 1 << 20, i128::MIN, i128::MAX / 2, i64::MIN.into(), -(1 << 40)][random.below(7)];
    let step = [1, 1, 1, 2, 10, 100, 1000, 1_000_000, 86_400_000_000, 3 << 33][random.below(10)];
    let few = random.once_in(3).then(|| 1 + random.below(300));
    let wide = |random: &mut Random| u128::from(random.next()) << 64 | u128::from(random.next());
    let pool: Vec<i128> = (0..few.unwrap_or(rows))
        .map(|_| base.wrapping_add(((wide(random) & range) as i128).wrapping_mul(step)))
        .collect();
    let mut values: Vec<i128> =
        (0..rows).map(|row| if few.is_some() { pool[random.below(pool.len())] } else { pool[row] }).collect();
    if random.once_in(5) && rows > 0 {
        let at = random.below(rows);
        values[at] = [i128::MIN, i128::MAX, i64::MIN.into(), i64::MAX.into(), 0, 1][random.below(6)];
    }
    values
}

pub(super) fn doubles(random: &mut Random, rows: usize) -> Vec<f64> {
    let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 0.1, 1e300];
    let few = random.once_in(2);
    (0..rows).map(|_| if few { special[random.below(special.len())] } else { f64::from_bits(random.next()) }).collect()
}

pub(super) fn texts(random: &mut Random, rows: usize) -> Vec<Vec<u8>> {
    let longest = [0, 3, 12, 13, 40, 400][random.below(6)];
    let words = random.once_in(2);
    let text = |random: &mut Random| {
        if words {
            return words_of(random, longest);
        }
        let letters = [2, 26][random.below(2)];
        (0..random.below(longest + 1)).map(|_| b'a' + random.below(letters) as u8).collect::<Vec<u8>>()
    };
    let few = random.once_in(2).then(|| 1 + random.below(400));
    let pool: Vec<Vec<u8>> = (0..few.unwrap_or(0)).map(|_| text(random)).collect();
    (0..rows).map(|_| if few.is_some() { pool[random.below(pool.len())].clone() } else { text(random) }).collect()
}

/// Words, some with characters of several bytes, some that are no text at all, up to so many bytes.
fn words_of(random: &mut Random, longest: usize) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < longest && !random.once_in(6) {
        let word: &[u8] = random.pick(&[
            b"the ",
            b"deposits ",
            "größe ".as_bytes(),
            "Ωμέγα ".as_bytes(),
            b"\0",
            b"\xFF\xFE",
            b"a\0\0b",
        ]);
        text.extend_from_slice(word);
        text.extend(random.once_in(10).then_some(random.next() as u8));
    }
    text.truncate(longest);
    text
}

pub(super) fn validity(random: &mut Random, rows: usize) -> Option<Vec<u8>> {
    let of_bytes =
        |random: &mut Random, byte: fn(&mut Random) -> u8| (0..rows.div_ceil(8)).map(|_| byte(random)).collect();
    match random.below(5) {
        0 => Some(of_bytes(random, |random| random.next() as u8)),
        1 => Some(of_bytes(random, |random| if random.once_in(50) { 1 } else { 0xFF })),
        2 => Some(vec![0; rows.div_ceil(8)]),
        _ => None,
    }
}
