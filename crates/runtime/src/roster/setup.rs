//! What a pool gets of what it wants: a roster, and the names of what this machine does not allow.

use std::path::Path;

use evenkeel_model::CoreTypeId;
use evenkeel_model::stealing::Techniques;
use evenkeel_topology::Topology;

use super::affinity::{Affinity, Kernel, own};
use super::places::{Places, Seat};
use super::voltages::Voltages;
use super::{Books, Roster, Uneven};
use crate::dvfs::{self, Dvfs};
use crate::fork::PerProcess;
use crate::missing::Missing;

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// On which cores.
    pub topology: &'a Topology,
    /// With so many workers.
    pub workers: usize,
    /// All that the machine allows if `None`.
    pub techniques: Option<Techniques>,
    /// Whether times are kept.
    pub times: bool,
    /// Whether events are kept, too.
    pub events: bool,
    /// Whether files may be written that say the same after this process has ended.
    pub files: bool,
    /// Who is told what is missing.
    pub told: Option<fn(&Missing)>,
}

/// The roster of a pool, if it needs one, and what it goes without.
pub(crate) fn roster(wanted: Wanted<'_>) -> (Option<Roster>, Vec<Missing>) {
    let mut missing = Vec::new();
    let uneven = uneven(
        wanted,
        Box::new(Kernel),
        |topology| dvfs::find(wanted.files.then_some(Path::new("/")), topology),
        &mut missing,
    );
    if let Some(tell) = wanted.told {
        missing.iter().for_each(tell);
    }
    let kinds = wanted.topology.kinds.len();
    let books = (wanted.times || wanted.events).then(|| Books::new(wanted.workers, kinds, wanted.events));
    let of = |cpu: &evenkeel_topology::Cpu| (cpu.id, CoreTypeId(cpu.kind as u8));
    let kinds = wanted.topology.cpus.iter().map(of).collect();
    (Roster::new(wanted.workers, uneven, books, kinds), missing)
}

/// Workers that are bound to cores, where these differ and there is something to make of it.
fn uneven(
    wanted: Wanted<'_>,
    affinity: Box<dyn Affinity>,
    backend: impl FnOnce(&Topology) -> Result<Box<dyn Dvfs>, String>,
    missing: &mut Vec<Missing>,
) -> Option<Uneven> {
    let Wanted { topology, workers, techniques, .. } = wanted;
    if topology.kinds.len() < 2 || workers < 2 || techniques == Some(Techniques::NONE) {
        return None;
    }
    let places = Places::new(Seat::all(topology), workers, affinity);
    if let Err(error) = places.try_all() {
        missing.push(Missing::affinity(&error.to_string()));
        return None;
    }
    let scales = |of: Techniques| of.serial_sprinting || of.pacing || of.sprinting;
    let found = if techniques.is_none_or(scales) { Some(backend(topology)) } else { None };
    let (found, best) = match found {
        Some(Ok(dvfs)) => (Some(dvfs), Techniques::BASE_PSM),
        Some(Err(why)) => {
            missing.push(Missing::frequencies(&why));
            (None, Techniques::BASE_M)
        }
        None => (None, Techniques::BASE_M),
    };
    let techniques = techniques.unwrap_or(best);
    let voltages = found.and_then(|dvfs| match topology.machine("this machine") {
        Ok((machine, cpus)) => Some(Voltages::new(&machine, &cpus, techniques, dvfs)),
        Err(error) => {
            missing.push(Missing::frequencies(&error));
            None
        }
    });
    let speeds = topology.kinds.iter().map(|kind| f64::from(kind.capacity) / f64::from(topology.kinds[0].capacity));
    Some(Uneven::new(techniques, places, speeds.collect(), voltages, wanted.told))
}

/// This machine, as far as this process may use it: what [`PoolBuilder::cores`](crate::PoolBuilder::cores) has if nothing is said.
///
/// # Errors
/// The kernel does not say what it is.
pub fn this_machine() -> Result<Topology, String> {
    static MACHINE: PerProcess<Result<Topology, String>> = PerProcess::new();
    let topology = MACHINE.get_or_make(|parent| parent.cloned().unwrap_or_else(|| Topology::read(Path::new("/"))));
    let topology = topology.as_ref().map_err(String::clone)?;
    let allowed = Kernel.mask(own()).map_err(|error| error.to_string())?;
    let within = topology.within(&allowed);
    if within.cpus.is_empty() { Err("no CPU of this machine may be used".into()) } else { Ok(within) }
}
