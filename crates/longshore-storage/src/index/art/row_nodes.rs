//! The rows of a key that has several: a tree by the bytes of their numbers.
//!
//! A row node branches by one byte of the number and knows the number up to there, so that it needs to know nothing of
//! its depth.

use super::insert::insertion_words;
use super::node::{Kind, ROW_BYTES, Ref, row_byte};
use super::words::Words;
use crate::index::duplicates::Duplicates;
use crate::index::range::Direction;
use crate::row_id::RowId;

/// The bytes of a row's number before byte `at`, the others 0.
fn number_before(row: u64, at: usize) -> u64 {
    let bits = 8 * (ROW_BYTES - at);
    row >> bits << bits
}

impl Words {
    /// The least of some rows.
    pub(super) fn least_row(&self, rows: Ref) -> RowId {
        let mut at = rows;
        loop {
            match at {
                Ref::Row(row) => return row,
                Ref::Node(node) => {
                    let (_, child) = self.first_child(node, 0).expect("a node has children");
                    at = Ref::of(self.get(child));
                }
                Ref::Empty | Ref::Leaf(_) => unreachable!("rows are rows and row nodes"),
            }
        }
    }

    /// Makes it known that rows of the same key have met.
    pub(super) fn compare_rows(&self, rows: Ref, others: Ref, duplicates: &mut Duplicates<'_>) {
        if duplicates.are_allowed(|| (self.least_row(rows), self.least_row(others))) {
            return;
        }
        self.each_row(rows, Direction::Forward, &mut |row| {
            self.each_row(others, Direction::Forward, &mut |other| {
                duplicates.meet(row, other);
                true
            })
        });
    }

    /// What is known of the numbers of some rows, and how many bytes of it.
    fn number(&self, rows: Ref) -> (u64, usize) {
        match rows {
            Ref::Row(row) => (row.0, ROW_BYTES),
            Ref::Node(node) => (self.prefix(node), self.header(node).prefix_bytes()),
            Ref::Empty | Ref::Leaf(_) => unreachable!("rows are rows and row nodes"),
        }
    }

    /// Some rows and some others, and whether these are more than the former. Memory is reserved for one of them.
    pub(super) fn merge_rows(&mut self, rows: Ref, others: Ref) -> (Ref, bool) {
        let ((number, bytes), (other, other_bytes)) = (self.number(rows), self.number(others));
        let differences = (number ^ other) << (64 - 8 * ROW_BYTES);
        let same = differences.leading_zeros() as usize / 8;
        if same < bytes.min(other_bytes) {
            let node = self.new_node(Kind::Node4, number_before(number, same), same, true);
            self.add_child(node, row_byte(RowId(number), same), rows);
            self.add_child(node, row_byte(RowId(other), same), others);
            return (Ref::Node(node), true);
        }
        match (rows, others) {
            (Ref::Node(node), _) if bytes < other_bytes => {
                let byte = row_byte(RowId(other), bytes);
                if let Some(child) = self.child(node, byte) {
                    let (merged, is_new) = self.merge_rows(Ref::of(self.get(child)), others);
                    self.set(child, merged.word());
                    return (rows, is_new);
                }
                (Ref::Node(self.add_child(node, byte, others)), true)
            }
            (_, Ref::Node(_)) if bytes > other_bytes => self.merge_rows(others, rows),
            (Ref::Node(node), Ref::Node(other)) => {
                let (mut node, mut from) = (node, 0);
                while let Some((byte, child)) = self.first_child(other, from) {
                    self.reserve_anyway(insertion_words(0));
                    let theirs = Ref::of(self.get(child));
                    if let Some(ours) = self.child(node, byte) {
                        let (merged, _) = self.merge_rows(Ref::of(self.get(ours)), theirs);
                        self.set(ours, merged.word());
                    } else {
                        node = self.add_child(node, byte, theirs);
                    }
                    let Some(next) = byte.checked_add(1) else { break };
                    from = next;
                }
                self.free_node(other);
                (Ref::Node(node), true)
            }
            _ => (rows, false),
        }
    }

    /// Rows without one of them; `None` if it is not among them.
    pub(super) fn without_row(&mut self, rows: Ref, row: RowId) -> Option<Ref> {
        match rows {
            Ref::Row(only) => (only == row).then_some(Ref::Empty),
            Ref::Node(node) => {
                let (number, bytes) = self.number(rows);
                if number_before(row.0, bytes) != number {
                    return None;
                }
                let byte = row_byte(row, bytes);
                let child = self.child(node, byte)?;
                let left = self.without_row(Ref::of(self.get(child)), row)?;
                if left != Ref::Empty {
                    self.set(child, left.word());
                    return Some(rows);
                }
                let may_shrink = self.reserve(Kind::Node48.words()).is_ok();
                let node = self.remove_child(node, byte, may_shrink);
                if self.header(node).count() > 1 {
                    return Some(Ref::Node(node));
                }
                let (_, only) = self.first_child(node, 0).expect("one is left");
                let only = Ref::of(self.get(only));
                self.free_node(node);
                Some(only)
            }
            Ref::Empty | Ref::Leaf(_) => unreachable!("rows are rows and row nodes"),
        }
    }

    /// Gives back the nodes of rows, not the rows.
    pub(super) fn free_row_nodes(&mut self, rows: Ref) {
        let Ref::Node(node) = rows else { return };
        let mut next = self.first_child(node, 0);
        while let Some((byte, child)) = next {
            self.free_row_nodes(Ref::of(self.get(child)));
            next = byte.checked_add(1).and_then(|from| self.first_child(node, from));
        }
        self.free_node(node);
    }

    /// Goes through rows in order, until it is told to stop; says whether it was not.
    pub(super) fn each_row(&self, rows: Ref, direction: Direction, take: &mut impl FnMut(RowId) -> bool) -> bool {
        match rows {
            Ref::Row(row) => take(row),
            Ref::Node(node) => {
                let mut next = self.edge_child(node, direction);
                while let Some((byte, child)) = next {
                    if !self.each_row(Ref::of(self.get(child)), direction, take) {
                        return false;
                    }
                    next = self.next_child(node, byte, direction);
                }
                true
            }
            Ref::Empty | Ref::Leaf(_) => unreachable!("rows are rows and row nodes"),
        }
    }
}
