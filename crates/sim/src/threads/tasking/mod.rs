//! The runtime system of a task-parallel program, at work: the main thread creates tasks, workers take those that are
//! ready, run them, and make others ready.
//!
//! A worker is a thread whose operations are a loop of the simulator's own (`layout.rs`): take the lock of the ready queue,
//! spend the time of an access, take a task, release the lock, run the task's operations, and put in what has become ready
//! the same way. So contention, waiting and scheduling are those of any program.
//!
//! The main thread is a course of operations that a worker carries. Where it has to wait it is put aside, its worker works
//! on, and a worker takes it up again: the first that takes work, or always the same one (flexible system software, V.D).

mod cats;
mod code;
mod costs;
mod fifo;
mod heft;
pub(crate) mod layout;
mod ready;
mod runtime;
mod steal;

pub(crate) use code::{Act, RuntimeCode};
pub(crate) use runtime::{Runtime, Then};
