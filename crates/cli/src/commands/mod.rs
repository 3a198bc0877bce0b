//! One file a command. Each returns the text that goes to standard output.

pub mod compare;
pub mod emulate;
pub mod help;
pub mod list;
pub mod record;
pub mod reproduce;
pub mod run;
pub mod scx;
pub mod sim;
pub mod sweep;
pub mod top;
pub mod topology;
pub mod train;
pub mod trial;
pub mod vm;
pub mod vm_bench;
