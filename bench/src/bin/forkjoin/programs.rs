//! The programs, written for any join.

pub const PROGRAMS: [Program; 2] = [Program::Fib, Program::Skynet];

#[derive(Clone, Copy)]
pub enum Program {
    /// `fib(30)`, which joins at each call that is no leaf.
    Fib,
    /// A million leaves, ten to a node; a node of ten makes nine joins, or forks nine and calls one.
    Skynet,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::Fib => "fib",
            Program::Skynet => "skynet",
        }
    }

    pub fn size(self) -> u64 {
        match self {
            Program::Fib => 30,
            Program::Skynet => 1_000_000,
        }
    }

    /// The right result.
    pub fn value(self) -> u64 {
        match self {
            Program::Fib => 832_040,
            Program::Skynet => self.size() * (self.size() - 1) / 2,
        }
    }

    pub fn joins(self) -> u64 {
        match self {
            Program::Fib => 1_346_268,
            Program::Skynet => self.size() - 1,
        }
    }
}

/// How a program forks.
pub trait Fork: Copy + Send + Sync {
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B);
}

#[derive(Clone, Copy)]
pub struct Plain;

impl Fork for Plain {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        (a(self), b(self))
    }
}

#[derive(Clone, Copy)]
pub struct Evenkeel;

impl Fork for Evenkeel {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        evenkeel_runtime::join(|| a(self), || b(self))
    }
}

#[derive(Clone, Copy)]
pub struct Rayon;

impl Fork for Rayon {
    #[inline(always)]
    fn join<A: Send, B: Send>(self, a: impl FnOnce(Self) -> A + Send, b: impl FnOnce(Self) -> B + Send) -> (A, B) {
        rayon::join(|| a(self), || b(self))
    }
}

#[inline(never)]
pub fn fib<F: Fork>(fork: F, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = fork.join(|fork| fib(fork, n - 1), |fork| fib(fork, n - 2));
    a + b
}

/// The numbers from `first` on, `size` of them, added up by a tree of tasks.
#[inline(never)]
pub fn skynet<F: Fork>(fork: F, first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    children(fork, first, size / 10, 10)
}

#[inline(never)]
fn children<F: Fork>(fork: F, first: u64, size: u64, count: u64) -> u64 {
    if count == 1 {
        return skynet(fork, first, size);
    }
    let half = count / 2;
    let (a, b) = fork
        .join(|fork| children(fork, first, size, half), |fork| children(fork, first + half * size, size, count - half));
    a + b
}

/// chili hands the worker on as an argument, so its programs are written anew.
#[inline(never)]
pub fn chili_fib(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|scope| chili_fib(scope, n - 1), |scope| chili_fib(scope, n - 2));
    a + b
}

#[inline(never)]
pub fn chili_skynet(scope: &mut chili::Scope<'_>, first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    chili_children(scope, first, size / 10, 10)
}

#[inline(never)]
fn chili_children(scope: &mut chili::Scope<'_>, first: u64, size: u64, count: u64) -> u64 {
    if count == 1 {
        return chili_skynet(scope, first, size);
    }
    let half = count / 2;
    let (a, b) = scope.join(
        |scope| chili_children(scope, first, size, half),
        |scope| chili_children(scope, first + half * size, size, count - half),
    );
    a + b
}
