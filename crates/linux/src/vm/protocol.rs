//! The messages between host and guest: one JSON object a line, over a virtual serial port.

use serde::{Deserialize, Serialize};

/// The name of the port.
pub const PORT: &str = "evenkeel";

/// From the host to the guest.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Run a command.
    Run(Run),
    /// Switch the machine off.
    Off,
}

/// A command to run.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Run {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// Its working directory, which it may write to.
    pub directory: String,
    /// Further directories that it may write to.
    pub writable: Vec<String>,
    /// The file that its standard output goes to.
    pub output: String,
    /// The file that its standard error goes to.
    pub errors: String,
}

/// From the guest to the host.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The guest is up.
    Ready,
    /// The next thing that the guest does is to start the command.
    Begins,
    /// The command has ended.
    Ended {
        /// Its exit status as shells have it: 128 + signal if a signal ended it.
        code: u8,
        /// From its start to its end, by the guest's clock.
        nanoseconds: u64,
    },
    /// The command could not be run.
    Failed {
        /// Why.
        reason: String,
        /// The exit status for that, as shells have it.
        code: u8,
    },
}
