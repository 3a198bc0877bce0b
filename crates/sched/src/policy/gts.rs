//! Global Task Scheduling: all cores are used at once, and each thread goes to the core type that its CPU utilisation
//! calls for ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software", section III.C).
//!
//! The rules and thresholds are those of the paper's board (Linaro's big.LITTLE MP in Linux 3.10 for the Odroid-XU3; names in
//! brackets are of its kernel/sched/fair.c). Big and little cores are two domains, and CFS balances within each. A thread changes domains only
//! - up, when it wakes up or its big core has nothing to do, and its load average is above the up threshold,
//! - down, when it wakes up and its load average is below the down threshold,
//! - down, when it shares a big core, does not get what it needs, and a little core is idle (offload).

use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId};

use super::description::{Description, Guarantee, Knob, Setup, Value};
use super::hooks::Policy;
use super::in_kernel::InKernel;
use super::parts::fair;
use crate::action::{Pick, Why};
use crate::state::State;
use evenkeel_hooks::hooks;

/// The thresholds, on a scale of 1024.
const KNOBS: &[Knob] = &[
    Knob {
        name: "up",
        summary: "the load average, of 1024, above which a thread goes to a big core (hmp_up_threshold)",
        value: Value::Whole { default: 700, from: 0, to: 1024 },
    },
    Knob {
        name: "down",
        summary: "the load average, of 1024, below which a thread goes to a little core when it wakes up (hmp_down_threshold)",
        value: Value::Whole { default: 256, from: 0, to: 1024 },
    },
];

/// A thread that runs for no more than this share of the time in which it could, of 1024, starves (hmp_offload_down).
const STARVING: u32 = 768;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "busy threads go to big cores, idle ones to little cores, by load average",
    source: "\"Exploiting Asymmetric Multi-Core Processors with Flexible System Software\", section III.C; the rules and thresholds are those of the kernel of that paper's board, Linaro's big.LITTLE MP in kernel/sched/fair.c of Linux 3.10 for the Odroid-XU3",
    knobs: KNOBS,
    guarantees: &[Guarantee::Balances],
    in_kernel: Some(InKernel { reads_usage: true, numbers: &["up", "down"], ..InKernel::new(4) }),
    ..Description::of::<Gts>("gts", |setup| Box::new(Gts::new(setup)))
};

/// Busy threads on big cores, the others on little cores.
#[derive(Debug)]
pub struct Gts {
    up: u32,
    down: u32,
}

#[hooks]
impl Policy for Gts {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Linaro's scheduler checks at every tick; 4 ms is a tick at 250 Hz. Idle cores balance then.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(4))
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        let t = s.thread(thread);
        let within = |domain: CoreSet| fair::least(s, domain.and(t.allowed()));
        let stay = || {
            // A thread stays in its domain, whatever CFS says (select_task_rq_fair).
            let core = fair::place(s, thread, why);
            if domain(s, t.core).contains(core) { core } else { t.core }
        };
        match why {
            // New threads count as busy (select_task_rq_fair puts all of them on big cores), unless their clamp says otherwise.
            Why::New { .. } => {
                let domain = if load(s, thread) < self.down { s.little } else { s.big };
                within(domain).unwrap_or_else(|| fair::place(s, thread, why))
            }
            Why::Woken { .. } if s.big.contains(t.core) && load(s, thread) < self.down => {
                within(s.little).unwrap_or_else(stay)
            }
            Why::Woken { .. } if s.little.contains(t.core) && load(s, thread) > self.up => {
                let big = s.big.and(t.allowed()).iter().filter(|big| unused(s, *big)).collect();
                s.whole(big).lowest().unwrap_or_else(stay)
            }
            Why::Woken { .. } => stay(),
            Why::Preempted | Why::Yielded | Why::Taken { .. } => fair::place(s, thread, why),
        }
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        if let Some(first) = s.core(core).queue.first() {
            return Pick::Queued(first);
        }
        match fair::pull(s, core, domain(s, core)) {
            Some(waiting) => Pick::Queued(waiting),
            None if s.big.contains(core) => self.idle_pull(s, core),
            None => offload(s, core),
        }
    }

    fn balances_always(&self) -> bool {
        true
    }

    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        let due = fair::balance_due(s, core, 0);
        match fair::pull(s, core, domain(s, core)).filter(|_| due) {
            Some(waiting) => Pick::Queued(waiting),
            None if s.idle(core) && s.little.contains(core) => offload(s, core),
            None => Pick::Idle,
        }
    }
}

impl Gts {
    fn new(setup: &Setup) -> Self {
        Self { up: setup.whole("up"), down: setup.whole("down") }
    }

    /// The busiest thread of all little cores, if it is above the up threshold (hmp_idle_pull).
    fn idle_pull(&self, s: &State, core: CoreId) -> Pick {
        let running = s.little.iter().filter_map(|little| s.core(little).current.map(Pick::Running));
        let waiting = s.little.iter().flat_map(|little| s.core(little).queue.iter().map(Pick::Queued));
        let busy = |pick: &Pick| match pick {
            Pick::Running(thread) | Pick::Queued(thread) if s.thread(*thread).allowed().contains(core) => {
                load(s, *thread)
            }
            _ => 0,
        };
        running.chain(waiting).filter(|pick| busy(pick) > self.up).max_by_key(busy).unwrap_or(Pick::Idle)
    }
}

fn domain(s: &State, core: CoreId) -> CoreSet {
    if s.big.contains(core) { s.big } else { s.little }
}

fn load(s: &State, thread: ThreadId) -> u32 {
    s.thread(thread).utilisation()
}

/// A core with any load left, be it decaying, counts as busy (hmp_domain_min_load).
fn unused(s: &State, core: CoreId) -> bool {
    s.idle(core) && s.usage(core, None) == 0
}

/// The least busy of the threads that starve on big cores, if no big core is idle (hmp_offload_down).
fn offload(s: &State, core: CoreId) -> Pick {
    if s.big.iter().any(|big| unused(s, big)) {
        return Pick::Idle;
    }
    let shared = s.big.iter().filter(|big| s.occupancy(*big) >= 2);
    let waiting = shared.flat_map(|big| s.core(big).queue.iter());
    let may_come = waiting.filter(|thread| s.thread(*thread).allowed().contains(core) && starves(s, *thread));
    may_come.min_by_key(|thread| load(s, *thread)).map_or(Pick::Idle, Pick::Queued)
}

/// Whether a thread gets too little of the time in which it could run (hmp_task_starvation). Usage is counted by what its core
/// can do at its frequency, and so is turned into time again.
fn starves(s: &State, thread: ThreadId) -> bool {
    let t = s.thread(thread);
    t.usage(s.now) * 1024 / s.capacity_now(t.core).max(1) <= load(s, thread) * STARVING / 1024
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{ClusterId, Hz, machines};

    use super::*;
    use crate::Pelt;
    use crate::pelt::FULL;
    use crate::thread::{NewThread, Run, Wait};

    fn gts() -> Gts {
        Gts::new(&Setup::from(&DESCRIPTION))
    }

    /// What an idle little core does beside a big one at an eighth of its highest frequency, which runs one of two busy
    /// threads. Both have used so much of it.
    fn beside_a_slow_big_core(usage: u32) -> Pick {
        let machine = machines::by_name("x5560-1B1S").unwrap();
        let spec = NewThread::anywhere(&machine);
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        let most = s.machine.core_types[0].max_frequency();
        s.set_frequency(ClusterId(0), Hz(most.0 / 8));
        for run in [Run::Running, Run::Ready] {
            s.introduce(&spec);
            let thread = s.threads.last_mut().unwrap();
            thread.run = run;
            thread.load = Pelt::constant(FULL, Ns::ZERO);
            thread.usage = Pelt::constant(usage, Ns::ZERO);
        }
        s.cores[0].current = Some(ThreadId(0));
        s.cores[0].queue.push_fair(ThreadId(1), 0, s.threads[1].weight());
        s.note(CoreId(0));
        gts().pick(&s, CoreId(1))
    }

    #[test]
    fn a_thread_that_has_all_of_a_slow_core_does_not_starve() {
        assert_eq!(beside_a_slow_big_core(128), Pick::Idle, "it has had an eighth of 1024, which is all");
        assert_eq!(beside_a_slow_big_core(64), Pick::Queued(ThreadId(1)), "it has had half of that");
    }

    #[test]
    fn a_thread_that_goes_up_gets_a_core_whose_other_hardware_thread_is_idle() {
        let machine = machines::by_name("i9-13900k-ht").unwrap();
        let spec = NewThread::anywhere(&machine);
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        for (core, run) in [(CoreId(0), Run::Running), (CoreId(16), Run::Blocked(Wait::Sleep))] {
            s.introduce(&spec);
            let thread = s.threads.last_mut().unwrap();
            (thread.core, thread.run) = (core, run);
            thread.load = Pelt::constant(FULL, Ns::ZERO);
        }
        s.cores[0].current = Some(ThreadId(0));
        s.note(CoreId(0));
        // 0 and 1 are threads of one core.
        assert_eq!(gts().place(&s, ThreadId(1), Why::Woken { by: None }), CoreId(2));
    }
}
