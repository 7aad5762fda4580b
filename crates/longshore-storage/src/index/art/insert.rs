//! The insertion of a key, beginning anywhere above its place.

use super::node::{Kind, PREFIX_BYTES_MAX, Ref, leaf_words};
use super::words::{Position, Words};
use crate::index::duplicates::Duplicates;
use crate::index::key::KeyBytes;

/// What refers to a part of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// Whoever works on it.
    Top,
    /// A child of a node, or the rows of a leaf.
    At(Position),
}

/// A part of a tree, whose keys have their first `depth` bytes in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) slot: Slot,
    pub(super) depth: usize,
}

impl Place {
    /// The whole.
    pub(super) const TOP: Place = Place { slot: Slot::Top, depth: 0 };
}

/// What is to be put at the place of a key.
pub(super) trait Below: Copy {
    /// What belongs to the key itself.
    fn rows(self) -> Ref;

    /// What stands for the bytes of `key` from `from` on where nothing of them is in the tree; memory is reserved.
    fn hang<K: KeyBytes>(self, words: &mut Words, key: K, from: usize) -> Ref;
}

/// Rows of the key.
impl Below for Ref {
    #[inline]
    fn rows(self) -> Ref {
        self
    }

    #[inline]
    fn hang<K: KeyBytes>(self, words: &mut Words, key: K, from: usize) -> Ref {
        words.new_leaf(key, from, self)
    }
}

/// Words of a node that grows, and of those that branch.
const NODES: usize = Kind::Node256.words() + 3 * Kind::Node4.words();

/// Keys of more bytes are looked for first: what all of them may take is seven times what they have.
const LONG_BYTES: usize = 1 << 12;

/// The most words that an insertion takes: a node that grows, one that branches, a leaf, and nodes of one child along
/// what two leaves share.
#[inline]
pub(super) fn insertion_words(key_bytes: usize) -> usize {
    NODES + 2 * leaf_words(key_bytes) + Kind::Node4.words() * (key_bytes / (PREFIX_BYTES_MAX + 1))
}

/// How many bytes are equal, from `a_from` of one and `b_from` of the other; may count zeros behind their ends.
#[inline]
pub(super) fn common<A: KeyBytes, B: KeyBytes>(a: A, a_from: usize, b: B, b_from: usize) -> usize {
    let length = (a.length() - a_from).min(b.length() - b_from);
    let mut at = 0;
    while at < length {
        let differences = a.word(a_from + at) ^ b.word(b_from + at);
        if differences != 0 {
            return at + differences.leading_zeros() as usize / 8;
        }
        at += 8;
    }
    at
}

/// The first bytes of a word.
pub(super) fn first_bytes(word: u64, bytes: usize) -> u64 {
    if bytes == 0 { 0 } else { word & u64::MAX << (64 - 8 * bytes) }
}

impl Words {
    pub(super) fn slot(&self, top: Ref, slot: Slot) -> Ref {
        match slot {
            Slot::Top => top,
            Slot::At(at) => Ref::of(self.get(at)),
        }
    }

    pub(super) fn set_slot(&self, top: &mut Ref, slot: Slot, to: Ref) {
        match slot {
            Slot::Top => *top = to,
            Slot::At(at) => self.set(at, to.word()),
        }
    }

    /// The most words that the insertion of a key takes which belongs to the part of the tree at `start`.
    #[inline]
    pub(super) fn words_for<K: KeyBytes>(&self, top: Ref, start: Place, key: K) -> usize {
        if key.length() <= LONG_BYTES { insertion_words(key.length()) } else { self.words_for_long(top, start, key) }
    }

    /// The same of a long key, by the way to its place.
    #[cold]
    fn words_for_long<K: KeyBytes>(&self, top: Ref, start: Place, key: K) -> usize {
        let Place { mut slot, mut depth } = start;
        // Bytes of the leaf, and those that it shares with another one.
        let (rest, shared) = loop {
            match self.slot(top, slot) {
                Ref::Empty => break (key.length() - depth, 0),
                Ref::Row(_) => break (0, 0),
                Ref::Node(node) => {
                    let header = self.header(node);
                    if header.has_rows() {
                        break (0, 0);
                    }
                    let bytes = header.prefix_bytes();
                    let same = ((self.prefix(node) ^ key.word(depth)).leading_zeros() as usize / 8).min(bytes);
                    depth += same;
                    match self.child(node, key.byte(depth)).filter(|_| same == bytes) {
                        Some(child) => (slot, depth) = (Slot::At(child), depth + 1),
                        None => break (key.length() - depth - 1, 0),
                    }
                }
                Ref::Leaf(leaf) => {
                    let suffix = self.suffix(leaf);
                    let same = common(suffix, 0, key, depth).min(suffix.length());
                    break (key.length() - depth - same, same);
                }
            }
        };
        NODES + leaf_words(rest) + Kind::Node4.words() * (shared / (PREFIX_BYTES_MAX + 1) + 1)
    }

    /// Adds rows to those of a key that belongs to the part of the tree at `start`, or what else is to be at its place;
    /// says whether there was something to add. Inner nodes on the way, and one that is made, are noted in `trail`.
    /// [`Words::words_for`] are reserved.
    #[inline]
    pub(super) fn insert_under<K: KeyBytes, B: Below>(
        &mut self,
        top: &mut Ref,
        start: Place,
        key: K,
        below: B,
        mut trail: Option<&mut Vec<Place>>,
        duplicates: &mut Duplicates<'_>,
    ) -> bool {
        let Place { mut slot, mut depth } = start;
        loop {
            match self.slot(*top, slot) {
                Ref::Empty => {
                    let leaf = below.hang(self, key, depth);
                    self.set_slot(top, slot, leaf);
                    return true;
                }
                Ref::Row(_) => return self.meet(top, slot, below.rows(), duplicates),
                Ref::Node(node) => {
                    let header = self.header(node);
                    if header.has_rows() {
                        return self.meet(top, slot, below.rows(), duplicates);
                    }
                    if let Some(trail) = &mut trail {
                        trail.push(Place { slot, depth });
                    }
                    let (prefix, bytes) = (self.prefix(node), header.prefix_bytes());
                    let same = ((prefix ^ key.word(depth)).leading_zeros() as usize / 8).min(bytes);
                    if same < bytes {
                        let branch = self.branch_off(node, same);
                        let leaf = below.hang(self, key, depth + same + 1);
                        let branch = self.add_child(branch, key.byte(depth + same), leaf);
                        self.set_slot(top, slot, Ref::Node(branch));
                        return true;
                    }
                    depth += bytes;
                    let byte = key.byte(depth);
                    if let Some(child) = self.child(node, byte) {
                        slot = Slot::At(child);
                        depth += 1;
                        continue;
                    }
                    let leaf = below.hang(self, key, depth + 1);
                    let moved = self.add_child(node, byte, leaf);
                    if moved != node {
                        self.set_slot(top, slot, Ref::Node(moved));
                    }
                    return true;
                }
                Ref::Leaf(leaf) => {
                    let suffix = self.suffix(leaf);
                    let length = suffix.length();
                    let same = common(suffix, 0, key, depth).min(length);
                    if same == length {
                        // No key is a prefix of another, so they are equal.
                        return self.meet(top, Slot::At(leaf), below.rows(), duplicates);
                    }
                    let byte = suffix.byte(same);
                    let old = self.cut_leaf(leaf, same + 1);
                    let new = below.hang(self, key, depth + same + 1);
                    let node = self.new_node(Kind::Node4, 0, 0, false);
                    self.add_child(node, byte, old);
                    self.add_child(node, key.byte(depth + same), new);
                    let top_node = self.put_prefix(node, key, depth, same);
                    self.set_slot(top, slot, Ref::Node(top_node));
                    if let Some(trail) = &mut trail {
                        trail.push(Place { slot, depth });
                    }
                    return true;
                }
            }
        }
    }

    /// Rows of a key that has some.
    fn meet(&mut self, top: &mut Ref, slot: Slot, rows: Ref, duplicates: &mut Duplicates<'_>) -> bool {
        let before = self.slot(*top, slot);
        duplicates.note_meeting();
        self.compare_rows(before, rows, duplicates);
        let (merged, is_new) = self.merge_rows(before, rows);
        self.set_slot(top, slot, merged);
        is_new
    }

    /// A new node over one that has only the first `same` bytes of its prefix in common with what is to come.
    pub(super) fn branch_off(&mut self, node: Position, same: usize) -> Position {
        let (prefix, bytes) = (self.prefix(node), self.header(node).prefix_bytes());
        let branch = self.new_node(Kind::Node4, first_bytes(prefix, same), same, false);
        self.shorten_prefix(node, same + 1);
        debug_assert!(same < bytes, "there is a byte to branch by");
        self.add_child(branch, (prefix >> (56 - 8 * same)) as u8, Ref::Node(node))
    }

    /// Takes the first bytes off a node's prefix.
    pub(super) fn shorten_prefix(&self, node: Position, by: usize) {
        let (prefix, bytes) = (self.prefix(node), self.header(node).prefix_bytes());
        self.set_prefix(node, if by == 8 { 0 } else { prefix << (8 * by) }, bytes - by);
    }

    /// What is left of a leaf without the first bytes of its suffix. It is cut where it is.
    pub(super) fn cut_leaf(&mut self, leaf: Position, by: usize) -> Ref {
        let suffix = self.suffix(leaf);
        let (before, length) = (suffix.length(), suffix.length() - by);
        if length == 0 {
            let rows = Ref::of(self.get(leaf));
            self.free_leaf(leaf);
            return rows;
        }
        // Each word is read before it is written; the first one, which has the length, is written last.
        let first = (length as u64) << 32 | suffix.word(by) >> 32;
        for (word, byte) in (4..length).step_by(8).enumerate() {
            self.set(leaf.plus(2 + word), suffix.word(by + byte));
        }
        self.set(leaf.plus(1), first);
        let (words, left) = (leaf_words(before), leaf_words(length));
        if left < words {
            self.give_back(leaf.plus(left), words - left);
        }
        Ref::Leaf(leaf)
    }

    /// Gives a node without a prefix the `length` bytes of a key from `from` on: as its prefix as many as fit, the others
    /// as nodes of one child above it, the uppermost of which is returned.
    pub(super) fn put_prefix<K: KeyBytes>(&mut self, node: Position, key: K, from: usize, length: usize) -> Position {
        let bytes = length.min(PREFIX_BYTES_MAX);
        let mut left = length - bytes;
        self.set_prefix(node, first_bytes(key.word(from + left), bytes), bytes);
        let mut node = node;
        while left > 0 {
            let bytes = (left - 1).min(PREFIX_BYTES_MAX);
            let byte = key.byte(from + left - 1);
            left -= bytes + 1;
            let above = self.new_node(Kind::Node4, first_bytes(key.word(from + left), bytes), bytes, false);
            node = self.add_child(above, byte, Ref::Node(node));
        }
        node
    }
}
