//! The environment that the library reads: `EVENKEEL_OMP`, which turns it off or has it report, and what `evenkeel run` tells it.

use std::env;
use std::io::{self, Write};

use evenkeel_topology::speeds;

/// The variable for people.
pub const SWITCH: &str = "EVENKEEL_OMP";
/// How fast each CPU is: `0=3,1=1`, in any unit.
pub const CORES: &str = "EVENKEEL_OMP_CORES";

/// What the library is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Split loops.
    On,
    /// Split loops, and say why others are left as they are.
    Reasons,
    /// The same, and say at the end what was split.
    Report,
    /// Nothing.
    Off,
}

/// As the variable says; a mistake is said, and turns it off, as nothing can be asked here.
pub fn read() -> Switch {
    match env::var(SWITCH).as_deref() {
        Err(_) | Ok("" | "on") => Switch::On,
        Ok("reasons") => Switch::Reasons,
        Ok("report") => Switch::Report,
        Ok("off") => Switch::Off,
        Ok(other) => {
            say(&format!(
                "evenkeel: {SWITCH}={other:?}: expected on, off, reasons or report; loops stay as they are\n"
            ));
            Switch::Off
        }
    }
}

/// Says something to the program's user, if anything reads it.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// CPUs with their speeds, of which there are none if the variable makes no sense, which is said; `None` if it is not there.
pub fn cores() -> Option<Vec<(u16, f64)>> {
    let text = env::var_os(CORES).filter(|text| !text.is_empty())?;
    let cores = speeds::parse(&text.to_string_lossy());
    if let Err(expected) = &cores {
        say(&format!("evenkeel: {CORES}={text:?}: {expected}; loops stay as they are\n"));
    }
    Some(cores.unwrap_or_default())
}
