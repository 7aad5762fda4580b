//! The predicates by which a transaction has read, per relation.
//!
//! Predicates that restrict the same attributes in the same order have one [`Shape`]; so a predicate is no more than
//! its spans, and the point read of an index no more than its summaries, appended to a vector. A log that is cleared
//! keeps its vectors: a transaction like an earlier one logs without an allocation.
//!
//! A log is bounded. When a shape has [`POINTS_MAX`] points or [`BOXES_MAX`] boxes, equal ones are removed, and if that
//! is not enough they are coarsened to ranges (`coarsen.rs`); a relation with more than [`SHAPES_MAX`] shapes counts as
//! read entirely.

use super::coarsen::{coarsen, distinct_points};
use super::{Attribute, Change, ColumnSet, Restriction, Span};

/// Points of a shape before they are made fewer: more than any transaction by key has, and sorted in microseconds.
pub(super) const POINTS_MAX: usize = 1024;

/// Boxes of a shape before they are made fewer.
pub(super) const BOXES_MAX: usize = 512;

/// What points or boxes that are too many become.
pub(super) const COARSE_BOXES: usize = 64;
const _: () = assert!(COARSE_BOXES * 2 <= BOXES_MAX && BOXES_MAX <= POINTS_MAX);

/// Distinct lists of attributes, per relation, that predicates are kept for.
const SHAPES_MAX: usize = 64;

/// Attributes that a predicate restricts, at most: one that asks for more holds for more rows, and whoever evaluates it
/// recurs no deeper.
pub(super) const ATTRIBUTES_MAX: usize = 64;

/// Relations that a cleared log remembers, for the sake of their vectors.
const RELATIONS_KEPT: usize = 32;

/// What a transaction has read.
#[derive(Debug, Default)]
pub(crate) struct PredicateLog {
    ids: Vec<u64>,
    relations: Vec<RelationLog>,
    /// Where the last read of a relation was logged.
    last: usize,
}

/// What a transaction has read of one relation.
#[derive(Debug, Default)]
pub(crate) struct RelationLog {
    touched: bool,
    everything: bool,
    /// Columns read or restricted.
    columns: ColumnSet,
    shapes: Vec<Shape>,
}

/// Predicates that restrict the same attributes.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) attributes: Box<[Attribute]>,
    columns: ColumnSet,
    /// All attributes are columns of integers: the usual key.
    integers: bool,
    /// Conjunctions of equalities: as many summaries each as there are attributes.
    pub(super) points: Vec<u64>,
    /// Conjunctions of any kind: as many spans each.
    pub(super) boxes: Vec<Span>,
}

impl PredicateLog {
    /// Forgets all reads, but not the memory for as many again.
    pub(crate) fn clear(&mut self) {
        if self.ids.len() > RELATIONS_KEPT {
            *self = PredicateLog::default();
            return;
        }
        for relation in &mut self.relations {
            relation.clear();
        }
    }

    /// Where reads of a relation are logged.
    #[inline]
    pub(crate) fn relation(&mut self, id: u64) -> &mut RelationLog {
        if self.ids.get(self.last) != Some(&id) {
            self.last = self.position_or_new(id);
        }
        &mut self.relations[self.last]
    }

    /// What was read of a relation; `None` when nothing was.
    pub(crate) fn read_of(&self, id: u64) -> Option<&RelationLog> {
        let at = self.ids.iter().position(|&known| known == id)?;
        Some(&self.relations[at]).filter(|relation| relation.touched)
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        !self.relations.iter().any(|relation| relation.touched)
    }

    fn position_or_new(&mut self, id: u64) -> usize {
        self.ids.iter().position(|&known| known == id).unwrap_or_else(|| {
            self.ids.push(id);
            self.relations.push(RelationLog::default());
            self.ids.len() - 1
        })
    }
}

impl RelationLog {
    /// Logs that a column was read of rows that predicates of this log ask for.
    #[inline]
    pub(crate) fn read(&mut self, column: usize) {
        self.columns.insert(column);
    }

    /// Logs a read of all rows.
    pub(crate) fn everything(&mut self) {
        (self.touched, self.everything) = (true, true);
    }

    /// Logs the rows whose attributes have these values: what is looked up in an index by a key without NULL.
    #[inline]
    pub(crate) fn point(&mut self, attributes: &[Attribute], values: &[u64]) {
        debug_assert!(attributes.len() == values.len() && !values.is_empty());
        let (attributes, more) = attributes.split_at(attributes.len().min(ATTRIBUTES_MAX));
        for attribute in more {
            self.read(attribute.column());
        }
        if let Some(shape) = self.shape(attributes.iter().copied()) {
            shape.push(&values[..attributes.len()]);
        }
    }

    /// As [`RelationLog::point`], of a key of integers, their columns given. Says whether such keys are known: the first
    /// one is not.
    #[inline]
    pub(crate) fn known_integers(&mut self, columns: &[usize], values: &[u64]) -> bool {
        let is_it = |shape: &Shape| {
            let wanted = columns.iter().take(values.len()).map(|&column| Attribute::order(column));
            shape.integers && shape.attributes.iter().copied().eq(wanted)
        };
        let Some(at) = self.shapes.iter().position(is_it) else { return false };
        self.touched = true;
        self.columns = self.columns.union(self.shapes[at].columns);
        if !self.everything {
            self.shapes[at].push(values);
        }
        true
    }

    /// Makes keys of integers known.
    pub(crate) fn learn_integers(&mut self, attributes: &[Attribute]) {
        let mut known = self.shapes.iter_mut();
        if let Some(shape) = known.find(|shape| *shape.attributes == *attributes) {
            shape.integers = true;
        }
    }

    /// Logs the rows for which all these restrictions hold, each of another attribute.
    pub(crate) fn predicate(&mut self, restrictions: &[Restriction]) {
        if restrictions.is_empty() {
            return self.everything();
        }
        let (restrictions, more) = restrictions.split_at(restrictions.len().min(ATTRIBUTES_MAX));
        for restriction in more {
            self.read(restriction.attribute.column());
        }
        let Some(shape) = self.shape(restrictions.iter().map(|restriction| restriction.attribute)) else { return };
        let spans = restrictions.iter().map(|restriction| restriction.span);
        let (end, width) = (shape.boxes.len(), restrictions.len());
        if end >= width && shape.boxes[end - width..].iter().copied().eq(spans.clone()) {
            return;
        }
        shape.boxes.extend(spans);
        if end + width >= BOXES_MAX * width {
            shape.compact();
        }
    }

    /// Whether a change could concern any predicate, as far as can be told without looking at the row.
    pub(crate) fn concerns(&self, change: Change) -> bool {
        match change {
            Change::Existence => self.touched,
            Change::Columns(columns) => self.touched && self.columns.intersects(columns),
        }
    }

    /// Whether all rows were read.
    pub(super) fn is_everything(&self) -> bool {
        self.everything
    }

    /// The predicates, by the attributes they restrict.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter().filter(|shape| !shape.points.is_empty() || !shape.boxes.is_empty())
    }

    /// The shape of these attributes; `None` when all rows count as read.
    #[inline]
    fn shape(&mut self, attributes: impl Iterator<Item = Attribute> + Clone) -> Option<&mut Shape> {
        self.touched = true;
        let known = self.shapes.iter().position(|shape| shape.attributes.iter().copied().eq(attributes.clone()));
        let at = match known {
            Some(at) => at,
            None => self.new_shape(attributes.collect())?,
        };
        let shape = &mut self.shapes[at];
        self.columns = self.columns.union(shape.columns);
        // One predicate for all is enough, but what it restricts still matters.
        if self.everything { None } else { Some(shape) }
    }

    #[cold]
    fn new_shape(&mut self, attributes: Box<[Attribute]>) -> Option<usize> {
        let columns =
            attributes.iter().fold(ColumnSet::default(), |set, attribute| set.union(ColumnSet::of(attribute.column())));
        if self.shapes.len() == SHAPES_MAX {
            self.columns = self.columns.union(columns);
            self.everything = true;
            return None;
        }
        self.shapes.push(Shape { attributes, columns, integers: false, points: Vec::new(), boxes: Vec::new() });
        Some(self.shapes.len() - 1)
    }

    fn clear(&mut self) {
        (self.touched, self.everything, self.columns) = (false, false, ColumnSet::default());
        if self.shapes.len() == SHAPES_MAX {
            self.shapes.clear();
        }
        for shape in &mut self.shapes {
            shape.points.clear();
            shape.boxes.clear();
        }
    }
}

impl Shape {
    #[inline]
    fn push(&mut self, values: &[u64]) {
        let (end, width) = (self.points.len(), values.len());
        if end >= width && self.points[end - width..].iter().eq(values) {
            return;
        }
        self.points.extend(values);
        if end + width >= POINTS_MAX * width {
            self.compact();
        }
    }

    /// Makes room: first without loss, then by coarsening.
    #[cold]
    fn compact(&mut self) {
        let width = self.attributes.len();
        distinct_points(&mut self.points, width);
        if self.points.len() / width > POINTS_MAX / 2 {
            self.boxes.extend(self.points.iter().map(|&value| Span::point(value)));
            self.points.clear();
        }
        if self.boxes.len() / width > BOXES_MAX / 2 {
            coarsen(&mut self.boxes, width, COARSE_BOXES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::{Image, PredicateTree};

    /// A row that has one value in all columns.
    struct Row(u64);

    impl Image for Row {
        fn span(&self, _: Attribute) -> Span {
            Span::point(self.0)
        }
    }

    #[test]
    fn a_predicate_of_any_number_of_columns_is_evaluated_on_a_small_stack() {
        let restrictions: Vec<Restriction> = (0..15_000)
            .map(|column| Restriction { attribute: Attribute::order(column), span: Span::point(7) })
            .collect();
        let attributes: Vec<Attribute> = restrictions.iter().map(|restriction| restriction.attribute).collect();
        let evaluate = || {
            for is_point in [false, true] {
                let mut log = RelationLog::default();
                if is_point {
                    log.point(&attributes, &vec![7; attributes.len()]);
                } else {
                    log.predicate(&restrictions);
                }
                let tree = PredicateTree::new(&log);
                assert!(tree.satisfied_by(&Row(7)).is_some() && tree.satisfied_by(&Row(8)).is_none());
                assert!(log.concerns(Change::Columns(ColumnSet::of(14_999))), "what it leaves out still matters");
            }
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, evaluate);
            thread.expect("a thread").join().expect("an evaluation");
        });
    }
}
