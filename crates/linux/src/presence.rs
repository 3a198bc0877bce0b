//! What Evenkeels tell each other: names of sockets in the kernel's abstract name space. A name can be had once, is free again
//! as soon as the process that has it ends, however it ends, and can be read by all in `/proc/net/unix`.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Takes a name for as long as the socket lives.
///
/// # Errors
/// Another process has it (`AddrInUse`), or there is no socket to be had.
pub fn take(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Tells the process that has a name something, if it still has it and room for it.
pub fn tell(name: &str, text: &str) {
    let sent = SocketAddr::from_abstract_name(name).and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(text.as_bytes(), &address)
    });
    // It has gone, or was told often.
    let _ = sent;
}

/// What a socket was told so far.
pub fn told(socket: &UnixDatagram) -> Vec<String> {
    let mut all = Vec::new();
    let mut bytes = [0; 64];
    while socket.set_nonblocking(true).is_ok()
        && let Ok(length) = socket.recv(&mut bytes)
    {
        all.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
    }
    all
}

/// The names that begin so, without that beginning.
pub fn taken(beginning: &str) -> Vec<String> {
    let text = fs::read("/proc/net/unix").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let names = text.lines().filter_map(|line| line.split_once(" @").map(|(_, name)| name));
    names.filter_map(|name| name.strip_prefix(beginning)).map(str::to_owned).collect()
}
