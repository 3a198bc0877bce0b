//! What a command writes, on its way to a reader that may never read it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;

/// A reader that has no room is waited for so long. Another thread of this process may get a signal, and then nothing ends the wait.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Writes what the reader of a stream has room for. Returns how much of it that was: none if there is no room for 100 ms, or a signal
/// arrives.
///
/// # Errors
/// It cannot be written, or its reader has gone.
pub fn put(stream: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_reader_that_does_not_read_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().unwrap();
        let bytes = [b'x'; 1 << 16];
        let mut held = Vec::<u8>::new();
        loop {
            let taken = put(writer.as_fd(), &bytes).unwrap();
            if taken == 0 {
                break;
            }
            held.resize(held.len() + taken, 0);
        }
        reader.read_exact(&mut held).unwrap();
        assert!(held.len() >= PIPE_BUF && held.iter().all(|byte| *byte == b'x'), "{}", held.len());
        assert_eq!(put(writer.as_fd(), b"more").unwrap(), 4);
        drop(reader);
        assert_eq!(put(writer.as_fd(), b"more").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
