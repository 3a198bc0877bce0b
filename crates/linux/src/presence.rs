//! How Evenkeels know of each other: names of sockets in the kernel's abstract name space. Only one process can have a name, which
//! is free again as soon as that process ends, however it ends. All processes can read the names in `/proc/net/unix`.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Takes a name for as long as the socket lives.
///
/// # Errors
/// Another process has it (`AddrInUse`), or no socket can be opened.
pub fn take(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Sends text to the process that has a name. The text is lost if the process has gone or its buffer is full.
pub fn send(name: &str, text: &str) {
    let sent = SocketAddr::from_abstract_name(name).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(text.as_bytes(), &address)
    });
    // The process has gone, or its buffer is full.
    let _ = sent;
}

/// What was sent to a socket since the last call.
pub fn received(socket: &UnixDatagram) -> Vec<String> {
    let mut all = Vec::new();
    let mut bytes = [0; 64];
    while socket.set_nonblocking(true).is_ok()
        && let Ok(length) = socket.recv(&mut bytes)
    {
        all.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
    }
    all
}

/// The names in use that begin with `beginning`, without that beginning.
pub fn taken(beginning: &str) -> Vec<String> {
    let text = fs::read("/proc/net/unix").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| line.split_once(" @").map(|(_, name)| name));
    names.filter_map(|name| name.strip_prefix(beginning)).map(str::to_owned).collect()
}
