//! The morsels of a scan: runs of rows within a chunk, which workers take from a shared counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use longshore_storage::VisibleChunk;

use super::RelationSource;
use super::access::Run;
use super::join_keys::JoinKeys;
use super::prune;

/// Rows of a batch that operators hand to each other.
pub(in crate::datafusion) const BATCH_ROWS: usize = 8192;
/// Rows that a worker takes at a time: few enough that all workers end together, many enough that taking is free.
pub(in crate::datafusion) const MORSEL_ROWS: usize = 2 * BATCH_ROWS;

/// Some rows of one chunk.
#[derive(Clone)]
pub(in crate::datafusion) struct Morsel {
    pub(in crate::datafusion) chunk: VisibleChunk,
    /// Position of the chunk in its snapshot.
    pub(in crate::datafusion) chunk_index: usize,
    /// First row in the chunk.
    pub(in crate::datafusion) offset: usize,
    pub(in crate::datafusion) rows: usize,
}

/// What the workers of one scan share while it runs.
pub(in crate::datafusion) struct Morsels {
    list: Vec<Morsel>,
    next: AtomicUsize,
    /// Rows that are still wanted.
    wanted: AtomicUsize,
    /// What joins above want of the rows.
    pub(super) join_keys: JoinKeys,
}

impl Morsels {
    /// Cuts the snapshot of `source`, without chunks that its predicate excludes.
    pub(in crate::datafusion) fn new(source: &RelationSource) -> Self {
        let chunks = source.snapshot.pieces();
        if let Some(access) = &source.access {
            return Self::of_runs(source, &access.runs);
        }
        let live = source.predicate.as_ref().map(|predicate| {
            let conjuncts = predicate.conjuncts().map(Arc::clone);
            // A predicate that cannot be tried on bounds is still evaluated on every row.
            prune::live(chunks, &source.table, conjuncts).unwrap_or_else(|_| vec![true; chunks.len()])
        });
        // Without a predicate the first rows of the relation are the answer to a limit.
        let mut rows_due = match (&source.predicate, source.fetch) {
            (None, Some(fetch)) => fetch,
            _ => usize::MAX,
        };
        let mut list = Vec::new();
        for (chunk_index, chunk) in chunks.iter().enumerate() {
            if live.as_ref().is_some_and(|live| !live[chunk_index]) {
                continue;
            }
            // Of a chunk with rows that are not seen nobody knows where so many are.
            let end = if chunk.is_clean() { chunk.rows().min(rows_due) } else { chunk.rows() };
            if rows_due == 0 {
                break;
            }
            rows_due -= chunk.visible_rows().min(rows_due);
            for offset in (0..end).step_by(MORSEL_ROWS) {
                list.push(Morsel { chunk: chunk.clone(), chunk_index, offset, rows: MORSEL_ROWS.min(end - offset) });
            }
        }
        Self::of_list(source, list)
    }

    /// Only the rows of `runs`.
    fn of_runs(source: &RelationSource, runs: &[Run]) -> Self {
        let chunks = source.snapshot.pieces();
        let mut list = Vec::with_capacity(runs.len());
        for run in runs {
            for taken in (0..run.rows).step_by(MORSEL_ROWS) {
                let (offset, rows) = (run.offset + taken, MORSEL_ROWS.min(run.rows - taken));
                list.push(Morsel { chunk: chunks[run.chunk].clone(), chunk_index: run.chunk, offset, rows });
            }
        }
        Self::of_list(source, list)
    }

    fn of_list(source: &RelationSource, list: Vec<Morsel>) -> Self {
        Self {
            list,
            next: AtomicUsize::new(0),
            wanted: AtomicUsize::new(source.fetch.unwrap_or(usize::MAX)),
            join_keys: JoinKeys::new(&source.hints, &source.snapshot, &source.table),
        }
    }

    /// The next morsel that nobody has taken.
    pub(in crate::datafusion) fn take(&self) -> Option<&Morsel> {
        if self.wanted.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.list.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks leave to return `rows` rows; fewer may be granted when a limit is near.
    pub(in crate::datafusion) fn grant(&self, rows: usize) -> usize {
        let before = self
            .wanted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |wanted| Some(wanted - wanted.min(rows)))
            .expect("the update always gives a value");
        before.min(rows)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int32Array, RecordBatch, StringViewArray};
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{BinaryExpr, Column as Reference, Literal};
    use longshore_storage::{Arena, Column, ColumnType, Memory, MergeKind, PartitionBuffer, Relation, Schema};

    use super::*;
    use crate::datafusion::scan::predicate::Predicate;
    use crate::datafusion::scan::pushdown::Projection;
    use crate::datafusion::scan::reads::Reads;
    use crate::transaction::{Level, Modes, StatementTransaction};

    /// Three chunks of 40,000 rows; the columns count the rows, as a number and as a text of six digits.
    fn relation() -> Relation {
        let columns = vec![Column::new("n", ColumnType::Integer, false), Column::new("s", ColumnType::Text, false)];
        let schema = Arc::new(Schema::new(columns));
        let memory = Memory::new(None);
        let relation = Relation::new(Arc::clone(&schema), Arc::clone(&memory));
        let mut arena = Arena::new(memory, 2 << 20);
        let append = relation.begin_append(MergeKind::Chunk);
        for chunk in 0..3 {
            let rows = chunk * 40_000..(chunk + 1) * 40_000;
            let numbers = Int32Array::from_iter_values(rows.clone());
            let texts = StringViewArray::from_iter_values(rows.map(|row| format!("{row:06}")));
            let batch = RecordBatch::try_new(schema.arrow(), vec![Arc::new(numbers), Arc::new(texts)]);
            let batch = batch.expect("the columns fit the schema");
            let buffers = PartitionBuffer::from_batch(&schema, &batch, &mut arena).expect("the rows fit");
            append.merge(chunk as u64, buffers).expect("there is memory");
        }
        assert_eq!(append.commit().expect("there are no keys"), 120_000);
        relation
    }

    fn compare(column: (&str, usize), operator: Operator, value: ScalarValue) -> Arc<dyn PhysicalExpr> {
        let column = Arc::new(Reference::new(column.0, column.1));
        Arc::new(BinaryExpr::new(column, operator, Arc::new(Literal::new(value))))
    }

    fn source(predicate: Option<Arc<dyn PhysicalExpr>>, fetch: Option<usize>) -> RelationSource {
        let relation = Arc::new(relation());
        let modes = Modes::new(Level::Snapshot, true);
        let reads = Reads::new(
            &StatementTransaction::begin(relation.transactions(), modes, &Arc::default(), &Arc::default(), true),
            &relation,
        );
        let snapshot = relation.snapshot();
        let table = snapshot.schema().arrow();
        let projection = Projection::new(&table, None).expect("all columns exist");
        let mut source = RelationSource::new("t".into(), snapshot, Arc::clone(&table), projection, fetch, reads, 2);
        source.predicate =
            predicate.map(|expr| Arc::new(Predicate::new([expr], &table, |_| false).expect("the column exists")));
        source
    }

    fn chunks(morsels: &Morsels) -> Vec<usize> {
        let mut chunks = Vec::new();
        while let Some(morsel) = morsels.take() {
            assert!(morsel.rows > 0 && morsel.offset + morsel.rows <= morsel.chunk.rows());
            chunks.push(morsel.chunk_index);
        }
        chunks.dedup();
        chunks
    }

    #[test]
    fn chunks_that_cannot_match_are_left_out() {
        let int = |value| ScalarValue::Int32(Some(value));
        let text = |value: &str| ScalarValue::Utf8View(Some(value.to_owned()));
        for (predicate, expected) in [
            (compare(("n", 0), Operator::Lt, int(40_000)), vec![0]),
            (compare(("n", 0), Operator::GtEq, int(79_999)), vec![1, 2]),
            (compare(("n", 0), Operator::Eq, int(80_000)), vec![2]),
            (compare(("n", 0), Operator::Eq, int(120_000)), vec![]),
            (compare(("n", 0), Operator::NotEq, int(5)), vec![0, 1, 2]),
            (compare(("s", 1), Operator::Lt, text("0300")), vec![0]),
            (compare(("s", 1), Operator::Gt, text("0900")), vec![2]),
        ] {
            let shown = predicate.to_string();
            let found = chunks(&Morsels::new(&source(Some(predicate), None)));
            assert_eq!(found, expected, "{shown}");
        }
    }

    #[test]
    fn a_limit_without_a_predicate_takes_the_first_rows_only() {
        let rows = |fetch| {
            let morsels = Morsels::new(&source(None, fetch));
            let mut rows = 0;
            while let Some(morsel) = morsels.take() {
                rows += morsel.rows;
            }
            rows
        };
        assert_eq!(rows(None), 120_000);
        assert_eq!(rows(Some(3)), 3);
        assert_eq!(rows(Some(40_001)), 40_001);
        assert_eq!(rows(Some(1_000_000)), 120_000);
    }

    #[test]
    fn a_limit_is_shared_by_the_workers() {
        let wide = compare(("n", 0), Operator::GtEq, ScalarValue::Int32(Some(0)));
        let morsels = Morsels::new(&source(Some(wide), Some(10)));
        assert_eq!([morsels.grant(7), morsels.grant(7), morsels.grant(7)], [7, 3, 0]);
        assert!(morsels.take().is_none());
    }
}
