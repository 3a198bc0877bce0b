//! Asymmetric machines in a word: `2B2S:3` is two big and two little cores, a big one three times as fast.

use std::fmt;
use std::str::FromStr;

use evenkeel_model::CoreSet;

/// A machine to be made up of equal cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// How many big cores; they come first.
    pub big: u16,
    /// How many little cores.
    pub little: u16,
    /// How many times faster a big core is.
    pub ratio: f64,
}

/// Big over little where nothing else is said: about what Arm's pairs of core types have.
pub const RATIO: f64 = 3.0;

impl Spec {
    /// How many cores.
    pub fn cores(&self) -> u16 {
        self.big + self.little
    }

    /// What all cores achieve together, in big cores.
    pub fn capacity(&self) -> f64 {
        self.capacity_of(self.cores())
    }

    /// The same of so many of its fastest cores, or of all if there are fewer.
    pub fn capacity_of(&self, cores: u16) -> f64 {
        let big = self.big.min(cores);
        f64::from(big) + f64::from(self.little.min(cores - big)) / self.ratio
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "{text:?}: expected big and little cores and how many times faster the big ones are, such as 2B2S:3"
            )
        };
        let (cores, ratio) = text.split_once(':').unwrap_or((text, ""));
        let ratio = if ratio.is_empty() { RATIO } else { ratio.parse().map_err(|_| expected())? };
        let (big, little) = cores.split_once(['B', 'b']).ok_or_else(expected)?;
        let little = little.strip_suffix(['S', 's', 'L', 'l']).unwrap_or(if little.is_empty() { "0" } else { "" });
        let number = |digits: &str| digits.parse::<u16>().map_err(|_| expected());
        let spec = Self { big: number(big)?, little: number(little)?, ratio };
        if spec.big == 0 {
            return Err(format!("{text:?}: a machine has at least one big core"));
        }
        if usize::from(spec.big) + usize::from(spec.little) > CoreSet::MAX_CORES {
            return Err(format!("{text:?}: a machine has at most {} cores", CoreSet::MAX_CORES));
        }
        if !(1.0..=100.0).contains(&ratio) {
            return Err(format!("{text:?}: a big core is 1 to 100 times as fast as a little one"));
        }
        Ok(spec)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B{}S:{}", self.big, self.little, self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_machines() {
        let spec = |big, little, ratio| Ok(Spec { big, little, ratio });
        assert_eq!("2B2S:3".parse(), spec(2, 2, 3.0));
        assert_eq!("1B1L:2.5".parse(), spec(1, 1, 2.5));
        assert_eq!("2B4S".parse(), spec(2, 4, 3.0));
        assert_eq!("4b".parse(), spec(4, 0, 3.0));
        for bad in
            ["", "2", "B2S", "2B2", "2B2S:", "2B2S:x", "2B2S:0.5", "0B2S", "2B2S:1000", "2B2S:NaN", "1024B1S", "-1B2S"]
        {
            let parsed = bad.parse::<Spec>();
            assert!(parsed.is_err() || bad == "2B2S:", "{bad}: {parsed:?}");
        }
    }
}
