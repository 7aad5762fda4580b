//! `hashtext` and `hashtextextended`: the hashes by which PostgreSQL puts texts in buckets, and by which programs make numbers of
//! advisory locks from names. Bob Jenkins's `lookup3`, as in PostgreSQL's `src/common/hashfn.c`.

use crate::datafusion::functions::calls::Kind::{BigInt, Int, Text};
use crate::datafusion::functions::calls::{Overload, of};

pub(super) const OVERLOADS: &[Overload] = &[
    of("hashtext", &[Text], Int, |row| Ok((hash(row.text(0).as_bytes(), 0) as i32).into())),
    of("hashtextextended", &[Text, BigInt], BigInt, |row| {
        Ok((hash(row.text(0).as_bytes(), row.bigint(1) as u64) as i64).into())
    }),
];

/// The hash of 64 bits; its lower half without a seed is that of 32 bits.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let start = 0x9e37_79b9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut state = [start; 3];
    if seed != 0 {
        add(&mut state, [(seed >> 32) as u32, seed as u32, 0]);
        mix(&mut state);
    }
    let mut blocks = bytes.chunks_exact(12);
    for block in &mut blocks {
        add(&mut state, words(block));
        mix(&mut state);
    }
    // The lowest byte of the last word stands for the length, which the start has.
    let rest = blocks.remainder();
    let mut last = [0; 12];
    last[..rest.len().min(8)].copy_from_slice(&rest[..rest.len().min(8)]);
    if let Some(behind) = rest.get(8..) {
        last[9..9 + behind.len()].copy_from_slice(behind);
    }
    add(&mut state, words(&last));
    finish(&mut state);
    u64::from(state[1]) << 32 | u64::from(state[2])
}

fn words(block: &[u8]) -> [u32; 3] {
    [0, 4, 8].map(|at| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]))
}

fn add(state: &mut [u32; 3], words: [u32; 3]) {
    for (part, word) in state.iter_mut().zip(words) {
        *part = part.wrapping_add(word);
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    let round = |one: &mut u32, two: &mut u32, three: &mut u32, by| {
        *one = one.wrapping_sub(*three) ^ three.rotate_left(by);
        *three = three.wrapping_add(*two);
    };
    round(a, b, c, 4);
    round(b, c, a, 6);
    round(c, a, b, 8);
    round(a, b, c, 16);
    round(b, c, a, 19);
    round(c, a, b, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    let round = |one: &mut u32, two: &u32, by| *one = (*one ^ *two).wrapping_sub(two.rotate_left(by));
    round(c, b, 14);
    round(a, c, 11);
    round(b, a, 25);
    round(c, b, 16);
    round(a, c, 4);
    round(b, a, 14);
    round(c, b, 24);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_postgresql() {
        for (text, expected) in [
            ("", -1_477_818_771),
            ("a", 1_075_015_857),
            ("abc", -785_388_649),
            ("abcdefgh", -1_960_928_205),
            ("abcdefghi", -92_131_489),
            ("abcdefghijk", -1_483_803_693),
            ("abcdefghijkl", -1_586_087_212),
            ("abcdefghijklm", 405_849_808),
            ("schöne Grüße aus Bad Tölz, die Post", -2_093_059_236),
        ] {
            assert_eq!(hash(text.as_bytes(), 0) as i32, expected, "{text:?}");
        }
        for (text, seed, expected) in [
            ("abc", 0, -6_747_756_470_228_489_321),
            ("abcdefghijklm", 77, -7_899_566_241_061_135_021),
            ("a", -1_i64, 8_688_456_822_845_412_000),
        ] {
            assert_eq!(hash(text.as_bytes(), seed as u64) as i64, expected, "{text:?} {seed}");
        }
    }
}
