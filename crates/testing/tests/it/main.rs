//! What belongs to no crate: the scripts, and how tests are written.

mod bench;
mod scripts;
