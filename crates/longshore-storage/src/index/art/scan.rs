//! Ranges of keys: a walk of the tree in either direction, between two ends that may be given by the first bytes only.
//!
//! The first bytes that both ends have in common lead straight down, as a lookup does. Along an end the walk is *tight*:
//! the bytes so far are those of the end, and the next byte is compared with it. Once it has left an end behind, nothing
//! is compared any more. The key of the last row, from which the next batch goes on, is put together on the way back.

use std::ops::Bound;

use super::Tree;
use super::children::Children;
use super::insert::common;
use super::node::{Ref, Suffix};
use super::words::{Position, Words};
use crate::index::key::KeyBytes;
use crate::index::range::{Direction, EndKey, Range};
use crate::row_id::RowId;

/// An end of a range.
#[derive(Clone, Copy)]
struct End<'r> {
    key: &'r EndKey,
    kind: EndKind,
}

#[derive(Clone, Copy)]
enum EndKind {
    /// Keys that begin with the bytes are within.
    Included,
    /// They are not.
    Excluded,
    /// Of the rows of this very key, those beyond this one are within.
    Beyond(RowId),
}

/// How the bytes so far stand to an end.
#[derive(Clone, Copy, PartialEq)]
enum Stand {
    /// Within.
    Free,
    /// Equal to the first bytes of the end.
    Tight,
    /// At the key of which some rows are within.
    AtRows,
    /// Without.
    Out,
}

impl<'r> End<'r> {
    fn new(bound: &'r Bound<EndKey>) -> Option<End<'r>> {
        match bound {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(End { key, kind: EndKind::Included }),
            Bound::Excluded(key) => Some(End { key, kind: EndKind::Excluded }),
        }
    }

    /// Where one stands when all bytes of the end have been met.
    fn met(&self) -> Stand {
        match self.kind {
            EndKind::Included => Stand::Free,
            EndKind::Excluded => Stand::Out,
            EndKind::Beyond(_) => Stand::AtRows,
        }
    }
}

/// The ends of a walk: the first is where it begins.
struct Walk<'r, 'o> {
    direction: Direction,
    ends: [Option<End<'r>>; 2],
    rows: &'o mut Vec<RowId>,
    /// How many rows there may be in the end.
    rows_max: usize,
    /// The key of the row at which it has stopped because there are as many, written from the last byte to the first
    /// while it goes back to the root.
    key_reversed: Vec<u8>,
}

/// A node on the way down.
struct Step {
    children: Children,
    /// That of the child below which the way goes on.
    byte: u8,
    /// Bytes above that.
    depth: usize,
    /// How the bytes above it stand to the ends.
    stands: [Stand; 2],
}

/// Nodes that there is room for on the way down: most trees are no deeper.
const STEPS_EXPECTED: usize = 8;

/// Bytes that there is room for when a key is put together: of most keys that is enough.
const KEY_BYTES_EXPECTED: usize = 32;

/// Where both ends are left behind.
const FREE: [Stand; 2] = [Stand::Free; 2];

impl Tree {
    /// Appends the next rows of a range.
    pub(in crate::index) fn next_batch(&self, range: &mut Range, into: &mut Vec<RowId>) {
        let (lower, upper) = (End::new(&range.lower), End::new(&range.upper));
        let (mut first, last) = match range.direction {
            Direction::Forward => (lower, upper),
            Direction::Backward => (upper, lower),
        };
        if let Some((key, row)) = &range.position {
            first = Some(End { key, kind: EndKind::Beyond(*row) });
        }
        let rows_before = into.len();
        let mut walk = Walk {
            direction: range.direction,
            ends: [first, last],
            rows_max: rows_before + range.batch_rows,
            rows: into,
            key_reversed: Vec::new(),
        };
        if let Some((start, depth)) = self.start(walk.ends) {
            let stand = |end: Option<End<'_>>| match end {
                None => Stand::Free,
                Some(end) if end.key.length() == depth => end.met(),
                Some(_) => Stand::Tight,
            };
            let stands = walk.ends.map(stand);
            if !stands.contains(&Stand::Out)
                && !walk.visit(&self.words, start, depth, stands)
                && let Some(end) = walk.ends[0]
            {
                walk.key_reversed.extend((0..depth).rev().map(|at| end.key.byte(at)));
            }
        }
        let mut key = walk.key_reversed;
        key.reverse();
        let rows = into.len() - rows_before;
        let last = into.last().filter(|_| rows == range.batch_rows).map(|&row| (EndKey::new(key), row));
        range.advance(last, rows);
    }

    /// The smallest part of the tree that has all rows between two ends, and how many bytes the keys have above it: those
    /// of both ends. `None` if there are no such rows.
    fn start(&self, ends: [Option<End<'_>>; 2]) -> Option<(Ref, usize)> {
        let (mut at, mut depth) = (self.root, 0);
        let [Some(first), Some(last)] = ends else { return Some((at, depth)) };
        let shared = common(first.key, 0, last.key, 0).min(first.key.length()).min(last.key.length());
        while let Ref::Node(node) = at {
            let header = self.words.header(node);
            let bytes = header.prefix_bytes();
            if header.has_rows() || depth + bytes >= shared {
                break;
            }
            let differences = self.words.prefix(node) ^ first.key.word(depth);
            if (differences.leading_zeros() as usize) < 8 * bytes {
                return None;
            }
            let child = self.words.child(node, first.key.byte(depth + bytes))?;
            at = Ref::of(self.words.get(child));
            depth += bytes + 1;
        }
        Some((at, depth))
    }
}

impl Words {
    /// The first child in a direction.
    pub(super) fn edge_child(&self, node: Position, direction: Direction) -> Option<(u8, Position)> {
        match direction {
            Direction::Forward => self.first_child(node, 0),
            Direction::Backward => self.last_child(node, u8::MAX),
        }
    }

    /// The child behind that of `byte`.
    pub(super) fn next_child(&self, node: Position, byte: u8, direction: Direction) -> Option<(u8, Position)> {
        match direction {
            Direction::Forward => self.first_child(node, byte.checked_add(1)?),
            Direction::Backward => self.last_child(node, byte.checked_sub(1)?),
        }
    }
}

impl Walk<'_, '_> {
    /// Takes the rows below a part of the tree, whose keys have `depth` bytes above it; says whether to go on. The way down
    /// is a list, not a recursion: keys that are long and alike make it as long.
    fn visit(&mut self, words: &Words, mut at: Ref, mut depth: usize, mut stands: [Stand; 2]) -> bool {
        let mut path: Vec<Step> = Vec::new();
        loop {
            if !self.enter(words, at, depth, stands, &mut path) {
                self.put_key_together(words, &path);
                return false;
            }
            (at, depth, stands) = loop {
                let Some(step) = path.last_mut() else { return true };
                let Some((byte, child)) = step.children.next(words) else {
                    path.pop();
                    continue;
                };
                step.byte = byte;
                let Step { depth, stands, .. } = *step;
                // Before the first end there may be nothing but this child; behind the last one nothing follows.
                match self.pass(stands, u64::from(byte) << 56, 1, depth) {
                    Some(stands) => break (child, depth + 1, stands),
                    None if self.is_behind_last(stands[1], depth, byte) => {
                        path.pop();
                    }
                    None => {}
                }
            };
        }
    }

    /// Takes the rows that are at a place, or adds it to the path if it has children; says whether to go on.
    #[inline]
    fn enter(&mut self, words: &Words, at: Ref, depth: usize, stands: [Stand; 2], path: &mut Vec<Step>) -> bool {
        match at {
            Ref::Empty => true,
            Ref::Row(_) => self.take(words, at, stands),
            Ref::Leaf(leaf) => {
                let suffix = words.suffix(leaf);
                let Some(stands) = self.pass_suffix(stands, suffix, depth) else { return true };
                let goes_on = self.take(words, Ref::of(words.get(leaf)), stands);
                if !goes_on {
                    self.key_reversed.reserve(suffix.length() + KEY_BYTES_EXPECTED);
                    self.key_reversed.extend((0..suffix.length()).rev().map(|at| suffix.byte(at)));
                }
                goes_on
            }
            Ref::Node(node) => {
                let header = words.header(node);
                if header.has_rows() {
                    return self.take(words, at, stands);
                }
                let bytes = header.prefix_bytes();
                if let Some(stands) = self.pass(stands, words.prefix(node), bytes, depth) {
                    let depth = depth + bytes;
                    let from = match (stands[0], self.ends[0]) {
                        (Stand::Tight, Some(end)) => Some(end.key.byte(depth)),
                        _ => None,
                    };
                    if path.is_empty() {
                        path.reserve(STEPS_EXPECTED);
                    }
                    path.push(Step { children: words.children(node, from, self.direction), byte: 0, depth, stands });
                }
                true
            }
        }
    }

    /// Adds the bytes of a path to the key, from its end to its beginning.
    fn put_key_together(&mut self, words: &Words, path: &[Step]) {
        self.key_reversed.reserve(KEY_BYTES_EXPECTED);
        for Step { children, byte, .. } in path.iter().rev() {
            self.key_reversed.push(*byte);
            let bytes = words.header(children.node).prefix_bytes();
            self.key_reversed.extend(words.prefix(children.node).to_be_bytes()[..bytes].iter().rev());
        }
    }

    fn is_behind_last(&self, stand: Stand, depth: usize, byte: u8) -> bool {
        match (stand, self.ends[1]) {
            (Stand::Tight, Some(end)) => match self.direction {
                Direction::Forward => byte >= end.key.byte(depth),
                Direction::Backward => byte <= end.key.byte(depth),
            },
            _ => false,
        }
    }

    /// How one stands after up to eight bytes of a word; `None` if they lead out of the range.
    #[inline]
    fn pass(&self, stands: [Stand; 2], word: u64, bytes: usize, depth: usize) -> Option<[Stand; 2]> {
        if stands == FREE || bytes == 0 { Some(stands) } else { self.pass_ends(stands, word, bytes, depth) }
    }

    fn pass_ends(&self, stands: [Stand; 2], word: u64, bytes: usize, depth: usize) -> Option<[Stand; 2]> {
        let first = self.pass_end(0, stands[0], word, bytes, depth);
        let last = self.pass_end(1, stands[1], word, bytes, depth);
        (first != Stand::Out && last != Stand::Out).then_some([first, last])
    }

    #[inline]
    fn pass_end(&self, at: usize, stand: Stand, word: u64, bytes: usize, depth: usize) -> Stand {
        let (Stand::Tight, Some(end)) = (stand, self.ends[at]) else { return stand };
        let rest = end.key.length() - depth;
        let bytes = bytes.min(rest);
        let first_bytes = |word: u64| word >> (64 - 8 * bytes);
        let (ours, theirs) = (first_bytes(word), first_bytes(end.key.word(depth)));
        let is_inside = match (self.direction, at) {
            (Direction::Forward, 0) | (Direction::Backward, 1) => ours > theirs,
            _ => ours < theirs,
        };
        match ours == theirs {
            true if bytes == rest => end.met(),
            true => Stand::Tight,
            false if is_inside => Stand::Free,
            false => Stand::Out,
        }
    }

    /// The same of the rest of a key.
    fn pass_suffix(&self, mut stands: [Stand; 2], suffix: Suffix<'_>, depth: usize) -> Option<[Stand; 2]> {
        for at in (0..suffix.length()).step_by(8) {
            if !stands.contains(&Stand::Tight) {
                break;
            }
            stands = self.pass(stands, suffix.word(at), (suffix.length() - at).min(8), depth + at)?;
        }
        Some(stands)
    }

    /// Takes the rows of a key; says whether there is room for more.
    fn take(&mut self, words: &Words, rows: Ref, stands: [Stand; 2]) -> bool {
        if let (Ref::Row(row), FREE) = (rows, stands) {
            self.rows.push(row);
            return self.rows.len() < self.rows_max;
        }
        // A key that ends before an end does precedes it.
        let precedes = |stand| stand == Stand::Tight;
        let is_out = match self.direction {
            Direction::Forward => precedes(stands[0]),
            Direction::Backward => precedes(stands[1]),
        };
        if is_out {
            return true;
        }
        let beyond = match (stands[0], self.ends[0].map(|end| end.kind)) {
            (Stand::AtRows, Some(EndKind::Beyond(row))) => Some(row),
            _ => None,
        };
        let direction = self.direction;
        let is_within = |row: RowId| match (beyond, direction) {
            (None, _) => true,
            (Some(last), Direction::Forward) => row > last,
            (Some(last), Direction::Backward) => row < last,
        };
        words.each_row(rows, direction, &mut |row| {
            if is_within(row) {
                self.rows.push(row);
            }
            self.rows.len() < self.rows_max
        })
    }
}
