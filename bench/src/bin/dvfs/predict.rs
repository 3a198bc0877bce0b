//! What the first-order model says of a case (Torng et al., ISCA 2016, II), and what simulated workers do.
//!
//! The model knows throughput and power at voltages. Which cores are active when is what follows from the tasks alone: each idle core takes the next
//! one at once, a mug is free, and voltages change in no time. Voltages are the nearest operating points, as for the real cores.

use evenkeel_model::marginal::{System, Table};
use evenkeel_model::stealing::{Region, Techniques};
use evenkeel_model::{Machine, Volts};
use evenkeel_sim::workers::{self, Options};
use evenkeel_workload::kernels;

use crate::case::{Case, REPEATS};

const MACHINE: &str = include_str!("aaws-1B1L.toml");
/// The nominal voltage (II.B).
const NOMINAL: Volts = Volts(1.0);
/// Simulated with so many inputs and orders.
const SEEDS: u64 = 8;
/// Little-core cycles of a coarse task, in millions: 150 ms on a big core at nominal voltage.
const TASK_MCYCLES: f64 = 100.0;

/// Time and mean power of all cores.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub seconds: f64,
    pub watts: f64,
}

/// The machine of two cores.
pub fn machine() -> Result<Machine, String> {
    Machine::from_toml(MACHINE, "aaws-1B1L.toml").map_err(|error| error.to_string())
}

/// The cores of the model, one of each type.
struct Cores<'a> {
    machine: &'a Machine,
    system: System,
    table: Table,
    techniques: Techniques,
    seconds: f64,
    joules: f64,
}

impl Cores<'_> {
    /// Lets the active cores work for a time that `span` chooses by their throughputs.
    fn run(&mut self, active: [bool; 2], region: Region, span: impl FnOnce([f64; 2]) -> f64) -> [f64; 2] {
        let counts = active.map(usize::from);
        let scales = self.techniques.scales(region);
        let table = self.table.volts(&counts);
        let volts = [0, 1].map(|kind| {
            let group = &self.system.groups[kind];
            let wanted = match (scales, active[kind]) {
                (false, _) => group.nominal,
                (true, true) => table[kind],
                (true, false) => group.lowest,
            };
            let off = |volts: Volts| (volts.0 - wanted.0).abs();
            let opps = self.machine.core_types[kind].opps.iter().map(|opp| opp.voltage);
            opps.min_by(|one, other| off(*one).total_cmp(&off(*other))).unwrap_or(wanted)
        });
        let of = |kind: usize| if active[kind] { self.system.groups[kind].throughput(volts[kind]) } else { 0.0 };
        let throughput = [of(0), of(1)];
        let time = span(throughput);
        // A waiting core searches for work all the time (Equation 5).
        let power: f64 = self.system.groups.iter().zip(volts).map(|(group, volts)| group.power(volts).0).sum();
        self.seconds += time;
        self.joules += time * power;
        throughput.map(|throughput| throughput * time)
    }

    /// A region of equal tasks.
    fn tasks(&mut self, mut left: u32, work: f64) {
        let mut running = [0.0_f64; 2];
        loop {
            for task in running.iter_mut().filter(|task| **task <= 0.0) {
                if left > 0 {
                    (*task, left) = (work, left - 1);
                }
            }
            if self.techniques.mugging && running[0] <= 0.0 {
                running.swap(0, 1);
            }
            let active = running.map(|task| task > 0.0);
            let region = match active {
                [false, false] => return,
                [true, true] => Region::HighParallel,
                _ => Region::LowParallel,
            };
            let first = |throughput: [f64; 2]| {
                let ends =
                    [0, 1].map(|core| if active[core] { running[core] / throughput[core] } else { f64::INFINITY });
                ends[0].min(ends[1])
            };
            let done = self.run(active, region, first);
            for (task, done) in running.iter_mut().zip(done) {
                // What is left of a task by rounding is no task.
                *task = if *task - done > 1e-9 * work { *task - done } else { 0.0 };
            }
        }
    }
}

/// By the model; `None` of kernels, whose tasks it does not know.
pub fn model(machine: &Machine, case: Case, techniques: Techniques) -> Option<Figure> {
    let Case::Regions { serial, tasks, work, .. } = case else { return None };
    let system = workers::system(machine, NOMINAL);
    let table = Table::new(&system);
    let mut cores = Cores { machine, system, table, techniques, seconds: 0.0, joules: 0.0 };
    let task = TASK_MCYCLES * 1e6;
    for _ in 0..REPEATS {
        if serial > 0 {
            cores.run([true, false], Region::Serial, |[big, _]| f64::from(serial) * task / big);
        }
        cores.tasks(tasks, f64::from(work) * task / f64::from(tasks));
    }
    Some(Figure { seconds: cores.seconds, watts: cores.joules / cores.seconds })
}

/// By simulated workers: the mean over inputs.
pub fn simulated(machine: &Machine, case: Case, techniques: Techniques) -> Result<Figure, String> {
    let own;
    let table = match case {
        Case::Kernel { .. } => kernels::Table::iii(),
        Case::Regions { serial, tasks, work, name } => {
            let mcycles = f64::from((serial + work) * REPEATS) * TASK_MCYCLES;
            let (share, tasks) = (f64::from(serial) / f64::from(serial + work), tasks * REPEATS);
            own = kernels::Table::from_toml(&format!(
                "serial = {share:?}\nspread.equal = 0.0\n[[kernel]]\nname = {name:?}\nsuite = \"bench\"\ninput = \"\"\nmethod = \"p\"\n\
                 minst = {mcycles:?}\ntasks = {tasks}\nserial_mcycles = {mcycles:?}\nalpha = 3.0\nbeta = 2.0\nmpki = 0.0\n\
                 distribution = \"equal\"\nregions = {REPEATS}\nwork = 1.0\n"
            ))?;
            &own
        }
    };
    let kernel = table.kernel(case.name()).ok_or_else(|| format!("no kernel {}", case.name()))?;
    let (mut seconds, mut joules) = (0.0, 0.0);
    for seed in 1..=SEEDS {
        let options = Options { techniques, seed, nominal: NOMINAL, ..Options::default() };
        let outcome = workers::run(machine, table, kernel, &options, &mut ()).map_err(|error| error.to_string())?;
        seconds += outcome.time.as_secs_f64() / SEEDS as f64;
        joules += outcome.energy.0 / SEEDS as f64;
    }
    Ok(Figure { seconds, watts: joules / seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CASES;

    #[test]
    fn without_costs_model_and_workers_agree() -> Result<(), String> {
        let machine = machine()?;
        for case in CASES {
            for name in ["base", "base+p", "base+ps", "base+m", "base+psm"] {
                let techniques = name.parse().map_err(|_| name.to_owned())?;
                let Some(model) = model(&machine, case, techniques) else { continue };
                let simulated = simulated(&machine, case, techniques)?;
                let off = simulated.seconds / model.seconds - 1.0;
                assert!(off.abs() < 0.06, "{case:?}, {name}: {simulated:?}, {model:?}");
            }
        }
        Ok(())
    }
}
