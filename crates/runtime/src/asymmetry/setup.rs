//! The asymmetry of a pool on this machine, and the names of what the machine does not allow.

use std::sync::Once;

use evenkeel_model::CoreTypeId;
use evenkeel_model::stealing::Techniques;
use evenkeel_topology::Topology;

use super::accounts::Accounts;
use super::placement::{Placement, PoolCore};
use super::pool::Asymmetry;
use super::target::Target;
use super::uneven::Uneven;
use super::voltages::{Limit, VoltageOptions, Voltages};
use crate::affinity::{Affinity, KernelAffinity, own};
use crate::dvfs::{self, Dvfs};
use crate::fork::PerProcess;
use crate::missing::Missing;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsymmetryOptions<'a> {
    /// On which cores.
    pub topology: &'a Topology,
    /// With so many workers.
    pub workers: usize,
    /// If `None`, all that rest on what is known of the machine.
    pub techniques: Option<Techniques>,
    /// Whether times are kept.
    pub times: bool,
    /// Whether events are kept, too.
    pub events: bool,
    /// Whether files may be written that say the same after this process has ended.
    pub files: bool,
    /// Is called with what is missing.
    pub on_missing: Option<fn(&Missing)>,
}

/// The asymmetry of a pool, if it has any, and what it goes without.
pub(crate) fn asymmetry(wanted: AsymmetryOptions<'_>) -> (Option<Asymmetry>, Vec<Missing>) {
    let mut missing = Vec::new();
    let uneven = uneven(
        wanted,
        Box::new(KernelAffinity),
        |topology| dvfs::find(wanted.files.then(evenkeel_topology::root).as_deref(), topology),
        &mut missing,
    );
    if let Some(on_missing) = wanted.on_missing {
        missing.iter().for_each(on_missing);
    }
    let kinds = wanted.topology.kinds.len();
    let accounts = (wanted.times || wanted.events).then(|| Accounts::new(wanted.workers, kinds, wanted.events));
    let of = |cpu: &evenkeel_topology::Cpu| (cpu.id, CoreTypeId(cpu.kind as u8));
    let kinds = wanted.topology.cpus.iter().map(of).collect();
    (Asymmetry::new(wanted.workers, uneven, accounts, kinds), missing)
}

/// Workers that are bound to cores, where these differ and there is something to make of it.
pub(super) fn uneven(
    wanted: AsymmetryOptions<'_>,
    affinity: Box<dyn Affinity>,
    backend: impl FnOnce(&Topology) -> Result<Box<dyn Dvfs>, String>,
    missing: &mut Vec<Missing>,
) -> Option<Uneven> {
    let AsymmetryOptions { topology, workers, techniques, .. } = wanted;
    if topology.kinds.len() < 2 || workers < 2 || techniques == Some(Techniques::NONE) {
        return None;
    }
    let placement = Placement::new(PoolCore::all(topology), workers, affinity);
    if let Err(error) = placement.try_all() {
        missing.push(Missing::affinity(&error.to_string()));
        return None;
    }
    let target = Target::of(topology);
    let (techniques, wanted_voltages) = match (techniques, target) {
        (None, Ok(target)) => {
            let techniques = Techniques::BASE_PSM;
            (techniques, Some(VoltageOptions { techniques, target: Some(target), limit: Limit::Ceiling }))
        }
        // What another instruction costs on each core decides where power is worth most (II.A). With powers that are assumed for all cores alike no
        // frequency is better than the ones that are there, and without a limit to the power none is better than the highest.
        (None, Err(why)) => {
            missing.push(Missing::powers(why));
            (Techniques::BASE_M, None)
        }
        (Some(techniques), target) => {
            let scales = techniques.serial_sprinting || techniques.pacing || techniques.sprinting;
            let options = VoltageOptions { techniques, target: target.ok(), limit: Limit::Highest };
            (techniques, scales.then_some(options))
        }
    };
    let voltages = wanted_voltages.and_then(|options| {
        let voltages = backend(topology).and_then(|dvfs| {
            let (machine, cpus) = topology.machine("this machine")?;
            Ok(Voltages::new(&machine, &cpus, options, dvfs))
        });
        voltages.map_err(|why| missing.push(Missing::frequencies(&why))).ok()
    });
    let speeds = topology.kinds.iter().map(|kind| f64::from(kind.capacity) / f64::from(topology.kinds[0].capacity));
    Some(Uneven::new(techniques, placement, speeds.collect(), voltages, wanted.on_missing))
}

/// This machine, as far as this process may use it: what [`PoolBuilder::cores`](crate::PoolBuilder::cores) uses by default.
///
/// Where `EVENKEEL_SYSFS` names a folder with a folder `sys`, that is read instead of `/sys`, and pools set frequencies through its files of cpufreq.
/// `evenkeel emulate --dvfs` sets it for its command. Where `EVENKEEL_POWERS` names a machine file, or a machine that comes with Evenkeel, the cores have its
/// powers ([`Topology::with_powers_of`]). Both are read once.
///
/// # Errors
/// The kernel does not say what it is, or `EVENKEEL_POWERS` names no machine with a core type for each kind of core.
pub fn this_machine() -> Result<Topology, String> {
    match wrong_powers() {
        Some(wrong) => Err(wrong),
        None => this_machine_as_it_is(),
    }
}

/// [`this_machine`], of which the CPUs of the text are as fast as that says ([`Topology::with_speeds`]). The powers that `EVENKEEL_POWERS` names may be those
/// of the kinds that there are then; a mistake in them is printed once, and takes no core away.
///
/// # Errors
/// The kernel does not say what this machine is, and as [`Topology::with_speeds`].
pub fn this_machine_with_speeds(text: &str) -> Result<Topology, String> {
    let told = this_machine_as_it_is()?.with_speeds(text)?;
    if wrong_powers().is_none() {
        return Ok(told);
    }
    Ok(told.with_powers_of_environment().unwrap_or_else(|wrong| {
        tell_of(&wrong);
        told
    }))
}

/// Says what is wrong with powers where no caller gets an error for that, once.
pub(crate) fn tell_of(wrong_powers: &str) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| eprintln!("evenkeel: {wrong_powers}; the powers are taken to be as the machine says"));
}

/// What is wrong with the powers that the environment names.
pub(crate) fn wrong_powers() -> Option<String> {
    found().as_ref().ok()?.wrong_powers.clone()
}

/// As [`this_machine`]; where the powers that `EVENKEEL_POWERS` names are wrong, with those that the machine states: they may fit the kinds of cores
/// that a program names.
///
/// # Errors
/// The kernel does not say what this machine is.
pub fn this_machine_as_it_is() -> Result<Topology, String> {
    let topology = &found().as_ref().map_err(String::clone)?.topology;
    let allowed = KernelAffinity.mask(own()).map_err(|error| error.to_string())?;
    let within = topology.within(&allowed);
    if within.cpus.is_empty() { Err("no CPU of this machine may be used".into()) } else { Ok(within) }
}

/// All of this machine, and what is wrong with the powers that the environment names.
#[derive(Clone)]
struct Found {
    topology: Topology,
    wrong_powers: Option<String>,
}

fn found() -> &'static Result<Found, String> {
    static MACHINE: PerProcess<Result<Found, String>> = PerProcess::new();
    let read = || {
        let topology = Topology::read(&evenkeel_topology::root())?;
        Ok(match topology.with_powers_of_environment() {
            Ok(topology) => Found { topology, wrong_powers: None },
            Err(wrong) => Found { topology, wrong_powers: Some(wrong) },
        })
    };
    MACHINE.get_or_make(|parent| parent.cloned().unwrap_or_else(read))
}
