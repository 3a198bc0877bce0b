//! Tells the service manager that started this process, if one did, that it is ready (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::messages;

/// A service manager that takes no message for so long has stopped (assumed: it takes one in some ms).
const PATIENCE: Duration = Duration::from_secs(5);

/// Says that it is ready, and what it does. Without a service manager it does nothing; one that cannot be told may end this
/// process, which is its decision.
pub fn tell(status: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, status) {
        let name = socket.to_string_lossy();
        messages::warning(format_args!(
            "cannot tell the service manager that this is ready, by the socket \"{name}\" (NOTIFY_SOCKET): {error}"
        ));
    }
}

fn send(socket: &OsStr, status: &str) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let message = format!("READY=1\nSTATUS={status}\n");
    let from = UnixDatagram::unbound()?;
    from.set_write_timeout(Some(PATIENCE))?;
    from.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut message = [0; 256];
        let length = socket.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_socket_gets_one_message_by_its_path_or_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let named = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str(), "pfs").unwrap();
        assert_eq!(received(&named), "READY=1\nSTATUS=pfs\n");
        // Of this process, and of no other that tests run in at the same time.
        let name = format!("evenkeel-ready-{}", std::process::id());
        let unnamed = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(OsStr::new(&format!("@{name}")), "colab").unwrap();
        assert_eq!(received(&unnamed), "READY=1\nSTATUS=colab\n");
    }

    #[test]
    fn a_socket_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = send(folder.path().join("nowhere").as_os_str(), "pfs").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
