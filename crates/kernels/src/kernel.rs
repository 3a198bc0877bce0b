//! What a kernel is.

use std::fmt;

use crate::Pool;

/// One row of Table III: a problem, a parallel algorithm for it, an input, and a check of the result.
pub trait Kernel {
    /// What is given.
    type Input: Sync;
    /// What is to be computed.
    type Output: Send;

    /// The row of Table III.
    const INFO: Info;

    /// The row's input, the same bytes everywhere. `scale` multiplies the work roughly: 1 is the paper's size.
    fn input(scale: f64) -> Self::Input;

    /// Solves the problem on `pool`.
    fn run<P: Pool>(pool: &P, input: &Self::Input) -> Self::Output;

    /// Whether `output` is an answer to `input`, by other means than `run`.
    fn check(input: &Self::Input, output: &Self::Output) -> Result<(), Wrong>;

    /// A digest of what is the same in every correct run, on any pool.
    fn digest(output: &Self::Output) -> u64;
}

/// A row of Table III: what the kernel is called there, where it is from, and how many tasks it had.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The name, as in Table III.
    pub name: &'static str,
    /// The benchmark suite that the paper took it from.
    pub suite: Suite,
    /// How it is parallel.
    pub method: Method,
    /// The input of the default size, as Table III writes it.
    pub input: &'static str,
    /// `Num Tasks`.
    pub tasks: u32,
    /// `Task Size`, in thousands of instructions.
    pub task_kiloinstructions: f64,
}

/// Where the paper took a kernel from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Problem Based Benchmark Suite 0.1 (Shun et al., SPAA 2012).
    Pbbs,
    /// The examples of Cilk 5.4.6 (Frigo, Leiserson and Randall, PLDI 1998).
    Cilk,
    /// PARSEC 3.0 (Bienia et al., PACT 2008).
    Parsec,
    /// Unbalanced Tree Search 2.1 (Olivier et al., LCPC 2006).
    Uts,
}

impl fmt::Display for Suite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Pbbs => "pbbs",
            Self::Cilk => "cilk",
            Self::Parsec => "parsec",
            Self::Uts => "uts",
        })
    }
}

/// Table III's column `PM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `p`: parallel loops.
    Loops,
    /// `np`: parallel loops inside parallel loops.
    NestedLoops,
    /// `rss`: recursive spawn and sync.
    Recursive,
    /// `p, rss`: both.
    LoopsAndRecursive,
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Loops => "p",
            Self::NestedLoops => "np",
            Self::Recursive => "rss",
            Self::LoopsAndRecursive => "p, rss",
        })
    }
}

/// Why a result is no answer to its input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

/// An error that says `what` unless `right`.
pub(crate) fn ensure(right: bool, what: impl FnOnce() -> String) -> Result<(), Wrong> {
    if right { Ok(()) } else { Err(Wrong(what())) }
}

/// `size * scale`, at least 1.
pub(crate) fn scaled(size: usize, scale: f64) -> usize {
    ((size as f64 * scale).round() as usize).max(1)
}

/// A digest of some numbers: each is mixed in by SplitMix64's finalizer (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |state: u64, word| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word))
}

/// SplitMix64's finalizer: every bit of the result depends on every bit of `word`.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
