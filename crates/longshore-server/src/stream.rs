//! The bytes of a connection, over TCP, with TLS or without, or a Unix socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::protocol::Violation;
use crate::protocol::frontend::{self, Message, Opening};
use crate::tls::{self, Channel, Encrypted, Tls};

/// Bytes that are read at a time, at least.
const READ_BYTES: usize = 8 << 10;
/// The same while a client sends data.
const DATA_READ_BYTES: usize = 256 << 10;
/// Bytes from which on they are sent before there are more.
pub(crate) const SEND_BYTES: usize = 64 << 10;
/// Bytes of messages that wait while a statement runs, at most.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Where bytes come from and go to.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A handshake is under way, or has failed.
    Closed,
}

impl Socket {
    /// Waits until there is something to read, without room for it.
    async fn readable(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            // What has come may have been decrypted already.
            Self::Tls(stream) => stream.fill_buf().await.map(|_| ()),
            Self::Closed => Ok(()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
            Self::Closed => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Self::Closed => Poll::Ready(Ok(())),
        }
    }
}

/// Why a message did not come.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client has gone.
    Gone,
    Violation(Violation),
}

impl From<io::Error> for Failure {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

/// A connection as messages: those that have come, and the bytes of those that are to go.
pub(crate) struct Wire {
    socket: Socket,
    read: BytesMut,
    /// Bytes that are still to come of a message whose first ones were taken.
    data_left: usize,
    /// What is on its way to the client.
    pub(crate) out: Vec<u8>,
    /// What sign-in may use of TLS; `None` without TLS.
    pub(crate) channel: Option<Channel>,
}

impl Wire {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, read: BytesMut::new(), data_left: 0, out: Vec::new(), channel: None }
    }

    /// Whether a client over TCP begins with TLS, rather than with a message that asks for it.
    pub(crate) async fn begins_with_tls(&self) -> io::Result<bool> {
        let mut first = [0];
        match &self.socket {
            Socket::Tcp(stream) => Ok(stream.peek(&mut first).await? == 1 && first[0] == tls::HANDSHAKE),
            _ => Ok(false),
        }
    }

    /// Whether more has come than was taken.
    pub(crate) fn has_more(&self) -> bool {
        !self.read.is_empty()
    }

    /// Encrypts a connection over TCP, whose client has sent nothing yet but a wish for it. Whether the client named the
    /// protocol.
    pub(crate) async fn encrypt(&mut self, tls: &Tls) -> io::Result<bool> {
        let Socket::Tcp(stream) = std::mem::replace(&mut self.socket, Socket::Closed) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let Encrypted { stream, channel, has_named_protocol } = tls.accept(stream).await?;
        self.socket = Socket::Tls(stream);
        self.channel = Some(channel);
        Ok(has_named_protocol)
    }

    /// The first message.
    pub(crate) async fn opening(&mut self) -> Result<Opening, Failure> {
        loop {
            if let Some(opening) = frontend::opening(&mut self.read)? {
                return Ok(opening);
            }
            self.fill().await?;
        }
    }

    /// The next message; what is on its way is sent before it is waited for.
    pub(crate) async fn message(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.come()? {
                return Ok(message);
            }
            self.flush().await?;
            self.fill().await?;
        }
    }

    /// The next message, if it has come whole.
    pub(crate) fn come(&mut self) -> Result<Option<Message>, Violation> {
        if self.data_left > 0 {
            // Nobody wants the rest any more.
            self.take_data();
        }
        if self.data_left > 0 { Ok(None) } else { frontend::message(&mut self.read) }
    }

    /// The next message of a client that sends data, of which what has come is taken.
    pub(crate) async fn message_or_data(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(data) = self.data()? {
                return Ok(Message::CopyData(data));
            }
            if self.data_left == 0
                && let Some(message) = self.come()?
            {
                return Ok(message);
            }
            self.flush().await?;
            self.fill_up(DATA_READ_BYTES).await?;
        }
    }

    /// Data that has come; `None` where nothing has, or another message.
    pub(crate) fn data(&mut self) -> Result<Option<Bytes>, Violation> {
        if self.data_left == 0 {
            let Some(bytes) = frontend::data_begins(&mut self.read)? else { return Ok(None) };
            self.data_left = bytes;
        }
        let data = self.take_data();
        Ok((!data.is_empty() || self.data_left == 0).then_some(data))
    }

    fn take_data(&mut self) -> Bytes {
        let come = self.data_left.min(self.read.len());
        self.data_left -= come;
        self.read.split_to(come).freeze()
    }

    /// Whether the message that has come next is Sync.
    pub(crate) fn is_sync_next(&self) -> bool {
        frontend::is_sync_next(&self.read)
    }

    /// Reads more bytes. A future that is dropped has read none.
    pub(crate) async fn fill(&mut self) -> Result<(), Failure> {
        // Room for all of a message that has begun.
        let needed = frontend::needed(&self.read).ok().flatten().unwrap_or_default();
        self.fill_up(needed.saturating_sub(self.read.len()).clamp(READ_BYTES, SEND_BYTES)).await
    }

    /// Reads up to so many bytes, or some more.
    async fn fill_up(&mut self, bytes: usize) -> Result<(), Failure> {
        if self.read.capacity() == 0 {
            // A client that is silent takes no room.
            self.socket.readable().await?;
        }
        self.read.reserve(bytes);
        if self.socket.read_buf(&mut self.read).await? == 0 { Err(Failure::Gone) } else { Ok(()) }
    }

    /// Reads what comes while a statement runs, to learn that the client has gone.
    pub(crate) async fn watch(&mut self) -> Failure {
        loop {
            if self.read.len() >= WAITING_BYTES_MAX {
                return std::future::pending().await;
            }
            if let Err(failure) = self.fill().await {
                return failure;
            }
        }
    }

    /// Sends what is on its way.
    pub(crate) async fn flush(&mut self) -> Result<(), Failure> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.socket.write_all(&self.out).await?;
        self.socket.flush().await?;
        self.out.clear();
        // One large result does not keep its room for ever.
        self.out.shrink_to(SEND_BYTES);
        Ok(())
    }

    /// Sends what is on its way, and then `messages`.
    pub(crate) async fn send(&mut self, messages: &[u8]) -> Result<(), Failure> {
        self.flush().await?;
        self.socket.write_all(messages).await?;
        Ok(self.socket.flush().await?)
    }

    /// Sends what is on its way if it is much.
    pub(crate) async fn flush_if_much(&mut self) -> Result<(), Failure> {
        if self.out.len() >= SEND_BYTES { self.flush().await } else { Ok(()) }
    }

    /// Sends what is on its way, and that nothing more will come.
    pub(crate) async fn close(&mut self) -> Result<(), Failure> {
        self.flush().await?;
        Ok(self.socket.shutdown().await?)
    }

    /// Gives memory back while nothing is under way.
    pub(crate) fn rest(&mut self) {
        if self.read.is_empty() {
            self.read = BytesMut::new();
        }
        self.out.shrink_to(0);
    }
}
