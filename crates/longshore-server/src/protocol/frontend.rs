//! What clients send.
//!
//! Every byte comes from a stranger: each message is cut out by its length first, and read within it. One that is too short,
//! too long, or whose texts are no UTF-8 is a [`Violation`] and nothing else.

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};

use super::Violation;

/// Bytes of a message before a client has signed in, at most; as in PostgreSQL.
const STARTUP_BYTES_MAX: usize = 10_000;
/// Bytes of a message that needs no room, such as Sync.
const SMALL_BYTES_MAX: usize = 30_000;
/// Bytes of a message that may hold a statement, values or rows; as in PostgreSQL.
const LARGE_BYTES_MAX: usize = 0x3FFF_FFFF;
/// Bytes of the kind and the length of a message.
const HEAD_BYTES: usize = 5;

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// The first message of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It asks for TLS.
    Tls,
    /// It asks for GSSAPI's encryption.
    Gss,
    /// It wants another connection's statement to be cancelled.
    Cancel { process: i32, key: Bytes },
    /// It wants a session.
    Startup { major: u16, minor: u16, parameters: BTreeMap<String, String> },
}

/// A message of a connection that has begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A password, or a step of SASL.
    Password(Bytes),
    Query(String),
    Parse {
        statement: String,
        sql: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe {
        what: Named,
        name: String,
    },
    Execute {
        portal: String,
        rows_max: usize,
    },
    Close {
        what: Named,
        name: String,
    },
    Flush,
    Sync,
    CopyData(Bytes),
    CopyDone,
    CopyFail(String),
    /// A call of a function by its OID, which PostgreSQL calls a relic.
    FunctionCall,
    Terminate,
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Statement,
    Portal,
}

/// Values for a prepared statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bind {
    pub(crate) portal: String,
    pub(crate) statement: String,
    pub(crate) parameter_formats: Formats,
    pub(crate) parameters: Vec<Option<Bytes>>,
    pub(crate) result_formats: Formats,
}

/// In which format values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Formats {
    /// All in one.
    All(Format),
    Each(Vec<Format>),
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// Its code on the wire.
    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

impl Formats {
    /// The format of the value at a place.
    pub(crate) fn of(&self, at: usize) -> Format {
        match self {
            Self::All(format) => *format,
            Self::Each(formats) => formats.get(at).copied().unwrap_or(Format::Text),
        }
    }

    /// Whether they can be those of so many values.
    pub(crate) fn are_for(&self, count: usize) -> bool {
        match self {
            Self::All(_) => true,
            Self::Each(formats) => formats.len() == count,
        }
    }
}

/// Cuts the first message of a connection off `buffer`; `None` if it is not there whole.
pub(crate) fn opening(buffer: &mut BytesMut) -> Result<Option<Opening>, Violation> {
    let Some(length) = length_at(buffer, 0) else { return Ok(None) };
    if !(8..=STARTUP_BYTES_MAX).contains(&length) {
        return Err(Violation(format!("invalid length of startup packet: {length}")));
    }
    if buffer.len() < length {
        return Ok(None);
    }
    let mut body = Body(buffer.split_to(length).freeze().split_off(4));
    let code = body.u32()?;
    Ok(Some(match code {
        SSL_REQUEST => Opening::Tls,
        GSS_REQUEST => Opening::Gss,
        CANCEL_REQUEST => Opening::Cancel { process: body.i32()?, key: body.0 },
        version => {
            let mut parameters = BTreeMap::new();
            loop {
                let name = body.text()?;
                if name.is_empty() {
                    break;
                }
                let value = body.text()?;
                parameters.insert(name, value);
            }
            body.end()?;
            Opening::Startup { major: (version >> 16) as u16, minor: version as u16, parameters }
        }
    }))
}

/// Cuts the next message off `buffer`; `None` if it is not there whole.
pub(crate) fn message(buffer: &mut BytesMut) -> Result<Option<Message>, Violation> {
    let Some(needed) = needed(buffer)? else { return Ok(None) };
    if buffer.len() < needed {
        return Ok(None);
    }
    let mut frame = buffer.split_to(needed).freeze();
    let kind = frame[0];
    frame.advance(HEAD_BYTES);
    let mut body = Body(frame);
    let message = match kind {
        b'p' => return Ok(Some(Message::Password(body.0))),
        b'd' => return Ok(Some(Message::CopyData(body.0))),
        b'F' => return Ok(Some(Message::FunctionCall)),
        b'Q' => Message::Query(body.text()?),
        b'P' => {
            let (statement, sql) = (body.text()?, body.text()?);
            let count = body.u16()?;
            let types = (0..count).map(|_| body.u32()).collect::<Result<_, _>>()?;
            Message::Parse { statement, sql, types }
        }
        b'B' => Message::Bind(bind(&mut body)?),
        b'D' => Message::Describe { what: body.named()?, name: body.text()? },
        b'C' => Message::Close { what: body.named()?, name: body.text()? },
        b'E' => {
            // Zero and less mean no limit.
            Message::Execute { portal: body.text()?, rows_max: usize::try_from(body.i32()?).unwrap_or(0) }
        }
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(body.text()?),
        b'X' => Message::Terminate,
        other => return Err(unknown(other)),
    };
    body.end()?;
    Ok(Some(message))
}

/// Cuts what stands before the data off a `CopyData` message with which `buffer` begins, and gives the bytes of the data; `None`
/// if it begins with another message, or that is not known yet.
pub(crate) fn data_begins(buffer: &mut BytesMut) -> Result<Option<usize>, Violation> {
    if buffer.first() != Some(&b'd') {
        return Ok(None);
    }
    let Some(needed) = needed(buffer)? else { return Ok(None) };
    buffer.advance(HEAD_BYTES);
    Ok(Some(needed - HEAD_BYTES))
}

/// Bytes of the next message, its kind and length included; `None` if that is not known yet.
pub(crate) fn needed(buffer: &BytesMut) -> Result<Option<usize>, Violation> {
    let (Some(&kind), Some(length)) = (buffer.first(), length_at(buffer, 1)) else { return Ok(None) };
    let max = match kind {
        b'p' => STARTUP_BYTES_MAX,
        b'Q' | b'P' | b'B' | b'd' | b'F' => LARGE_BYTES_MAX,
        b'D' | b'C' | b'E' | b'H' | b'S' | b'c' | b'f' | b'X' => SMALL_BYTES_MAX,
        other => return Err(unknown(other)),
    };
    if !(4..=max).contains(&length) {
        return Err(Violation(format!("invalid message length: {length}")));
    }
    Ok(Some(1 + length))
}

/// Whether the next message is a Sync.
pub(crate) fn is_sync_next(buffer: &BytesMut) -> bool {
    buffer.first() == Some(&b'S')
}

fn unknown(kind: u8) -> Violation {
    Violation(format!("invalid frontend message type {kind}"))
}

fn length_at(buffer: &BytesMut, at: usize) -> Option<usize> {
    let bytes = buffer.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
}

fn bind(body: &mut Body) -> Result<Bind, Violation> {
    let (portal, statement) = (body.text()?, body.text()?);
    let parameter_formats = body.formats()?;
    let count = body.u16()?;
    let mut parameters = Vec::with_capacity(usize::from(count).min(body.0.len() / 4));
    for _ in 0..count {
        parameters.push(match body.i32()? {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| short())?;
                Some(body.bytes(length)?)
            }
        });
    }
    Ok(Bind { portal, statement, parameter_formats, parameters, result_formats: body.formats()? })
}

/// What is left of a message.
struct Body(Bytes);

fn short() -> Violation {
    Violation("insufficient data left in message".to_owned())
}

impl Body {
    fn bytes(&mut self, count: usize) -> Result<Bytes, Violation> {
        if self.0.len() < count { Err(short()) } else { Ok(self.0.split_to(count)) }
    }

    fn u16(&mut self) -> Result<u16, Violation> {
        if self.0.len() < 2 { Err(short()) } else { Ok(self.0.get_u16()) }
    }

    fn u32(&mut self) -> Result<u32, Violation> {
        if self.0.len() < 4 { Err(short()) } else { Ok(self.0.get_u32()) }
    }

    fn i32(&mut self) -> Result<i32, Violation> {
        self.u32().map(|bits| bits as i32)
    }

    /// A text that ends with NUL.
    fn text(&mut self) -> Result<String, Violation> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Violation("invalid string in message".to_owned()))?;
        let bytes = self.0.split_to(end);
        self.0.advance(1);
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Violation("invalid byte sequence for encoding \"UTF8\" in message".to_owned())),
        }
    }

    fn named(&mut self) -> Result<Named, Violation> {
        let kind = self.bytes(1)?[0];
        match kind {
            b'S' => Ok(Named::Statement),
            b'P' => Ok(Named::Portal),
            other => Err(Violation(format!("invalid subtype {other} of a message"))),
        }
    }

    fn formats(&mut self) -> Result<Formats, Violation> {
        let count = self.u16()?;
        let mut formats = Vec::with_capacity(usize::from(count).min(self.0.len() / 2));
        for _ in 0..count {
            formats.push(match self.u16()? {
                0 => Format::Text,
                1 => Format::Binary,
                other => return Err(Violation(format!("unsupported format code: {other}"))),
            });
        }
        Ok(match formats.as_slice() {
            [] => Formats::All(Format::Text),
            [all] => Formats::All(*all),
            _ => Formats::Each(formats),
        })
    }

    fn end(&self) -> Result<(), Violation> {
        if self.0.is_empty() { Ok(()) } else { Err(Violation("invalid message format".to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;

    use super::*;

    fn frame(kind: u8, body: &[u8]) -> BytesMut {
        let mut frame = BytesMut::from(&[kind][..]);
        frame.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        frame.extend_from_slice(body);
        frame
    }

    #[test]
    fn messages_are_read_and_cut_off() {
        let mut buffer = frame(b'Q', b"SELECT 1\0");
        buffer.extend_from_slice(&frame(b'S', b""));
        assert_eq!(message(&mut buffer), Ok(Some(Message::Query("SELECT 1".to_owned()))));
        assert!(is_sync_next(&buffer));
        assert_eq!(message(&mut buffer), Ok(Some(Message::Sync)));
        assert_eq!(message(&mut buffer), Ok(None));
        let body = b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xFF\xFF\xFF\xFF\0\0";
        let bind = Bind {
            portal: String::new(),
            statement: "s".to_owned(),
            parameter_formats: Formats::All(Format::Binary),
            parameters: vec![Some(Bytes::from_static(b"x")), None],
            result_formats: Formats::All(Format::Text),
        };
        assert_eq!(message(&mut frame(b'B', body)), Ok(Some(Message::Bind(bind))));
    }

    #[test]
    fn a_message_is_waited_for() {
        let whole = frame(b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17");
        for length in 0..whole.len() {
            let mut part = BytesMut::from(&whole[..length]);
            assert_eq!(message(&mut part), Ok(None), "{length} bytes");
            assert_eq!(part.len(), length, "nothing is cut off");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_told() {
        for (kind, body) in [
            (b'Q', &b"no end"[..]),
            (b'Q', b"too much\0x"),
            (b'Q', b"\xFF\0"),
            (b'P', b"s\0SELECT\0\0\x02\0\0\0\x17"),
            (b'B', b"\0s\0\0\0\0\x01\0\0\0\x05x\0\0"),
            (b'B', b"\0s\0\0\0\0\x01\xFF\xFF\xFF\xFEx\0\0"),
            (b'B', b"\0s\0\0\x01\0\x02\0\0\0\0"),
            (b'D', b"Xname\0"),
            (b'E', b"\0\0\0"),
            (b'S', b"x"),
            (b'?', b""),
        ] {
            assert!(message(&mut frame(kind, body)).is_err(), "{} {body:?}", char::from(kind));
        }
        let mut negative = BytesMut::from(&b"Q\0\0\0\x03"[..]);
        assert!(message(&mut negative).is_err());
        let mut huge = BytesMut::from(&b"S\x7F\xFF\xFF\xFF"[..]);
        assert!(message(&mut huge).is_err());
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut random = Random::new(1);
        for _ in 0..200_000 {
            let kind = b"QPBDECHSpdcfXF"[random.below(14)];
            let length = random.below(40);
            let mut buffer = frame(kind, &(0..length).map(|_| random.below(256) as u8).collect::<Vec<_>>());
            if random.below(4) == 0 {
                let at = random.below(buffer.len());
                buffer[at] = random.below(256) as u8;
            }
            let _ = opening(&mut buffer.clone());
            while let Ok(Some(_)) = message(&mut buffer) {}
        }
    }
}
