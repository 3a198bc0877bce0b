//! The inputs: generators of the distributions that Table III names, seeded, with the same bytes everywhere.
//!
//! The distributions are those of the Problem Based Benchmark Suite (Shun et al., SPAA 2012); the code and the random
//! numbers are not.

mod draw;
pub mod graphs;
pub mod points;
pub mod sequences;
pub mod words;

pub use draw::Draw;
