//! Makes many predicates of the same attributes fewer, so that the rows they hold for become more, never fewer.
//!
//! A predicate is a box, an interval per attribute. Sorted by their lower corners, neighbours are joined to the box
//! around both where they lie closest. Of an index nested loop join that has looked up many keys, ranges of keys are
//! left (thesis, 2.2.3), and of keys that lie side by side, exactly these.

use std::cmp::Reverse;

use super::Span;

/// Sorts points of `width` values each and removes equal ones.
pub(super) fn distinct_points(points: &mut Vec<u64>, width: usize) {
    let mut sorted: Vec<&[u64]> = points.chunks_exact(width).collect();
    sorted.sort_unstable();
    sorted.dedup();
    *points = sorted.concat();
}

/// Leaves at most `boxes_max` boxes of `width` spans each.
pub(super) fn coarsen(boxes: &mut Vec<Span>, width: usize, boxes_max: usize) {
    let mut sorted: Vec<&[Span]> = boxes.chunks_exact(width).collect();
    let key = |span: &Span| (span.low, span.high, span.null);
    sorted.sort_unstable_by(|a, b| a.iter().map(key).cmp(b.iter().map(key)));
    sorted.dedup();
    let gaps: Vec<Gap> = sorted.windows(2).map(|pair| Gap::between(pair[0], pair[1])).collect();
    let mut widest: Vec<usize> = (0..gaps.len()).filter(|&at| gaps[at] > Gap::TOUCHING).collect();
    widest.sort_unstable_by_key(|&at| Reverse(gaps[at]));
    widest.truncate(boxes_max - 1);
    let mut begins = vec![false; sorted.len()];
    for at in widest {
        begins[at + 1] = true;
    }
    let mut joined: Vec<Span> = Vec::with_capacity(boxes_max * width);
    for (spans, begins) in sorted.into_iter().zip(begins) {
        if begins || joined.is_empty() {
            joined.extend_from_slice(spans);
            continue;
        }
        let last = joined.len() - width;
        for (into, &span) in joined[last..].iter_mut().zip(spans) {
            *into = into.cover(span);
        }
    }
    *boxes = joined;
}

/// How far two boxes are apart: first by how many attributes follow from the first that differs, then by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    attributes: usize,
    distance: u64,
}

impl Gap {
    /// None: the last attributes overlap, or go on where the others end.
    const TOUCHING: Gap = Gap { attributes: 1, distance: 1 };

    fn between(before: &[Span], after: &[Span]) -> Gap {
        let differs = before.iter().zip(after).position(|(a, b)| a != b);
        let Some(at) = differs else { return Gap { attributes: 0, distance: 0 } };
        let distance = after[at].low.saturating_sub(before[at].high);
        Gap { attributes: before.len() - at, distance }
    }
}
