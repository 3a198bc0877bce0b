//! What a pool does without, each named once.

use std::fmt;

/// Something that the machine or its privileges do not let a pool do. The pool works without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The capability that is missing.
    pub what: &'static str,
    /// Why it is missing.
    pub why: String,
    /// What is lost without it.
    pub without: &'static str,
}

impl Missing {
    pub(crate) fn affinity(why: &str) -> Self {
        let without = "workers are not bound to cores, so big and little ones are treated alike: no task is mugged or left to a big core";
        Self { what: "affinity", why: why.to_owned(), without }
    }

    pub(crate) fn powers(why: &str) -> Self {
        Self {
            what: "powers",
            why: why.to_owned(),
            without: "cores are neither paced nor sprinted, unless techniques are named that do",
        }
    }

    pub(crate) fn frequencies(why: &str) -> Self {
        Self { what: "frequencies", why: why.to_owned(), without: "cores are neither paced nor sprinted" }
    }
}

impl fmt::Display for Missing {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {}: {}; {}", self.what, self.why, self.without)
    }
}
