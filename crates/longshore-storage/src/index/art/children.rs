//! The children of nodes: found, added and removed by their bytes, and gone through in order.

use std::sync::atomic::AtomicU64;

use super::node::{Header, Kind, Ref, load, store};
use super::words::{Position, Words};
use crate::index::range::Direction;

const ONES: u64 = 0x0101_0101_0101_0101;

/// The number of the lowest byte that has this value, 8 or more if there is none.
#[inline]
fn find_byte(bytes: u64, byte: u8) -> usize {
    let differences = bytes ^ (ONES * u64::from(byte));
    let zeros = differences.wrapping_sub(ONES) & !differences & ONES << 7;
    (zeros.trailing_zeros() / 8) as usize
}

/// Sets byte `at`, moving those from there on up.
fn insert_byte(bytes: u64, at: usize, byte: u8) -> u64 {
    let below = (1 << (8 * at)) - 1;
    bytes & below | u64::from(byte) << (8 * at) | (bytes & !below) << 8
}

fn byte_at(bytes: u64, at: usize) -> u8 {
    (bytes >> (8 * at)) as u8
}

impl Words {
    /// Where a node has the child of a byte.
    #[inline]
    pub(super) fn child(&self, node: Position, byte: u8) -> Option<Position> {
        let words = self.from(node);
        let header = Header(load(words, 0));
        let slot = match header.kind() {
            Kind::Node4 => {
                let at = find_byte(header.keys(), byte);
                if at >= header.count() {
                    return None;
                }
                Kind::Node4.children() + at
            }
            Kind::Node16 => {
                let mut at = find_byte(load(words, 2), byte);
                if at >= 8 {
                    at = 8 + find_byte(load(words, 3), byte);
                }
                if at >= header.count() {
                    return None;
                }
                Kind::Node16.children() + at
            }
            Kind::Node48 => {
                let number = byte_at(load(words, 2 + usize::from(byte) / 8), usize::from(byte) % 8);
                if number == 0 {
                    return None;
                }
                Kind::Node48.children() + usize::from(number) - 1
            }
            Kind::Node256 => {
                let slot = Kind::Node256.children() + usize::from(byte);
                if load(words, slot) == 0 {
                    return None;
                }
                slot
            }
        };
        Some(node.plus(slot))
    }

    /// Adds a child that the node does not have; says where the node is then, for it may have to grow. Memory is
    /// reserved.
    #[inline]
    pub(super) fn add_child(&mut self, node: Position, byte: u8, child: Ref) -> Position {
        let header = self.header(node);
        let node =
            if header.count() == header.kind().capacity() { self.resize(node, header.kind().larger()) } else { node };
        self.put_child(node, byte, child);
        node
    }

    fn put_child(&self, node: Position, byte: u8, child: Ref) {
        let words = self.from(node);
        let header = Header(load(words, 0));
        let (kind, count) = (header.kind(), header.count());
        let mut header = header.with_count(count + 1);
        let first = kind.children();
        match kind {
            Kind::Node4 => {
                let keys = header.keys();
                let at = (0..count).position(|at| byte_at(keys, at) > byte).unwrap_or(count);
                (at..count).rev().for_each(|from| store(words, first + from + 1, load(words, first + from)));
                store(words, first + at, child.word());
                header = header.with_keys(insert_byte(keys, at, byte) & 0xFFFF_FFFF);
            }
            Kind::Node16 => {
                let (low, high) = (load(words, 2), load(words, 3));
                let key = |at: usize| if at < 8 { byte_at(low, at) } else { byte_at(high, at - 8) };
                let mut at = count;
                while at > 0 && key(at - 1) > byte {
                    store(words, first + at, load(words, first + at - 1));
                    at -= 1;
                }
                store(words, first + at, child.word());
                if at < 8 {
                    store(words, 2, insert_byte(low, at, byte));
                    store(words, 3, insert_byte(high, 0, byte_at(low, 7)));
                } else {
                    store(words, 3, insert_byte(high, at - 8, byte));
                }
            }
            Kind::Node48 => {
                let is_free = |&at: &usize| load(words, first + at) == 0;
                let at = Some(count).filter(is_free).or_else(|| (0..48).find(is_free));
                let at = at.expect("a node that is not full has a free place");
                store(words, first + at, child.word());
                let (word, shift) = (2 + usize::from(byte) / 8, usize::from(byte) % 8 * 8);
                store(words, word, load(words, word) | (at as u64 + 1) << shift);
            }
            Kind::Node256 => store(words, first + usize::from(byte), child.word()),
        }
        store(words, 0, header.0);
    }

    /// Removes the child of a byte, which the node has; says where the node is then. It becomes smaller only if memory
    /// is reserved.
    pub(super) fn remove_child(&mut self, node: Position, byte: u8, may_shrink: bool) -> Position {
        let slot = self.child(node, byte).expect("only children are removed");
        let words = self.from(node);
        let header = Header(load(words, 0));
        let (kind, count) = (header.kind(), header.count());
        let mut header = header.with_count(count - 1);
        let at = (slot.0 - node.0) as usize - kind.children();
        let first = kind.children();
        match kind {
            Kind::Node4 | Kind::Node16 => {
                (at..count - 1).for_each(|to| store(words, first + to, load(words, first + to + 1)));
                let below = |bits: u64, at: usize| bits & ((1 << (8 * at)) - 1);
                let without = |bits: u64, at: usize| below(bits, at) | (bits >> (8 * at) >> 8) << (8 * at);
                if kind == Kind::Node4 {
                    header = header.with_keys(without(header.keys(), at));
                } else if at < 8 {
                    let high = load(words, 3);
                    store(words, 2, without(load(words, 2), at) | high << 56);
                    store(words, 3, high >> 8);
                } else {
                    store(words, 3, without(load(words, 3), at - 8));
                }
            }
            Kind::Node48 => {
                store(words, first + at, 0);
                let (word, shift) = (2 + usize::from(byte) / 8, usize::from(byte) % 8 * 8);
                store(words, word, load(words, word) & !(0xFF << shift));
            }
            Kind::Node256 => store(words, first + at, 0),
        }
        store(words, 0, header.0);
        match kind.smaller(count - 1) {
            Some(smaller) if may_shrink => self.resize(node, smaller),
            _ => node,
        }
    }

    /// Moves a node's children to one of another kind.
    fn resize(&mut self, node: Position, kind: Kind) -> Position {
        let header = self.header(node);
        let new = self.new_node(kind, self.prefix(node), header.prefix_bytes(), header.has_rows());
        let mut children = self.children(node, None, Direction::Forward);
        while let Some((byte, child)) = children.next(self) {
            self.put_child(new, byte, child);
        }
        self.free_node(node);
        new
    }

    /// The child of the least byte that is `from` or more.
    pub(super) fn first_child(&self, node: Position, from: u8) -> Option<(u8, Position)> {
        let words = self.from(node);
        let header = Header(load(words, 0));
        let kind = header.kind();
        let (byte, at) = match kind {
            Kind::Node4 | Kind::Node16 => {
                let keys = sorted_keys(words, header);
                let at = keys[..header.count()].iter().position(|&key| key >= from)?;
                (keys[at], at)
            }
            Kind::Node48 => (from..=u8::MAX).find_map(|byte| Some((byte, number48(words, byte)?)))?,
            Kind::Node256 => {
                let has = |&byte: &u8| load(words, kind.children() + usize::from(byte)) != 0;
                let byte = (from..=u8::MAX).find(has)?;
                (byte, usize::from(byte))
            }
        };
        Some((byte, node.plus(kind.children() + at)))
    }

    /// The child of the greatest byte that is `to` or less.
    pub(super) fn last_child(&self, node: Position, to: u8) -> Option<(u8, Position)> {
        let words = self.from(node);
        let header = Header(load(words, 0));
        let kind = header.kind();
        let (byte, at) = match kind {
            Kind::Node4 | Kind::Node16 => {
                let keys = sorted_keys(words, header);
                let at = keys[..header.count()].iter().rposition(|&key| key <= to)?;
                (keys[at], at)
            }
            Kind::Node48 => (0..=to).rev().find_map(|byte| Some((byte, number48(words, byte)?)))?,
            Kind::Node256 => {
                let has = |&byte: &u8| load(words, kind.children() + usize::from(byte)) != 0;
                let byte = (0..=to).rev().find(has)?;
                (byte, usize::from(byte))
            }
        };
        Some((byte, node.plus(kind.children() + at)))
    }
}

/// A way through the children of a node, in a direction. The node does not change meanwhile.
pub(super) struct Children {
    pub(super) node: Position,
    kind: Kind,
    direction: Direction,
    /// Of the two smaller kinds, the keys and how many there are.
    keys: [u8; 16],
    count: u8,
    /// The next child: of the two smaller kinds its place, of others the first byte that it may have.
    next: Option<u8>,
}

impl Words {
    /// The children of a node in a direction, from that of a byte on if one is given.
    #[inline]
    pub(super) fn children(&self, node: Position, from: Option<u8>, direction: Direction) -> Children {
        let words = self.from(node);
        let header = Header(load(words, 0));
        let (kind, count) = (header.kind(), header.count());
        if !matches!(kind, Kind::Node4 | Kind::Node16) {
            let next = Some(from.unwrap_or(match direction {
                Direction::Forward => 0,
                Direction::Backward => u8::MAX,
            }));
            return Children { node, kind, direction, keys: [0; 16], count: 0, next };
        }
        let (keys, count) = (sorted_keys(words, header), count as u8);
        let before = |byte: u8| keys[..count.into()].iter().filter(|&&key| key < byte).count() as u8;
        let next = match direction {
            Direction::Forward => Some(from.map_or(0, before)).filter(|&at| at < count),
            Direction::Backward => from.and_then(|from| from.checked_add(1)).map_or(count, before).checked_sub(1),
        };
        Children { node, kind, direction, keys, count, next }
    }
}

impl Children {
    /// The next child and its byte.
    #[inline]
    pub(super) fn next(&mut self, words: &Words) -> Option<(u8, Ref)> {
        let at = self.next?;
        if !matches!(self.kind, Kind::Node4 | Kind::Node16) {
            let found = match self.direction {
                Direction::Forward => words.first_child(self.node, at),
                Direction::Backward => words.last_child(self.node, at),
            };
            self.next = found.and_then(|(byte, _)| match self.direction {
                Direction::Forward => byte.checked_add(1),
                Direction::Backward => byte.checked_sub(1),
            });
            return found.map(|(byte, child)| (byte, Ref::of(words.get(child))));
        }
        let children = &words.from(self.node)[self.kind.children()..];
        self.next = match self.direction {
            Direction::Forward => Some(at + 1).filter(|&next| next < self.count),
            Direction::Backward => at.checked_sub(1),
        };
        // While one is visited, the next one is on its way.
        if let Some(next) = self.next
            && let Ref::Node(next) | Ref::Leaf(next) = Ref::of(load(children, next.into()))
        {
            words.prefetch(next);
        }
        Some((self.keys[usize::from(at)], Ref::of(load(children, at.into()))))
    }
}

/// The keys of one of the two smaller kinds; only as many as it has children mean anything.
#[inline]
fn sorted_keys(words: &[AtomicU64], header: Header) -> [u8; 16] {
    let keys = match header.kind() {
        Kind::Node4 => header.keys().into(),
        _ => u128::from(load(words, 3)) << 64 | u128::from(load(words, 2)),
    };
    keys.to_le_bytes()
}

/// The number of the child of a byte in a Node48.
fn number48(words: &[AtomicU64], byte: u8) -> Option<usize> {
    let number = byte_at(load(words, 2 + usize::from(byte) / 8), usize::from(byte) % 8);
    usize::from(number).checked_sub(1)
}
