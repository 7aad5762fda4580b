//! What waits, what is taken again, and how limits count it.

use super::*;
use crate::memory::mapping::SMALL_PAGE_BYTES;

const MIB: usize = 1 << 20;

#[test]
fn sizes_are_rounded_to_pages() {
    let memory = Memory::new(None);
    for (wanted, given) in [(1, 64 << 10), (65 << 10, 128 << 10), (2 * MIB, 2 * MIB), (2 * MIB + 1, 4 * MIB)] {
        assert_eq!(memory.map(wanted).expect("no limit").bytes(), given);
    }
}

#[test]
fn a_freed_block_is_used_again_for_what_it_holds() {
    let memory = Memory::new(None);
    let mapping = memory.map(4 * MIB).expect("no limit");
    let start = mapping.start();
    memory.unmap(mapping);
    assert_eq!(memory.used(), 0);
    let small = memory.map(MIB).expect("no limit");
    assert_ne!(small.start(), start, "blocks of small pages are their own kind");
    let part = memory.map(2 * MIB).expect("no limit");
    assert_eq!((part.start(), part.bytes()), (start, 2 * MIB));
    assert_eq!((memory.used(), memory.peak()), (3 * MIB, 4 * MIB));
    memory.unmap(part);
    let whole = memory.map(3 * MIB).expect("no limit");
    assert_eq!((whole.start(), whole.bytes()), (start, 4 * MIB), "joined with its other part");
    memory.unmap(whole);
    memory.unmap(small);
    assert_eq!((memory.used(), memory.peak()), (0, 5 * MIB));
    memory.reset_peak();
    assert_eq!(memory.peak(), 0);
}

#[test]
fn small_blocks_are_used_again_for_about_their_size() {
    let memory = Memory::new(None);
    let mapping = memory.map(MIB).expect("no limit");
    let start = mapping.start();
    memory.unmap(mapping);
    let smaller = memory.map(MIB / 4).expect("no limit");
    assert_ne!(smaller.start(), start);
    let fitting = memory.map(MIB / 2).expect("no limit");
    assert_eq!((fitting.start(), fitting.bytes()), (start, MIB));
    assert_eq!(memory.used(), MIB + MIB / 4);
    memory.unmap(smaller);
    memory.unmap(fitting);
    assert_eq!((memory.used(), memory.state().free.bytes()), (0, MIB + MIB / 4));
}

#[test]
fn what_was_trimmed_fits_again_with_the_rest() {
    let memory = Memory::new(None);
    let starts: Vec<usize> = (0..5)
        .map(|_| {
            let blocks: Vec<Mapping> = (0..6).map(|_| memory.map(32 * MIB).expect("no limit")).collect();
            let start = blocks.iter().map(|block| block.start().addr().get()).min().expect("six blocks");
            for (at, block) in blocks.into_iter().enumerate() {
                // SAFETY: nothing uses any of it.
                let end = unsafe { block.trim((20 + at) * MIB) }.expect("an end of some pages");
                memory.unmap(end);
                memory.unmap(block);
            }
            assert_eq!((memory.used(), memory.state().free.bytes()), (0, 192 * MIB));
            start
        })
        .collect();
    assert!(starts.iter().all(|start| *start == starts[0]), "the same memory every time");
}

/// Random blocks come, are trimmed and go; each is filled with its number, which nobody else may overwrite.
#[test]
fn blocks_never_share_bytes() {
    let memory = Memory::with_free_bytes_max(None, 96 * MIB);
    let mut held: Vec<(u8, Mapping)> = Vec::new();
    let mut random = 7_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % bound
    };
    let written = |mapping: &Mapping| (0..mapping.bytes()).step_by(SMALL_PAGE_BYTES);
    for round in 0..4_000 {
        if held.len() == 12 || below(3) == 0 && !held.is_empty() {
            let (number, mapping) = held.swap_remove(below(held.len()));
            for at in written(&mapping) {
                // SAFETY: within the mapping, and written when it was given out.
                assert_eq!(unsafe { mapping.start().add(at).read() }, number);
            }
            memory.unmap(mapping);
        } else {
            let bytes = if below(2) == 0 { (1 + below(12)) * MIB } else { 1 + below(MIB) };
            let mapping = memory.map(bytes).expect("no limit");
            assert!(mapping.bytes() >= bytes);
            // SAFETY: nothing uses any of it.
            if let Some(end) = unsafe { mapping.trim(1 + below(mapping.bytes())) } {
                memory.unmap(end);
            }
            for at in written(&mapping) {
                // SAFETY: within the mapping, which is this test's alone.
                unsafe { mapping.start().add(at).write(round as u8) };
            }
            held.push((round as u8, mapping));
        }
        let used: usize = held.iter().map(|(_, mapping)| mapping.bytes()).sum();
        assert_eq!(memory.used(), used);
        assert!(memory.state().free.bytes() <= 96 * MIB);
    }
}

#[test]
fn only_so_much_waits() {
    let memory = Memory::with_free_bytes_max(None, 4 * MIB);
    let mappings: Vec<Mapping> = (0..4).map(|_| memory.map(2 * MIB).expect("no limit")).collect();
    for mapping in mappings {
        memory.unmap(mapping);
    }
    assert_eq!(memory.state().free.bytes(), 4 * MIB);
    let large = memory.map(6 * MIB).expect("no limit");
    memory.unmap(large);
    assert_eq!(memory.state().free.bytes(), 4 * MIB, "too large to wait");
}

#[test]
fn waiting_blocks_make_room_under_the_limit() {
    let memory = Memory::new(Some(8 * MIB));
    let mapping = memory.map(6 * MIB).expect("within the limit");
    memory.unmap(mapping);
    assert_eq!(memory.state().free.bytes(), 6 * MIB);
    let small = memory.map(MIB).expect("within the limit");
    assert_eq!(memory.state().free.bytes(), 6 * MIB);
    let other = memory.map(2 * MIB).expect("within the limit");
    assert_eq!(memory.state().free.bytes(), 4 * MIB, "cut from what waits");
    let third = memory.map(3 * MIB / 2).expect("within the limit");
    assert_eq!((memory.used(), memory.state().free.bytes()), (9 * MIB / 2, 2 * MIB), "no more went than had to");
    let error = memory.map(4 * MIB).err();
    assert_eq!(error, Some(OutOfMemory { wanted: 4 * MIB, used: 9 * MIB / 2, limit: Some(8 * MIB) }));
    for mapping in [small, other, third] {
        memory.unmap(mapping);
    }
}

#[test]
fn absurd_sizes_are_refused() {
    for limit in [None, Some(MIB)] {
        let memory = Memory::new(limit);
        assert!(memory.map(usize::MAX).is_err());
        assert!(memory.map(1 << 60).is_err());
        assert_eq!(memory.used(), 0);
    }
}
