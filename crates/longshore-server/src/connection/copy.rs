//! COPY between the client and the database: its data goes into the loader, or comes from the writer, while they work.
//!
//! The loader reads on threads that may block. The engine tells when a COPY is about to use a stream: the statement is right then,
//! and the client is told to send or to take data. A few messages are under way at a time: a client that is faster than the
//! loader waits, and so does a writer for a slow client.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use longshore_engine::{CopyBegin, Outcome};
use tokio::sync::mpsc;

use super::{Connection, Done, Executed};
use crate::errors::Told;
use crate::protocol::backend;
use crate::protocol::frontend::{Format, Message};
use crate::stream::{Failure, Wire};

/// Pieces of data that are under way, at most.
const UNDER_WAY: usize = 16;
/// Bytes that are written at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// What a client sends as the data of COPY.
enum Data {
    /// All that has come, of one message or of several.
    Bytes(VecDeque<Bytes>),
    /// There is no more.
    End,
    /// The client gives up, and says why.
    Fail(String),
}

/// The data that a client sends, as the loader reads it.
struct Input {
    data: mpsc::Receiver<Data>,
    current: Bytes,
    others: VecDeque<Bytes>,
    has_ended: bool,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            if let Some(next) = self.others.pop_front() {
                self.current = next;
                continue;
            }
            match self.data.blocking_recv() {
                Some(Data::Bytes(bytes)) => self.others = bytes,
                Some(Data::End) => self.has_ended = true,
                Some(Data::Fail(message)) => return Err(io::Error::other(message)),
                // Rows of a client that has gone are not all of its rows.
                None => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client has gone")),
            }
        }
        let length = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// The data that a client gets, as the writer writes it.
struct Output {
    data: mpsc::Sender<Bytes>,
    gathered: Vec<u8>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::take(&mut self.gathered));
        self.data.blocking_send(chunk).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

/// What happens while a COPY runs.
enum Event {
    /// The writer has written.
    Written(Bytes),
    /// A stream is about to be used.
    Begun(CopyBegin),
    /// The client has sent something, or gone.
    Message(Result<Message, Failure>),
}

/// How far the client has come with its data.
enum Sending {
    /// It was not asked to.
    NotAsked,
    Data,
    Ended,
}

impl Connection {
    /// Executes a COPY.
    pub(super) async fn copy(&mut self, sql: &str) -> Done<Executed> {
        let Self { wire, session, registered, .. } = self;
        let (begin, mut begun) = mpsc::unbounded_channel();
        // If nobody listens, nothing will come either.
        session.watch_copy(move |copy| {
            let _ = begin.send(copy);
        });
        let (give, data) = mpsc::channel(UNDER_WAY);
        let (data_out, mut take) = mpsc::channel(UNDER_WAY);
        session.set_input(Input { data, current: Bytes::new(), others: VecDeque::new(), has_ended: false });
        session.set_output(Output { data: data_out, gathered: Vec::new() });
        let control = session.control();
        registered.backend.runs(Some(Arc::clone(&control)));
        let mut give = Some(give);
        let (mut sending, mut waiting, mut rows_out, mut given_up) =
            (Sending::NotAsked, None, RowsOut::default(), None);
        let mut failure = None;
        let outcome = {
            let mut statement = pin!(session.execute(sql));
            loop {
                let event = tokio::select! {
                    biased;
                    outcome = &mut statement => break outcome,
                    Some(copy) = begun.recv() => Event::Begun(copy),
                    Some(chunk) = take.recv() => Event::Written(chunk),
                    permit = reserve(give.as_ref()), if waiting.is_some() => {
                        if let (Some(permit), Some(data)) = (permit, waiting.take()) {
                            permit.send(data);
                        }
                        continue;
                    }
                    message = next(wire, matches!(sending, Sending::Data)), if failure.is_none() && waiting.is_none() => {
                        Event::Message(message)
                    }
                };
                let gone = match event {
                    Event::Written(chunk) => {
                        registered.backend.unless_terminated(rows_out.send(wire, &chunk)).await.err()
                    }
                    Event::Begun(CopyBegin::In { columns, is_binary }) => {
                        sending = Sending::Data;
                        backend::copy_response(&mut wire.out, backend::COPY_IN, format(is_binary), columns);
                        wire.flush().await.err()
                    }
                    Event::Begun(CopyBegin::Out { columns, is_binary }) => {
                        rows_out.begin(wire, columns, is_binary);
                        None
                    }
                    Event::Message(Ok(Message::CopyData(bytes))) => {
                        let (data, gone) = all_data(wire, bytes);
                        waiting = Some(data);
                        gone
                    }
                    Event::Message(Ok(Message::CopyDone)) => {
                        (sending, waiting) = (Sending::Ended, Some(Data::End));
                        None
                    }
                    // As in PostgreSQL: clients may have sent them ahead.
                    Event::Message(Ok(Message::Flush | Message::Sync)) => None,
                    Event::Message(Ok(other)) => {
                        let message = match other {
                            Message::CopyFail(message) => message,
                            _ => "unexpected message type during COPY from stdin".to_owned(),
                        };
                        given_up = Some(message.clone());
                        (sending, waiting) = (Sending::Ended, Some(Data::Fail(message)));
                        None
                    }
                    Event::Message(Err(gone)) => Some(gone),
                };
                if gone.is_some() {
                    failure = gone;
                    control.cancel();
                    // The loader and the writer learn that nobody is there.
                    give = None;
                    take.close();
                }
            }
        };
        registered.backend.runs(None);
        if let Some(failure) = failure {
            return Err(failure);
        }
        if let (Err(_), Some(message)) = (&outcome, given_up) {
            return Ok(Err(Told::error("57014", format!("COPY from stdin failed: {message}"))));
        }
        if let Ok(Outcome::Done { .. }) = &outcome {
            if let Ok(CopyBegin::Out { columns, is_binary }) = begun.try_recv() {
                rows_out.begin(wire, columns, is_binary);
            }
            while let Ok(chunk) = take.try_recv() {
                registered.backend.unless_terminated(rows_out.send(wire, &chunk)).await?;
            }
            rows_out.end(wire);
        }
        Ok(outcome.map(|outcome| (outcome, control)).map_err(|error| error.in_statement(sql).into()))
    }
}

/// The data that has come, behind its first piece, and why no more will.
fn all_data(wire: &mut Wire, first: Bytes) -> (Data, Option<Failure>) {
    let mut all = VecDeque::from([first]);
    let gone = loop {
        match wire.data() {
            Ok(Some(more)) => all.push_back(more),
            Ok(None) => break None,
            Err(violation) => break Some(violation.into()),
        }
    };
    (Data::Bytes(all), gone)
}

/// Room for a message to the loader, or nobody who reads.
async fn reserve(give: Option<&mpsc::Sender<Data>>) -> Option<mpsc::Permit<'_, Data>> {
    give?.reserve().await.ok()
}

/// The next message of a client that sends data; of others only that they have gone.
async fn next(wire: &mut Wire, is_sending: bool) -> Result<Message, Failure> {
    if is_sending { wire.message_or_data().await } else { Err(wire.watch().await) }
}

fn format(is_binary: bool) -> Format {
    if is_binary { Format::Binary } else { Format::Text }
}

/// Rows on their way to the client.
#[derive(Default)]
struct RowsOut {
    has_begun: bool,
    is_binary: bool,
    /// Whether a row was sent.
    has_sent: bool,
    /// A row that is not there whole.
    rest: Vec<u8>,
}

impl RowsOut {
    fn begin(&mut self, wire: &mut Wire, columns: usize, is_binary: bool) {
        self.has_begun = true;
        self.is_binary = is_binary;
        backend::copy_response(&mut wire.out, backend::COPY_OUT, format(is_binary), columns);
    }

    /// Sends each row as a message, as clients take it for one.
    async fn send(&mut self, wire: &mut Wire, chunk: &[u8]) -> Result<(), Failure> {
        if self.is_binary {
            self.send_binary(wire, chunk);
        } else {
            self.send_lines(wire, chunk);
        }
        wire.flush_if_much().await
    }

    fn send_lines(&mut self, wire: &mut Wire, chunk: &[u8]) {
        let mut lines = chunk.split_inclusive(|byte| *byte == b'\n');
        if !self.rest.is_empty()
            && let Some(line) = lines.next()
        {
            self.rest.extend_from_slice(line);
            if self.rest.ends_with(b"\n") {
                backend::copy_data(&mut wire.out, &self.rest);
                self.rest.clear();
            }
        }
        for line in lines {
            if line.ends_with(b"\n") {
                backend::copy_data(&mut wire.out, line);
            } else {
                self.rest.extend_from_slice(line);
            }
        }
    }

    /// The first message has what stands before the rows, too.
    fn send_binary(&mut self, wire: &mut Wire, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
        let mut from = 0;
        loop {
            let rest = &self.rest[from..];
            let before = if self.has_sent { 0 } else { BINARY_HEAD_BYTES };
            let Some(row) = rest.get(before..).and_then(binary_row_bytes) else { break };
            backend::copy_data(&mut wire.out, &rest[..before + row]);
            from += before + row;
            self.has_sent = true;
        }
        self.rest.drain(..from);
    }

    fn end(&mut self, wire: &mut Wire) {
        if !self.has_begun {
            return;
        }
        if !self.rest.is_empty() {
            backend::copy_data(&mut wire.out, &self.rest);
            self.rest.clear();
        }
        backend::bare(&mut wire.out, backend::COPY_DONE);
    }
}

/// Bytes before the first row in the binary format of COPY, as it is written here: signature, flags, length of the extension.
const BINARY_HEAD_BYTES: usize = 19;

/// Bytes of the row, or of the end of all rows, with which `bytes` begins; `None` if it is not there whole.
fn binary_row_bytes(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let fields = rest.split_off(..2)?;
    for _ in 0..i16::from_be_bytes([fields[0], fields[1]]) {
        let length = rest.split_off(..4)?;
        let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        // NULL has no bytes.
        rest.split_off(..usize::try_from(length).unwrap_or(0))?;
    }
    Some(bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_the_binary_format() {
        let row = [0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 3, b'a', b'b', b'c'];
        for length in 0..row.len() {
            assert_eq!(binary_row_bytes(&row[..length]), None, "{length} bytes");
        }
        assert_eq!(binary_row_bytes(&[&row[..], &[0, 1]].concat()), Some(row.len()));
        assert_eq!(binary_row_bytes(&[0xFF, 0xFF]), Some(2));
        assert_eq!(binary_row_bytes(&[0, 0, 9]), Some(2));
    }
}
