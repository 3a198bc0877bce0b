//! The scheduler core: threads, run queues, hooks, one file per policy. A pure state machine.
