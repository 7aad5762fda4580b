//! Codes of every width are found in sets of every shape, on every instruction set, as one comparison after the other finds
//! them.

use longshore_testing::Random;

use super::*;
use crate::arena::Arena;
use crate::memory::Memory;
use crate::packed::{Layout, copy_of};

/// Codes near those of the ranges, and anywhere.
fn codes(random: &mut Random, ranges: &[(u32, u32)], code_max: u32) -> Vec<u32> {
    let rows = random.pick(&[1, 63, 64, 65, 500]);
    let code = |random: &mut Random| match ranges {
        [_, ..] if random.once_in(2) => {
            let (low, high) = random.pick(ranges);
            let end = if random.once_in(2) { low } else { high };
            (i64::from(end) + random.below(3) as i64 - 1).clamp(0, code_max.into()) as u32
        }
        _ => (random.next() % (u64::from(code_max) + 1)) as u32,
    };
    (0..rows).map(|_| code(random)).collect()
}

/// Ranges that touch neither each other nor anything outside a window, which lies anywhere.
fn ranges(random: &mut Random, code_max: u32) -> Vec<(u32, u32)> {
    let domain = u64::from(code_max) + 1;
    let window = random.pick(&[1, 2, 100, 1000, 1024, 3000, 4096, 5000, 1 << 20, 1 << 32]).min(domain);
    let first = match random.below(4) {
        0 => 0,
        1 => domain - window,
        2 => (domain - window).min(random.below(64) as u64),
        _ => random.next() % (domain - window + 1),
    };
    let longest = random.pick(&[1, 1, 3, 70_000]);
    let mut ranges = Vec::new();
    for _ in 0..random.pick(&[0, 1, 2, 3, 4, 8, 9, 16, 17, 300]) {
        let low = first + random.next() % window;
        let high = (low + random.below(longest) as u64).min(first + window - 1);
        ranges.push((low as u32, high as u32));
    }
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| next.0 <= kept.1);
    ranges
}

/// The gaps between ranges and around them.
fn gaps(ranges: &[(u32, u32)], code_max: u32) -> Vec<(u32, u32)> {
    let starts = std::iter::once(0).chain(ranges.iter().map(|range| u64::from(range.1) + 1));
    let ends = ranges.iter().map(|range| i64::from(range.0) - 1).chain([i64::from(code_max)]);
    let gaps = starts.zip(ends).filter(|&(start, end)| start as i64 <= end);
    gaps.map(|(start, end)| (start as u32, end as u32)).collect()
}

fn column(codes: &[u32], width: u8) -> PackedColumn {
    let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes().into_iter().take(width.into())).collect();
    let mut arena = Arena::new(Memory::new(None), 1 << 12);
    let buffer = copy_of(&bytes, &mut arena).expect("memory");
    let layout = Layout::Offset { base: 0, divisor: 1, width };
    let heap = Buffer::from_vec(Vec::<u8>::new());
    PackedColumn::from_buffers(Physical::I64, codes.len(), layout, [buffer], heap, false).expect("any codes")
}

#[test]
fn codes_are_found_in_sets_of_any_shape() {
    let mut random = Random::new(64);
    for _ in 0..longshore_testing::share(6000) {
        // Dictionaries have fewer codes than their width holds.
        let (width, code_max) = random.pick(&[
            (1, 255),
            (1, 20),
            (2, 65_535),
            (2, 65_535),
            (2, 999),
            (2, 200),
            (4, u32::MAX),
            (4, u32::MAX),
        ]);
        let mut ranges = ranges(&mut random, code_max);
        if random.once_in(3) {
            ranges = gaps(&ranges, code_max);
        }
        let codes = codes(&mut random, &ranges, code_max);
        let (column, wanted) = (column(&codes, width), CodeSet::of_ranges(ranges.clone(), code_max));
        let from = random.below(codes.len());
        let rows = from..from + random.below(codes.len() - from + 1);
        let is_wanted = |code: u32| ranges.iter().any(|&(low, high)| low <= code && code <= high);
        for set in InstructionSet::all() {
            let found = column.select_with(set, rows.clone(), &wanted);
            for (at, row) in rows.clone().enumerate() {
                let is_found = found.as_ref().is_none_or(|bits| bits.value(at));
                let code = codes[row];
                assert_eq!(is_found, is_wanted(code), "{code} in {wanted:?}, {width} bytes, {}", set.name());
            }
        }
    }
}
