//! What the command prints and refuses, without anything that a machine may lack.

mod complaints;
mod configuration;
mod docs;
mod errors;
mod golden;
mod help;
mod inputs;
mod limits;
mod packages;
mod recordings;
mod reproductions;
mod results;
mod shells;
mod sweeps;
mod tables;
mod vm_faults;
