//! Global Task Scheduling: all cores are used at once, and each thread goes to the core type that its CPU utilisation
//! asks for ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software", section II.C).
//!
//! The rules are those of the scheduler that Odroid kernels ship (Linaro's big.LITTLE MP): a thread whose load average
//! rises above the up threshold moves to a big core, one whose load falls below the down threshold moves to a little
//! core, in between it stays; a big core that goes idle pulls the heaviest busy thread from a little core; when there are
//! more busy threads than big cores, the rest may use the little cores (offload). Within these sets CFS decides.

use evenkeel_model::{CoreSet, Ns, ThreadId};

use super::{Changes, Pick, Policy};
use crate::cfs;
use crate::state::State;

/// hmp_up_threshold, on a scale of 1024.
const UP: u32 = 700;
/// hmp_down_threshold, on a scale of 1024.
const DOWN: u32 = 512;

/// Busy threads on big cores, the others on little cores.
#[derive(Debug, Default)]
pub struct Gts;

impl Policy for Gts {
    fn name(&self) -> &'static str {
        "gts"
    }

    /// Linaro's scheduler checks at every tick; 4 ms is a tick at 250 Hz.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(4))
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        let busy = s.living().filter(|thread| load(s, *thread) > UP && s.thread(*thread).runnable()).count();
        let for_busy = if busy > s.big.len() { s.machine.all() } else { s.big };
        for thread in s.living() {
            if let Some(cores) = affinity(s, thread, for_busy) {
                changes.affinity(thread, cores);
            }
        }
    }

    fn pick(&mut self, s: &State, core: evenkeel_model::CoreId) -> Pick {
        let pick = cfs::pick(s, core);
        if pick != Pick::Idle || !s.big.contains(core) {
            return pick;
        }
        // hmp_idle_pull: the heaviest thread that a little core runs, if it is busy.
        let running = s.little.iter().filter_map(|little| s.movable_current(little, core));
        let heaviest = running.filter(|thread| load(s, *thread) > UP).max_by_key(|thread| load(s, *thread));
        heaviest.map_or(Pick::Idle, Pick::Running)
    }
}

fn load(s: &State, thread: ThreadId) -> u32 {
    s.thread(thread).utilisation()
}

fn affinity(s: &State, thread: ThreadId, for_busy: CoreSet) -> Option<CoreSet> {
    match load(s, thread) {
        load if load > UP => Some(for_busy),
        load if load < DOWN && !s.little.is_empty() => Some(s.little),
        _ => None,
    }
}
