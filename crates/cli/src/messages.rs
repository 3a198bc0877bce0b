//! What goes to standard error. That errors and warnings cannot be written is ignored, since there is no other place to report
//! it; that an account cannot be written shows in the exit status.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};

use crate::failed::Own;

/// Says why a command failed.
pub fn error(text: impl Display) {
    say("error", AnsiColor::Red.on_default().bold(), text);
}

/// Says what is not as the user may expect.
pub fn warning(text: impl Display) {
    say("warning", AnsiColor::Yellow.on_default().bold(), text);
}

/// Says what the user may like to know.
pub fn note(text: impl Display) {
    say("note", AnsiColor::Cyan.on_default().bold(), text);
}

fn say(kind: &str, style: Style, text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {text}");
}

/// Prints an account. A reader that went away is no error.
pub fn account(text: &str) -> Result<(), Own> {
    match anstream::stderr().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Own("cannot write the account to standard error")),
        _ => Ok(()),
    }
}
