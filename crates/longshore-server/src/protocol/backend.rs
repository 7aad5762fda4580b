//! What the server sends, appended to the bytes that are on their way.

use longshore_engine::{Notification, ResultColumns, TypeId};

use super::frontend::{Format, Formats};

/// Whether a transaction block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Idle,
    InBlock,
    Failed,
}

/// A message whose length is written when it ends.
pub(crate) struct Writing<'a> {
    out: &'a mut Vec<u8>,
    /// Where the length stands.
    at: usize,
}

impl<'a> Writing<'a> {
    /// Begins a message.
    pub(crate) fn new(out: &'a mut Vec<u8>, kind: u8) -> Self {
        out.push(kind);
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { out, at }
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// What `write` appends.
    pub(crate) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.out);
    }

    /// A value that `write` appends, behind its length.
    pub(crate) fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        write(self.out);
        let length = (self.out.len() - at - 4) as u32;
        self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A text, up to its first NUL, which would end it for the client.
    pub(crate) fn text(&mut self, text: &str) {
        let text = text.split('\0').next().unwrap_or_default();
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let length = (self.out.len() - self.at) as u32;
        self.out[self.at..self.at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// A message without a body.
pub(crate) fn bare(out: &mut Vec<u8>, kind: u8) {
    drop(Writing::new(out, kind));
}

pub(crate) const PARSE_COMPLETE: u8 = b'1';
pub(crate) const BIND_COMPLETE: u8 = b'2';
pub(crate) const CLOSE_COMPLETE: u8 = b'3';
pub(crate) const NO_DATA: u8 = b'n';
pub(crate) const EMPTY_QUERY: u8 = b'I';
pub(crate) const PORTAL_SUSPENDED: u8 = b's';
pub(crate) const COPY_DONE: u8 = b'c';

/// How sign-in goes on.
pub(crate) enum Authentication<'a> {
    Ok,
    /// The names of mechanisms.
    Sasl(&'a [&'a str]),
    SaslContinue(&'a str),
    SaslFinal(&'a str),
}

pub(crate) fn authentication(out: &mut Vec<u8>, step: &Authentication<'_>) {
    let mut message = Writing::new(out, b'R');
    match step {
        Authentication::Ok => message.i32(0),
        Authentication::Sasl(mechanisms) => {
            message.i32(10);
            mechanisms.iter().for_each(|mechanism| message.text(mechanism));
            message.u8(0);
        }
        Authentication::SaslContinue(text) => {
            message.i32(11);
            message.bytes(text.as_bytes());
        }
        Authentication::SaslFinal(text) => {
            message.i32(12);
            message.bytes(text.as_bytes());
        }
    }
}

/// Tells a client that asked for more which minor version there is, and which of its options are not known.
pub(crate) fn negotiate_version(out: &mut Vec<u8>, newest: u16, unknown: &[&str]) {
    let mut message = Writing::new(out, b'v');
    message.i32(i32::from(super::MAJOR) << 16 | i32::from(newest));
    message.i32(unknown.len() as i32);
    for option in unknown {
        message.text(option);
    }
}

pub(crate) fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    let mut message = Writing::new(out, b'S');
    message.text(name);
    message.text(value);
}

pub(crate) fn backend_key(out: &mut Vec<u8>, process: i32, key: &[u8]) {
    let mut message = Writing::new(out, b'K');
    message.i32(process);
    message.bytes(key);
}

pub(crate) fn ready_for_query(out: &mut Vec<u8>, status: Status) {
    let status = match status {
        Status::Idle => b'I',
        Status::InBlock => b'T',
        Status::Failed => b'E',
    };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

pub(crate) fn command_complete(out: &mut Vec<u8>, tag: &str) {
    Writing::new(out, b'C').text(tag);
}

/// What another session, or the client's own, has told by a channel.
pub(crate) fn notification(out: &mut Vec<u8>, notification: &Notification) {
    let mut message = Writing::new(out, b'A');
    message.i32(notification.pid);
    message.text(&notification.channel);
    message.text(&notification.payload);
}

/// The columns of rows, in these formats.
pub(crate) fn row_description(out: &mut Vec<u8>, columns: &ResultColumns, formats: &Formats) {
    let mut message = Writing::new(out, b'T');
    message.i16(columns.types.len() as i16);
    for (at, (field, TypeId { oid, length, modifier, table, column })) in
        columns.schema.fields().iter().zip(columns.types.iter()).enumerate()
    {
        message.text(field.name());
        message.u32(*table);
        message.i16(*column);
        message.u32(*oid);
        message.i16(*length);
        message.i32(*modifier);
        message.i16(formats.of(at).code());
    }
}

pub(crate) fn parameter_description(out: &mut Vec<u8>, types: &[u32]) {
    let mut message = Writing::new(out, b't');
    message.i16(types.len() as i16);
    for oid in types {
        message.u32(*oid);
    }
}

/// COPY begins: `kind` says in which direction.
pub(crate) fn copy_response(out: &mut Vec<u8>, kind: u8, format: Format, columns: usize) {
    let mut message = Writing::new(out, kind);
    message.u8(format.code() as u8);
    message.i16(columns as i16);
    (0..columns).for_each(|_| message.i16(format.code()));
}

pub(crate) const COPY_IN: u8 = b'G';
pub(crate) const COPY_OUT: u8 = b'H';

pub(crate) fn copy_data(out: &mut Vec<u8>, bytes: &[u8]) {
    Writing::new(out, b'd').bytes(bytes);
}
