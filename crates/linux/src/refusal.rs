//! Why the kernel does not load a program: what libbpf and the verifier say about it.

use std::sync::Mutex;

use libbpf_rs::{ErrorKind, PrintLevel};

/// What has been said since the last refusal.
static SAID: Mutex<String> = Mutex::new(String::new());

/// Keeps what libbpf and the verifier say, for [`refused`]. To be called before a program is loaded.
pub fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut said) = SAID.lock() {
            said.push_str(&text);
        }
    })));
}

/// A refusal was expected: it is no reason for a later one.
pub fn forget() {
    let _ = SAID.lock().map(|mut said| said.clear());
}

/// The error that says why a program was not loaded: that this user may not, or another reason.
pub fn refused<E>(error: libbpf_rs::Error, not_allowed: E, because: fn(String) -> E) -> E {
    let said = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
    match error.kind() {
        // The verifier says so as well, but it explains itself.
        ErrorKind::PermissionDenied if !said.contains("BEGIN PROG LOAD LOG") => not_allowed,
        _ => because(format!("{error:#}: {}", reason(&said))),
    }
}

/// The verifier's reason: the line before its statistics.
fn reason(said: &str) -> &str {
    said.lines().take_while(|line| !line.starts_with("processed ")).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_line_before_the_statistics() {
        let said =
            "-- BEGIN PROG LOAD LOG --\n0: R1=ctx()\ninvalid mem access 'scalar'\nprocessed 3 insns\n-- END --\n";
        assert_eq!(reason(said), "invalid mem access 'scalar'");
        assert_eq!(reason(""), "");
    }
}
