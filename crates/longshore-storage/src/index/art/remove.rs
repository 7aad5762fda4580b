//! The removal of a row, and of the nodes that are no longer needed then.

use super::Tree;
use super::insert::Slot;
use super::node::{Kind, Ref, leaf_words};
use super::words::{Position, Words};
use crate::index::key::{AnyBytes, KeyBytes, LongBytes, SHORT_BYTES, ShortBytes};
use crate::row_id::RowId;

impl Tree {
    /// Removes a row of a key, if it is there.
    pub(in crate::index) fn remove(&mut self, key: AnyBytes<'_>, row: RowId) -> bool {
        let is_removed = match key {
            AnyBytes::Short(key) => self.remove_key(key, row),
            AnyBytes::Long(key) => self.remove_key(key, row),
        };
        self.rows -= usize::from(is_removed);
        is_removed
    }

    fn remove_key<K: KeyBytes>(&mut self, key: K, row: RowId) -> bool {
        let words = &mut self.words;
        // Inner nodes on the way, and the byte by which it goes on.
        let mut path: Vec<(Slot, u8)> = Vec::new();
        let (mut slot, mut depth) = (Slot::Top, 0);
        let (at, rows_slot) = loop {
            let at = words.slot(self.root, slot);
            match at {
                Ref::Node(node) if !words.header(node).has_rows() => {
                    let bytes = words.header(node).prefix_bytes();
                    if bytes > 0 && (words.prefix(node) ^ key.word(depth)) >> (64 - 8 * bytes) != 0 {
                        return false;
                    }
                    depth += bytes;
                    let byte = key.byte(depth);
                    let Some(child) = words.child(node, byte) else { return false };
                    path.push((slot, byte));
                    slot = Slot::At(child);
                    depth += 1;
                }
                Ref::Empty => return false,
                Ref::Leaf(leaf) => {
                    let suffix = words.suffix(leaf);
                    let length = suffix.length();
                    if length + depth != key.length() || super::insert::common(suffix, 0, key, depth) < length {
                        return false;
                    }
                    break (at, Slot::At(leaf));
                }
                Ref::Row(_) | Ref::Node(_) => break (at, slot),
            }
        };
        let rows = words.slot(self.root, rows_slot);
        let Some(left) = words.without_row(rows, row) else { return false };
        if left != Ref::Empty {
            words.set_slot(&mut self.root, rows_slot, left);
            return true;
        }
        if let Ref::Leaf(leaf) = at {
            words.free_leaf(leaf);
        }
        self.prune(path);
        true
    }

    /// Removes the child at the end of a path, and every node that is left without one; joins those left with one to it.
    fn prune(&mut self, mut path: Vec<(Slot, u8)>) {
        let words = &mut self.words;
        let mut is_gone = true;
        while let Some((slot, byte)) = path.pop() {
            let Ref::Node(mut node) = words.slot(self.root, slot) else { unreachable!("a path leads through nodes") };
            if is_gone {
                let may_shrink = words.reserve(Kind::Node48.words()).is_ok();
                node = words.remove_child(node, byte, may_shrink);
                words.set_slot(&mut self.root, slot, Ref::Node(node));
            }
            match words.header(node).count() {
                0 => words.free_node(node),
                1 => {
                    is_gone = false;
                    match words.joined(node) {
                        Some(joined) => words.set_slot(&mut self.root, slot, joined),
                        None => return,
                    }
                }
                _ => return,
            }
        }
        if is_gone {
            self.root = Ref::Empty;
        }
    }
}

impl Words {
    /// What a node of one child and that child are together; `None` if they stay apart.
    fn joined(&mut self, node: Position) -> Option<Ref> {
        let (byte, child) = self.first_child(node, 0)?;
        let child = Ref::of(self.get(child));
        let (prefix, bytes) = (self.prefix(node), self.header(node).prefix_bytes());
        let above = ShortBytes {
            bits: u128::from(prefix) << 64 | u128::from(byte) << (120 - 8 * bytes),
            length: bytes as u32 + 1,
        };
        let joined = match child {
            Ref::Empty => return None,
            Ref::Node(below) if !self.header(below).has_rows() => {
                let (below_prefix, below_bytes) = (self.prefix(below), self.header(below).prefix_bytes());
                if bytes + 1 + below_bytes > super::node::PREFIX_BYTES_MAX {
                    return None;
                }
                let rest = if below_bytes == 0 { 0 } else { below_prefix >> (8 * (bytes + 1)) };
                self.set_prefix(below, above.word(0) | rest, bytes + 1 + below_bytes);
                child
            }
            Ref::Leaf(leaf) => {
                let length = above.length() + self.suffix(leaf).length();
                self.reserve(leaf_words(length)).ok()?;
                let rows = Ref::of(self.get(leaf));
                let suffix = self.suffix(leaf);
                if length <= SHORT_BYTES {
                    let bits = above.bits | suffix.short(0).bits >> (8 * above.length);
                    self.free_leaf(leaf);
                    self.new_leaf(ShortBytes { bits, length: length as u32 }, 0, rows)
                } else {
                    let mut whole = above.to_vec();
                    whole.extend(suffix.to_vec());
                    self.free_leaf(leaf);
                    self.new_leaf(LongBytes(&whole), 0, rows)
                }
            }
            Ref::Row(_) | Ref::Node(_) => {
                self.reserve(leaf_words(above.length())).ok()?;
                self.new_leaf(above, 0, child)
            }
        };
        self.free_node(node);
        Some(joined)
    }
}
