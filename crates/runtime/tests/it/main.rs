//! The runtime from outside. What changes the whole process is tested in binaries of its own: `global`, `refused` and `fork`.

mod dedicated;
mod forkjoin;
mod graph;
mod guide;
mod loops;
mod panics;
mod pools;
mod stress;
