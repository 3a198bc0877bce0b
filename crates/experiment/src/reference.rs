//! Reference runs: every program alone on as many cores as the machine has, all of them big, under CFS (`T_SB` of COLAB 5.1).

use std::collections::BTreeMap;

use evenkeel_model::{CoreTypeId, Machine, Ns};
use evenkeel_sim::{Ended, Options, Outcome, ProgramOutcome};
use evenkeel_workload::{Program, Workload};

use crate::catalog;
use crate::control::{Control, Stage};
use crate::error::{Error, Result};
use crate::plan::Plan;

/// The references of a plan. Threads are part of a program, so equal references are run once: programs that are equal and have the same place in
/// their workloads, which says what they draw.
#[derive(Default)]
pub struct References {
    programs: Vec<Solo>,
    wanted: Vec<Reference>,
    /// Where in `wanted` a program with a seed is.
    places: BTreeMap<(usize, u64), usize>,
    /// For each workload, machine and seed the references of its programs, in `wanted`.
    of: Vec<Vec<usize>>,
}

/// A program alone.
struct Solo {
    machine: Machine,
    workload: Workload,
}

/// One run of it, by its position.
#[derive(Clone, Copy)]
struct Reference {
    program: usize,
    seed: u64,
}

/// References that have been run.
pub struct Alone {
    programs: Vec<ProgramOutcome>,
    of: Vec<Vec<usize>>,
    /// Simulator events of all reference runs.
    pub events: u64,
}

impl References {
    /// Adds those of a workload on a machine, one set for each seed.
    pub fn add(&mut self, workload: &Workload, machine: &Machine, seeds: &[u64]) {
        let symmetric = machine.symmetric(CoreTypeId(0));
        let hardware = symmetric.unnamed();
        let known = &mut self.programs;
        let of_programs = (0..workload.programs.len()).map(|position| {
            let alone = alone(workload, position);
            // Two machines of a plan may share their big cores, such as 2B4S and 4B2S.
            let same = |known: &Solo| known.workload == alone && known.machine.unnamed() == hardware;
            known.iter().position(same).unwrap_or_else(|| {
                known.push(Solo { machine: symmetric.clone(), workload: alone });
                known.len() - 1
            })
        });
        let of_programs: Vec<usize> = of_programs.collect();
        for &seed in seeds {
            let wanted = &mut self.wanted;
            let place = |&program: &usize| {
                let next = self.places.len();
                *self.places.entry((program, seed)).or_insert_with(|| {
                    wanted.push(Reference { program, seed });
                    next
                })
            };
            self.of.push(of_programs.iter().map(place).collect());
        }
    }

    /// Runs them all.
    pub fn run(self, plan: &Plan, control: &Control<'_>) -> Result<Alone> {
        let outcomes = control.each(Stage::References, &self.wanted, |Reference { program, seed }| {
            self.programs[*program].run(*seed, plan, control)
        })?;
        let events = outcomes.iter().map(|outcome| outcome.events).sum();
        let programs = outcomes.into_iter().flat_map(|outcome| outcome.programs).collect();
        Ok(Alone { programs, of: self.of, events })
    }
}

impl Solo {
    /// Without noise and delay, which belong to the run that is measured.
    fn run(&self, seed: u64, plan: &Plan, control: &Control<'_>) -> Result<Outcome> {
        let max_time = plan.conditions.max_time;
        run_alone(&self.machine, &self.workload, Options { seed, max_time, ..control.options() })
    }
}

/// Runs a program alone, under CFS.
pub fn run_alone(machine: &Machine, workload: &Workload, options: Options) -> Result<Outcome> {
    let policy = catalog::policy("cfs")?;
    let run = evenkeel_sim::run(machine, workload, policy.make(), None, &options, &mut ());
    let what = || format!("{} alone on {}", workload.name, machine.name);
    let outcome = run.map_err(|source| Error::Run { what: what(), source })?;
    if outcome.ended == Ended::Interrupted { Err(Error::INTERRUPTED) } else { Ok(outcome) }
}

impl Alone {
    /// How many programs were run alone.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether the programs at two positions did the same.
    pub fn same(&self, one: usize, other: usize) -> bool {
        let programs = |position: usize| self.of[position].iter().map(|&program| &self.programs[program]);
        programs(one).eq(programs(other))
    }

    /// `T_M` and `T_SB` of every program of a run, whose ratio is its slowdown. `position` is that of the workload, machine and
    /// seed, in the order in which they were added.
    pub fn pairs(&self, here: &Outcome, reruns: bool, position: usize) -> Vec<(f64, f64)> {
        // Alone, too, a program that runs again does so until the end.
        let cut_off = (!reruns).then_some(here.makespan);
        against_alone(&here.programs, cut_off, self.of[position].iter().map(|&program| &self.programs[program]))
    }
}

/// A program that the end of the run cuts off has no turnaround. If it would not have ended alone either, both runs last equally long, and the
/// work done takes the place of the time: the ratio is then work alone / work here, infinite for a program that got nothing done here. If
/// alone it ends before it is `cut_off`, its turnaround here is what it would be at the rate until then, and that time at least.
fn against_alone<'a>(
    here: &[ProgramOutcome],
    cut_off: Option<Ns>,
    alone: impl IntoIterator<Item = &'a ProgramOutcome>,
) -> Vec<(f64, f64)> {
    let pair = |(here, alone): (&ProgramOutcome, &ProgramOutcome)| {
        let work = || alone.instructions.0 as f64 / here.instructions.0 as f64;
        match (here.turnaround.map(Ns::as_secs_f64), alone.turnaround.filter(|alone| alone.0 > 0), cut_off) {
            (Some(here), Some(alone), _) => (here, alone.as_secs_f64()),
            (None, Some(alone), Some(cut_off)) if here.instructions.0 > 0 => {
                (cut_off.as_secs_f64() * work().max(1.0), alone.as_secs_f64())
            }
            _ if alone.instructions == here.instructions => (1.0, 1.0),
            _ => (alone.instructions.0 as f64, here.instructions.0 as f64),
        }
    };
    here.iter().zip(alone).map(pair).collect()
}

/// A workload of one program out of several, which draws what it draws among them.
fn alone(workload: &Workload, position: usize) -> Workload {
    let program = &workload.programs[position];
    let stream = program.stream.or(Some(position as u32));
    let program = Program { stream, ..program.clone() };
    Workload { name: program.name.clone(), programs: vec![program], ..workload.clone() }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{Instructions, ProgramId};

    use super::*;

    fn outcome(turnaround_ms: Option<u64>, instructions: u64) -> ProgramOutcome {
        let turnaround = turnaround_ms.map(Ns::from_ms);
        ProgramOutcome { id: ProgramId(0), name: "p".into(), turnaround, instructions: Instructions(instructions) }
    }

    #[test]
    fn a_program_that_ends_is_measured_by_time_and_one_that_is_cut_off_by_work() {
        let here = [outcome(Some(30), 100), outcome(None, 50), outcome(None, 0), outcome(None, 0)];
        let alone = [outcome(Some(20), 100), outcome(None, 75), outcome(Some(5), 75), outcome(None, 0)];
        let pairs = against_alone(&here, Some(Ns::from_ms(40)), &alone).into_iter();
        let slowdowns: Vec<f64> = pairs.map(|(here, alone)| here / alone).collect();
        assert_eq!(slowdowns, [1.5, 1.5, f64::INFINITY, 1.0]);
    }

    /// It must not look faster than one that just ends.
    #[test]
    fn a_program_that_is_cut_off_but_ends_alone_is_as_slow_as_its_rate_says() {
        let (here, alone) = ([outcome(None, 50), outcome(None, 100)], [outcome(Some(10), 100), outcome(Some(10), 100)]);
        assert_eq!(against_alone(&here, Some(Ns::from_ms(25)), &alone), [(0.05, 0.01), (0.025, 0.01)]);
        assert_eq!(
            against_alone(&here, None, &alone),
            [(100.0, 50.0), (1.0, 1.0)],
            "what runs again runs as long alone"
        );
    }

    #[test]
    fn machines_of_other_hardware_have_references_of_their_own() {
        let machine = catalog::machine("2B2S").unwrap().machine;
        let renamed = Machine { name: "other".into(), ..machine.clone() };
        let narrow = Machine { memory_gbps: Some(1.0), ..machine.clone() };
        let workload = catalog::workload("radix").unwrap().workload;
        let mut references = References::default();
        for machine in [&machine, &renamed, &narrow] {
            references.add(&workload, machine, &[1]);
        }
        assert_eq!(references.of, [[0], [0], [1]]);
    }
}
