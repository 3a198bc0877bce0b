//! Whole-number expressions for counts and positions: `n`, `3*n + 2`, `(n + 3)/4`, `i + 1`.

use evenkeel_model::words::short;

/// What the letters of an expression stand for. A letter that has no meaning at a place is `None` there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Letters([Option<Letter>; 26]);

#[derive(Clone, Copy, Debug)]
struct Letter {
    value: i64,
    /// Whether the value depends on the thread.
    own: bool,
}

impl Letters {
    /// `n`, the program's thread parameter, where there is one.
    pub fn of_program(n: Option<u32>) -> Self {
        let mut letters = Self::default();
        letters.0[usize::from(b'n' - b'a')] = n.map(|n| Letter { value: n.into(), own: false });
        letters
    }

    /// With `i`, a thread's position in its group, from 0.
    pub fn in_group(self, i: u32) -> Self {
        self.with('i', i64::from(i), true)
    }

    /// With the value of a lower-case letter, and whether it is the thread's `own`.
    pub fn with(mut self, letter: char, value: i64, own: bool) -> Self {
        if letter.is_ascii_lowercase() {
            self.0[letter as usize - 'a' as usize] = Some(Letter { value, own });
        }
        self
    }

    /// Whether an expression reads a letter whose value depends on the thread.
    pub fn differ(self, text: &str) -> bool {
        text.chars().filter(char::is_ascii_lowercase).any(|letter| self.get(letter).is_some_and(|letter| letter.own))
    }

    fn get(self, letter: char) -> Option<Letter> {
        self.0[letter as usize - 'a' as usize]
    }
}

/// Parentheses inside parentheses, at most.
const DEPTH: usize = 32;

/// The value of an expression, or what is wrong with it. Division rounds down.
pub(crate) fn evaluate(text: &str, letters: Letters) -> Result<i64, String> {
    let mut parser = Parser { rest: text.trim_start(), letters, depth: 0 };
    let value = parser.sum().map_err(|why| format!("cannot work out \"{}\": {why}", short(text)))?;
    match parser.rest.chars().next() {
        None => Ok(value),
        Some(_) => {
            Err(format!("cannot work out \"{}\": expected an operator before \"{}\"", short(text), short(parser.rest)))
        }
    }
}

/// The letter and the values of `k in 0..n`: the first value and the one after the last, and whether they depend on the
/// thread.
pub(crate) fn span(text: &str, letters: Letters) -> Result<(char, std::ops::Range<i64>, bool), String> {
    let expected = || format!("expected a letter and its values, such as \"k in 0..8\", not \"{}\"", short(text));
    let (letter, values) = text.split_once(" in ").ok_or_else(expected)?;
    let (from, to) = values.split_once("..").ok_or_else(expected)?;
    let mut name = letter.trim().chars();
    match (name.next(), name.next()) {
        (Some('n'), None) => Err("\"n\" is the thread parameter: choose another letter".into()),
        (Some(letter), None) if letter.is_ascii_lowercase() => {
            let own = letters.differ(values);
            Ok((letter, evaluate(from, letters)?..evaluate(to, letters)?, own))
        }
        _ => Err(expected()),
    }
}

struct Parser<'a> {
    rest: &'a str,
    letters: Letters,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            value = match self.operator(['+', '-']) {
                Some('+') => value.checked_add(self.product()?),
                Some(_) => value.checked_sub(self.product()?),
                None => return Ok(value),
            }
            .ok_or("the number is too large")?;
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.atom()?;
        loop {
            value = match self.operator(['*', '/']) {
                Some('*') => value.checked_mul(self.atom()?).ok_or("the number is too large")?,
                Some(_) => value.checked_div_euclid(self.atom()?).ok_or("division by zero")?,
                None => return Ok(value),
            };
        }
    }

    fn atom(&mut self) -> Result<i64, String> {
        if self.operator(['(', '(']).is_some() {
            self.depth += 1;
            if self.depth > DEPTH {
                return Err("too many parentheses".into());
            }
            let value = self.sum()?;
            self.depth -= 1;
            return self.operator([')', ')']).map(|_| value).ok_or_else(|| "expected \")\"".into());
        }
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            let value = self.rest[..digits].parse().map_err(|_| "the number is too large")?;
            self.rest = self.rest[digits..].trim_start();
            return Ok(value);
        }
        let Some(letter) = self.rest.chars().next().filter(char::is_ascii_lowercase) else {
            return Err("expected a number, n, i or \"(\"".into());
        };
        let Letter { value, .. } = self.letters.get(letter).ok_or_else(|| match letter {
            'n' => "\"n\" needs `n = ...` in the program, its default thread count".to_owned(),
            'i' => "\"i\", the position of a thread in its group, has no meaning here".to_owned(),
            _ => format!("\"{letter}\" has no meaning here: give it one with `for = \"{letter} in 0..8\"` around this"),
        })?;
        self.rest = self.rest[1..].trim_start();
        Ok(value)
    }

    fn operator(&mut self, any: [char; 2]) -> Option<char> {
        let found = self.rest.chars().next().filter(|c| any.contains(c))?;
        self.rest = self.rest[1..].trim_start();
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_come_before_sums_and_division_rounds_down() {
        let at = Letters::of_program(Some(6)).in_group(1);
        assert_eq!(evaluate("3 * n + 2", at), Ok(20));
        assert_eq!(evaluate("n - (n + 3)/4", at), Ok(4));
        assert_eq!(evaluate("i - 2", at), Ok(-1));
    }

    #[test]
    fn mistakes_are_named() {
        let at = Letters::of_program(Some(6));
        for (text, why) in [("i", "no meaning"), ("1/(n-6)", "division"), ("(n", "expected \")\""), ("n n", "operator")]
        {
            assert!(evaluate(text, at).is_err_and(|message| message.contains(why)), "{text}");
        }
        assert!(evaluate("é", at).is_err());
        assert!(evaluate("k + 1", at).is_err_and(|message| message.contains("for = \"k in")));
        assert!(evaluate("9223372036854775807 + 1", at).is_err());
        assert!(evaluate(&"(".repeat(100_000), at).is_err());
    }

    #[test]
    fn a_letter_runs_through_values() {
        let at = Letters::of_program(Some(6));
        assert_eq!(span("k in 1..n - 1", at), Ok(('k', 1..5, false)));
        let inner = at.with('k', 3, false);
        assert_eq!(span("i in k+1..2*k", inner), Ok(('i', 4..6, false)));
        for text in ["k", "k in 3", "in 0..3", "kk in 0..3", "K in 0..3", "n in 0..3", "k in 0..x", "é in 0..2"] {
            assert!(span(text, at).is_err(), "{text}");
        }
    }

    #[test]
    fn what_depends_on_the_thread_is_told() {
        let at = Letters::of_program(Some(6)).in_group(1);
        assert!(at.differ("2*i") && !at.differ("n + 1"));
        assert_eq!(span("k in 0..i + n", at), Ok(('k', 0..7, true)));
        // A letter stands for what the innermost `for` says.
        let rebound = at.with('i', 3, false).with('k', 3, true);
        assert!(!rebound.differ("i") && rebound.differ("k"));
    }
}
