//! What a program inside the kernel must know of a policy to decide as it does.

/// A policy that a program inside the kernel has, too, which decides by itself (`scx/src/bpf/policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InKernel {
    /// Its place in that program's `enum policy`.
    pub number: u32,
    /// Whether it reads how much threads and cores are used. The program counts that only if so.
    pub reads_usage: bool,
    /// The knobs that the program reads, switches and words, in its order ([`Setup::choice`](super::Setup::choice)). What other
    /// knobs change reaches it by what this policy says of a thread ([`Standing`](super::Standing)), or of all
    /// ([`Policy::culprit`](super::Policy::culprit)).
    pub choices: &'static [&'static str],
    /// The knobs that it reads of those that are whole numbers, in its order.
    pub numbers: &'static [&'static str],
    /// The knob of time that the program reads.
    pub span: Option<&'static str>,
}

impl InKernel {
    /// One that reads neither usage nor knobs.
    pub const fn new(number: u32) -> Self {
        Self { number, reads_usage: false, choices: &[], numbers: &[], span: None }
    }
}
