//! Rows on their way to the client.

use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::StreamExt;
use longshore_engine::{Control, ResultColumns, RowStream, TypeId};

use super::ahead::{Ahead, Piece, ROWS_MIN};
use super::{Connection, Done, watched};
use crate::errors::Told;
use crate::protocol::backend;
use crate::protocol::frontend::Formats;
use crate::stream::{Failure, SEND_BYTES};
use crate::values::Rows;

/// The rows of a statement, as far as they have been sent.
pub(super) struct Sending {
    source: Source,
    /// That of the statement, which the rows heed.
    control: Arc<Control>,
    writer: Arc<Rows>,
    /// A batch, and how many of its rows were sent.
    batch: Option<(RecordBatch, usize)>,
    sent: u64,
}

/// Where the rows come from that were not sent yet.
enum Source {
    Rows(RowStream),
    /// They are written on another thread.
    Ahead(Ahead),
    /// All were sent, or none can be any more.
    Ended,
}

/// Whether all rows were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    All,
    AsManyAsAsked,
}

/// The columns of rows.
pub(super) fn columns_of(rows: &RowStream) -> ResultColumns {
    ResultColumns { schema: rows.schema().clone(), types: rows.types() }
}

impl Sending {
    /// Rows whose columns are of these types.
    pub(super) fn new(rows: RowStream, types: Arc<[TypeId]>, control: Arc<Control>, formats: Formats) -> Self {
        let writer = Arc::new(Rows::new(types, formats));
        Self { source: Source::Rows(rows), control, writer, batch: None, sent: 0 }
    }
}

impl Connection {
    /// Sends the columns of rows and all of the rows, in these formats.
    pub(super) async fn send_all(&mut self, rows: RowStream, control: Arc<Control>, formats: Formats) -> Done<()> {
        self.send_notice(&rows);
        backend::row_description(&mut self.wire.out, &columns_of(&rows), &formats);
        let types = rows.types();
        let mut sending = Sending::new(rows, types, control, formats);
        Ok(self.send(&mut sending, usize::MAX).await?.map(|_| ()))
    }

    pub(super) fn send_notice(&mut self, rows: &RowStream) {
        if let Some(notice) = rows.notice() {
            Told::notice(notice).write(&mut self.wire.out);
        }
    }

    /// Sends up to `rows_max` rows, and what ends them.
    pub(super) async fn send(&mut self, sending: &mut Sending, rows_max: usize) -> Done<Sent> {
        let mut left = rows_max;
        loop {
            if let Some((batch, from)) = &mut sending.batch {
                let count = (batch.num_rows() - *from).min(left);
                let written = match sending.writer.write(batch, *from, count, SEND_BYTES, &mut self.wire.out) {
                    Ok(written) => written,
                    Err(message) => return Ok(Err(Told::error("0A000", message))),
                };
                *from += written;
                left -= written;
                sending.sent += written as u64;
                if *from == batch.num_rows() {
                    sending.batch = None;
                }
                self.registered.backend.unless_terminated(self.wire.flush_if_much()).await?;
                if left == 0 {
                    backend::bare(&mut self.wire.out, backend::PORTAL_SUSPENDED);
                    return Ok(Ok(Sent::AsManyAsAsked));
                }
                continue;
            }
            let next = self.next_rows(sending).await?;
            match (next, &mut sending.source) {
                (Ok(Next::Batch(batch)), source) => {
                    let is_large = rows_max == usize::MAX && sending.sent > 0 && batch.num_rows() >= ROWS_MIN;
                    match std::mem::replace(source, Source::Ended) {
                        Source::Rows(rows) if is_large => {
                            *source = Source::Ahead(Ahead::new(rows, Arc::clone(&sending.writer), batch));
                        }
                        other => {
                            *source = other;
                            sending.batch = Some((batch, 0));
                        }
                    }
                }
                (Ok(Next::Written(piece)), _) => {
                    sending.sent += piece.rows;
                    self.registered.backend.unless_terminated(self.wire.send(&piece.messages)).await?;
                }
                (Ok(Next::End), Source::Rows(rows)) => {
                    self.note_rows(rows, sending.sent);
                    let tag = match rows.command() {
                        command @ ("SHOW" | "EXPLAIN") => command.to_owned(),
                        command => format!("{command} {}", sending.sent),
                    };
                    backend::command_complete(&mut self.wire.out, &tag);
                    return Ok(Ok(Sent::All));
                }
                (Ok(Next::End), _) => {}
                (Err(told), _) => return Ok(Err(told)),
            }
        }
    }

    /// What comes next of rows; behind the last one, the rows are back in `sending`.
    async fn next_rows(&mut self, sending: &mut Sending) -> Result<Result<Next, Told>, Failure> {
        self.registered.backend.runs(Some(Arc::clone(&sending.control)));
        let next = async {
            match &mut sending.source {
                Source::Rows(rows) => Ok(rows.next().await.transpose()?.map_or(Next::End, Next::Batch)),
                Source::Ahead(ahead) => {
                    if let Some(piece) = ahead.next().await {
                        return Ok(Next::Written(piece));
                    }
                    sending.source = Source::Rows(ahead.end().await?);
                    Ok(Next::End)
                }
                Source::Ended => Err(Told::error("XX000", "the rows were sent before".to_owned())),
            }
        };
        let next = watched(&mut self.wire, &sending.control, next).await;
        self.registered.backend.runs(None);
        next
    }
}

/// What comes next of rows.
enum Next {
    Batch(RecordBatch),
    Written(Piece),
    End,
}
