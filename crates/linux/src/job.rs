//! Which job of a shell has the terminal.

use std::io::stderr;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

/// Whether standard error is this session's terminal and another job than this one is in its foreground, so that what is drawn there is in the way.
pub fn in_background() -> bool {
    tcgetpgrp(stderr()).is_ok_and(|foreground| foreground != getpgrp())
}
