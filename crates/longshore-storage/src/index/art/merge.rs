//! The merge of two trees (*Instant Loading*, 3.6.2): parts of one that have no counterpart in the other become part of
//! it by their reference alone; where both have keys that begin alike, the children with the same byte are merged, on
//! several threads, and the others inserted.
//!
//! Both trees are siblings, that is, forks of the same memory, so nodes stay where they are. The paper merges the
//! children of every pair of nodes in parallel. Here pairs of nodes are taken apart from the roots on, until there are
//! enough pairs of children for all threads to work on; what is left to insert is inserted when they are done.
//!
//! Keys may be long and alike, and trees as deep, so what is still to be merged is a list, not a recursion.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Tree;
use super::insert::{Place, Slot, first_bytes, insertion_words};
use super::node::{Kind, Ref};
use super::words::{Position, Words};
use crate::index::duplicates::Duplicates;
use crate::index::key::{KeyBytes, LongBytes, SHORT_BYTES};

/// Pairs of children per thread, so that no thread is idle for long when they are unequal.
const TASKS_PER_THREAD: usize = 16;

/// Trees of fewer rows are merged by one thread.
const ROWS_WORTH_A_THREAD: usize = 1 << 14;

/// Two parts of trees to be merged.
#[derive(Clone, Copy)]
struct Task {
    /// Refers to ours, and to both in the end.
    slot: Slot,
    ours: Ref,
    theirs: Ref,
}

/// A pair of nodes of which the children that both have are tasks.
struct Apart {
    slot: Slot,
    /// Children that only their node has.
    late: Vec<(u8, Ref)>,
}

impl Tree {
    /// Takes in all rows of a sibling. Keys that both have are made known to `duplicates`.
    pub(in crate::index) fn merge(&mut self, sibling: Tree, threads: usize, duplicates: &mut Duplicates<'_>) {
        let rows = self.rows.min(sibling.rows);
        self.words.join(sibling.words);
        self.rows += sibling.rows;
        let task = Task { slot: Slot::Top, ours: self.root, theirs: sibling.root };
        if threads <= 1 || rows < ROWS_WORTH_A_THREAD {
            self.root = self.words.merge(task.ours, task.theirs, duplicates);
            return;
        }
        let (tasks, apart) = self.take_apart(task, threads * TASKS_PER_THREAD);
        self.work_on(&tasks, threads, duplicates);
        // Deepest first: a node that grows moves, and its parent must still be where it was.
        for Apart { slot, late } in apart.into_iter().rev() {
            let Ref::Node(mut node) = self.words.slot(self.root, slot) else { unreachable!("a node was taken apart") };
            for (byte, child) in late {
                self.words.reserve_anyway(insertion_words(0));
                node = self.words.add_child(node, byte, child);
            }
            self.words.set_slot(&mut self.root, slot, Ref::Node(node));
        }
    }

    /// Takes pairs of nodes with the same prefix apart until there are enough tasks.
    fn take_apart(&mut self, all: Task, tasks_min: usize) -> (Vec<Task>, Vec<Apart>) {
        let (mut tasks, mut apart) = (vec![all], Vec::new());
        loop {
            let (mut next, mut is_any) = (Vec::new(), false);
            for task in tasks {
                let (Ref::Node(ours), Ref::Node(theirs)) = (task.ours, task.theirs) else {
                    next.push(task);
                    continue;
                };
                let words = &mut self.words;
                let (header, other) = (words.header(ours), words.header(theirs));
                let is_alike = header.prefix_bytes() == other.prefix_bytes()
                    && words.prefix(ours) == words.prefix(theirs)
                    && !header.has_rows()
                    && !other.has_rows();
                if !is_alike {
                    next.push(task);
                    continue;
                }
                let (ours, theirs) = if header.count() < other.count() { (theirs, ours) } else { (ours, theirs) };
                words.set_slot(&mut self.root, task.slot, Ref::Node(ours));
                let mut late = Vec::new();
                words.each_child(theirs, |words, byte, child| match words.child(ours, byte) {
                    None => late.push((byte, child)),
                    Some(slot) => {
                        let ours = Ref::of(words.get(slot));
                        next.push(Task { slot: Slot::At(slot), ours, theirs: child });
                    }
                });
                words.free_node(theirs);
                apart.push(Apart { slot: task.slot, late });
                is_any = true;
            }
            tasks = next;
            if !is_any || tasks.len() >= tasks_min {
                return (tasks, apart);
            }
        }
    }

    /// Works on tasks by several threads.
    fn work_on(&mut self, tasks: &[Task], threads: usize, duplicates: &mut Duplicates<'_>) {
        let next = AtomicUsize::new(0);
        let work = |mut words: Words, mut duplicates: Duplicates<'_>| {
            let mut root = Ref::Empty;
            while let Some(&Task { slot, ours, theirs }) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let merged = words.merge(ours, theirs, &mut duplicates);
                words.set_slot(&mut root, slot, merged);
            }
            (words, root, duplicates.least())
        };
        let start = *duplicates;
        let forks: Vec<Words> = (0..threads.min(tasks.len())).map(|_| self.words.fork()).collect();
        let done: Vec<_> = std::thread::scope(|scope| {
            let work = &work;
            let handles: Vec<_> = forks.into_iter().map(|fork| scope.spawn(move || work(fork, start))).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        for (words, root, least) in done {
            self.words.join(words);
            if root != Ref::Empty {
                self.root = root;
            }
            if let Some((first, second)) = least {
                duplicates.take(first, second);
            }
        }
    }
}

impl Words {
    /// Goes through the children of a node in the order of their bytes.
    fn each_child(&self, node: Position, mut take: impl FnMut(&Words, u8, Ref)) {
        let mut next = self.first_child(node, 0);
        while let Some((byte, child)) = next {
            take(self, byte, Ref::of(self.get(child)));
            next = byte.checked_add(1).and_then(|from| self.first_child(node, from));
        }
    }

    fn is_inner(&self, at: Ref) -> Option<Position> {
        match at {
            Ref::Node(node) if !self.header(node).has_rows() => Some(node),
            _ => None,
        }
    }

    /// Both of two parts of trees that begin at the same byte of their keys.
    fn merge(&mut self, ours: Ref, theirs: Ref, duplicates: &mut Duplicates<'_>) -> Ref {
        let (mut top, mut tasks) = (Ref::Empty, vec![Task { slot: Slot::Top, ours, theirs }]);
        while let Some(Task { slot, ours, theirs }) = tasks.pop() {
            let merged = self.merge_tops(ours, theirs, &mut tasks, duplicates);
            self.set_slot(&mut top, slot, merged);
        }
        top
    }

    /// The same, but for parts below them that both have: they are put on the list, at places that stay where they are.
    fn merge_tops(&mut self, ours: Ref, theirs: Ref, tasks: &mut Vec<Task>, duplicates: &mut Duplicates<'_>) -> Ref {
        match (ours, theirs) {
            (at, Ref::Empty) | (Ref::Empty, at) => at,
            (at, Ref::Leaf(leaf)) | (Ref::Leaf(leaf), at) => self.merge_leaf(at, leaf, duplicates),
            _ => {
                if let (Some(ours), Some(theirs)) = (self.is_inner(ours), self.is_inner(theirs)) {
                    return Ref::Node(self.merge_nodes(ours, theirs, tasks));
                }
                // Keys that end here; no key is a prefix of another.
                self.compare_rows(ours, theirs, duplicates);
                self.reserve_anyway(insertion_words(0));
                self.merge_rows(ours, theirs).0
            }
        }
    }

    /// Inserts a leaf of one tree into a part of the other.
    fn merge_leaf(&mut self, at: Ref, leaf: Position, duplicates: &mut Duplicates<'_>) -> Ref {
        let (mut top, rows) = (at, Ref::of(self.get(leaf)));
        let suffix = self.suffix(leaf);
        let length = suffix.length();
        if length <= SHORT_BYTES {
            let key = suffix.short(0);
            self.reserve_anyway(insertion_words(length));
            self.insert_under(&mut top, Place::TOP, key, rows, None, duplicates);
        } else {
            let key = suffix.to_vec();
            self.reserve_anyway(self.words_for(top, Place::TOP, LongBytes(&key)));
            self.insert_under(&mut top, Place::TOP, LongBytes(&key), rows, None, duplicates);
        }
        self.free_leaf(leaf);
        top
    }

    fn merge_nodes(&mut self, ours: Position, theirs: Position, tasks: &mut Vec<Task>) -> Position {
        self.reserve_anyway(insertion_words(0));
        // The one with the shorter prefix is ours.
        let is_longer = self.header(ours).prefix_bytes() > self.header(theirs).prefix_bytes();
        let (ours, theirs) = if is_longer { (theirs, ours) } else { (ours, theirs) };
        let (bytes, other_bytes) = (self.header(ours).prefix_bytes(), self.header(theirs).prefix_bytes());
        let (prefix, other) = (self.prefix(ours), self.prefix(theirs));
        let same = ((prefix ^ other).leading_zeros() as usize / 8).min(bytes);
        if same < bytes {
            let node = self.new_node(Kind::Node4, first_bytes(prefix, same), same, false);
            self.shorten_prefix(ours, same + 1);
            self.shorten_prefix(theirs, same + 1);
            self.add_child(node, byte_of(prefix, same), Ref::Node(ours));
            return self.add_child(node, byte_of(other, same), Ref::Node(theirs));
        }
        if bytes < other_bytes {
            self.shorten_prefix(theirs, bytes + 1);
            let byte = byte_of(other, bytes);
            if self.child(ours, byte).is_none() {
                return self.add_child(ours, byte, Ref::Node(theirs));
            }
            self.merge_later(ours, byte, Ref::Node(theirs), tasks);
            return ours;
        }
        let is_smaller = self.header(ours).count() < self.header(theirs).count();
        let (mut ours, theirs) = if is_smaller { (theirs, ours) } else { (ours, theirs) };
        // First what only one of them has: the node grows by it, and moves.
        let mut shared = [0_u64; 4];
        let mut next = self.first_child(theirs, 0);
        while let Some((byte, child)) = next {
            if self.child(ours, byte).is_some() {
                shared[usize::from(byte) / 64] |= 1 << (byte % 64);
            } else {
                let child = Ref::of(self.get(child));
                self.reserve_anyway(insertion_words(0));
                ours = self.add_child(ours, byte, child);
            }
            next = byte.checked_add(1).and_then(|from| self.first_child(theirs, from));
        }
        for (word, mut bits) in shared.into_iter().enumerate() {
            while bits != 0 {
                let byte = (word * 64) as u8 + bits.trailing_zeros() as u8;
                bits &= bits - 1;
                let child = self.child(theirs, byte).map_or(Ref::Empty, |child| Ref::of(self.get(child)));
                self.merge_later(ours, byte, child, tasks);
            }
        }
        self.free_node(theirs);
        ours
    }

    /// Puts the merge of something into the child of a byte, which the node has and which does not move, on the list.
    fn merge_later(&self, node: Position, byte: u8, theirs: Ref, tasks: &mut Vec<Task>) {
        if let Some(slot) = self.child(node, byte) {
            tasks.push(Task { slot: Slot::At(slot), ours: Ref::of(self.get(slot)), theirs });
        }
    }
}

/// Byte `at` of a prefix.
fn byte_of(prefix: u64, at: usize) -> u8 {
    (prefix >> (56 - 8 * at)) as u8
}
