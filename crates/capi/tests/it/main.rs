//! What the C interface promises. One binary, so that the libraries are linked once.

mod graph;
mod guide;
mod header;
mod programs;
mod refusals;
