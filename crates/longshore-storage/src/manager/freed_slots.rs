//! Decides when the place of a slot that is gone may be given to another one.
//!
//! Whoever reclaims what a commit has left goes by the numbers of its rows, and takes deleted ones out of the indexes. Two
//! threads that reclaim do not wait for each other: when one has given up all rows of a slot, another one may still be on
//! its way to some of them, for an earlier commit, and must not find the rows of another slot there. So a place is vacant
//! when all have ended who were reclaiming when it was given up.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::table::Table;

/// A place whose slot is gone.
pub(crate) struct FreedSlot {
    pub(crate) table: Arc<Table>,
    pub(crate) place: usize,
}

/// Places whose slots are gone. Most transactions have none, so that it is one word of each.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "the size of what is moved with every transaction")]
pub(crate) struct FreedSlots(Option<Box<Vec<FreedSlot>>>);

impl FreedSlots {
    #[cold]
    pub(super) fn push(&mut self, place: FreedSlot) {
        self.0.get_or_insert_default().push(place);
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Who reclaims something, from when it is decided to when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// Who reclaims, and the places that wait for them.
#[derive(Default)]
pub(super) struct FreedSlotQueue {
    next: u64,
    at_work: Vec<Ticket>,
    /// Each with the first ticket that it does not wait for.
    waiting: VecDeque<(Ticket, FreedSlot)>,
}

impl FreedSlotQueue {
    pub(super) fn begin(&mut self) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.at_work.push(ticket);
        ticket
    }

    pub(super) fn end(&mut self, ticket: Ticket) {
        self.at_work.retain(|&at_work| at_work != ticket);
    }

    /// Whether no place waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets places wait for those who are at work now.
    pub(super) fn put(&mut self, FreedSlots(places): FreedSlots) {
        let next = Ticket(self.next);
        self.waiting.extend(places.into_iter().flat_map(|places| *places).map(|place| (next, place)));
    }

    /// The places that need not wait any longer.
    pub(super) fn ready(&mut self) -> Vec<FreedSlot> {
        let first = self.at_work.iter().min().copied();
        let count = self.waiting.partition_point(|(until, _)| first.is_none_or(|first| *until <= first));
        self.waiting.drain(..count).map(|(_, place)| place).collect()
    }
}

/// Gives places to whoever needs some next.
pub(super) fn release(mut freed: Vec<FreedSlot>) {
    freed.sort_unstable_by_key(|FreedSlot { table, place }| (table.id(), *place));
    for of_table in freed.chunk_by(|one, other| one.table.id() == other.table.id()) {
        let places: Vec<usize> = of_table.iter().map(|freed| freed.place).collect();
        of_table[0].table.vacate(&places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::relation::Relation;
    use crate::types::Schema;

    #[test]
    fn a_place_waits_for_those_who_were_at_work_and_no_longer() {
        let relation = Relation::new(Arc::new(Schema::new(Vec::new())), Memory::new(None));
        let places = |place| {
            let mut places = FreedSlots::default();
            places.push(FreedSlot { table: Arc::clone(relation.table()), place });
            places
        };
        let mut freed_slots = FreedSlotQueue::default();
        let ready =
            |freed_slots: &mut FreedSlotQueue| freed_slots.ready().iter().map(|of| of.place).collect::<Vec<_>>();
        freed_slots.put(places(0));
        assert_eq!(ready(&mut freed_slots), [0]);
        let (first, second) = (freed_slots.begin(), freed_slots.begin());
        freed_slots.put(places(1));
        let third = freed_slots.begin();
        freed_slots.end(second);
        freed_slots.put(places(2));
        assert!(ready(&mut freed_slots).is_empty());
        freed_slots.end(first);
        assert_eq!(ready(&mut freed_slots), [1]);
        freed_slots.end(third);
        assert_eq!(ready(&mut freed_slots), [2]);
    }
}
