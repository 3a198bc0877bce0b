//! Work-pacing, work-sprinting and serial-sprinting: the lookup table of the paper's DVFS controller (III.A), and the workers that use it.
//!
//! A worker that begins or ceases to wait finds the voltages in the table and sets what has become higher, unless another worker is setting it already. What has
//! become lower is set by the thread that samples once a quantum: the paper's regulators change a voltage within 160 ns (IV), Linux takes tens of microseconds or
//! more, so a core that waits for less than that is not worth two changes. As with the governor `schedutil` of Android (`down_rate_limit_us`), a core is never slow
//! because of that. Until the quantum ends the cores may use more than the target.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::SeqCst;

use evenkeel_model::marginal::{System, Table};
use evenkeel_model::stealing::{Region, Techniques};
use evenkeel_model::{CoreTypeId, Hz, Machine};

use super::target::Target;
use crate::affinity::Tid;
use crate::dvfs::{Dvfs, Setting};

/// A worker's core, what runs on it, and what the worker does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub cpu: u16,
    pub kind: CoreTypeId,
    pub thread: Option<Tid>,
    pub active: bool,
    /// What it runs, if it is active, is serial code of the program unless another worker is active, too.
    pub serial: bool,
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
    Up = 1,
    /// All.
    All,
}

/// No [`Change`] is asked for.
const NOTHING: u8 = 0;
/// [`Change::Up`].
const UP: u8 = Change::Up as u8;

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
    /// What each CPU has without this. Those of one kind may differ.
    nominals: BTreeMap<u16, Hz>,
    /// What each CPU is not clocked above; empty without such a limit.
    ceilings: BTreeMap<u16, Hz>,
    /// None after it has failed.
    dvfs: Mutex<Option<Backend>>,
    /// The [`Change`] that has been asked for since the voltages were last set.
    stale: AtomicU8,
}

impl Voltages {
    /// The table of a machine. A core's frequency outside of the regions that have techniques, nominal here, is the one that it has without this.
    pub fn new(machine: &Machine, cpus: &[u16], options: VoltageOptions, dvfs: Box<dyn Dvfs>) -> Self {
        let VoltageOptions { techniques, target, limit } = options;
        let of_each = |of: &dyn Fn(u16) -> Option<Hz>| -> BTreeMap<u16, Hz> {
            cpus.iter().filter_map(|cpu| Some((*cpu, of(*cpu)?))).collect()
        };
        let nominals = of_each(&|cpu| dvfs.nominal(cpu));
        let ceilings = match limit {
            Limit::Ceiling => of_each(&|cpu| dvfs.ceiling(cpu)),
            Limit::Highest => BTreeMap::new(),
        };
        let mut system = System::of(machine, |kind| kind.highest_opp().voltage);
        for (id, group) in system.groups.iter_mut().enumerate() {
            let highest = |of: &BTreeMap<u16, Hz>| {
                let cores = machine.cores.iter().zip(cpus).filter(|(core, _)| core.core_type.index() == id);
                let highest = cores.filter_map(|(_, cpu)| of.get(cpu)).max()?;
                Some(group.voltage_for(highest.0 as f64))
            };
            let (nominal, ceiling) = (highest(&nominals), highest(&ceilings));
            group.nominal = nominal.unwrap_or(group.nominal);
            group.highest = ceiling.unwrap_or(group.highest);
        }
        let target = target.map_or_else(|| system.target(), |target| target.watts(&system));
        let table = Table::within(&system, target);
        let resting = machine.core_types.iter().map(|kind| kind.opps[0].frequency).collect();
        let dvfs = Mutex::new(Some(Backend { dvfs, set: Vec::new() }));
        Self { techniques, system, table, resting, nominals, ceilings, dvfs, stale: AtomicU8::new(NOTHING) }
    }

    /// The frequency of each worker's core.
    fn settings(&self, loads: &[Load]) -> Vec<Setting> {
        let mut active = vec![0; self.system.groups.len()];
        loads.iter().filter(|load| load.active).for_each(|load| active[load.kind.index()] += 1);
        let busy: usize = active.iter().sum();
        let in_serial_code = loads.iter().any(|load| load.active && load.serial);
        let region = match busy {
            0 => Region::Serial,
            1 if in_serial_code => Region::Serial,
            busy if busy == loads.len() => Region::HighParallel,
            _ => Region::LowParallel,
        };
        // Outside of the pool the one thread that runs is not a worker. The kernel puts it on a big core, whichever, and idle ones use little.
        let outside = busy == 0;
        if outside {
            active[0] = 1;
        }
        let volts = self.table.volts(&active);
        let setting = |load: &Load| {
            let group = &self.system.groups[load.kind.index()];
            let at = |volts| Hz(group.frequency(volts) as u64);
            let frequency = match self.techniques.scales(region) {
                false => self.nominals.get(&load.cpu).copied().unwrap_or_else(|| at(group.nominal)),
                true if load.active || (outside && load.kind == CoreTypeId(0)) => at(volts[load.kind.index()]),
                true => self.resting[load.kind.index()],
            };
            let frequency = self.ceilings.get(&load.cpu).map_or(frequency, |ceiling| frequency.min(*ceiling));
            Setting { cpu: load.cpu, thread: load.thread, frequency }
        };
        loads.iter().map(setting).collect()
    }

    /// Sets the voltages for what workers do `now`, again as often as another thread asks for it meanwhile, with the change that it asks for.
    ///
    /// # Errors
    /// The backend has refused. It has put back what was there, and is not used again.
    pub fn follow(&self, change: Change, now: impl Fn() -> Vec<Load>) -> io::Result<()> {
        self.stale.fetch_max(change as u8, SeqCst);
        while self.stale.load(SeqCst) != NOTHING {
            // The thread that holds it checks `stale` again when it has let go.
            let Ok(mut dvfs) = self.dvfs.try_lock() else { return Ok(()) };
            loop {
                let change = match self.stale.swap(NOTHING, SeqCst) {
                    NOTHING => break,
                    UP => Change::Up,
                    _ => Change::All,
                };
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
