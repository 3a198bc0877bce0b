//! How a pool is made.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use evenkeel_runtime::{PoolBuilder, Topology, this_machine, this_machine_as_it_is};
use evenkeel_topology::list;

use crate::status::ek_status;

/// How a pool is made. Begin with `ek_options_default()`, so that what a later version adds has its default. Strings are read by the call that gets the
/// options, and belong to the program.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ek_options {
    /// For how many cores: the thread that calls the pool counts, too. 0: as many as EVENKEEL_THREADS says, or else all of `cores`.
    pub threads: usize,
    /// What its threads are called, before a dash and their number; UTF-8. Null: "evenkeel".
    pub name: *const c_char,
    /// The CPUs to use, by their numbers, as in "0-3,6". Null: all that this process may use. Workers are bound to them where they differ; CPUs that
    /// do not differ only say how many workers there are.
    pub cores: *const c_char,
    /// Which of them are big, as in "0-3", or how many to use of each kind, as in "4c:big,2c:little". Null: what `little` leaves, and with both null as the
    /// machine says.
    pub big: *const c_char,
    /// Which of them are little. Null: what `big` leaves.
    pub little: *const c_char,
    /// How many times faster a big core is than a little one, 1 to 100. 0: as the machine says, or 2 where it does not.
    pub ratio: f64,
    /// What is done about cores that differ: "none", or "base" for work-biasing and serial-sprinting, and after a "+" what comes to it of "p" work-pacing, "s"
    /// work-sprinting and "m" work-mugging, as in "base+psm". Null: "base+psm"
    /// where the machine says what its cores use and sustain, else "base+m", without a frequency being set.
    pub techniques: *const c_char,
    /// 0: where tasks are mugged, tasks that cannot be split do not take turns on the big cores besides.
    pub turns: c_int,
    /// What cores use, where the machine does not say it: a machine file, or the name of a machine that comes with evenkeel, with a type for each kind of
    /// core. Two hardware threads count as two cores. Null: what EVENKEEL_POWERS names, or else as the machine says.
    pub powers: *const c_char,
}

/// The default of each option.
#[unsafe(no_mangle)]
pub extern "C" fn ek_options_default() -> ek_options {
    ek_options {
        threads: 0,
        name: ptr::null(),
        cores: ptr::null(),
        big: ptr::null(),
        little: ptr::null(),
        ratio: 0.0,
        techniques: ptr::null(),
        turns: 1,
        powers: ptr::null(),
    }
}

/// # Safety
/// Null, or options whose strings are null or strings.
pub(crate) unsafe fn builder(options: *const ek_options) -> Result<PoolBuilder, ek_status> {
    let mut builder = PoolBuilder::new();
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok(builder) };
    if options.threads > 0 {
        builder = builder.threads(options.threads);
    }
    // SAFETY: as above.
    if let Some(name) = unsafe { text(options.name, ek_status::EK_NAME) }? {
        builder = builder.name(name);
    }
    // SAFETY: as above.
    if let Some(cores) = unsafe { cores(options) }? {
        builder = builder.cores(cores);
    }
    // SAFETY: as above.
    if let Some(techniques) = unsafe { text(options.techniques, ek_status::EK_TECHNIQUES) }? {
        builder = builder.techniques(techniques.parse().map_err(|_| ek_status::EK_TECHNIQUES)?);
    }
    Ok(builder.turns(options.turns != 0))
}

/// What is said about the cores, if something is.
///
/// # Safety
/// Strings are null or strings.
unsafe fn cores(options: &ek_options) -> Result<Option<Topology>, ek_status> {
    // SAFETY: the caller's promise.
    let list = |list| unsafe { text(list, ek_status::EK_CORES) };
    let (wanted, big, little) = (list(options.cores)?, list(options.big)?, list(options.little)?);
    // SAFETY: as above.
    let powers = unsafe { text(options.powers, ek_status::EK_POWERS) }?;
    let ratio = (options.ratio != 0.0).then_some(options.ratio);
    if wanted.or(big).or(little).or(powers).is_none() && ratio.is_none() {
        return Ok(None);
    }
    let machine = this_machine_as_it_is().map_err(|_| ek_status::EK_MACHINE)?;
    let chosen = |machine: &Topology| {
        let machine = match wanted {
            Some(wanted) => some_of(machine, wanted)?,
            None => machine.clone(),
        };
        machine.with(big, little, ratio).map_err(|_| ek_status::EK_CORES)
    };
    // A type for each kind that the machine states, or else that the options do.
    let of_kinds = match powers {
        Some(powers) => machine.with_powers_of(powers),
        // Read once, and for all cores of the machine, of which this process may have some.
        None => this_machine(),
    };
    let of_options = |chosen: Topology| match powers {
        Some(powers) => chosen.with_powers_of(powers),
        None => chosen.with_powers_of_environment(),
    };
    match of_kinds {
        Ok(machine) => chosen(&machine),
        Err(_) => of_options(chosen(&machine)?).map_err(|_| ek_status::EK_POWERS),
    }
    .map(Some)
}

/// The CPUs of a list, all of which must be there.
fn some_of(machine: &Topology, list: &str) -> Result<Topology, ek_status> {
    let cpus = list::parse(list).map_err(|_| ek_status::EK_CORES)?;
    if cpus.is_empty() || cpus.iter().any(|cpu| machine.cpu(*cpu).is_none()) {
        return Err(ek_status::EK_CORES);
    }
    Ok(machine.within(&cpus))
}

/// # Safety
/// Null, or a string that outlives the result.
unsafe fn text<'a>(text: *const c_char, wrong: ek_status) -> Result<Option<&'a str>, ek_status> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_str().map(Some).map_err(|_| wrong)
}
