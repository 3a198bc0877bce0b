//! Machines in the formats of others. One binary, so that the crates are linked once.

mod files;
mod powers;
mod servers;
mod sysfs;
