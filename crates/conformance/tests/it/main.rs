//! The suite over a model of a host.

mod asynchronous;
