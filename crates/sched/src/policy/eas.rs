//! Energy-aware scheduling, as the mainline kernel documents it (Linux, Documentation/scheduler/sched-energy.rst and
//! sched-capacity.rst; names in brackets are those of kernel/sched/fair.c of Linux 6.1).
//!
//! When a thread wakes up, EAS computes for each cluster's roomiest core what energy the whole machine would use with the thread
//! there, at the frequencies that the governor would then choose, and takes the cheapest place. It balances nothing: as
//! long as every core has room, all threads sleep now and then, and placing them at wake-up is enough. As soon as one core
//! is used to more than 80 % (the knob `overutilised`) the machine is over-utilised: CFS places and balances as ever, only
//! that it knows capacities, and a thread that a core is too small for (a misfit) moves to a bigger one.
//!
//! On a machine of equal cores EAS does not start (sched-energy.rst, 6.1), and all is CFS.

use evenkeel_model::{CoreId, Ns, ThreadId};

use super::description::{Description, Guarantee, Knob, Setup, Value};
use super::hooks::Policy;
use super::in_kernel::InKernel;
use super::parts::energy::Domains;
use super::parts::fair;
use super::parts::misfit::{idle_and_fit, misfit};
use crate::action::{Pick, Why};
use crate::governor::ENOUGH;
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "a woken thread goes where the machine's energy stays lowest; balances load only when a core is over-utilised",
    source: "Linux 6.1, Documentation/scheduler/sched-energy.rst and sched-capacity.rst; \"Exploiting Asymmetric Multi-Core Processors with Flexible System Software\", section III.C, names it as the successor of GTS",
    knobs: &[Knob {
        name: "overutilised",
        summary: "to how many per cent of its capacity some core is used when the machine counts as over-utilised (sched-energy.rst, 5)",
        value: Value::Whole { default: ENOUGH, from: 1, to: 100 },
    }],
    guarantees: &[Guarantee::Balances],
    in_kernel: Some(InKernel { reads_usage: true, numbers: &["overutilised"], ..InKernel::new(7) }),
    ..Description::of::<Eas>("eas", |setup| Box::new(Eas::new(setup)))
};

/// Energy-aware scheduling.
#[derive(Debug)]
pub struct Eas {
    /// The tipping point, in per cent.
    overutilised: u32,
    domains: Option<Domains>,
}

#[hooks]
impl Policy for Eas {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// At a tick, so that idle cores take misfits over, as a tick of the core that has one makes them (nohz_balancer_kick);
    /// 4 ms is a tick at 250 Hz.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(4))
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        match why {
            Why::Woken { .. } if !s.little.is_empty() => {
                let core = if self.overutilised(s) { idle_and_fit(s, thread) } else { self.most_frugal(s, thread) };
                core.unwrap_or_else(|| fair::place(s, thread, why))
            }
            _ => fair::place(s, thread, why),
        }
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        if s.little.is_empty() || self.overutilised(s) {
            return match fair::pick(s, core) {
                Pick::Idle => misfit(s, core).map_or(Pick::Idle, Pick::Running),
                pick => pick,
            };
        }
        s.core(core).queue.first().map_or(Pick::Idle, Pick::Queued)
    }

    /// Load balancing is off while every core has room.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        if s.little.is_empty() || self.overutilised(s) { fair::balance(s, core) } else { Pick::Idle }
    }
}

impl Eas {
    fn new(setup: &Setup) -> Self {
        Self { overutilised: setup.whole("overutilised"), domains: None }
    }

    /// The core that keeps the machine's energy lowest (find_energy_efficient_cpu): where the thread was, or the core with
    /// the most room of some cluster, if the thread fits there; where it was if it fits nowhere.
    fn most_frugal(&mut self, s: &State, thread: ThreadId) -> Option<CoreId> {
        let t = s.thread(thread);
        let (demand, allowed) = (t.demand(s.now), t.allowed());
        let previous = Some(t.core).filter(|core| allowed.contains(*core));
        if demand == 0 && previous.is_some() {
            return previous;
        }
        let domains = self.domains.get_or_insert_with(|| Domains::new(s));
        domains.most_frugal(s, thread, demand, allowed).or(previous)
    }

    /// The tipping point (sched-energy.rst, 5).
    fn overutilised(&self, s: &State) -> bool {
        s.crowded(self.overutilised)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{ClusterId, Hz, Machine, Opp, Volts, machines};

    use super::*;
    use crate::Governor;
    use crate::thread::{NewThread, Run, Thread, Wait};

    fn eas() -> Eas {
        Eas::new(&Setup::from(&DESCRIPTION))
    }

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
        let spec = NewThread::anywhere(&machine);
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        s.governor = Governor::Schedutil;
        for (core, usage) in threads {
            let mut thread = Thread::new(&spec, &mut crate::masks::Sets::default(), &s.machine);
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
            [(0, [2, 3]), (1, [0, 1])]
                .map(|(cluster, cores)| {
                    let [a, b] = cores.map(|core: usize| used[core]);
                    Domains::new(&s).power(ClusterId(cluster), a.max(b), a + b)
                })
                .iter()
                .sum()
        };
        let cases = [([160, 240, 480, 400], 1364.0), ([160, 80, 480, 560], 1485.0), ([320, 80, 480, 400], 1437.0)];
        for (used, documented) in cases {
            assert!((power(used) / 0.8 / documented - 1.0).abs() < 0.01, "{} for {documented}", power(used) / 0.8);
        }
        assert_eq!(eas().most_frugal(&s, ThreadId(0)), Some(CoreId(1)));
    }

    #[test]
    fn a_thread_goes_where_it_fits() {
        let place = |usage| eas().most_frugal(&state(&[(0, usage)]), ThreadId(0)).map(|core| core.0);
        assert_eq!(place(100), Some(0), "it stays where it was");
        assert_eq!(place(420), Some(2), "512 is too little for 420, and both big cores are alike");
    }

    #[test]
    fn a_thread_that_fits_nowhere_stays_where_it_was() {
        let mut s = state(&[(0, 100)]);
        s.threads[0].estimate = 900;
        assert!(!eas().overutilised(&s), "it sleeps, and has used little of late");
        assert_eq!(eas().place(&s, ThreadId(0), Why::Woken { by: None }), CoreId(0));
    }

    #[test]
    fn beyond_the_tipping_point_the_biggest_idle_core_is_taken() {
        let s = state(&[(0, 420), (1, 50)]);
        assert!(eas().overutilised(&s) && !eas().overutilised(&state(&[(0, 400), (1, 50)])));
        let placed = |thread| eas().place(&s, ThreadId(thread), Why::Woken { by: None });
        assert_eq!((placed(0), placed(1)), (CoreId(2), CoreId(1)), "the small one fits where it was");
    }
}
