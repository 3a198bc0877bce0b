//! Errors and warnings on standard error. An error of writing them is ignored: there is no other place to report it.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};

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

/// Prints text as it is.
pub fn plain(text: &str) {
    let _ = write!(anstream::stderr(), "{text}");
}
