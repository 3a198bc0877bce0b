//! Work-pacing, work-sprinting and serial-sprinting: the lookup table of the paper's DVFS controller (III.A), and the workers that use it.
//!
//! A worker that begins or ceases to wait finds the voltages in the table and sets what has become higher, unless another worker is setting it already. What has
//! become lower is set by the thread that samples once a quantum: the paper's regulators change a voltage within 160 ns (IV), Linux takes tens of microseconds or
//! more, so a core that waits for less than that is not worth two changes. As with the governor `schedutil` of Android (`down_rate_limit_us`), a core is never slow
//! because of that. Until the quantum ends the cores may use more than the target.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use evenkeel_model::marginal::{System, Table};
use evenkeel_model::stealing::{Region, Techniques};
use evenkeel_model::{CoreTypeId, Hz, Machine};

use super::target::Target;
use crate::affinity::Tid;
use crate::dvfs::{Dvfs, Setting};

/// A worker's core, what runs on it, and whether the worker is active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub cpu: u16,
    pub kind: CoreTypeId,
    pub thread: Option<Tid>,
    pub active: bool,
}

/// What voltages are for.
pub(crate) struct VoltageOptions {
    /// Which regions have voltages that follow activity.
    pub techniques: Techniques,
    /// The power that all cores may use together; if `None`, as much as at their ceilings.
    pub target: Option<Target>,
    /// The highest frequencies.
    pub limit: Limit,
}

/// How high a core may be clocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// No higher than without this pool: a user may have limited it.
    Ceiling,
    /// As high as it can be.
    Highest,
}

/// Which changes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Only to higher frequencies.
    Up,
    /// All.
    All,
}

/// What sets frequencies, and what it has set last.
struct Backend {
    dvfs: Box<dyn Dvfs>,
    set: Vec<(u16, Hz)>,
}

impl Backend {
    fn set(&mut self, mut settings: Vec<Setting>, change: Change) -> io::Result<()> {
        for setting in settings.iter_mut().filter(|_| change == Change::Up) {
            let before = self.set.iter().find(|(cpu, _)| *cpu == setting.cpu);
            setting.frequency = before.map_or(setting.frequency, |(_, hz)| setting.frequency.max(*hz));
        }
        self.dvfs.set(&settings)?;
        self.set = settings.iter().map(|setting| (setting.cpu, setting.frequency)).collect();
        Ok(())
    }
}

/// The voltages of a pool's cores.
pub(crate) struct Voltages {
    techniques: Techniques,
    system: System,
    table: Table,
    /// Where cores of each type rest. The lowest voltage often suffices for higher frequencies, too.
    resting: Vec<Hz>,
    /// None after it has failed.
    dvfs: Mutex<Option<Backend>>,
    /// Something has changed since the voltages were last set.
    stale: AtomicBool,
}

impl Voltages {
    /// The table of a machine. A core's frequency outside of the regions that have techniques, nominal here, is the one that it has without this.
    pub fn new(machine: &Machine, cpus: &[u16], options: VoltageOptions, dvfs: Box<dyn Dvfs>) -> Self {
        let VoltageOptions { techniques, target, limit } = options;
        let mut system = System::of(machine, |kind| kind.highest_opp().voltage);
        for (id, group) in system.groups.iter_mut().enumerate() {
            let highest = |of: &dyn Fn(u16) -> Option<Hz>| {
                let cores = machine.cores.iter().zip(cpus).filter(|(core, _)| core.core_type.index() == id);
                let highest = cores.filter_map(|(_, cpu)| of(*cpu)).max_by_key(|hz| hz.0);
                highest.map_or(group.nominal, |hz| group.voltage_for(hz.0 as f64))
            };
            let (nominal, ceiling) = (highest(&|cpu| dvfs.nominal(cpu)), highest(&|cpu| dvfs.ceiling(cpu)));
            group.nominal = nominal;
            if limit == Limit::Ceiling {
                group.highest = ceiling;
            }
        }
        let target = target.map_or_else(|| system.target(), |target| target.watts(&system));
        let table = Table::within(&system, target);
        let resting = machine.core_types.iter().map(|kind| kind.opps[0].frequency).collect();
        let backend = Backend { dvfs, set: Vec::new() };
        Self { techniques, system, table, resting, dvfs: Mutex::new(Some(backend)), stale: AtomicBool::new(false) }
    }

    /// The frequency of each worker's core.
    fn settings(&self, loads: &[Load]) -> Vec<Setting> {
        let mut active = vec![0; self.system.groups.len()];
        loads.iter().filter(|load| load.active).for_each(|load| active[load.kind.index()] += 1);
        let busy: usize = active.iter().sum();
        let region = match busy {
            0 => Region::Serial,
            busy if busy == loads.len() => Region::HighParallel,
            _ => Region::LowParallel,
        };
        // Outside of all parallel regions the one thread that runs is not the pool's. The kernel puts it on a big core, whichever, and idle ones use little.
        let serial = region == Region::Serial;
        if serial {
            active[0] = 1;
        }
        let volts = self.table.volts(&active);
        let setting = |load: &Load| {
            let group = &self.system.groups[load.kind.index()];
            let at = |volts| Hz(group.frequency(volts) as u64);
            let frequency = match self.techniques.scales(region) {
                false => at(group.nominal),
                true if load.active || (serial && load.kind == CoreTypeId(0)) => at(volts[load.kind.index()]),
                true => self.resting[load.kind.index()],
            };
            Setting { cpu: load.cpu, thread: load.thread, frequency }
        };
        loads.iter().map(setting).collect()
    }

    /// Sets the voltages for what workers do `now`, again as often as that changes meanwhile.
    ///
    /// # Errors
    /// The backend has refused. It has put back what was there, and is not used again.
    pub fn follow(&self, change: Change, now: impl Fn() -> Vec<Load>) -> io::Result<()> {
        self.stale.store(true, SeqCst);
        while self.stale.load(SeqCst) {
            // The thread that holds it checks `stale` again when it has let go.
            let Ok(mut dvfs) = self.dvfs.try_lock() else { return Ok(()) };
            while self.stale.swap(false, SeqCst) {
                let Some(backend) = dvfs.as_mut() else { return Ok(()) };
                if let Err(error) = backend.set(self.settings(&now()), change) {
                    *dvfs = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
