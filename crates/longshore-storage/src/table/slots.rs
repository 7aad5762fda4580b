//! The slots of a relation: places that are read without a lock, and the order of those that have rows.
//!
//! A place once made stays where it is, so that a row's id leads to its slot without a lock. The slots of places that have
//! rows stand in a list, in the order of their rows. A slot that is gone for good leaves it, and its place is *vacant*:
//! the next slots that need as many places beside each other get it. So a relation that is emptied and filled again has as
//! many places as it has slots at a time, not as it ever had.
//!
//! Not here: when nobody knows a place any longer (`manager/freed_slots.rs`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{OnceLock, PoisonError};

use crate::chunk::hot::{HotChunk, Slot};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Rank, Ranked};

/// Places of the first segment; each further one has twice as many as the one before.
const FIRST_SEGMENT_SLOTS: usize = 16;
const SEGMENTS: usize = 28;

/// Vacant places beside each other that are worth it that many slots at a time are put there, of a relation with few.
const VACANT_WORTH_IT: usize = 16;

pub(crate) struct Slots {
    segments: [OnceLock<Box<[OnceLock<Slot>]>>; SEGMENTS],
    /// Places.
    len: AtomicUsize,
    list: Mutex<List>,
}

/// Which places are used.
#[derive(Clone, Default)]
pub(crate) struct List {
    /// Whether slots may be added.
    is_closed: bool,
    /// Those whose slots have rows, or may come to have some, in the order of the rows.
    order: Vec<u32>,
    /// The first of those beside each other that nobody has, and how many they are.
    vacant: BTreeMap<usize, usize>,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots { segments: [const { OnceLock::new() }; SEGMENTS], len: AtomicUsize::new(0), list: Mutex::default() }
    }

    /// Refuses further slots, or takes them again.
    pub(crate) fn close(&self, is_closed: bool) {
        self.list().is_closed = is_closed;
    }

    #[track_caller]
    fn list(&self) -> Ranked<MutexGuard<'_, List>> {
        Ranked::take(Rank::SlotList, &self.list, |list| list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Places, vacant ones included.
    pub(crate) fn places(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// The place of the last slot.
    pub(crate) fn last(&self) -> Option<usize> {
        self.list().order.last().map(|&place| place as usize)
    }

    /// The slot at a place. Of a vacant one it is one that is gone.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Slot> {
        if at >= self.places() {
            return None;
        }
        let (segment, at, _) = place(at);
        self.segments.get(segment)?.get()?[at].get()
    }

    /// Adds slots behind all others, at places next to each other; says which. `None` if it is closed. `likely` is where
    /// they are taken to be, if they may be there ([`Slots::likely`]).
    pub(crate) fn push(&self, slots: Vec<HotChunk>, likely: Option<usize>) -> Option<Range<usize>> {
        let mut list = self.list();
        if list.is_closed {
            return None;
        }
        let (end, count) = (self.places(), slots.len());
        let first = list.take(count, end, likely);
        for (at, slot) in (first..).zip(slots) {
            self.put(at, slot);
        }
        list.order.extend((first..first + count).map(|place| place as u32));
        Some(first..first + count)
    }

    /// Puts a slot at a vacant place, or at the next one.
    fn put(&self, at: usize, slot: HotChunk) {
        if let Some(vacant) = self.get(at) {
            *vacant.write() = slot;
            return;
        }
        let (segment, at_segment, len) = place(at);
        let segment = self.segments[segment].get_or_init(|| (0..len).map(|_| OnceLock::new()).collect());
        let is_new = segment[at_segment].set(Slot::new(slot)).is_ok();
        assert!(is_new, "a place is made once");
        self.len.store(at + 1, Ordering::Release);
    }

    /// Where many slots would be put, as far as can be told before it is known how many.
    pub(crate) fn likely(&self) -> usize {
        let list = self.list();
        let end = list.tail(self.places());
        let longest = list.vacant.iter().max_by_key(|(_, count)| **count);
        let worth_it = list.order.len().max(VACANT_WORTH_IT);
        longest.filter(|(_, count)| **count >= worth_it).map_or(end, |(&first, _)| first)
    }

    /// Takes back places, in ascending order, whose slots are gone, and that nobody knows any longer.
    pub(crate) fn vacate(&self, places: &[usize]) {
        let mut list = self.list();
        list.order.retain(|place| places.binary_search(&(*place as usize)).is_err());
        for &place in places {
            list.vacate(place);
        }
    }

    /// The places of slots, in the order of their rows.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let order = self.list().order.clone();
        order.into_iter().map(|at| at as usize)
    }

    /// Slots with their places, in the order of their rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Slot)> {
        self.order().filter_map(|at| Some((at, self.get(at)?)))
    }

    /// Which places are used, and how many there are, for another relation with the same rows.
    pub(crate) fn layout(&self) -> (List, usize) {
        let list = self.list();
        (List { is_closed: false, ..list.clone() }, self.places())
    }

    /// Takes away all slots, with their places, in the order of their rows. `gone` makes those that stay instead.
    pub(crate) fn take(&self, gone: impl Fn() -> HotChunk) -> Vec<(usize, HotChunk)> {
        self.iter().map(|(at, slot)| (at, std::mem::replace(&mut *slot.write(), gone()))).collect()
    }

    /// Slots at their places, in the order of their rows, to one that has none. `gone` makes those of the vacant places.
    pub(crate) fn restore(&self, slots: Vec<(usize, HotChunk)>, gone: impl Fn() -> HotChunk) {
        let mut list = List { order: slots.iter().map(|(at, _)| *at as u32).collect(), ..List::default() };
        let mut used = list.order.clone();
        used.sort_unstable();
        let places = used.last().map_or(0, |last| *last as usize + 1);
        (0..places).filter(|at| used.binary_search(&(*at as u32)).is_err()).for_each(|at| list.vacate(at));
        self.adopt((list, places), slots, gone);
    }

    /// Slots at the same places as those of another relation, to one that has none. `gone` makes slots for vacant places.
    pub(crate) fn adopt(
        &self,
        (list, places): (List, usize),
        slots: Vec<(usize, HotChunk)>,
        gone: impl Fn() -> HotChunk,
    ) {
        let mut slots: BTreeMap<usize, HotChunk> = slots.into_iter().collect();
        let mut own = self.list();
        for at in 0..places {
            self.put(at, slots.remove(&at).unwrap_or_else(&gone));
        }
        *own = list;
    }
}

impl List {
    /// The first of the vacant places before the end of all, or the end.
    fn tail(&self, end: usize) -> usize {
        self.vacant.last_key_value().filter(|(first, count)| **first + **count == end).map_or(end, |(&first, _)| first)
    }

    /// Takes so many places, of which those from the end on are yet to be made; says which is the first.
    fn take(&mut self, count: usize, end: usize, likely: Option<usize>) -> usize {
        let tail = self.tail(end);
        let fits = |first: usize, room: usize| room >= count || first == tail;
        let likely = likely.filter(|&at| at == tail || self.vacant.get(&at).is_some_and(|&room| fits(at, room)));
        let first_fit = || self.vacant.iter().find(|(first, room)| fits(**first, **room)).map(|(&first, _)| first);
        let first = likely.or_else(first_fit).unwrap_or(tail);
        if let Some(room) = self.vacant.remove(&first)
            && room > count
        {
            self.vacant.insert(first + count, room - count);
        }
        first
    }

    /// Makes a place vacant, together with its neighbours.
    fn vacate(&mut self, place: usize) {
        let (mut first, mut count) = (place, 1);
        if let Some((&before, &room)) = self.vacant.range(..place).next_back()
            && before + room == place
        {
            (first, count) = (before, room + 1);
        }
        if let Some(room) = self.vacant.remove(&(place + 1)) {
            count += room;
        }
        self.vacant.insert(first, count);
    }
}

/// The segment of a place, the place there, and the places that the segment has.
#[inline]
fn place(at: usize) -> (usize, usize, usize) {
    let shifted = at + FIRST_SEGMENT_SLOTS;
    let segment = (shifted.ilog2() - FIRST_SEGMENT_SLOTS.ilog2()) as usize;
    let len = FIRST_SEGMENT_SLOTS << segment;
    (segment, shifted - len, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes places, which nobody has, as a relation does.
    fn take(list: &mut List, end: &mut usize, count: usize) -> usize {
        let first = list.take(count, *end, None);
        *end = (*end).max(first + count);
        first
    }

    #[test]
    fn places_are_taken_again_however_they_were_given_up() {
        let (mut list, mut end) = (List::default(), 0);
        assert_eq!([3, 2, 4].map(|count| take(&mut list, &mut end, count)), [0, 3, 5]);
        for place in [1, 4, 0, 3, 2] {
            list.vacate(place);
        }
        assert_eq!(list.vacant, BTreeMap::from([(0, 5)]));
        assert_eq!([2, 4, 3].map(|count| take(&mut list, &mut end, count)), [0, 9, 2]);
        for place in (5..13).rev() {
            list.vacate(place);
        }
        assert_eq!((take(&mut list, &mut end, 20), end, list.vacant.len()), (5, 25, 0), "the tail takes any number");
        list.vacate(7);
        assert_eq!((list.take(1, end, Some(25)), list.take(1, 26, Some(9))), (25, 7));
    }
}
