//! What can go wrong with a guest.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use evenkeel_model::Ns;
use rustix::process::geteuid;

use super::kernel;
use super::reservations::{self, Holder};
use crate::mask;

/// With a thread for each virtual core, some kernels die of a race between code patching and QEMU's translation in about
/// one boot in twenty. It leaves this on the console.
const PATCHING_RACE: &str = "int3";

/// Why a guest could not be booted, or a command not be run in it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No kernel was found.
    #[error(
        "there is no kernel for the guest: `scripts/kernel` fetches one, or name one with --kernel or {}",
        kernel::VARIABLE
    )]
    NoKernel,
    /// The named kernel does not exist.
    #[error("{0}: no such kernel; expected an image such as /boot/vmlinuz-7.0")]
    NoSuchKernel(PathBuf),
    /// QEMU or its file server is not installed.
    #[error("{0} is not installed; on Debian: apt install qemu-system-x86")]
    NotInstalled(&'static str),
    /// The guest ended, or never began.
    #[error("the guest {what}{}", console_tail(console))]
    Guest {
        /// What it did.
        what: String,
        /// Its console.
        console: String,
        /// Whether QEMU itself crashed.
        crashed: bool,
    },
    /// The shares could not be reserved.
    #[error("cannot reserve CPU time for the guest's cores (SCHED_DEADLINE): {error}; {}", shares_hint(error, holders))]
    Shares {
        /// Why.
        error: io::Error,
        /// Which processes have reservations.
        holders: Vec<Holder>,
    },
    /// The guest could not run the command.
    #[error("{reason}")]
    Command {
        /// Why.
        reason: String,
        /// The exit status for that, as shells have it.
        code: u8,
    },
    /// What the command wrote could not be passed on.
    #[error("cannot pass on what the command wrote: {0}")]
    Output(io::Error),
    /// Ctrl-C, or another signal that ends a process.
    #[error("interrupted")]
    Interrupted(i32),
    /// The time was over.
    #[error("the command did not end within {0}")]
    Timeout(Ns),
    /// Anything else that the system refused.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
}

impl Error {
    /// Whether QEMU crashed, or the guest's kernel died of a race in QEMU: not the fault of the command, and another boot
    /// may succeed.
    pub fn emulators_fault(&self) -> bool {
        matches!(self, Self::Guest { console, crashed, .. } if *crashed || console.contains(PATCHING_RACE))
    }

    /// No reservation: with the processes that have one.
    pub(super) fn shares(error: io::Error) -> Self {
        let busy = error.raw_os_error() == Some(libc::EBUSY);
        Self::Shares { holders: if busy { reservations::holders() } else { Vec::new() }, error }
    }
}

/// Turns an error of the system into one that says what was tried.
pub(super) fn tried(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::Io { what, error }
}

fn shares_hint(error: &io::Error, holders: &[Holder]) -> String {
    if error.raw_os_error() != Some(libc::EBUSY) {
        let refused = error.raw_os_error() == Some(libc::EPERM);
        return missing(geteuid().is_root(), refused && confined()).into();
    }
    if holders.is_empty() {
        return "others have reserved too much of it, and none of them is visible here: in another container?".into();
    }
    let mut text = String::from("others have reserved too much of it:");
    for (position, holder) in holders.iter().enumerate() {
        let _ = write!(text, "{} {holder}", if position == 0 { "" } else { "," });
    }
    text += "; wait for that to end, or leave all cores equally fast with --symmetric";
    text
}

/// What SCHED_DEADLINE needs that this process does not have.
fn missing(root: bool, confined: bool) -> &'static str {
    match (root, confined) {
        // The guest's file server needs it, too.
        (false, _) => "this needs root",
        (true, true) => {
            "this needs all CPUs, of which this process may use some only (taskset, a cpuset); --symmetric does without"
        }
        (true, false) => "this needs CAP_SYS_NICE, which a container may lack; --symmetric does without",
    }
}

/// Whether there are CPUs that this process may not use. The kernel gives it no reservation then (sched_setattr(2)).
fn confined() -> bool {
    mask::own().is_ok_and(|own| mask::online().iter().any(|cpu| !own.contains(cpu)))
}

/// The last words of a guest; all that its kernel says of its death, if it does.
fn console_tail(console: &str) -> String {
    // Assumed: what explains most ends; and the length of a kernel's report with registers and stacks.
    const LINES: usize = 8;
    const DEATH: usize = 100;
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let fault =
        |line: &&str| ["BUG:", "Oops", "general protection fault", "panic"].iter().any(|word| line.contains(word));
    let dies = lines.iter().any(|line| line.contains("Kernel panic"));
    let from = lines.iter().position(fault).filter(|_| dies).unwrap_or(lines.len().saturating_sub(LINES));
    let tail: Vec<&str> = lines.into_iter().skip(from).take(DEATH).collect();
    if tail.is_empty() { String::new() } else { format!("; the end of its console:\n{}", tail.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_lacks_for_reservations_is_what_is_named() {
        assert_eq!([missing(false, false), missing(false, true)], ["this needs root"; 2]);
        assert!(missing(true, false).contains("CAP_SYS_NICE"));
        let confined = missing(true, true);
        assert!(confined.contains("taskset") && !confined.contains("CAP_SYS_NICE"), "{confined}");
    }

    #[test]
    fn a_kernel_that_panics_is_heard_to_the_end() {
        let calm: String = (0..20).map(|line| format!("line {line}\n")).collect();
        assert_eq!(console_tail(&calm).lines().nth(1), Some("line 12"));
        let trace = "BUG: kernel NULL pointer dereference\nRIP: 0010:fetch+0x1/0x2\n";
        let console = format!("{calm}{trace}{calm}Kernel panic - not syncing: Fatal exception in interrupt\n{calm}");
        let told = console_tail(&console);
        assert_eq!(told.lines().nth(1), Some("BUG: kernel NULL pointer dereference"));
        assert_eq!(told.lines().count(), 1 + 2 + 20 + 1 + 20);
        assert_eq!(console_tail(""), "");
    }
}
