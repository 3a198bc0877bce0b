//! Waiting for several things at once.

use std::io;
use std::os::fd::BorrowedFd;

use evenkeel_model::Ns;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Waits until one of these is readable, or the time is over. Returns whether the first one is, or a signal arrived. Another
/// thread of this process may get the signal, so a caller that waits for signals must choose a short time.
///
/// # Errors
/// None in practice.
pub fn poll(fds: &[BorrowedFd<'_>], time: Ns) -> io::Result<bool> {
    let mut fds: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match rustix::event::poll(&mut fds, Some(&timespec(time))) {
        // The caller finds out which signal it was.
        Err(Errno::INTR) => Ok(true),
        polled => polled.map(|_| fds.first().is_some_and(|first| !first.revents().is_empty())).map_err(io::Error::from),
    }
}

/// Waits until a terminal has input, or the time is over, or a signal arrives. Returns whether its other end has gone.
///
/// # Errors
/// None in practice.
pub fn input(terminal: BorrowedFd<'_>, time: Ns) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
    match rustix::event::poll(&mut fds, Some(&timespec(time))) {
        Ok(_) => Ok(fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn timespec(time: Ns) -> Timespec {
    Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 }
}
