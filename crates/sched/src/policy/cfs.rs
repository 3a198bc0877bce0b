//! CFS, the default of every hook and nothing else: today's oblivious scheduler, and the baseline of every figure.

use super::description::{Description, Guarantee};
use super::hooks::Policy;
use super::in_kernel::InKernel;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "Linux's fair scheduler, which takes all cores for equal; the baseline",
    source: "Linux 3.16, kernel/sched/fair.c, the kernel of COLAB's evaluation (section 4)",
    guarantees: &[Guarantee::Balances],
    in_kernel: Some(InKernel::new(0)),
    ..Description::of::<Cfs>("cfs", |_| Box::new(Cfs))
};

/// Linux's fair scheduler as it was before it knew of capacities.
#[derive(Debug, Default)]
pub struct Cfs;

#[hooks]
impl Policy for Cfs {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }
}
