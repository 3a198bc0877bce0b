//! Whether KVM runs a guest on this machine.

mod failure;
#[cfg(target_arch = "x86_64")]
mod tiny;

use std::fs::File;
use std::path::Path;

use failure::Memory;

/// Tries KVM: opens its device, runs a tiny guest, and reads what is remembered of the last guest that died there.
///
/// # Errors
/// Why it does not work.
pub fn works() -> Result<(), String> {
    tried()?;
    Memory::here().read().map_or(Ok(()), |failure| Err(died_before(&failure.why)))
}

/// As [`works`], for a guest of this QEMU with this kernel.
///
/// # Errors
/// Why it does not work.
pub(super) fn works_for(emulator: &Path, kernel: &Path) -> Result<(), String> {
    tried()?;
    Memory::here().of(emulator, kernel).map_or(Ok(()), |why| Err(died_before(&why)))
}

/// Remembers what became of a guest on KVM: `Err` with the reason if it died before it was up.
pub(super) fn remember(emulator: &Path, kernel: &Path, became: Result<(), &str>) {
    match became {
        Ok(()) => Memory::here().forget(),
        Err(why) => Memory::here().write(emulator, kernel, why),
    }
}

fn died_before(why: &str) -> String {
    format!("a guest died on it: {why}; `evenkeel vm --accel kvm` tries it again")
}

#[cfg(target_arch = "x86_64")]
fn tried() -> Result<(), String> {
    File::options().read(true).write(true).open("/dev/kvm").map_err(|error| format!("/dev/kvm: {error}"))?;
    tiny::run()
}

#[cfg(not(target_arch = "x86_64"))]
fn tried() -> Result<(), String> {
    Err("the guest is an x86-64 machine, and this one is not".into())
}

#[cfg(test)]
mod tests {
    /// Where the device opens, a result comes, and a reason with a failure.
    #[test]
    fn a_verdict_has_a_reason() {
        if let Err(why) = super::tried() {
            assert!(why.contains("/dev/kvm") || why.contains("tiny guest") || why.contains("cannot"), "{why}");
        }
    }
}
