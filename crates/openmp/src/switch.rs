//! The environment that the library reads: `EVENKEEL_OMP`, which turns it off or has it report, and what `evenkeel run` tells it.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::sync::OnceLock;

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

/// As the variable says when it is read first: a program may change its environment. A mistake is said, and turns it off, as nothing can be asked here.
pub fn read() -> Switch {
    static READ: OnceLock<Switch> = OnceLock::new();
    *READ.get_or_init(|| env::var_os(SWITCH).map_or(Switch::On, |value| parse(&value)))
}

fn parse(value: &OsStr) -> Switch {
    match value.to_str() {
        Some("" | "on") => Switch::On,
        Some("reasons") => Switch::Reasons,
        Some("report") => Switch::Report,
        Some("off") => Switch::Off,
        _ => {
            say(&format!(
                "evenkeel: {SWITCH}={value:?}: expected on, off, reasons or report; loops stay as they are\n"
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

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn what_is_no_switch_turns_it_off() {
        let all = ["", "on", "reasons", "report", "off", "yes"].map(|value| parse(OsStr::new(value)));
        let expected = [Switch::On, Switch::On, Switch::Reasons, Switch::Report, Switch::Off, Switch::Off];
        assert_eq!(all, expected);
        assert_eq!(parse(OsStr::from_bytes(b"on\xff")), Switch::Off, "nor is what is no text");
    }
}
