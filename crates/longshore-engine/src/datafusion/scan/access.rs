//! The way of a scan to its rows by an index, where that is shorter than going through all of them.
//!
//! Which index is of use, `catalog::AccessPath` says. What it finds is a superset of the rows that the scan returns: the scan still
//! evaluates its whole predicate, and drops what its snapshot does not see, so that it returns the same rows with an
//! index and without. That the index knows every row of the snapshot, the storage promises as long as the transaction
//! is active; so it is asked when the scan is planned, and only by ranges that it can be stopped in.
//!
//! Wide ranges are left to the scan, which reads a row in a nanosecond or two, where the index takes a hundred: the
//! bounds of the column tell most of them beforehand, the others when more is found than is worth it.
//! Not here: what the transaction logs (`reads`).

use std::fmt::{self, Write as _};
use std::ops::Bound;

use longshore_storage::{ColumnType, Datum, Direction, Index, IndexKind, Key, RowId, Snapshot, Value};

use super::column_constraints::{ColumnConstraint, column_constraints};
use super::predicate::Predicate;
use super::reads::Reads;
use crate::catalog::AccessPath;

/// An index may find one row in so many, and some more.
const FOUND_RATIO: u64 = 256;
/// It may be asked for one key in so many rows, and the rows may lie in as many places.
const PLACE_RATIO: u64 = 2048;
/// Rows and places that are always worth it.
const FEW: u64 = 16;
/// Rows that lie between two rows that were found may be as many for both to be read at once.
const GAP_ROWS: usize = 64;

/// Rows that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::datafusion) struct Run {
    /// Position of the chunk in the snapshot.
    pub(in crate::datafusion) chunk: usize,
    /// The first of the rows in the chunk.
    pub(in crate::datafusion) offset: usize,
    pub(in crate::datafusion) rows: usize,
}

/// The rows that a scan has to look at.
#[derive(Debug)]
pub(in crate::datafusion) struct Access {
    pub(in crate::datafusion) runs: Vec<Run>,
    /// Rows that the index has found.
    pub(in crate::datafusion) rows: usize,
    /// The index, and what it was asked for.
    shown: String,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Access {
    /// The way by the best index of the relation, if there is one that is worth it.
    pub(in crate::datafusion) fn choose(reads: &Reads, snapshot: &Snapshot, predicate: &Predicate) -> Option<Self> {
        let indexes = reads.relation().indexes();
        if indexes.is_empty() {
            return None;
        }
        let constraints = column_constraints(Some(predicate), snapshot.schema());
        let mut lookups: Vec<Lookup<'_>> =
            indexes.iter().filter_map(|index| Lookup::new(index, &constraints)).collect();
        lookups.sort_by_key(|lookup| lookup.path.rank());
        lookups.iter().find_map(|lookup| lookup.run(snapshot))
    }
}

/// How an index is asked.
struct Lookup<'a> {
    index: &'a Index,
    path: AccessPath,
    /// The values of its first columns, column by column.
    values: Vec<(&'a ColumnConstraint, Vec<Datum<'a>>)>,
    /// Bounds of the column behind them.
    range: Option<&'a ColumnConstraint>,
}

impl<'a> Lookup<'a> {
    fn new(index: &'a Index, constraints: &'a [ColumnConstraint]) -> Option<Self> {
        let constraint = |column: usize| constraints.iter().find(|constraint| constraint.column == column);
        let points = |column: usize| constraint(column).and_then(ColumnConstraint::points);
        let has_bounds =
            |constraint: &&ColumnConstraint| constraint.has_bounds() && has_plain_order(constraint.column_type);
        let range = |column: usize| constraint(column).filter(has_bounds);
        let (columns, is_unique) = (index.columns(), index.uniqueness().is_unique());
        let (has_points, has_range) = (|column| points(column).is_some(), |column| range(column).is_some());
        let path = AccessPath::new(index.kind(), columns, is_unique, has_points, has_range)?;
        if !path.selects() {
            return None;
        }
        let values = columns[..path.values].iter().filter_map(|column| Some((constraint(*column)?, points(*column)?)));
        let range = columns.get(path.values).and_then(|column| range(*column));
        Some(Self { index, path, values: values.collect(), range })
    }

    /// The rows that it leads to, unless these are too many.
    fn run(&self, snapshot: &Snapshot) -> Option<Access> {
        let all = snapshot.rows();
        let keys = self.values.iter().try_fold(1_u64, |keys, (_, points)| keys.checked_mul(points.len() as u64))?;
        if keys > all / PLACE_RATIO + FEW || self.is_wide(snapshot) {
            return None;
        }
        let found_max = (all / FOUND_RATIO + FEW) as usize;
        let mut found = Vec::new();
        for combination in 0..keys {
            self.find(combination, found_max, &mut found)?;
        }
        let count = found.len();
        let runs = runs(snapshot, &found);
        if runs.len() as u64 > all / PLACE_RATIO + FEW {
            return None;
        }
        Some(Access { runs, rows: count, shown: self.shown() })
    }

    /// Whether the bounds take in more than is worth it, as far as the values of the column are spread evenly.
    fn is_wide(&self, snapshot: &Snapshot) -> bool {
        let Some(constraint) = self.range.filter(|_| self.values.is_empty()) else { return false };
        let statistics = snapshot.statistics(constraint.column);
        let number = |value: &Option<Value>| match value {
            Some(Value::Integer(value)) => Some(*value as f64),
            Some(Value::Decimal(value)) => Some(*value as f64),
            _ => None,
        };
        let (Some(least), Some(greatest)) = (number(&statistics.min), number(&statistics.max)) else { return false };
        let (low, high) = constraint.bounds();
        let end = |bound: Bound<Datum<'_>>, open: f64| match bound {
            Bound::Included(value) | Bound::Excluded(value) => match value {
                Datum::I16(value) => f64::from(value),
                Datum::I32(value) => f64::from(value),
                Datum::I64(value) => value as f64,
                Datum::I128(value) => value as f64,
                _ => open,
            },
            Bound::Unbounded => open,
        };
        let (low, high) = (end(low, least).max(least), end(high, greatest).min(greatest));
        // Twice as much, lest what is only guessed decides what is close.
        (high - low) / (greatest - least) > 2.0 / FOUND_RATIO as f64
            && snapshot.rows() as f64 * (high - low) / (greatest - least) > FEW as f64
    }

    /// Adds the rows of one combination of values; `None` if there are more than `found_max`, or the values are none of
    /// this index.
    fn find(&self, mut combination: u64, found_max: usize, found: &mut Vec<RowId>) -> Option<()> {
        let mut values = Vec::with_capacity(self.index.columns().len());
        for (_, points) in &self.values {
            values.push(points[(combination % points.len() as u64) as usize]);
            combination /= points.len() as u64;
        }
        if self.index.kind() == IndexKind::Hash {
            found.extend(self.index.find(&self.index.key(&values).ok()?).iter());
            return (found.len() <= found_max).then_some(());
        }
        let (low, high) = self.range.map_or((Bound::Unbounded, Bound::Unbounded), ColumnConstraint::bounds);
        let lower = self.end(&values, low)?;
        let upper = self.end(&values, high)?;
        let mut range = self.index.range(lower.as_ref(), upper.as_ref(), Direction::Forward);
        loop {
            let before = found.len();
            self.index.next_batch(&mut range, found);
            if found.len() == before {
                return Some(());
            }
            if found.len() > found_max {
                return None;
            }
        }
    }

    /// An end of the range that begins with `values`.
    fn end(&self, values: &[Datum<'_>], bound: Bound<Datum<'_>>) -> Option<Bound<Key>> {
        let key = |last: Option<Datum<'_>>| {
            let values: Vec<Datum<'_>> = values.iter().copied().chain(last).collect();
            self.index.prefix(&values).ok()
        };
        Some(match bound {
            Bound::Included(value) => Bound::Included(key(Some(value))?),
            Bound::Excluded(value) => Bound::Excluded(key(Some(value))?),
            Bound::Unbounded if values.is_empty() => Bound::Unbounded,
            Bound::Unbounded => Bound::Included(key(None)?),
        })
    }

    fn shown(&self) -> String {
        let mut shown = format!("{} (", self.index.name());
        let mut separator = "";
        for (_, points) in &self.values {
            // Writing to a string cannot fail.
            let _ = match points.as_slice() {
                [point] => write!(shown, "{separator}{point}"),
                points => write!(shown, "{separator}one of {}", points.len()),
            };
            separator = ", ";
        }
        if let Some(constraint) = self.range {
            let (low, high) = constraint.bounds();
            let _ = match low {
                Bound::Included(low) => write!(shown, "{separator}{low} to "),
                Bound::Excluded(low) => write!(shown, "{separator}above {low} to "),
                Bound::Unbounded => write!(shown, "{separator}to "),
            };
            let _ = match high {
                Bound::Included(high) => write!(shown, "{high}"),
                Bound::Excluded(high) => write!(shown, "below {high}"),
                Bound::Unbounded => write!(shown, "the end"),
            };
        }
        shown.push(')');
        shown
    }
}

/// Whether an index sorts the values of a type just as predicates compare them: not floats with their two zeros, nor
/// texts that are stored in one spelling of several.
pub(crate) fn has_plain_order(column_type: ColumnType) -> bool {
    !matches!(column_type, ColumnType::Real | ColumnType::Double | ColumnType::Char(_) | ColumnType::Uuid)
        && column_type.unwrapped().is_none()
}

/// Where rows lie in a snapshot, as far as it has them, in its order; what lies close together is one run. Rows that came
/// after the snapshot was taken are not in it.
fn runs(snapshot: &Snapshot, rows: &[RowId]) -> Vec<Run> {
    let mut places: Vec<(usize, usize)> = rows.iter().filter_map(|row| snapshot.find(*row)).collect();
    places.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    for (chunk, offset) in places {
        match runs.last_mut() {
            Some(run) if run.chunk == chunk && offset < run.offset + run.rows + GAP_ROWS => {
                run.rows = offset + 1 - run.offset;
            }
            _ => runs.push(Run { chunk, offset, rows: 1 }),
        }
    }
    runs
}
