//! Where clients come from.

use std::fmt;
use std::net::IpAddr;

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A Unix socket.
    Socket,
    /// An address, over TCP.
    Tcp(IpAddr),
}

impl Origin {
    /// Whether it is this machine.
    pub(crate) fn is_local(self) -> bool {
        self.address().is_none_or(|address| address.is_loopback())
    }

    pub(crate) fn address(self) -> Option<IpAddr> {
        match self {
            Self::Socket => None,
            Self::Tcp(address) => Some(address.to_canonical()),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            None => f.write_str("local"),
            Some(address) => address.fmt(f),
        }
    }
}
