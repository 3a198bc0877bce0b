//! The kernel's Energy Model as debugfs has it: a folder for each performance domain, in which `cpus` lists its CPUs, `flags` says what its
//! numbers are, and a folder `ps:*` for each state has its `frequency` in kHz and the `power` of one busy CPU
//! (`kernel/power/energy_model.c`, Documentation/power/energy-model.rst). Only root may read debugfs.

use evenkeel_model::{Hz, Watts};

use crate::list;
use crate::power::{CpuPowers, Found};
use crate::sysfs::Tree;

/// Its name.
pub(crate) const SOURCE: &str = "Energy Model";
const FOLDER: &str = "sys/kernel/debug/energy_model";

/// Bits of `flags` (`include/linux/energy_model.h`). The first said milliwatts before Linux 6.0.
const IN_WATTS: u64 = 1;
/// The numbers are made up so that the scheduler prefers some CPUs, as on hybrid processors of Intel.
const ARTIFICIAL: u64 = 4;
/// The `power` of the highest state of a CPU is above this in microwatts, and below it in milliwatts: no CPU whose frequency Linux sets uses less than
/// 10 mW there, and none that has had an Energy Model in milliwatts more than 10 W.
const MILLIWATTS_BELOW: u64 = 10_000;
/// More domains or states than a machine has.
const MOST: usize = 1024;

/// The powers of CPUs; none of those that no domain has.
///
/// # Errors
/// A domain of CPUs whose numbers are no powers, or cannot be read.
pub(crate) fn powers(tree: &Tree<'_>, ids: &[u16]) -> Found {
    let mut of = vec![Vec::new(); ids.len()];
    for name in tree.names(FOLDER).into_iter().take(MOST) {
        let folder = format!("{FOLDER}/{name}");
        // Other devices have domains, too: a GPU's has no CPUs.
        let Some(cpus) = tree.text(format!("{folder}/cpus")) else { continue };
        let at = |why: String| format!("{name}: {why}");
        let cpus = list::parse(&cpus).map_err(|error| at(format!("cpus: {error}")))?;
        let states = states(tree, &folder).map_err(at)?;
        for (id, of) in ids.iter().zip(&mut of).filter(|(id, _)| cpus.contains(id)) {
            if !of.is_empty() {
                return Err(at(format!("CPU {id} is in another domain, too")));
            }
            of.clone_from(&states);
        }
    }
    Ok(of)
}

/// The states of a domain.
fn states(tree: &Tree<'_>, folder: &str) -> Result<CpuPowers, String> {
    in_watts(tree, folder)?;
    let mut states: Vec<(u64, u64)> = Vec::new();
    for name in tree.names(folder).iter().filter(|name| name.starts_with("ps:")).take(MOST) {
        let number = |file: &str| {
            let text = tree.text(format!("{folder}/{name}/{file}")).unwrap_or_default();
            let number = text.parse::<u64>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{name}/{file} is {text:?}; expected a number above 0"))
        };
        states.push((number("frequency")?, number("power")?));
    }
    states.sort_unstable();
    let Some((_, highest)) = states.last() else { return Err("it has no states".into()) };
    let unit = if *highest < MILLIWATTS_BELOW { 1e-3 } else { 1e-6 };
    Ok(states.iter().map(|(khz, power)| (Hz(khz.saturating_mul(1000)), Watts(*power as f64 * unit))).collect())
}

/// Whether the numbers of a domain are powers. Linux before 5.16 has a file `units` instead of `flags`.
fn in_watts(tree: &Tree<'_>, folder: &str) -> Result<(), String> {
    const ABSTRACT: &str = "its numbers are of an abstract scale, no powers";
    let Some(text) = tree.text(format!("{folder}/flags")) else {
        return match tree.text(format!("{folder}/units")).as_deref() {
            Some("milliWatts") => Ok(()),
            Some(_) => Err(ABSTRACT.into()),
            None => Err("it has no file flags".into()),
        };
    };
    let flags = u64::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16);
    match flags.map_err(|_| format!("flags is {text:?}; expected a hexadecimal number"))? {
        flags if flags & ARTIFICIAL != 0 => Err("its numbers are artificial, no powers".into()),
        flags if flags & IN_WATTS == 0 => Err(ABSTRACT.into()),
        _ => Ok(()),
    }
}
