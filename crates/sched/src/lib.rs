//! The scheduler core: threads, run queues, hooks, one file per policy. A pure state machine.

pub mod policy;

pub use policy::Policy;
