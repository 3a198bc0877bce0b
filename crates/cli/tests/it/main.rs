//! What the command prints and refuses, without anything that a machine may lack.

mod complaints;
mod errors;
mod golden;
mod help;
mod recordings;
mod results;
mod vm_faults;
