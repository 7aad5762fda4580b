//! The rows of a large result as messages, written on another thread than sends them.
//!
//! To write a value takes about as long as to send it. A connection is one task, so both together keep one core busy, and
//! others idle. Results of few rows stay with the task of the connection.

use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::StreamExt;
use longshore_engine::RowStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::errors::Told;
use crate::values::Rows;

/// Bytes of messages that are handed over at a time, about.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that wait to be sent, at most.
const PIECES_MAX: usize = 3;
/// Rows of a batch from which on that is worth a thread.
pub(super) const ROWS_MIN: usize = 1024;

/// Messages of some rows.
pub(super) struct Piece {
    pub(super) messages: Vec<u8>,
    pub(super) rows: u64,
}

/// A task that writes rows; it ends when this is dropped.
pub(super) struct Ahead {
    pieces: mpsc::Receiver<Piece>,
    task: JoinSet<Result<RowStream, Told>>,
}

impl Ahead {
    /// Writes `batch` and all that `rows` gives behind it.
    pub(super) fn new(rows: RowStream, writer: Arc<Rows>, batch: RecordBatch) -> Self {
        let (give, pieces) = mpsc::channel(PIECES_MAX);
        let mut task = JoinSet::new();
        task.spawn(write(rows, writer, batch, give));
        Self { pieces, task }
    }

    /// What is to be sent next; `None` behind the last row, and where writing failed.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        self.pieces.recv().await
    }

    /// The rows, all of which were given, or why they were not.
    pub(super) async fn end(&mut self) -> Result<RowStream, Told> {
        match self.task.join_next().await {
            Some(Ok(ended)) => ended,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(Told::error("57014", "the rows of the result are not written any more".to_owned())),
        }
    }
}

async fn write(
    mut rows: RowStream,
    writer: Arc<Rows>,
    mut batch: RecordBatch,
    give: mpsc::Sender<Piece>,
) -> Result<RowStream, Told> {
    loop {
        let mut from = 0;
        while from < batch.num_rows() {
            let (first, mut messages) = (from, Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4));
            while from < batch.num_rows() && messages.len() < PIECE_BYTES {
                let left = batch.num_rows() - from;
                from += writer
                    .write(&batch, from, left, PIECE_BYTES, &mut messages)
                    .map_err(|message| Told::error("0A000", message))?;
            }
            let piece = Piece { messages, rows: (from - first) as u64 };
            if give.send(piece).await.is_err() {
                // Nobody sends any more.
                return Ok(rows);
            }
        }
        match rows.next().await.transpose()? {
            Some(next) => batch = next,
            None => return Ok(rows),
        }
    }
}
