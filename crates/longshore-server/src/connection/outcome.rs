//! Rows on their way to the client.

use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::StreamExt;
use longshore_engine::{Control, ResultColumns, RowStream, TypeId};

use super::{Connection, Done, watched};
use crate::errors::Told;
use crate::protocol::backend;
use crate::protocol::frontend::Formats;
use crate::stream::SEND_BYTES;
use crate::values::Rows;

/// The rows of a statement, as far as they have been sent.
pub(super) struct Sending {
    rows: RowStream,
    /// That of the statement, which the rows heed.
    control: Arc<Control>,
    writer: Rows,
    /// A batch, and how many of its rows were sent.
    batch: Option<(RecordBatch, usize)>,
    sent: u64,
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
        let writer = Rows::new(types, formats);
        Self { rows, control, writer, batch: None, sent: 0 }
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
            self.registered.backend.runs(Some(Arc::clone(&sending.control)));
            let next = async { sending.rows.next().await.transpose() };
            let next = watched(&mut self.wire, &sending.control, next).await;
            self.registered.backend.runs(None);
            match next? {
                Ok(Some(batch)) => sending.batch = Some((batch, 0)),
                Ok(None) => {
                    self.note_rows(&sending.rows, sending.sent);
                    let command = sending.rows.command();
                    let tag = match command {
                        "SHOW" | "EXPLAIN" => command.to_owned(),
                        command => format!("{command} {}", sending.sent),
                    };
                    backend::command_complete(&mut self.wire.out, &tag);
                    return Ok(Ok(Sent::All));
                }
                Err(error) => return Ok(Err(error.into())),
            }
        }
    }
}
