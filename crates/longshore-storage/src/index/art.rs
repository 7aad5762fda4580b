//! The adaptive radix tree: rows by key, in the order of keys (Leis, Kemper, Neumann: *The Adaptive Radix Tree*, ICDE
//! 2013; merged as in *Instant Loading*, 3.6.2).
//!
//! A node branches by one byte of the key and has one of four sizes. Bytes that all keys below it share are its prefix
//! (path compression), and the rest of a key that nobody shares is a leaf (lazy expansion), so that a tree is as deep as
//! its keys are alike. Keys have any length, so nothing here recurs along them. A dense key takes eight bytes: its row, in a child of a node of 256.
//!
//! Where it differs from the paper: the keys are all in the tree, none is looked up in the relation; and the rows of a
//! key that has several continue the tree by the bytes of their numbers, so that they are inserted, removed, ordered and
//! merged as keys are.
//!
//! Not here: nodes (`art/node.rs`), their memory (`art/words.rs`).

use std::sync::Arc;

use self::insert::Place;
use self::node::Ref;
use self::words::Words;
use super::duplicates::Duplicates;
use super::found::Found;
use super::key::{AnyBytes, KeyBytes};
use super::range::Direction;
use crate::memory::{Memory, OutOfMemory};
use crate::row_id::RowId;

mod build;
mod children;
mod insert;
mod merge;
mod node;
mod remove;
mod row_nodes;
mod run;
mod scan;
mod segment;
mod words;

pub(super) use build::Builder;
pub(super) use run::{RUN_KEYS_MAX, Run};

/// Rows by key, in order.
pub(super) struct Tree {
    words: Words,
    root: Ref,
    rows: usize,
}

impl Tree {
    pub(super) fn new(memory: &Arc<Memory>) -> Tree {
        Tree { words: Words::new(memory), root: Ref::Empty, rows: 0 }
    }

    /// An empty tree that can be merged with this one.
    pub(super) fn sibling(&self) -> Tree {
        Tree { words: self.words.sibling(), root: Ref::Empty, rows: 0 }
    }

    /// Rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes()
    }

    /// The rows of a key.
    #[inline]
    pub(super) fn find(&self, key: AnyBytes<'_>) -> Found {
        let rows = match key {
            AnyBytes::Short(key) => self.rows_of(key),
            AnyBytes::Long(key) => self.rows_of(key),
        };
        match rows {
            Ref::Row(row) => row.into(),
            Ref::Empty => Found::default(),
            many => {
                let mut found = Vec::new();
                self.words.each_row(many, Direction::Forward, &mut |row| {
                    found.push(row);
                    true
                });
                Found::new(found)
            }
        }
    }

    /// Adds a row to those of a key, unless `check` has something against one of these. Most keys are new, so the row is
    /// added first, and the others, if there are any, are checked afterwards.
    pub(super) fn insert<E: From<OutOfMemory>>(
        &mut self,
        key: AnyBytes<'_>,
        row: RowId,
        check: impl FnMut(RowId) -> Result<(), E>,
    ) -> Result<(), E> {
        let (is_new, has_met) = match key {
            AnyBytes::Short(key) => self.insert_key(key, row)?,
            AnyBytes::Long(key) => self.insert_key(key, row)?,
        };
        if !has_met {
            return Ok(());
        }
        let checked = self.find(key).iter().filter(|&other| !is_new || other != row).try_for_each(check);
        if checked.is_err() && is_new {
            self.remove(key, row);
        }
        checked
    }

    /// Says whether the row is new, and whether the key was there.
    fn insert_key<K: KeyBytes>(&mut self, key: K, row: RowId) -> Result<(bool, bool), OutOfMemory> {
        self.words.reserve(self.words.words_for(self.root, Place::TOP, key))?;
        let mut duplicates = Duplicates::ignored();
        let is_new = self.words.insert_under(&mut self.root, Place::TOP, key, Ref::Row(row), None, &mut duplicates);
        self.rows += usize::from(is_new);
        Ok((is_new, duplicates.has_met()))
    }

    /// Where the rows of a key are, if it is there.
    #[inline]
    fn rows_of<K: KeyBytes>(&self, key: K) -> Ref {
        let (mut at, mut depth) = (self.root, 0);
        loop {
            match at {
                Ref::Node(node) => {
                    let header = self.words.header(node);
                    if header.has_rows() {
                        return at;
                    }
                    let bytes = header.prefix_bytes();
                    if bytes > 0 && (self.words.prefix(node) ^ key.word(depth)) >> (64 - 8 * bytes) != 0 {
                        return Ref::Empty;
                    }
                    depth += bytes;
                    let Some(child) = self.words.child(node, key.byte(depth)) else { return Ref::Empty };
                    at = Ref::of(self.words.get(child));
                    depth += 1;
                }
                Ref::Row(_) | Ref::Empty => return at,
                Ref::Leaf(leaf) => {
                    let suffix = self.words.suffix(leaf);
                    let length = suffix.length();
                    let is_equal = length + depth == key.length() && insert::common(suffix, 0, key, depth) >= length;
                    return if is_equal { Ref::of(self.words.get(leaf)) } else { Ref::Empty };
                }
            }
        }
    }
}
