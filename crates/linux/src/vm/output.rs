//! What a command writes, on its way to a reader that may never read it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;

/// A reader that has no room is waited for so long. Another thread of this process may get a signal, and then nothing ends the wait.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A stream of this process that a command writes to.
#[derive(Debug)]
pub struct Outlet<'a> {
    stream: BorrowedFd<'a>,
    /// A terminal that has room for a byte counts as writable: it is written to through an opening of its own that does not block.
    terminal: Option<OwnedFd>,
}

impl<'a> Outlet<'a> {
    /// To a stream of this process.
    pub fn new(stream: BorrowedFd<'a>) -> Self {
        let own = || {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            rustix::fs::open(format!("/proc/self/fd/{}", stream.as_raw_fd()), flags, Mode::empty()).ok()
        };
        Self { stream, terminal: rustix::termios::isatty(stream).then(own).flatten() }
    }

    /// Writes what its reader has room for. Returns how much of it that was: none if there is no room for 100 ms, or a signal arrives.
    ///
    /// # Errors
    /// It cannot be written, or its reader has gone.
    pub fn put(&self, bytes: &[u8]) -> io::Result<usize> {
        let stream = self.terminal.as_ref().map_or(self.stream, AsFd::as_fd);
        let mut fds = [PollFd::from_borrowed_fd(stream, PollFlags::OUT)];
        let written = match rustix::event::poll(&mut fds, Some(&WAIT)) {
            Ok(0) => Ok(0),
            // A pipe that has room takes as much as this at once. More could block, and nothing would end that.
            polled => polled.and_then(|_| rustix::io::write(stream, &bytes[..bytes.len().min(PIPE_BUF)])),
        };
        match written {
            Err(Errno::INTR | Errno::AGAIN) => Ok(0),
            written => written.map_err(io::Error::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    #[test]
    fn a_reader_that_does_not_read_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let bytes = [b'x'; 1 << 16];
        let mut held = Vec::<u8>::new();
        loop {
            let taken = Outlet::new(writer.as_fd()).put(&bytes).unwrap();
            if taken == 0 {
                break;
            }
            held.resize(held.len() + taken, 0);
        }
        reader.read_exact(&mut held).unwrap();
        assert!(held.len() >= PIPE_BUF && held.iter().all(|byte| *byte == b'x'), "{}", held.len());
        assert_eq!(Outlet::new(writer.as_fd()).put(b"more").unwrap(), 4);
        drop(reader);
        assert_eq!(Outlet::new(writer.as_fd()).put(b"more").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_terminal_that_stands_still_is_not_waited_for() {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&outside).unwrap();
        unlockpt(&outside).unwrap();
        let path = ptsname(&outside, Vec::new()).unwrap();
        let inside = rustix::fs::open(path.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let outlet = Outlet::new(inside.as_fd());
        let mut taken = 0;
        loop {
            match outlet.put(&[b'x'; 1 << 16]).unwrap() {
                0 => break,
                more => taken += more,
            }
        }
        assert!(taken > 0);
    }
}
