//! Energy-aware scheduling, as the mainline kernel documents it (Linux, Documentation/scheduler/sched-energy.rst and
//! sched-capacity.rst; names in brackets are those of kernel/sched/fair.c of Linux 6.1).
//!
//! When a thread wakes up, EAS asks of each cluster's roomiest core what energy the whole machine would use with the thread
//! there, at the frequencies that the governor would then choose, and takes the cheapest place. It balances nothing: as
//! long as every core has room, all threads sleep now and then, and placing them at wake-up is enough. As soon as one core
//! is used to more than 80 % the machine is over-utilised: CFS places and balances as ever, only that it knows capacities,
//! and a thread that a core is too small for (a misfit) moves to a bigger one.
//!
//! On a machine of equal cores EAS does not start (sched-energy.rst, 6.1), and all is CFS.

use evenkeel_model::{Behaviour, ClusterId, CoreId, Ns, ThreadId};

use super::{Pick, Policy};
use crate::action::Why;
use crate::cfs;
use crate::governor::fits;
use crate::state::State;

/// Energy-aware scheduling.
#[derive(Debug, Default)]
pub struct Eas {
    /// How much each core is used without the thread that is to be placed.
    used: Vec<u32>,
}

impl Policy for Eas {
    fn name(&self) -> &'static str {
        "eas"
    }

    /// At a tick, so that idle cores look for misfits, as a tick of the core that has one makes them (nohz_balancer_kick);
    /// 4 ms is a tick at 250 Hz.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(4))
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        match why {
            Why::Woken { .. } if !s.little.is_empty() => {
                let frugal = if overutilised(s) { None } else { self.most_frugal(s, thread) };
                frugal.or_else(|| idle_and_fit(s, thread)).unwrap_or_else(|| cfs::place(s, thread, why))
            }
            _ => cfs::place(s, thread, why),
        }
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        if s.little.is_empty() || overutilised(s) {
            return match cfs::pick(s, core) {
                Pick::Idle => misfit(s, core).map_or(Pick::Idle, Pick::Running),
                pick => pick,
            };
        }
        s.core(core).queue.first().map_or(Pick::Idle, Pick::Queued)
    }

    /// Load balancing is off while every core has room.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        if s.little.is_empty() || overutilised(s) { cfs::balance(s, core) } else { Pick::Idle }
    }
}

impl Eas {
    /// The core that keeps the machine's energy lowest (find_energy_efficient_cpu): where the thread was, or the core with
    /// the most room of some cluster, if the thread fits there.
    fn most_frugal(&mut self, s: &State, thread: ThreadId) -> Option<CoreId> {
        let t = s.thread(thread);
        let demand = t.demand(s.now);
        if demand == 0 && t.allowed().contains(t.core) {
            return Some(t.core);
        }
        self.used.clear();
        self.used.extend(s.machine.all().iter().map(|core| s.usage(core, Some(thread))));
        let room = |core: CoreId| s.capacity(core).saturating_sub(self.used[core.index()] + demand);
        let mut best: Option<(f64, CoreId)> = None;
        for cluster in &s.machine.clusters {
            let fitting = |core: &CoreId| fits(self.used[core.index()] + demand, s.capacity(*core));
            let open = cluster.cores.and(t.allowed());
            // The first of the roomiest; where the thread was is a candidate whether it is roomy or not.
            let roomiest = open.iter().filter(fitting).reduce(|a, b| if room(b) > room(a) { b } else { a });
            let previous = Some(t.core).filter(|core| open.contains(*core) && fitting(core));
            for core in previous.into_iter().chain(roomiest) {
                let extra = self.energy(s, core, demand);
                let saves = |(least, _)| extra < least || (extra == least && core == t.core);
                if best.is_none_or(saves) {
                    best = Some((extra, core));
                }
            }
        }
        best.map(|(_, core)| core)
    }

    /// The power that a thread adds on a core, in watts (compute_energy): other clusters are not touched by it.
    fn energy(&self, s: &State, core: CoreId, demand: u32) -> f64 {
        let cluster = s.machine.cores[core.index()].cluster;
        let without = cluster_power(s, cluster, |core| self.used[core.index()]);
        let with = cluster_power(s, cluster, |other| self.used[other.index()] + if other == core { demand } else { 0 });
        with - without
    }
}

/// The power of a cluster whose cores are used so much, at the frequency that the governor chooses for it (em_cpu_energy):
/// that of a core of it which is always busy, times the share of time for which its cores are.
fn cluster_power(s: &State, cluster: ClusterId, used: impl Fn(CoreId) -> u32) -> f64 {
    let cores = s.machine.clusters[cluster.index()].cores;
    let Some(first) = cores.iter().next() else { return 0.0 };
    let (kind, id, capacity) =
        (s.machine.core_type(first), s.machine.cores[first.index()].core_type, s.capacity(first));
    let (most, sum) = cores.iter().map(used).fold((0, 0), |(most, sum), used| (used.max(most), sum + used));
    let opp = kind.opp_at(s.governor.frequency(kind, most, capacity));
    let busy = kind.power(opp, s.machine.rate(id, opp.frequency, &Behaviour::REFERENCE)).0;
    let capacity_there = f64::from(capacity) * opp.frequency.per_ns() / kind.max_frequency().per_ns();
    busy * f64::from(sum) / capacity_there
}

/// The tipping point (sched-energy.rst, 5): some core is used to more than 80 %.
fn overutilised(s: &State) -> bool {
    s.machine.all().iter().any(|core| !fits(s.usage(core, None), s.capacity(core)))
}

/// An idle core that is big enough, where the thread was before others, else the biggest idle one (select_idle_capacity).
pub(super) fn idle_and_fit(s: &State, thread: ThreadId) -> Option<CoreId> {
    let t = s.thread(thread);
    let demand = t.demand(s.now);
    let idle = || t.allowed().iter().filter(|core| s.idle(*core));
    let fit = idle().filter(|core| fits(demand, s.capacity(*core))).min_by_key(|core| *core != t.core);
    fit.or_else(|| idle().min_by_key(|core| (std::cmp::Reverse(s.capacity(*core)), *core != t.core)))
}

/// The most demanding thread that runs on a core which is too small for it, and smaller than this one
/// (update_misfit_status, load_balance with migrate_misfit).
pub(super) fn misfit(s: &State, core: CoreId) -> Option<ThreadId> {
    let smaller = s.machine.all().iter().filter(|other| s.capacity(*other) < s.capacity(core));
    let running = smaller.filter_map(|other| s.movable_current(other, core));
    let too_big = running.filter(|thread| !fits(s.thread(*thread).demand(s.now), s.capacity(s.thread(*thread).core)));
    too_big.reduce(|a, b| if s.thread(b).demand(s.now) > s.thread(a).demand(s.now) { b } else { a })
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{Hz, Machine, Opp, ProgramId, Volts, machines};

    use super::*;
    use crate::Governor;
    use crate::thread::{Clamp, Class, Kind, NewThread, Run, Thread, Wait};

    /// The machine of sched-energy.rst, example 2: CPUs 0 and 1 are little, 2 and 3 are big, with these capacities and
    /// powers at three operating points.
    fn documented() -> Machine {
        let mut machine = machines::by_name("2B2S").unwrap().ordered(evenkeel_model::CoreOrder::LittleFirst);
        let tables = [[(512, 400.0), (768, 800.0), (1024, 1700.0)], [(170, 50.0), (341, 150.0), (512, 300.0)]];
        for (kind, table) in machine.core_types.iter_mut().zip(tables) {
            (kind.width, kind.extract, kind.activity, kind.leakage) = (1.0, 1.0, 1.0, 0.0);
            let opp = |(capacity, power): (u64, f64)| {
                let frequency = Hz::from_mhz(capacity);
                Opp { frequency, voltage: Volts((power / frequency.per_ns()).sqrt()) }
            };
            kind.opps = table.map(opp).into();
        }
        machine
    }

    /// Sleeping threads on cores, each with how much it uses.
    fn state(threads: &[(u16, u32)]) -> State {
        let machine = documented();
        let spec = NewThread {
            program: ProgramId(0),
            kind: Kind::Application,
            class: Class::fair(0),
            cores: machine.all(),
            on: CoreId(0),
            clamp: Clamp::default(),
        };
        let mut s = State::new(machine);
        s.governor = Governor::Schedutil;
        for (core, usage) in threads {
            let mut thread = Thread::new(&spec, 2);
            thread.core = CoreId(*core);
            thread.run = Run::Blocked(Wait::Sleep);
            thread.usage = crate::Pelt::constant(*usage, Ns::ZERO);
            s.threads.push(thread);
        }
        s
    }

    /// The example leaves out schedutil's margin of a quarter, so here everything is used to four fifths of what it says.
    #[test]
    fn the_documented_example_ends_on_cpu_1() {
        // P, which was on CPU 0, and what else is there.
        let s = state(&[(0, 160), (0, 160), (1, 80), (2, 480), (3, 400)]);
        let power = |used: [u32; 4]| -> f64 {
            [0, 1].map(|cluster| cluster_power(&s, ClusterId(cluster), |core| used[core.index()])).iter().sum()
        };
        let cases = [([160, 240, 480, 400], 1364.0), ([160, 80, 480, 560], 1485.0), ([320, 80, 480, 400], 1437.0)];
        for (used, documented) in cases {
            assert!((power(used) / 0.8 / documented - 1.0).abs() < 0.01, "{} for {documented}", power(used) / 0.8);
        }
        assert_eq!(Eas::default().most_frugal(&s, ThreadId(0)), Some(CoreId(1)));
    }

    #[test]
    fn a_thread_goes_where_it_fits() {
        let place = |usage| Eas::default().most_frugal(&state(&[(0, usage)]), ThreadId(0)).map(|core| core.0);
        assert_eq!(place(100), Some(0), "it stays where it was");
        assert_eq!(place(420), Some(2), "512 is too little for 420, and both big cores are alike");
        assert_eq!(place(900), None, "nowhere below the tipping point");
    }

    #[test]
    fn beyond_the_tipping_point_the_biggest_idle_core_is_taken() {
        let s = state(&[(0, 420), (1, 50)]);
        assert!(overutilised(&s) && !overutilised(&state(&[(0, 400), (1, 50)])));
        let placed = |thread| Eas::default().place(&s, ThreadId(thread), Why::Woken { by: None });
        assert_eq!((placed(0), placed(1)), (CoreId(2), CoreId(1)), "the small one fits where it was");
    }
}
