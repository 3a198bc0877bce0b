//! The host's end of the serial port over which host and guest exchange messages.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::protocol::{Reply, Request};

/// [`Port::receive`] waits as long for a message, and [`Port::sent`] for a guest that does not take one.
const WAIT: Duration = Duration::from_millis(10);

pub(super) struct Port {
    stream: BufReader<UnixStream>,
    /// What has arrived of a message.
    line: Vec<u8>,
    /// What the guest has yet to take.
    unsent: Vec<u8>,
}

/// The guest has closed its end, or sends what is no message.
#[derive(Debug)]
pub(super) struct Lost(pub &'static str);

impl Port {
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(WAIT))?;
        stream.set_write_timeout(Some(WAIT))?;
        Ok(Self { stream: BufReader::new(stream), line: Vec::new(), unsent: Vec::new() })
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

    /// Sends a request. Returns what [`Self::sent`] does.
    pub fn send(&mut self, request: &Request) -> Result<bool, Lost> {
        serde_json::to_writer(&mut self.unsent, request).map_err(|_| Lost("cannot be sent the command"))?;
        self.unsent.push(b'\n');
        self.sent()
    }

    /// Whether the guest has taken all that was sent. What is left is sent as far as it takes it soon.
    pub fn sent(&mut self) -> Result<bool, Lost> {
        match self.stream.get_mut().write(&self.unsent) {
            Ok(taken) => drop(self.unsent.drain(..taken)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => return Err(Lost("does not receive any more")),
            },
        }
        Ok(self.unsent.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::vm::protocol::Run;

    #[test]
    fn a_guest_that_takes_no_command_is_not_waited_for() {
        let (own, guest) = UnixStream::pair().unwrap();
        let mut port = Port::new(own).unwrap();
        let run = Run {
            command: vec!["true".into()],
            environment: vec![("LONG".into(), "x".repeat(4 << 20))],
            directory: "/".into(),
            writable: Vec::new(),
            output: "out".into(),
            errors: "err".into(),
        };
        // It has room for less.
        assert!(!port.send(&Request::Run(run)).unwrap());
        assert!(!port.sent().unwrap() && !port.send(&Request::Off).unwrap());
        let reads = thread::spawn(|| {
            let lines = BufReader::new(guest).lines().take(2).map(Result::unwrap);
            lines.map(|line| serde_json::from_str(&line).unwrap()).collect::<Vec<Request>>()
        });
        while !port.sent().unwrap() {}
        let requests = reads.join().unwrap();
        let [Request::Run(run), Request::Off] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!(run.environment[0].1.len(), 4 << 20);
        assert!(port.send(&Request::Off).is_err(), "the guest has closed its end");
    }
}
