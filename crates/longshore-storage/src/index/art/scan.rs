//! Ranges of keys: a walk of the tree in either direction, between two ends that may be given by the first bytes only.
//!
//! Along an end the walk is *tight*: the bytes so far are those of the end, and the next byte is compared with it. Once
//! it has left an end behind, nothing is compared any more.

use std::ops::Bound;

use super::Tree;
use super::node::Ref;
use super::words::{Position, Words};
use crate::datum::RowId;
use crate::index::key::KeyBytes;
use crate::index::range::{Direction, Range};

/// An end of a range.
#[derive(Clone, Copy)]
struct End<'r> {
    bytes: &'r [u8],
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
    fn new(bound: &'r Bound<Vec<u8>>) -> Option<End<'r>> {
        match bound {
            Bound::Unbounded => None,
            Bound::Included(bytes) => Some(End { bytes, kind: EndKind::Included }),
            Bound::Excluded(bytes) => Some(End { bytes, kind: EndKind::Excluded }),
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
    first: Option<End<'r>>,
    last: Option<End<'r>>,
    /// The bytes so far.
    path: Vec<u8>,
    rows: &'o mut Vec<RowId>,
    /// How many rows there may be in the end.
    rows_max: usize,
}

impl Tree {
    /// Appends the next rows of a range.
    pub(in crate::index) fn next_batch(&self, range: &mut Range, into: &mut Vec<RowId>) {
        let (lower, upper) = (End::new(&range.lower), End::new(&range.upper));
        let (mut first, last) = match range.direction {
            Direction::Forward => (lower, upper),
            Direction::Backward => (upper, lower),
        };
        if let Some((bytes, row)) = &range.position {
            first = Some(End { bytes, kind: EndKind::Beyond(*row) });
        }
        let rows_before = into.len();
        let mut walk = Walk {
            direction: range.direction,
            first,
            last,
            path: Vec::new(),
            rows_max: rows_before + range.batch_rows,
            rows: into,
        };
        let stand = |end: Option<End<'_>>| match end {
            None => Stand::Free,
            Some(end) if end.bytes.is_empty() => end.met(),
            Some(_) => Stand::Tight,
        };
        let stands = [stand(walk.first), stand(walk.last)];
        if !stands.contains(&Stand::Out) {
            walk.visit(&self.words, self.root, stands);
        }
        let path = walk.path;
        let rows = into.len() - rows_before;
        let last = into.last().filter(|_| rows == range.batch_rows).map(|&row| (path, row));
        range.advance(last, rows);
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
    /// Takes the rows below a child; says whether to go on. If not, the path is that of the last row.
    fn visit(&mut self, words: &Words, at: Ref, stands: [Stand; 2]) -> bool {
        let before = self.path.len();
        let goes_on = match at {
            Ref::Empty => true,
            Ref::Row(_) => self.take(words, at, stands),
            Ref::Leaf(leaf) => {
                let suffix = words.suffix(leaf);
                match self.extend(stands, (0..suffix.length()).map(|at| suffix.byte(at))) {
                    Some(stands) => self.take(words, Ref::of(words.get(leaf)), stands),
                    None => true,
                }
            }
            Ref::Node(node) => {
                let header = words.header(node);
                if header.has_rows() {
                    self.take(words, at, stands)
                } else {
                    let prefix = words.prefix(node).to_be_bytes();
                    match self.extend(stands, prefix[..header.prefix_bytes()].iter().copied()) {
                        Some(stands) => self.visit_children(words, node, stands),
                        None => true,
                    }
                }
            }
        };
        if goes_on {
            self.path.truncate(before);
        }
        goes_on
    }

    fn visit_children(&mut self, words: &Words, node: Position, stands: [Stand; 2]) -> bool {
        let depth = self.path.len();
        let mut next = match (stands[0], self.first, self.direction) {
            (Stand::Tight, Some(end), Direction::Forward) => words.first_child(node, end.bytes[depth]),
            (Stand::Tight, Some(end), Direction::Backward) => words.last_child(node, end.bytes[depth]),
            _ => words.edge_child(node, self.direction),
        };
        while let Some((byte, child)) = next {
            match self.extend(stands, std::iter::once(byte)) {
                Some(stands) => {
                    if !self.visit(words, Ref::of(words.get(child)), stands) {
                        return false;
                    }
                    self.path.truncate(depth);
                }
                // Before the first end there may be nothing but this child; behind the last one nothing follows.
                None if self.is_behind_last(stands[1], depth, byte) => return true,
                None => {}
            }
            next = words.next_child(node, byte, self.direction);
        }
        true
    }

    fn is_behind_last(&self, stand: Stand, depth: usize, byte: u8) -> bool {
        match (stand, self.last) {
            (Stand::Tight, Some(end)) => match self.direction {
                Direction::Forward => byte >= end.bytes[depth],
                Direction::Backward => byte <= end.bytes[depth],
            },
            _ => false,
        }
    }

    /// Appends bytes to the path; `None`, and nothing appended, if they lead out of the range.
    fn extend(&mut self, mut stands: [Stand; 2], bytes: impl Iterator<Item = u8>) -> Option<[Stand; 2]> {
        let before = self.path.len();
        for byte in bytes {
            let depth = self.path.len();
            for (stand, end, is_first) in [(0, self.first, true), (1, self.last, false)] {
                let Some(end) = end.filter(|_| stands[stand] == Stand::Tight) else { continue };
                let is_ahead = match (self.direction, is_first) {
                    (Direction::Forward, true) | (Direction::Backward, false) => byte > end.bytes[depth],
                    (Direction::Forward, false) | (Direction::Backward, true) => byte < end.bytes[depth],
                };
                stands[stand] = if byte == end.bytes[depth] {
                    if depth + 1 == end.bytes.len() { end.met() } else { Stand::Tight }
                } else if is_ahead {
                    Stand::Free
                } else {
                    Stand::Out
                };
            }
            if stands.contains(&Stand::Out) {
                self.path.truncate(before);
                return None;
            }
            self.path.push(byte);
        }
        Some(stands)
    }

    /// Takes the rows of a key; says whether there is room for more.
    fn take(&mut self, words: &Words, rows: Ref, stands: [Stand; 2]) -> bool {
        // A key that ends before an end does precedes it.
        let precedes = |stand| stand == Stand::Tight;
        let is_out = match self.direction {
            Direction::Forward => precedes(stands[0]),
            Direction::Backward => precedes(stands[1]),
        };
        if is_out {
            return true;
        }
        let beyond = match (stands[0], self.first.map(|end| end.kind)) {
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
