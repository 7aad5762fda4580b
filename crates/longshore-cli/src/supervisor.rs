//! What the service manager is told: the server is ready, or ends (`sd_notify` of systemd, without its library).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Names the socket of the service manager; a name that begins with `@` is none of the file system.
const SOCKET: &str = "NOTIFY_SOCKET";

/// The server takes clients.
pub(crate) const READY: &str = "READY=1";
/// It has begun to end.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Tells the service manager, if there is one.
///
/// # Errors
/// There is one that does not listen.
pub(crate) fn tell(state: &str) -> io::Result<()> {
    let Some(socket) = std::env::var_os(SOCKET).filter(|socket| !socket.is_empty()) else { return Ok(()) };
    let address = match socket.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(&socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}
