//! A part of a sweep, for one of several machines.

use std::fmt;
use std::str::FromStr;

/// Every so manieth piece of a grid's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    number: u64,
    /// How many there are.
    of: u64,
}

impl Shard {
    /// The whole.
    pub const ALL: Self = Self { number: 1, of: 1 };

    /// How many there are.
    pub(crate) fn of(self) -> u64 {
        self.of
    }

    /// Whether it has a piece of the work.
    pub fn has(self, piece: u64) -> bool {
        piece % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    /// `3/8`: the third of eight.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("expected a part of how many, from 1, such as 3/8".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_in_one_shard() {
        let shards: Vec<Shard> = (1..=3).map(|number| format!("{number}/3").parse().unwrap()).collect();
        for piece in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(piece)).count(), 1);
            assert!(Shard::ALL.has(piece));
        }
        assert_eq!(shards[2].to_string(), "3/3");
        for wrong in ["", "3", "0/3", "4/3", "-1/3", "1/0", "a/b"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("3/8"), "{wrong}");
        }
    }
}
