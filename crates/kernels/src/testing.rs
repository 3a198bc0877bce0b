//! A pool for tests: Evenkeel's with four workers, and tasks so small that small inputs split.

use std::sync::OnceLock;

use crate::{Evenkeel, Kernel, Pool, Serial};

/// Tasks of five elements at most.
pub struct Tiny;

impl Tiny {
    /// Runs `f` in a pool that all tests share.
    pub fn install<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        static POOL: OnceLock<evenkeel_runtime::Pool> = OnceLock::new();
        POOL.get_or_init(|| evenkeel_runtime::Pool::new(4).expect("threads")).install(f)
    }
}

impl Pool for Tiny {
    fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        Evenkeel.join(a, b)
    }

    fn grain(&self, suggested: usize) -> usize {
        suggested.clamp(1, 5)
    }
}

/// Runs a kernel serially and in tiny tasks, checks both results, and compares what is the same in every run.
pub fn verify<K: Kernel>(input: &K::Input) {
    let serial = K::run(&Serial, input);
    K::check(input, &serial).unwrap_or_else(|wrong| panic!("{} serially: {wrong}", K::INFO.name));
    let parallel = Tiny::install(|| K::run(&Tiny, input));
    K::check(input, &parallel).unwrap_or_else(|wrong| panic!("{} in parallel: {wrong}", K::INFO.name));
    assert_eq!(K::digest(&serial), K::digest(&parallel), "{}", K::INFO.name);
}
