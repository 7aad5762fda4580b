//! The rows of a cursor, and the place among them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use longshore_load::Control;
use longshore_storage::{Memory, Reservation};

use crate::datafusion::{RecordBatchMemoryCounter, take};
use crate::sql::cursors::Direction;
use crate::{Error, ErrorKind, ResultColumns, RowStream, TypeId};

/// How often a cursor that waits for rows looks whether it shall.
const LOOK: Duration = Duration::from_millis(20);

/// Rows that are made while they are asked for.
pub(super) struct FetchedRows {
    schema: SchemaRef,
    types: Arc<[TypeId]>,
    /// `None` once all are read.
    coming: Option<RowStream>,
    /// Rows that were read: all, or those behind the place.
    kept: VecDeque<Kept>,
    room: Room,
    /// Rows that were read and are not kept any more.
    dropped: u64,
    /// Rows that were read.
    read: u64,
    /// The number of the row that was fetched last, from 1: 0 before the first, one more than there are behind the last.
    place: u64,
    /// Whether it goes backwards, too.
    scrolls: bool,
}

/// Rows, and the memory that they take beside those that are kept with them.
struct Kept {
    rows: RecordBatch,
    memory: Reservation,
}

/// Where the memory of kept rows is counted.
pub(super) struct Room {
    memory: Arc<Memory>,
    /// What all kept rows of one cursor may take: `query_memory_limit`.
    limit: usize,
    taken: usize,
    counter: RecordBatchMemoryCounter,
}

impl Room {
    pub(super) fn new(memory: &Arc<Memory>, limit: Option<usize>) -> Self {
        let (limit, counter) = (limit.unwrap_or(usize::MAX), RecordBatchMemoryCounter::new());
        Self { memory: Arc::clone(memory), limit, taken: 0, counter }
    }

    /// Counts rows in: what they share with those before counts once.
    fn take(&mut self, rows: RecordBatch) -> Result<Kept, Error> {
        let bytes = self.counter.count_batch(&rows);
        if self.taken + bytes > self.limit {
            let message = "the rows that the cursor keeps take more than query_memory_limit";
            return Err(Error::new(ErrorKind::Memory, message));
        }
        let mut memory = Reservation::new(&self.memory);
        memory.grow(bytes)?;
        self.taken += bytes;
        Ok(Kept { rows, memory })
    }

    /// Counts rows out that are given up.
    fn give_back(&mut self, kept: &Kept) {
        self.taken -= kept.memory.bytes();
        // Memory that is free may come again as that of other rows.
        self.counter = RecordBatchMemoryCounter::new();
    }
}

impl FetchedRows {
    pub(super) fn new(rows: RowStream, scrolls: bool, room: Room) -> Self {
        let (schema, types) = (Arc::clone(rows.schema()), rows.types());
        Self { schema, types, coming: Some(rows), kept: VecDeque::new(), room, dropped: 0, read: 0, place: 0, scrolls }
    }

    pub(super) fn columns(&self) -> ResultColumns {
        ResultColumns { schema: Arc::clone(&self.schema), types: Arc::clone(&self.types) }
    }

    /// Reads all that there are.
    pub(super) async fn read_all(&mut self, control: &Control) -> Result<(), Error> {
        self.read_to(u64::MAX, control).await
    }

    /// Reads up to the row of this number, if there are so many.
    async fn read_to(&mut self, row: u64, control: &Control) -> Result<(), Error> {
        while self.read < row {
            let Some(coming) = &mut self.coming else { return Ok(()) };
            let next = loop {
                // The rows heed the control of DECLARE; who is to be cancelled now is FETCH.
                match tokio::time::timeout(LOOK, coming.next()).await {
                    Ok(next) => break next,
                    Err(_) if control.is_cancelled() => return Err(Error::cancelled()),
                    Err(_) => {}
                }
            };
            match next.transpose()? {
                Some(batch) => {
                    let rows = batch.num_rows() as u64;
                    self.kept.push_back(self.room.take(batch)?);
                    self.read += rows;
                }
                None => self.coming = None,
            }
            if control.is_cancelled() {
                return Err(Error::cancelled());
            }
        }
        Ok(())
    }

    /// The rows in this direction; the place moves behind them.
    pub(super) async fn fetch(&mut self, direction: Direction, control: &Control) -> Result<Vec<RecordBatch>, Error> {
        let place = self.place;
        let batches = match direction {
            Direction::ForwardAll => return self.forward(u64::MAX, control).await,
            Direction::Forward(rows @ 1..) => return self.forward(rows.unsigned_abs(), control).await,
            Direction::Forward(0) | Direction::Relative(0) => {
                let is_on_row = place > 0 && place <= self.read;
                if is_on_row {
                    self.check_scrolls()?;
                }
                self.rows(place, if is_on_row { place } else { 0 })
            }
            Direction::Forward(rows) => self.backward(rows.unsigned_abs())?,
            Direction::BackwardAll => self.backward(u64::MAX)?,
            Direction::Absolute(0) => {
                self.go_to(0, control).await?;
                Vec::new()
            }
            Direction::Absolute(row @ 1..) => self.row(row.unsigned_abs(), control).await?,
            Direction::Absolute(row) => {
                self.check_scrolls()?;
                self.read_all(control).await?;
                self.row((self.read + 1).saturating_sub(row.unsigned_abs()), control).await?
            }
            Direction::Relative(rows @ 1..) => self.row(place.saturating_add(rows.unsigned_abs()), control).await?,
            Direction::Relative(rows) => {
                self.check_scrolls()?;
                self.row(place.saturating_sub(rows.unsigned_abs()), control).await?
            }
        };
        Ok(batches)
    }

    async fn forward(&mut self, rows: u64, control: &Control) -> Result<Vec<RecordBatch>, Error> {
        let last = self.place.saturating_add(rows);
        self.read_to(last, control).await?;
        let first = self.place + 1;
        self.place = last.min(self.read + 1);
        let batches = self.rows(first, last.min(self.read));
        self.forget();
        Ok(batches)
    }

    fn backward(&mut self, rows: u64) -> Result<Vec<RecordBatch>, Error> {
        self.check_scrolls()?;
        let last = self.place.saturating_sub(1);
        self.place = self.place.saturating_sub(rows);
        let batches = self.rows(self.place.max(1), last);
        let reversed = batches.iter().rev().map(|batch| take(batch, &(0..batch.num_rows()).rev().collect::<Vec<_>>()));
        reversed.collect()
    }

    /// The row of this number, where the place is then; none if there is no such row.
    async fn row(&mut self, row: u64, control: &Control) -> Result<Vec<RecordBatch>, Error> {
        self.go_to(row, control).await?;
        let batches = if row == 0 || self.place > self.read { Vec::new() } else { self.rows(row, row) };
        self.forget();
        Ok(batches)
    }

    async fn go_to(&mut self, row: u64, control: &Control) -> Result<(), Error> {
        if row <= self.place && self.place > 0 {
            self.check_scrolls()?;
        }
        self.read_to(row, control).await?;
        self.place = row.min(self.read + 1);
        Ok(())
    }

    fn check_scrolls(&self) -> Result<(), Error> {
        if self.scrolls {
            return Ok(());
        }
        let message = "cursor can only scan forward; declare it with SCROLL to go backwards";
        Err(Error::new(ErrorKind::State, message))
    }

    /// The rows from one number to another, of those that are kept.
    fn rows(&self, first: u64, last: u64) -> Vec<RecordBatch> {
        let mut batches = Vec::new();
        let mut before = self.dropped;
        for Kept { rows: batch, .. } in &self.kept {
            let rows = batch.num_rows() as u64;
            // Numbers of rows begin with 1.
            let (from, to) = (first.max(before + 1), last.min(before + rows));
            if from <= to {
                let offset = usize::try_from(from - before - 1).unwrap_or_default();
                batches.push(batch.slice(offset, usize::try_from(to - from + 1).unwrap_or_default()));
            }
            before += rows;
        }
        batches
    }

    /// Gives up rows that will not be asked for again.
    fn forget(&mut self) {
        if self.scrolls {
            return;
        }
        let (dropped, place) = (&mut self.dropped, self.place);
        let mut is_behind = |kept: &mut Kept| {
            let is_behind = *dropped + kept.rows.num_rows() as u64 <= place;
            *dropped += if is_behind { kept.rows.num_rows() as u64 } else { 0 };
            is_behind
        };
        while let Some(kept) = self.kept.pop_front_if(&mut is_behind) {
            self.room.give_back(&kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    /// Rows 1 to `count` in batches of three.
    fn of(count: i64, scrolls: bool) -> FetchedRows {
        let values: Vec<i64> = (1..=count).collect();
        let batch = |values: &[i64]| {
            RecordBatch::try_from_iter([("k", Arc::new(Int64Array::from(values.to_vec())) as ArrayRef)])
                .expect("a batch")
        };
        let batches: Vec<_> = values.chunks(3).map(|values| Ok(batch(values))).collect();
        let room = Room::new(&Memory::new(None), None);
        FetchedRows::new(RowStream::new(batch(&[]).schema(), futures::stream::iter(batches)), scrolls, room)
    }

    /// What PostgreSQL's rules give: each row by itself, all of them there.
    struct Slow {
        count: u64,
        place: u64,
    }

    impl Slow {
        fn step(&mut self, forward: bool) -> Option<u64> {
            self.place = if forward { (self.place + 1).min(self.count + 1) } else { self.place.saturating_sub(1) };
            (self.place > 0 && self.place <= self.count).then_some(self.place)
        }

        fn run(&mut self, forward: bool, rows: u64) -> Vec<u64> {
            let mut given = Vec::new();
            for _ in 0..rows {
                match self.step(forward) {
                    Some(row) => given.push(row),
                    None => break,
                }
            }
            given
        }

        fn fetch(&mut self, direction: Direction) -> Vec<u64> {
            match direction {
                Direction::ForwardAll => self.run(true, u64::MAX),
                Direction::BackwardAll => self.run(false, u64::MAX),
                Direction::Forward(0) | Direction::Relative(0) => {
                    if self.place > 0 && self.place <= self.count {
                        vec![self.place]
                    } else {
                        Vec::new()
                    }
                }
                Direction::Forward(rows) => self.run(rows > 0, rows.unsigned_abs()),
                Direction::Absolute(row @ 0..) => {
                    self.run(false, u64::MAX);
                    self.run(true, row.unsigned_abs()).into_iter().skip(usize::try_from(row - 1).unwrap_or(0)).collect()
                }
                Direction::Absolute(row) => {
                    self.run(true, u64::MAX);
                    let rows = row.unsigned_abs();
                    self.run(false, rows).into_iter().skip(usize::try_from(rows - 1).unwrap_or(0)).collect()
                }
                Direction::Relative(rows) => {
                    let many = rows.unsigned_abs();
                    self.run(rows > 0, many).into_iter().skip(usize::try_from(many - 1).unwrap_or(0)).collect()
                }
            }
        }
    }

    #[tokio::test]
    async fn every_way_gives_the_rows_that_single_steps_give() {
        let control = Control::new();
        let mut random = longshore_testing::Random::new(3);
        let mut below = |bound: usize| i64::try_from(random.below(bound)).expect("a small number");
        for _ in 0..300 {
            let count = below(12);
            let (mut rows, mut slow) = (of(count, true), Slow { count: count.unsigned_abs(), place: 0 });
            for _ in 0..12 {
                let many = below(20) - 6;
                let direction = match below(6) {
                    0 => Direction::ForwardAll,
                    1 => Direction::BackwardAll,
                    2 => Direction::Absolute(many),
                    3 => Direction::Relative(many),
                    _ => Direction::Forward(many),
                };
                let batches = rows.fetch(direction, &control).await.expect("rows");
                let got =
                    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
                let got: Vec<u64> = got.map(i64::unsigned_abs).collect();
                assert_eq!(got, slow.fetch(direction), "{direction:?} of {count}");
                assert_eq!(rows.place, slow.place, "{direction:?} of {count}");
            }
        }
    }

    #[tokio::test]
    async fn rows_behind_are_given_up() {
        let control = Control::new();
        let mut rows = of(100, false);
        for _ in 0..10 {
            rows.fetch(Direction::Forward(7), &control).await.expect("rows");
            assert!(rows.kept.len() <= 1);
        }
        for direction in
            [Direction::Forward(-1), Direction::Absolute(3), Direction::BackwardAll, Direction::Relative(0)]
        {
            let error = rows.fetch(direction, &control).await.expect_err("backwards");
            assert!(error.to_string().contains("can only scan forward"), "{direction:?}");
        }
        assert_eq!(rows.fetch(Direction::Absolute(75), &control).await.expect("a row").len(), 1);
    }
}
