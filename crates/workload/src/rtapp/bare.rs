//! `"suspend",`: a key alone, which old files have where the value means nothing. It is not JSON; workgen completed it
//! before rt-app saw it (until May 2025).

use std::borrow::Cow;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

/// Events whose value has no meaning.
const BARE: &[&str] = &["suspend", "yield"];

/// The text with an empty string after each such key. Lines stay where they are. Text that is broken in another way
/// is left to the parser.
pub(super) fn completed(text: &str) -> Cow<'_, str> {
    let ends = ends(text);
    if ends.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut full = String::with_capacity(text.len() + ends.len() * 5);
    let mut done = 0;
    for end in ends {
        full.push_str(&text[done..end]);
        full.push_str(": \"\"");
        done = end;
    }
    full.push_str(&text[done..]);
    Cow::Owned(full)
}

/// Where keys end that have no value.
fn ends(text: &str) -> Vec<usize> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut ends = Vec::new();
    let mut nesting = Vec::new();
    // Whether the next token is a key, and the end of the bare key that this one would complete.
    let (mut key_next, mut candidate) = (false, None);
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => continue,
            Token::Comma | Token::CloseBrace => ends.extend(candidate.take()),
            _ => {}
        }
        let is_key = std::mem::take(&mut key_next);
        candidate = None;
        match token {
            Token::OpenBrace | Token::OpenBracket => {
                key_next = token == Token::OpenBrace;
                nesting.push(token);
            }
            Token::CloseBrace | Token::CloseBracket => {
                nesting.pop();
            }
            Token::Comma => key_next = nesting.last() == Some(&Token::OpenBrace),
            Token::String(key) if is_key && BARE.iter().any(|bare| key.starts_with(bare)) => {
                candidate = Some(scanner.token_end());
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::completed;

    #[test]
    fn only_keys_without_a_value_are_completed() {
        let text = "{\"suspend\", \"run\": 1, /* x */ \"suspend1\" // y\n}";
        assert_eq!(completed(text), "{\"suspend\": \"\", \"run\": 1, /* x */ \"suspend1\": \"\" // y\n}");
        for whole in ["{\"suspend\" : \"a\", \"b\": \"suspend\", \"c\": [\"suspend\", 1]}", "{\"run\", 1}", "\"suspend"]
        {
            assert_eq!(completed(whole), whole);
        }
    }
}
