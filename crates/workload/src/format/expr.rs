//! Whole-number expressions for counts and positions: `n`, `3*n + 2`, `(n + 3)/4`, `i + 1`.

/// What the letters of an expression stand for. A letter that has no meaning at a place is `None` there.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Letters {
    /// The program's thread parameter.
    pub n: Option<u32>,
    /// The thread's position in its group, from 0.
    pub i: Option<u32>,
}

/// Parentheses inside parentheses, at most.
const DEPTH: usize = 32;

/// The value of an expression, or what is wrong with it. Division rounds down.
pub(crate) fn evaluate(text: &str, letters: Letters) -> Result<i64, String> {
    let mut parser = Parser { rest: text.trim_start(), letters, depth: 0 };
    let value = parser.sum().map_err(|why| format!("cannot work out \"{text}\": {why}"))?;
    match parser.rest.chars().next() {
        None => Ok(value),
        Some(_) => Err(format!("cannot work out \"{text}\": expected an operator before \"{}\"", parser.rest)),
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
        let letter = self.rest.chars().next();
        let value = match letter {
            Some('n') => self.letters.n.ok_or("\"n\" needs `n = ...` in the program, its default thread count")?,
            Some('i') => self.letters.i.ok_or("\"i\", the position of a thread in its group, has no meaning here")?,
            _ => return Err("expected a number, n, i or \"(\"".into()),
        };
        self.rest = self.rest[1..].trim_start();
        Ok(i64::from(value))
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
        let at = Letters { n: Some(6), i: Some(1) };
        assert_eq!(evaluate("3 * n + 2", at), Ok(20));
        assert_eq!(evaluate("n - (n + 3)/4", at), Ok(4));
        assert_eq!(evaluate("i - 2", at), Ok(-1));
    }

    #[test]
    fn mistakes_are_named() {
        let at = Letters { n: Some(6), i: None };
        for (text, why) in [("i", "no meaning"), ("1/(n-6)", "division"), ("(n", "expected \")\""), ("n n", "operator")]
        {
            assert!(evaluate(text, at).is_err_and(|message| message.contains(why)), "{text}");
        }
        assert!(evaluate("é", at).is_err());
        assert!(evaluate("9223372036854775807 + 1", at).is_err());
        assert!(evaluate(&"(".repeat(100_000), at).is_err());
    }
}
