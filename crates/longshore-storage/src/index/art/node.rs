//! The nodes of a radix tree: what their words mean.
//!
//! ```text
//!            word 0                                  word 1    then
//! Node4      kind, prefix length, count, 4 keys      prefix    4 children
//! Node16     kind, prefix length, count              prefix    16 keys, 16 children
//! Node48     kind, prefix length, count              prefix    256 bytes: number of child + 1, or 0; 48 children
//! Node256    kind, prefix length, count              prefix    256 children
//! leaf       rows of the key                         length of the suffix (32 bits), its first 4 bytes, the others
//! ```
//!
//! The keys of the two smaller kinds are sorted. A prefix has up to 8 bytes, the first in the highest bits; where more
//! bytes are common, nodes of one child follow each other.
//!
//! A child is a [`Ref`]: a row whose key ends here; a node; or a leaf, which has the rest of a key that no other key
//! shares (lazy expansion). The rows of a key that has several are a tree of *row nodes*, which branch by a byte of the
//! row's number; the prefix of such a node is the number up to there.
//!
//! Not here: children by their bytes (`art/children.rs`), the way through a tree.

use std::sync::atomic::{AtomicU64, Ordering};

use super::words::{Position, Words};
use crate::index::key::{KeyBytes, ShortBytes};
use crate::row_id::RowId;

/// Bytes that a prefix can have.
pub(super) const PREFIX_BYTES_MAX: usize = 8;

/// Bytes of a row's number.
pub(super) const ROW_BYTES: usize = 6;

const TAG_SHIFT: u32 = 62;
const PAYLOAD: u64 = (1 << TAG_SHIFT) - 1;

/// What a child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ref {
    Empty,
    Row(RowId),
    Node(Position),
    Leaf(Position),
}

impl Ref {
    #[inline]
    pub(super) fn of(word: u64) -> Ref {
        match word >> TAG_SHIFT {
            0 => Ref::Empty,
            1 => Ref::Row(RowId(word & PAYLOAD)),
            2 => Ref::Node(Position(word & PAYLOAD)),
            _ => Ref::Leaf(Position(word & PAYLOAD)),
        }
    }

    #[inline]
    pub(super) fn word(self) -> u64 {
        match self {
            Ref::Empty => 0,
            Ref::Row(row) => 1 << TAG_SHIFT | row.0,
            Ref::Node(at) => 2 << TAG_SHIFT | at.0,
            Ref::Leaf(at) => 3 << TAG_SHIFT | at.0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node4,
    Node16,
    Node48,
    Node256,
}

impl Kind {
    fn of(bits: u64) -> Kind {
        match bits & 3 {
            0 => Kind::Node4,
            1 => Kind::Node16,
            2 => Kind::Node48,
            _ => Kind::Node256,
        }
    }

    /// Children there is room for.
    pub(super) const fn capacity(self) -> usize {
        match self {
            Kind::Node4 => 4,
            Kind::Node16 => 16,
            Kind::Node48 => 48,
            Kind::Node256 => 256,
        }
    }

    /// The first child.
    pub(super) const fn children(self) -> usize {
        match self {
            Kind::Node4 | Kind::Node256 => 2,
            Kind::Node16 => 4,
            Kind::Node48 => 34,
        }
    }

    pub(super) const fn words(self) -> usize {
        self.children() + self.capacity()
    }

    /// The kind to become when it is full.
    pub(super) fn larger(self) -> Kind {
        match self {
            Kind::Node4 => Kind::Node16,
            Kind::Node16 => Kind::Node48,
            Kind::Node48 | Kind::Node256 => Kind::Node256,
        }
    }

    /// The kind to become with so few children: not yet where the next one would make it grow again.
    pub(super) fn smaller(self, count: usize) -> Option<Kind> {
        match self {
            Kind::Node16 if count <= 3 => Some(Kind::Node4),
            Kind::Node48 if count <= 12 => Some(Kind::Node16),
            Kind::Node256 if count <= 37 => Some(Kind::Node48),
            _ => None,
        }
    }
}

/// The first word of a node, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header(pub(super) u64);

const ROWS: u64 = 1 << 7;

impl Header {
    pub(super) fn new(kind: Kind, prefix_bytes: usize, has_rows: bool) -> Header {
        Header(kind as u64 | if has_rows { ROWS } else { 0 } | (prefix_bytes as u64) << 8)
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        Kind::of(self.0)
    }

    /// Whether it is a row node.
    #[inline]
    pub(super) fn has_rows(self) -> bool {
        self.0 & ROWS != 0
    }

    #[inline]
    pub(super) fn prefix_bytes(self) -> usize {
        (self.0 >> 8 & 0xFF) as usize
    }

    #[inline]
    pub(super) fn count(self) -> usize {
        (self.0 >> 16 & 0xFFFF) as usize
    }

    /// The keys of a Node4.
    #[inline]
    pub(super) fn keys(self) -> u64 {
        self.0 >> 32
    }

    fn with_prefix_bytes(self, prefix_bytes: usize) -> Header {
        Header(self.0 & !0xFF00 | (prefix_bytes as u64) << 8)
    }

    pub(super) fn with_count(self, count: usize) -> Header {
        Header(self.0 & !0xFFFF_0000 | (count as u64) << 16)
    }

    pub(super) fn with_keys(self, keys: u64) -> Header {
        Header(self.0 & 0xFFFF_FFFF | keys << 32)
    }
}

#[inline]
pub(super) fn load(words: &[AtomicU64], at: usize) -> u64 {
    words[at].load(Ordering::Relaxed)
}

#[inline]
pub(super) fn store(words: &[AtomicU64], at: usize, word: u64) {
    words[at].store(word, Ordering::Relaxed);
}

/// The rest of a key in a leaf.
#[derive(Clone, Copy)]
pub(super) struct Suffix<'w>(&'w [AtomicU64]);

/// Where the bytes of a suffix begin, from the beginning of the leaf.
const SUFFIX_FROM: usize = 12;

impl KeyBytes for Suffix<'_> {
    fn length(self) -> usize {
        (load(self.0, 1) >> 32) as usize
    }

    fn byte(self, at: usize) -> u8 {
        (self.word(at) >> 56) as u8
    }

    fn word(self, at: usize) -> u64 {
        if at >= self.length() {
            return 0;
        }
        let (word, byte) = ((SUFFIX_FROM + at) / 8, (SUFFIX_FROM + at) % 8);
        let first = load(self.0, word) << (8 * byte);
        // What follows the last word of a leaf is not its own.
        let has_more = byte > 0 && (word + 1) * 8 < SUFFIX_FROM + self.length();
        first | if has_more { load(self.0, word + 1) >> (64 - 8 * byte) } else { 0 }
    }
}

impl Suffix<'_> {
    /// Up to 16 bytes from `from` on, as a short key.
    pub(super) fn short(self, from: usize) -> ShortBytes {
        let length = self.length() - from;
        ShortBytes { bits: u128::from(self.word(from)) << 64 | u128::from(self.word(from + 8)), length: length as u32 }
    }
}

/// Words of a leaf with a suffix of so many bytes.
pub(super) fn leaf_words(suffix_bytes: usize) -> usize {
    (SUFFIX_FROM + suffix_bytes).div_ceil(8)
}

/// Where a row's number has its byte `at`.
#[inline]
pub(super) fn row_byte(row: RowId, at: usize) -> u8 {
    (row.0 >> (8 * (ROW_BYTES - 1 - at))) as u8
}

impl Words {
    #[inline]
    pub(super) fn header(&self, node: Position) -> Header {
        Header(self.get(node))
    }

    /// The prefix of a node, the first byte in the highest bits; of a row node, the row's number up to where it branches.
    #[inline]
    pub(super) fn prefix(&self, node: Position) -> u64 {
        self.get(node.plus(1))
    }

    /// Gives a node another prefix.
    pub(super) fn set_prefix(&self, node: Position, prefix: u64, bytes: usize) {
        self.set(node, self.header(node).with_prefix_bytes(bytes).0);
        self.set(node.plus(1), prefix);
    }

    pub(super) fn suffix(&self, leaf: Position) -> Suffix<'_> {
        Suffix(self.from(leaf))
    }

    /// A new node without children; memory is reserved.
    pub(super) fn new_node(&mut self, kind: Kind, prefix: u64, prefix_bytes: usize, has_rows: bool) -> Position {
        let at = self.take(kind.words());
        let words = &self.from(at)[..kind.words()];
        store(words, 0, Header::new(kind, prefix_bytes, has_rows).0);
        store(words, 1, prefix);
        // Keys and children of small nodes are covered by their count.
        if matches!(kind, Kind::Node48 | Kind::Node256) {
            words[2..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        at
    }

    /// These rows, at the end of a key that goes on with the bytes of `key` from `from` on; memory is reserved.
    #[inline]
    pub(super) fn new_leaf<K: KeyBytes>(&mut self, key: K, from: usize, rows: Ref) -> Ref {
        let length = key.length() - from;
        if length == 0 {
            return rows;
        }
        let at = self.take(leaf_words(length));
        let words = self.from(at);
        store(words, 0, rows.word());
        store(words, 1, (length as u64) << 32 | key.word(from) >> 32);
        for (word, byte) in (4..length).step_by(8).enumerate() {
            store(words, 2 + word, key.word(from + byte));
        }
        Ref::Leaf(at)
    }

    pub(super) fn free_node(&mut self, node: Position) {
        self.give_back(node, self.header(node).kind().words());
    }

    pub(super) fn free_leaf(&mut self, leaf: Position) {
        self.give_back(leaf, leaf_words(self.suffix(leaf).length()));
    }
}
