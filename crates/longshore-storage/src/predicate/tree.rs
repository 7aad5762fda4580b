//! The predicate tree of one relation (thesis, 2.2.3), built at validation when a write has to be held against it.
//!
//! Each edge is a restriction of one attribute, a path from the root is a conjunction, the tree is their disjunction.
//! Equal restrictions under one parent are one node. A node's children are grouped by attribute into branches: those
//! that ask for a single value are found by hash, the others are tried in turn.
//!
//! ```text
//!             B             I            two predicates:  B = 15 AND I = 1
//! root ─┬─ 15 ──── 1 •                                    B = 15 AND I BETWEEN 3 AND 5
//!       │    └──── 3..5 •                one:             I IS NULL
//!       └─ NULL •
//! ```
//!
//! An [`Image`] is a row, each attribute a point, or all rows of a chunk, each attribute an interval: the tree says
//! whether some predicate may hold for it.

use super::log::{RelationLog, Shape};
use super::{Attribute, Restriction, Span};

/// What a tree is held against.
pub(crate) trait Image {
    /// Where the attribute's values lie.
    fn span(&self, attribute: Attribute) -> Span;
}

const ROOT: u32 = 0;
const NONE: u32 = u32::MAX;

/// A predicate that holds for an image, by the node where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Satisfied(u32);

#[derive(Debug)]
pub(crate) struct PredicateTree {
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    /// All attributes in use; a branch knows its own by the place in here.
    attributes: Vec<Attribute>,
    /// Open addressing: nodes by branch and span. A power of two, at most half full.
    table: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The branch it belongs to, and what it asks of that one's attribute.
    branch: u32,
    span: Span,
    /// Whether a predicate ends here.
    satisfied: bool,
    first_branch: u32,
    /// The next of its branch that is of its kind, point or interval.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Branch {
    parent: u32,
    attribute: u32,
    /// The parent's next branch.
    next: u32,
    first_point: u32,
    first_interval: u32,
}

impl PredicateTree {
    /// The tree of all predicates logged of a relation.
    pub(crate) fn new(log: &RelationLog) -> PredicateTree {
        let entries: usize = log.shapes().map(|shape| shape.points.len() + shape.boxes.len()).sum();
        let root =
            Node { branch: NONE, span: Span::ALL, satisfied: log.is_everything(), first_branch: NONE, next: NONE };
        let mut tree = PredicateTree {
            nodes: Vec::with_capacity(entries + 1),
            branches: Vec::with_capacity(entries),
            attributes: Vec::new(),
            table: vec![NONE; (entries * 2).next_power_of_two()],
        };
        tree.nodes.push(root);
        if !log.is_everything() {
            for shape in log.shapes() {
                tree.add(shape);
            }
        }
        tree
    }

    /// A predicate that holds for the image, or may hold for one of its rows.
    pub(crate) fn satisfied_by(&self, image: &impl Image) -> Option<Satisfied> {
        let mut known = Known { image, spans: [None; KNOWN_MAX] };
        self.satisfied_below(ROOT, &mut known).map(Satisfied)
    }

    /// The predicate that a node stands for; empty when it asks for nothing.
    pub(crate) fn restrictions(&self, satisfied: Satisfied) -> Vec<Restriction> {
        let mut restrictions = Vec::new();
        let mut at = satisfied.0;
        while at != ROOT {
            let node = &self.nodes[at as usize];
            let branch = &self.branches[node.branch as usize];
            let attribute = self.attributes[branch.attribute as usize];
            restrictions.push(Restriction { attribute, span: node.span });
            at = branch.parent;
        }
        restrictions.reverse();
        restrictions
    }

    #[cfg(test)]
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn satisfied_below(&self, node: u32, known: &mut Known<'_, impl Image>) -> Option<u32> {
        if self.nodes[node as usize].satisfied {
            return Some(node);
        }
        let mut at = self.nodes[node as usize].first_branch;
        while at != NONE {
            let branch = &self.branches[at as usize];
            let span = known.span(branch.attribute, &self.attributes);
            let found = self.satisfied_among(branch.first_interval, span, known).or_else(|| {
                if branch.first_point == NONE || span.low > span.high {
                    None
                } else if span.is_point() {
                    self.find(at, span).ok().and_then(|node| self.satisfied_below(node, known))
                } else {
                    self.satisfied_among(branch.first_point, span, known)
                }
            });
            if found.is_some() {
                return found;
            }
            at = branch.next;
        }
        None
    }

    /// Tries a list of nodes of one branch.
    fn satisfied_among(&self, mut at: u32, span: Span, known: &mut Known<'_, impl Image>) -> Option<u32> {
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.span.meets(span)
                && let Some(found) = self.satisfied_below(at, known)
            {
                return Some(found);
            }
            at = node.next;
        }
        None
    }

    fn add(&mut self, shape: &Shape) {
        let attributes: Vec<u32> = shape.attributes.iter().map(|&attribute| self.known_attribute(attribute)).collect();
        let width = attributes.len();
        for point in shape.points.chunks_exact(width) {
            self.add_path(attributes.iter().copied().zip(point.iter().map(|&value| Span::point(value))));
        }
        for spans in shape.boxes.chunks_exact(width) {
            self.add_path(attributes.iter().copied().zip(spans.iter().copied()));
        }
    }

    fn known_attribute(&mut self, attribute: Attribute) -> u32 {
        let known = self.attributes.iter().position(|&known| known == attribute);
        known.unwrap_or_else(|| {
            self.attributes.push(attribute);
            self.attributes.len() - 1
        }) as u32
    }

    fn add_path(&mut self, path: impl Iterator<Item = (u32, Span)>) {
        let mut at = ROOT;
        for (attribute, span) in path {
            let branch = self.branch_of(at, attribute);
            at = match self.find(branch, span) {
                Ok(node) => node,
                Err(place) => self.add_node(branch, span, place),
            };
        }
        self.nodes[at as usize].satisfied = true;
    }

    fn branch_of(&mut self, parent: u32, attribute: u32) -> u32 {
        let first = self.nodes[parent as usize].first_branch;
        let mut at = first;
        while at != NONE {
            let branch = &self.branches[at as usize];
            if branch.attribute == attribute {
                return at;
            }
            at = branch.next;
        }
        let new = self.branches.len() as u32;
        self.branches.push(Branch { parent, attribute, next: first, first_point: NONE, first_interval: NONE });
        self.nodes[parent as usize].first_branch = new;
        new
    }

    fn add_node(&mut self, branch: u32, span: Span, place: usize) -> u32 {
        let new = self.nodes.len() as u32;
        let list = &mut self.branches[branch as usize];
        let first = if span.is_point() { &mut list.first_point } else { &mut list.first_interval };
        let next = std::mem::replace(first, new);
        self.nodes.push(Node { branch, span, satisfied: false, first_branch: NONE, next });
        self.table[place] = new;
        new
    }

    /// The node of a branch with this span, or where in the table it would be.
    fn find(&self, branch: u32, span: Span) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash(branch, span) as usize & mask;
        loop {
            let at = self.table[place];
            if at == NONE {
                return Err(place);
            }
            let node = &self.nodes[at as usize];
            if node.branch == branch && node.span == span {
                return Ok(at);
            }
            place = (place + 1) & mask;
        }
    }
}

fn hash(branch: u32, span: Span) -> u64 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let interval = (span.high ^ span.low).wrapping_add(u64::from(span.null)).rotate_left(32);
    let mixed = (span.low ^ u64::from(branch).rotate_left(40) ^ interval).wrapping_mul(MULTIPLIER);
    (mixed ^ mixed >> 29).wrapping_mul(MULTIPLIER) >> 32
}

/// Attributes whose spans are remembered while an image is tried.
const KNOWN_MAX: usize = 8;

/// An image, with what was found out of it: to read a column of an old version takes a walk.
struct Known<'a, I> {
    image: &'a I,
    spans: [Option<Span>; KNOWN_MAX],
}

impl<I: Image> Known<'_, I> {
    fn span(&mut self, attribute: u32, attributes: &[Attribute]) -> Span {
        let read = || self.image.span(attributes[attribute as usize]);
        match self.spans.get_mut(attribute as usize) {
            Some(known) => *known.get_or_insert_with(read),
            None => read(),
        }
    }
}
