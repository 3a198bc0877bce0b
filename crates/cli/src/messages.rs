//! What goes to standard error. That errors and warnings cannot be written is ignored, since there is no other place to report
//! it; that an account cannot be written shows in the exit status.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use crate::failed::Own;
use crate::terminal;

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
    let text = text.to_string();
    let _ = writeln!(anstream::stderr(), "{style}{kind}:{style:#} {}", terminal::plain(&text));
}

/// Says what is wrong with the command line.
pub fn mistake(mistake: clap::Error) {
    let text = readable(mistake).render().ansi().to_string();
    let _ = write!(anstream::stderr(), "{}", terminal::styled(&text));
}

/// A mistake whose words stand in it without control characters, which its styling has as well.
pub fn readable(mut mistake: clap::Error) -> clap::Error {
    let escaped = |text: &String| terminal::plain(text).into_owned();
    let given: Vec<String> = mistake.context().filter_map(|(_, value)| word(value)).collect();
    let without = |text: &StyledStr| {
        let text = text.ansi().to_string();
        given.iter().fold(text, |text, word| text.replace(word, &terminal::plain(word))).into()
    };
    let changed: Vec<(ContextKind, ContextValue)> = mistake
        .context()
        .filter_map(|(kind, value)| {
            let value = match value {
                ContextValue::String(text) => ContextValue::String(escaped(text)),
                ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(escaped).collect()),
                ContextValue::StyledStrs(texts) => ContextValue::StyledStrs(texts.iter().map(without).collect()),
                _ => return None,
            };
            Some((kind, value))
        })
        .collect();
    for (kind, value) in changed {
        mistake.insert(kind, value);
    }
    mistake
}

/// A word with control characters.
fn word(value: &ContextValue) -> Option<String> {
    let ContextValue::String(text) = value else { return None };
    text.contains(char::is_control).then(|| text.clone())
}

/// Prints an account. A reader that went away is no error.
pub fn account(text: &str) -> Result<(), Own> {
    match anstream::stderr().write_all(terminal::styled(text).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Own("cannot write the account to standard error")),
        _ => Ok(()),
    }
}
