//! Builds a tree of many rows, fast if their keys come in an order.
//!
//! A builder remembers the nodes on the way to the last key. The next one is inserted from the deepest of them that it
//! has in common with it; so keys that ascend, or that are alike for another reason, are appended near the end of the
//! same path and never see the root. Where they differ in their last byte only, they are added at once (`art/run.rs`).

use super::Tree;
use super::insert::{Place, Slot, common, insertion_words};
use super::node::{Kind, Ref};
use super::run::Run;
use super::words::Words;
use crate::index::duplicates::Duplicates;
use crate::index::key::{KeyBytes, LongBytes, SHORT_BYTES, ShortBytes};
use crate::index::range::Direction;
use crate::memory::OutOfMemory;
use crate::row_id::RowId;

/// Appends rows to a tree.
pub(in crate::index) struct Builder<'d> {
    tree: Tree,
    duplicates: Duplicates<'d>,
    /// Nodes on the way to the last key, from the root.
    trail: Vec<Place>,
    /// The first 16 bytes of the last key, its length, and all of it if it has more.
    last: ShortBytes,
    last_long: Vec<u8>,
}

impl<'d> Builder<'d> {
    /// Goes on with a tree.
    pub(in crate::index) fn new(tree: Tree, duplicates: Duplicates<'d>) -> Builder<'d> {
        let last = ShortBytes { bits: 0, length: 0 };
        Builder { tree, duplicates, trail: Vec::new(), last, last_long: Vec::new() }
    }

    /// Whether two rows have the same key and must not.
    pub(in crate::index) fn has_duplicates(&self) -> bool {
        self.duplicates.least().is_some()
    }

    /// Adds a row, whose key is compared with those of others unless NULL makes it differ from all.
    #[inline]
    pub(in crate::index) fn push<K: KeyBytes>(
        &mut self,
        key: K,
        row: RowId,
        is_apart: bool,
    ) -> Result<(), OutOfMemory> {
        let start = self.start_of(key);
        self.tree.words.reserve(self.tree.words.words_for(self.tree.root, start, key))?;
        self.remember(key);
        let (words, root) = (&mut self.tree.words, &mut self.tree.root);
        let trail = Some(&mut self.trail);
        let mut ignored = Duplicates::ignored();
        let duplicates = if is_apart { &mut ignored } else { &mut self.duplicates };
        let is_new = words.insert_under(root, start, key, Ref::Row(row), trail, duplicates);
        self.tree.rows += usize::from(is_new);
        Ok(())
    }

    /// Adds the rows of a run, none of whose keys NULL makes differ from all others.
    #[inline]
    pub(in crate::index) fn push_run(&mut self, run: Run<'_>) -> Result<(), OutOfMemory> {
        if run.len() == 1 {
            return self.push(run.key(0), run.row(0), false);
        }
        let key = run.key(0);
        self.tree.words.reserve(insertion_words(key.length()) + Kind::Node256.words())?;
        let start = self.start_of(key);
        let (words, root) = (&mut self.tree.words, &mut self.tree.root);
        let (added, new) = words.insert_run(root, start, run, &mut self.trail, &mut self.duplicates);
        self.tree.rows += new;
        self.remember(run.key(added - 1));
        (added..run.len()).try_for_each(|at| self.push(run.key(at), run.row(at), false))
    }

    /// The deepest place on the way to the last key that is on the way to this one, too.
    #[inline]
    fn start_of<K: KeyBytes>(&mut self, key: K) -> Place {
        let same = if self.last.length as usize <= SHORT_BYTES {
            common(key, 0, self.last, 0)
        } else {
            common(key, 0, LongBytes(&self.last_long), 0)
        };
        while let Some(place) = self.trail.pop() {
            if place.depth <= same {
                return place;
            }
        }
        Place::TOP
    }

    #[inline]
    fn remember<K: KeyBytes>(&mut self, key: K) {
        self.last =
            ShortBytes { bits: u128::from(key.word(0)) << 64 | u128::from(key.word(8)), length: key.length() as u32 };
        if key.length() > SHORT_BYTES {
            self.last_long.clear();
            self.last_long.extend((0..key.length()).map(|at| key.byte(at)));
        }
    }

    /// The tree, and what was found out about duplicates.
    pub(in crate::index) fn finish(self) -> (Tree, Duplicates<'d>) {
        (self.tree, self.duplicates)
    }
}

impl Tree {
    /// Gives every row another number.
    pub(in crate::index) fn renumber(&mut self, mut number: impl FnMut(RowId) -> RowId) {
        self.root = self.words.renumber(self.root, &mut number);
    }
}

impl Words {
    fn renumber(&mut self, top: Ref, number: &mut impl FnMut(RowId) -> RowId) -> Ref {
        let (mut top, mut slots) = (top, vec![Slot::Top]);
        while let Some(slot) = slots.pop() {
            let renumbered = self.renumber_top(self.slot(top, slot), number, &mut slots);
            self.set_slot(&mut top, slot, renumbered);
        }
        top
    }

    /// The same, but for what is below: where that is, goes on the list.
    fn renumber_top(&mut self, at: Ref, number: &mut impl FnMut(RowId) -> RowId, slots: &mut Vec<Slot>) -> Ref {
        match at {
            Ref::Empty => Ref::Empty,
            Ref::Row(row) => Ref::Row(number(row)),
            Ref::Leaf(leaf) => {
                slots.push(Slot::At(leaf));
                at
            }
            Ref::Node(node) if self.header(node).has_rows() => {
                // Their order stays, but not the bytes by which they branch.
                let mut rows = Vec::new();
                self.each_row(at, Direction::Forward, &mut |row| {
                    rows.push(number(row));
                    true
                });
                self.free_row_nodes(at);
                rows.into_iter().fold(Ref::Empty, |rows, row| {
                    self.reserve_anyway(insertion_words(0));
                    if rows == Ref::Empty { Ref::Row(row) } else { self.merge_rows(rows, Ref::Row(row)).0 }
                })
            }
            Ref::Node(node) => {
                // In no order, and the rows of last bytes where they stand.
                let header = self.header(node);
                let (kind, count) = (header.kind(), header.count());
                let places = if matches!(kind, Kind::Node4 | Kind::Node16) { count } else { kind.capacity() };
                for child in (0..places).map(|place| node.plus(kind.children() + place)) {
                    match Ref::of(self.get(child)) {
                        Ref::Empty => {}
                        Ref::Row(row) => self.set(child, Ref::Row(number(row)).word()),
                        Ref::Leaf(_) | Ref::Node(_) => slots.push(Slot::At(child)),
                    }
                }
                at
            }
        }
    }
}
