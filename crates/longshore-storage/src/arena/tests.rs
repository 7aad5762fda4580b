//! Where regions lie, and when their memory is used again or given back.

use super::*;
use crate::memory::HUGE_PAGE_BYTES;

const MIB: usize = 1 << 20;

fn start(region: &Region) -> usize {
    region.at::<u8>(0, 0).addr()
}

#[test]
fn regions_are_aligned_and_apart() {
    let mut arena = Arena::new(Memory::new(None), 2 * MIB);
    let mut regions: Vec<Region> = (0..200).map(|at| arena.allocate(at * 97).expect("no limit")).collect();
    for (at, region) in regions.iter_mut().enumerate() {
        assert!(start(region).is_multiple_of(REGION_ALIGN));
        assert_eq!(region.bytes(), (at * 97).max(1));
        region.as_uninit().fill(MaybeUninit::new(at as u8));
    }
    for (at, region) in regions.iter().enumerate() {
        // SAFETY: all of it was written above.
        let bytes = unsafe { region.values::<u8>(0, region.bytes()) };
        assert!(bytes.iter().all(|&byte| byte == at as u8));
    }
}

#[test]
fn large_blocks_are_aligned_to_huge_pages() {
    let memory = Memory::new(None);
    let mut arena = Arena::new(Arc::clone(&memory), 4 * MIB);
    assert!(start(&arena.allocate(1).expect("no limit")).is_multiple_of(HUGE_PAGE_BYTES));
    assert_eq!(memory.used(), 4 * MIB);
    let large = arena.allocate(5 * MIB).expect("no limit");
    assert!(start(&large).is_multiple_of(HUGE_PAGE_BYTES));
    assert_eq!(memory.used(), 10 * MIB);
}

#[test]
fn the_rest_of_the_last_region_is_used_again() {
    let mut arena = Arena::new(Memory::new(None), 2 * MIB);
    let first = arena.allocate(100).expect("no limit");
    let mut last = arena.allocate(MIB).expect("no limit");
    last.shrink(10);
    let next = arena.allocate(64).expect("no limit");
    assert_eq!(start(&next), start(&last) + 64);
    last.shrink(5);
    let after = arena.allocate(64).expect("no limit");
    assert_eq!(start(&after), start(&next) + 64, "a region that is not the last keeps its rest");
    drop(first);
}

#[test]
fn an_idle_block_is_filled_anew() {
    let memory = Memory::new(None);
    let mut arena = Arena::new(Arc::clone(&memory), 2 * MIB);
    let first = start(&arena.allocate(MIB).expect("no limit"));
    for _ in 0..10 {
        assert_eq!(start(&arena.allocate(3 * MIB / 2).expect("no limit")), first);
    }
    assert_eq!(memory.used(), 2 * MIB);
}

#[test]
fn blocks_that_are_still_open_take_what_fits() {
    let memory = Memory::new(None);
    let mut arena = Arena::new(Arc::clone(&memory), 2 * MIB);
    let kept: Vec<Region> = (0..3).map(|_| arena.allocate(3 * MIB / 2).expect("no limit")).collect();
    assert_eq!(memory.used(), 6 * MIB);
    let small: Vec<Region> = (0..3).map(|_| arena.allocate(MIB / 2).expect("no limit")).collect();
    assert_eq!(memory.used(), 6 * MIB);
    drop((kept, small));
}

#[test]
fn a_dropped_arena_gives_back_what_it_has_not_used() {
    let memory = Memory::new(None);
    let mut arena = Arena::new(Arc::clone(&memory), 32 * MIB);
    let mut region = arena.allocate(3 * MIB).expect("no limit");
    region.as_uninit().fill(MaybeUninit::new(7));
    drop(arena);
    assert_eq!(memory.used(), 4 * MIB);
    // SAFETY: all of it was written above.
    assert!(unsafe { region.values::<u8>(0, 3 * MIB) }.iter().all(|&byte| byte == 7));
    // What it shrinks by stays with the block, which nobody fills any more.
    region.shrink(1);
    assert_eq!(memory.used(), 4 * MIB);
    drop(region);
    assert_eq!(memory.used(), 0);
}

#[test]
fn an_arrow_buffer_keeps_the_block() {
    let memory = Memory::new(None);
    let mut arena = Arena::new(Arc::clone(&memory), 64 << 10);
    let mut region = arena.allocate(100).expect("no limit");
    region.as_uninit().fill(MaybeUninit::new(7));
    // SAFETY: all of it was written above, and the region goes away.
    let buffer = unsafe { region.buffer(100) };
    drop((region, arena));
    assert_eq!((buffer.as_slice(), memory.used()), (&[7; 100][..], 64 << 10));
    drop(buffer);
    assert_eq!(memory.used(), 0);
}

#[test]
fn short_memory_makes_small_blocks() {
    let memory = Memory::new(Some(8 * MIB));
    let mut arena = Arena::new(Arc::clone(&memory), 6 * MIB);
    let first = arena.allocate(5 * MIB).expect("within the limit");
    let second = arena.allocate(2 * MIB).expect("a block of its own fits");
    assert_eq!(memory.used(), 8 * MIB);
    let error = arena.allocate(2 * MIB).expect_err("beyond the limit");
    assert_eq!(error, OutOfMemory { wanted: 2 * MIB, used: 8 * MIB, limit: Some(8 * MIB) });
    drop((first, second));
    arena.allocate(7 * MIB).expect("idle blocks make room");
}

#[test]
fn regions_may_shrink_in_other_threads() {
    let mut arena = Arena::new(Memory::new(None), 2 * MIB);
    std::thread::scope(|scope| {
        for round in 0..2000 {
            let mut region = arena.allocate(4096).expect("no limit");
            region.as_uninit().fill(MaybeUninit::new(round as u8));
            let shrink = scope.spawn(move || {
                region.shrink(1000);
                // SAFETY: all of it was written above.
                let bytes = unsafe { region.values::<u8>(0, 1000) };
                assert!(bytes.iter().all(|&byte| byte == round as u8));
            });
            arena.allocate(100).expect("no limit").as_uninit().fill(MaybeUninit::new(0xEE));
            if round % 64 == 0 {
                shrink.join().expect("no other thread wrote to the region");
            }
        }
    });
}
