//! One worker of a scan: takes morsels, evaluates the predicate, returns batches.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use datafusion::arrow::compute::{BatchCoalescer, filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::Stream;
use longshore_storage::VisibleChunk;

use super::RelationSource;
use super::morsels::{Morsel, Morsels};
use super::predicate::{CodeAnswers, Predicate, Selection, StoredRows, Values};
use super::prune::Pruner;
use super::pushdown::Projection;
use crate::datafusion::execution::memory::LimitCheck;

/// Batches without a survivor that are looked at before other tasks get their turn.
const BATCHES_PER_POLL: usize = 64;

/// Where fewer than one row in this many survive, only the survivors are unpacked.
const PICKED_RATIO: usize = 4;

/// The stream of one worker.
pub(in crate::datafusion) struct ScanStream {
    projection: Projection,
    predicate: Option<Arc<Predicate>>,
    code_answers: CodeAnswers,
    pruner: Pruner,
    morsels: Arc<Morsels>,
    /// What is left of the morsel in work.
    current: Option<Morsel>,
    batch_rows: usize,
    /// Gathers survivors of a predicate; not used without one.
    gathered: BatchCoalescer,
    ended: bool,
    metrics: BaselineMetrics,
    limit: LimitCheck,
}

impl ScanStream {
    /// A worker of `source`; all workers share `morsels`.
    pub(in crate::datafusion) fn new(
        source: &RelationSource,
        morsels: Arc<Morsels>,
        batch_rows: usize,
        metrics: BaselineMetrics,
        limit: LimitCheck,
    ) -> Self {
        let target = source.fetch.map_or(batch_rows, |fetch| fetch.clamp(1, batch_rows));
        let gathered = BatchCoalescer::new(Arc::clone(&source.projection.schema), target)
            .with_biggest_coalesce_batch_size(Some(target / 2));
        Self {
            projection: source.projection.clone(),
            predicate: source.predicate.clone(),
            code_answers: CodeAnswers::default(),
            pruner: Pruner::new(&source.hints, &source.table),
            morsels,
            current: None,
            batch_rows,
            gathered,
            ended: false,
            metrics,
            limit,
        }
    }

    /// All that it returns.
    pub(in crate::datafusion) fn into_batches(mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while !self.ended {
            batches.extend(self.step()?);
        }
        Ok(batches)
    }

    /// Looks at the next run of rows; returns a batch if one is ready.
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.gathered.next_completed_batch() {
            return Ok(Some(batch));
        }
        let Some(morsel) = self.advance()? else {
            self.ended = true;
            self.gathered.finish_buffered_batch()?;
            return Ok(self.gathered.next_completed_batch());
        };
        self.filter(&morsel)
    }

    /// The next rows to look at, at most a batch.
    fn advance(&mut self) -> Result<Option<Morsel>> {
        let mut morsel = match self.current.take() {
            Some(morsel) => morsel,
            None => loop {
                let Some(morsel) = self.morsels.take() else {
                    return Ok(None);
                };
                if self.pruner.is_live(morsel.chunk_index, &morsel.chunk)? {
                    break morsel.clone();
                }
            },
        };
        if morsel.rows > self.batch_rows {
            let mut rest = morsel.clone();
            rest.offset += self.batch_rows;
            rest.rows -= self.batch_rows;
            self.current = Some(rest);
            morsel.rows = self.batch_rows;
        }
        Ok(Some(morsel))
    }

    fn filter(&mut self, morsel: &Morsel) -> Result<Option<RecordBatch>> {
        let mut columns = Columns {
            chunk: &morsel.chunk,
            chunk_index: morsel.chunk_index,
            offset: morsel.offset,
            rows: morsel.rows,
            read: Vec::new(),
        };
        let visible = morsel.chunk.visible(morsel.offset, morsel.rows).map(|bits| BooleanArray::new(bits, None));
        let selection = match &self.predicate {
            Some(predicate) => predicate.select(morsel.rows, visible, &mut columns, &mut self.code_answers)?,
            None => Selection::of(morsel.rows, visible),
        };
        let selection = self.morsels.join_keys.narrow(selection, morsel.rows, &mut columns)?;
        match selection {
            Selection::None => Ok(None),
            Selection::All if self.gathered.is_empty() => Ok(Some(columns.batch(&self.projection, None)?)),
            Selection::All => {
                self.gathered.push_batch(columns.batch(&self.projection, None)?)?;
                Ok(self.gathered.next_completed_batch())
            }
            Selection::Some(mask) if self.projection.columns.is_empty() => {
                columns.rows = mask.true_count();
                Ok(Some(columns.batch(&self.projection, None)?))
            }
            Selection::Some(mask) if mask.true_count() * PICKED_RATIO <= morsel.rows => {
                self.gathered.push_batch(columns.picked(&mask, &self.projection)?)?;
                Ok(self.gathered.next_completed_batch())
            }
            Selection::Some(mask) => {
                let batch = columns.batch(&self.projection, Some(&mask))?;
                self.gathered.push_batch_with_filter(batch, &mask)?;
                Ok(self.gathered.next_completed_batch())
            }
        }
    }

    fn next_batch(&mut self) -> Poll<Option<Result<RecordBatch>>> {
        let elapsed = self.metrics.elapsed_compute().clone();
        let _timer = elapsed.timer();
        if let Err(error) = self.limit.check() {
            self.ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        for _ in 0..BATCHES_PER_POLL {
            if self.ended {
                return Poll::Ready(self.gathered.next_completed_batch().map(Ok));
            }
            match self.step() {
                Ok(Some(batch)) => {
                    let granted = self.morsels.grant(batch.num_rows());
                    if granted == 0 {
                        self.ended = true;
                        return Poll::Ready(None);
                    }
                    return Poll::Ready(Some(Ok(batch.slice(0, granted))));
                }
                Ok(None) => {}
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        Poll::Pending
    }
}

/// The columns of some rows of a chunk, each read at most once: the rows that are wanted never become more.
struct Columns<'a> {
    chunk: &'a VisibleChunk,
    chunk_index: usize,
    offset: usize,
    rows: usize,
    read: Vec<(usize, ArrayRef)>,
}

impl Values for Columns<'_> {
    fn array(&mut self, index: usize, wanted: Option<&BooleanArray>) -> ArrayRef {
        if let Some((_, array)) = self.read.iter().find(|(column, _)| *column == index) {
            return Arc::clone(array);
        }
        let array = if index < self.chunk.chunk().schema().columns().len() {
            self.chunk.array_of_wanted(index, self.offset, self.rows, wanted.map(BooleanArray::values))
        } else {
            let rows = self.offset..self.offset + self.rows;
            Arc::new(UInt64Array::from_iter_values(rows.map(|row| self.chunk.row_id(row).0)))
        };
        self.read.push((index, Arc::clone(&array)));
        array
    }

    fn stored(&self, index: usize) -> Option<StoredRows<'_>> {
        let chunk = self.chunk.chunk();
        if index >= chunk.schema().columns().len() || !self.chunk.is_stored(index, self.offset, self.rows) {
            return None;
        }
        let rows = self.offset..self.offset + self.rows;
        Some(StoredRows { chunk, chunk_index: self.chunk_index, column: index, rows })
    }
}

impl Columns<'_> {
    /// The columns of a projection, of which some rows are wanted.
    fn batch(&mut self, projection: &Projection, wanted: Option<&BooleanArray>) -> Result<RecordBatch> {
        let arrays = projection.columns.iter().map(|&index| self.array(index, wanted)).collect();
        batch_of(projection, arrays, self.rows)
    }

    /// The rows that `mask` has, which are few: of stored columns that nobody has read yet, only these are unpacked.
    fn picked(&mut self, mask: &BooleanArray, projection: &Projection) -> Result<RecordBatch> {
        let rows: Vec<u32> = mask.values().set_indices_u32().map(|row| self.offset as u32 + row).collect();
        let mut arrays = Vec::with_capacity(projection.columns.len());
        for &index in projection.columns.iter() {
            let is_read = self.read.iter().any(|(column, _)| *column == index);
            arrays.push(match self.stored(index).filter(|_| !is_read) {
                Some(stored) => stored.chunk.array_of_rows(index, &rows),
                None => filter(&self.array(index, Some(mask)), mask)?,
            });
        }
        batch_of(projection, arrays, rows.len())
    }
}

fn batch_of(projection: &Projection, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&projection.schema), arrays, &options)?)
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let poll = self.next_batch();
        if poll.is_pending() {
            context.waker().wake_by_ref();
        }
        self.metrics.record_poll(poll)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.projection.schema)
    }
}
