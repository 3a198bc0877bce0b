//! How fast cores run: the backends through which voltages of the first-order model become frequencies of real cores.

mod claim;
mod cpufreq;
#[cfg(target_os = "linux")]
mod uclamp;

use std::io;
use std::path::Path;

use evenkeel_model::Hz;
use evenkeel_topology::Topology;

use crate::affinity::Tid;
pub(crate) use cpufreq::Cpufreq;
#[cfg(target_os = "linux")]
pub(crate) use uclamp::Uclamp;

const CPUS: &str = "sys/devices/system/cpu";

/// How fast a core should be from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    /// The CPU, as the kernel numbers it.
    pub cpu: u16,
    /// The worker that is on it, if its thread exists.
    pub thread: Option<Tid>,
    /// The frequency that is wanted. A backend takes the nearest that it can set.
    pub frequency: Hz,
}

/// Sets frequencies. What was there before comes back when it is dropped.
pub(crate) trait Dvfs: Send {
    /// The highest frequency that a CPU has unless this sets another; `None` for one that cannot be set.
    fn ceiling(&self, cpu: u16) -> Option<Hz>;

    /// The frequency that a CPU has unless this sets another: the ceiling, below which a governor chooses, unless a user has chosen.
    fn nominal(&self, cpu: u16) -> Option<Hz> {
        self.ceiling(cpu)
    }

    /// Sets all cores. Called whenever a worker begins or ceases to wait, so what is already so must cost nothing.
    ///
    /// # Errors
    /// The kernel refuses. Nothing more is set then.
    fn set(&mut self, settings: &[Setting]) -> io::Result<()>;
}

/// A backend that works here, for the cores of a machine; `root` is where the files of cpufreq are, if they may be used.
///
/// # Errors
/// Why there is none.
pub(crate) fn find(root: Option<&Path>, topology: &Topology) -> Result<Box<dyn Dvfs>, String> {
    let cpufreq = match root.map(|root| Cpufreq::open(root, &topology.ids())) {
        Some(Ok(files)) => return Ok(Box::new(files)),
        Some(Err(error)) => format!("cpufreq: {error}"),
        None => "cpufreq: not for the global pool, which is never dropped".to_owned(),
    };
    match clamps(topology) {
        Ok(clamps) => Ok(clamps),
        Err(error) => Err(format!("{cpufreq}; uclamp: {error}")),
    }
}

#[cfg(target_os = "linux")]
fn clamps(topology: &Topology) -> io::Result<Box<dyn Dvfs>> {
    // Whatever the topology was read from, it is the kernel here that takes clamps.
    Ok(Box::new(Uclamp::open(Path::new("/"), topology)?))
}

#[cfg(not(target_os = "linux"))]
fn clamps(_: &Topology) -> io::Result<Box<dyn Dvfs>> {
    Err(io::ErrorKind::Unsupported.into())
}
