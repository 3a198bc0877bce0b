//! The host's end of the serial port over which host and guest exchange messages.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::protocol::{Reply, Request};

/// [`Port::receive`] waits as long for a message.
const WAIT: Duration = Duration::from_millis(10);

pub(super) struct Port {
    stream: BufReader<UnixStream>,
    /// What has arrived of a message.
    line: Vec<u8>,
}

/// The guest has closed its end, or sends what is no message.
#[derive(Debug)]
pub(super) struct Lost(pub &'static str);

impl Port {
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(WAIT))?;
        Ok(Self { stream: BufReader::new(stream), line: Vec::new() })
    }

    /// The next message, if one arrives soon.
    pub fn receive(&mut self) -> Result<Option<Reply>, Lost> {
        match self.stream.read_until(b'\n', &mut self.line) {
            Ok(_) if self.line.ends_with(b"\n") => {
                let reply = serde_json::from_slice(&std::mem::take(&mut self.line));
                reply.map(Some).map_err(|_| Lost("sent what is no message"))
            }
            Ok(_) => Err(Lost("ended")),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
                _ => Err(Lost("ended")),
            },
        }
    }

    pub fn send(&mut self, request: &Request) -> Result<(), Lost> {
        let mut line = serde_json::to_vec(request).map_err(|_| Lost("cannot be sent the command"))?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(|_| Lost("does not receive any more"))
    }
}
