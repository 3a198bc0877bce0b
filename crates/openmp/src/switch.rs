//! The environment that the library reads: `EVENKEEL_OMP`, which turns it off or has it report, and what `evenkeel run` tells it.

use std::env;
use std::io::{self, Write};

/// The variable for people.
pub const SWITCH: &str = "EVENKEEL_OMP";
/// How fast each CPU is: `0=3,1=1`, in any unit.
pub const CORES: &str = "EVENKEEL_OMP_CORES";

/// What the library is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Split loops.
    On,
    /// Split loops, and say at the end what was split.
    Report,
    /// Nothing.
    Off,
}

/// As the variable says; a mistake is said, and turns it off, as nothing can be asked here.
pub fn read() -> Switch {
    match env::var(SWITCH).as_deref() {
        Err(_) | Ok("" | "on") => Switch::On,
        Ok("report") => Switch::Report,
        Ok("off") => Switch::Off,
        Ok(other) => {
            say(&format!("evenkeel: {SWITCH}={other:?}: expected on, off or report; loops stay as they are\n"));
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
    let cores = text.to_str().and_then(parse);
    if cores.is_none() {
        say(&format!(
            "evenkeel: {CORES}={text:?}: expected CPUs with their speeds, as in 0=3,1=1; loops stay as they are\n"
        ));
    }
    Some(cores.unwrap_or_default())
}

fn parse(text: &str) -> Option<Vec<(u16, f64)>> {
    let core = |part: &str| {
        let (cpu, speed) = part.split_once('=')?;
        let speed: f64 = speed.parse().ok()?;
        Some((cpu.parse().ok()?, speed)).filter(|_| speed.is_finite() && speed > 0.0)
    };
    text.split(',').map(core).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_have_speeds() {
        assert_eq!(parse("0=3,2=1.5"), Some(vec![(0, 3.0), (2, 1.5)]));
        for wrong in ["", "0", "0=", "0=-1", "0=nan", "x=1", "0=1,"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
