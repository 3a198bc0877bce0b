//! Text on its way to a terminal, which obeys control characters: names of files and threads can be any bytes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A message's text, of which nothing is Evenkeel's own styling: with escapes for control characters.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, |_| 0, |out, letter| out.extend(letter.escape_debug()))
}

/// A report: with escapes for control characters other than those that style it. They are as JSON has them, so that what a
/// program reads stays the same.
pub fn styled(text: &str) -> Cow<'_, str> {
    escaped(text, style, |out, letter| _ = write!(out, "\\u{:04x}", u32::from(letter)))
}

/// Writes a report, or a part of one, to standard output.
pub fn print(report: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(styled(report).as_bytes())?;
    out.flush()
}

/// A text with escapes; what `own` measures at the beginning of the rest of the text is left as it is.
fn escaped(text: &str, own: impl Fn(&str) -> usize, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t')) {
        at += found;
        let Some(letter) = text[at..].chars().next() else { break };
        let length = own(&text[at..]);
        if length == 0 {
            out += &text[kept..at];
            escape(&mut out, letter);
            kept = at + letter.len_utf8();
        }
        at += length.max(letter.len_utf8());
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out += &text[kept..];
    Cow::Owned(out)
}

/// How long the sequence is that a text begins with, if it is one for colours and weights: `ESC [ 1 ; 31 m`.
fn style(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let numbers = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if rest.as_bytes().get(numbers) == Some(&b'm') { numbers + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_control_characters() {
        assert_eq!(plain("größer\n\tals \"4\""), "größer\n\tals \"4\"");
        assert_eq!(
            plain("cfs\0 \u{1b}[31mred\u{1b}[0m\r\u{9b}2J\u{7f}"),
            r"cfs\0 \u{1b}[31mred\u{1b}[0m\r\u{9b}2J\u{7f}"
        );
    }

    #[test]
    fn a_report_has_no_control_characters_but_those_that_style_it() {
        for fine in ["", "größer\n\tals", "\u{1b}[1;31merror\u{1b}[0m\u{1b}[m", "ends in \u{1b}[0m"] {
            assert_eq!(styled(fine), fine);
        }
        assert_eq!(styled("\u{1b}[1mx\u{1b}]0;title\u{7}y\u{1b}[0m"), "\u{1b}[1mx\\u001b]0;title\\u0007y\u{1b}[0m");
        assert_eq!(styled("\u{1b}[2J\u{1b}[31"), r"\u001b[2J\u001b[31");
        assert_eq!(styled("\r\u{9b}31mé\u{1b}"), r"\u000d\u009b31mé\u001b");
    }

    #[test]
    fn json_still_says_the_same() {
        let text = serde_json::to_string("a\u{9b}b\u{7f}\u{1b}").unwrap();
        assert_eq!(serde_json::from_str::<String>(&styled(&text)).unwrap(), "a\u{9b}b\u{7f}\u{1b}");
    }
}
