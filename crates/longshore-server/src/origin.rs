//! Where clients come from.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A Unix socket.
    Socket,
    /// An address and port, over TCP.
    Tcp(SocketAddr),
}

impl Origin {
    /// Whether it is this machine.
    pub(crate) fn is_local(self) -> bool {
        self.address().is_none_or(|address| address.is_loopback())
    }

    /// The address and port, over TCP.
    pub(crate) fn peer(self) -> Option<SocketAddr> {
        match self {
            Self::Socket => None,
            Self::Tcp(peer) => Some(SocketAddr::new(peer.ip().to_canonical(), peer.port())),
        }
    }

    /// The address without the port, which differs each time.
    pub(crate) fn address(self) -> Option<IpAddr> {
        self.peer().map(|peer| peer.ip())
    }

    /// The address as PostgreSQL calls the host in messages.
    pub(crate) fn host(self) -> String {
        self.address().map_or_else(|| "[local]".to_owned(), |address| address.to_string())
    }
}

impl fmt::Display for Origin {
    /// As the log shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer() {
            None => f.write_str("socket"),
            Some(peer) => peer.fmt(f),
        }
    }
}
