//! EEVDF: today's Linux, as a second baseline.
//!
//! Problem: threads of one core should get their shares, and a thread that wakes up should run soon. Since 6.6 Linux's fair
//! class runs the *earliest eligible virtual deadline first* (Stoica and Abdel-Wahab, "Earliest Eligible Virtual Deadline
//! First: a flexible and accurate mechanism for proportional share resource allocation", Old Dominion University TR-95-22,
//! 1995).
//!
//! Constants and rules are those of Linux 6.12 (kernel/sched/fair.c, kernel/sched/features.h: PLACE_LAG,
//! PLACE_DEADLINE_INITIAL, PLACE_REL_DEADLINE, RUN_TO_PARITY), the base slice is the 0.7 ms that came with 6.13, and a thread
//! that yields within its share forfeits the rest of its request, as since 6.18. Placement and balancing are CFS's, but for
//! three things since 5.10: where threads start ([`super::parts::fork_balance`]), the busy factor, and threads that are left
//! over (migrate_load of calculate_imbalance and detach_tasks). What is decided, what the knob `asym` changes and what is
//! left out: `docs/policies/linux.md`.

use evenkeel_model::{Class, CoreId, CoreSet, NICE_0_WEIGHT, Ns, ThreadId};

use super::description::{Description, Knob, Value};
use super::hooks::Policy;
use super::parts::fair::{self, vruntime_now};
use super::parts::fork_balance::{IMBALANCE_PCT, idlest};
use super::parts::misfit::{idle_and_fit, misfit};
use crate::action::{Pick, Why};
use crate::state::{LEVELS, State};
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "today's Linux: the earliest virtual deadline of those that have not had their share; all cores count as equal",
    source: "Linux 6.12, kernel/sched/fair.c and kernel/sched/features.h; Stoica and Abdel-Wahab, \"Earliest Eligible Virtual Deadline First: a flexible and accurate mechanism for proportional share resource allocation\", Old Dominion University TR-95-22, 1995",
    knobs: &[
        Knob {
            name: "slice",
            summary: "what a thread requests at a time, times 1 + log2 of the number of cores, of which at most 8 count (base_slice_ns)",
            value: Value::Time(Ns::from_us(700)),
        },
        Knob { name: "asym", summary: "the firmware states capacities: misfit migration", value: Value::Switch },
    ],
    ..Description::of::<Eevdf>("eevdf", |setup| Box::new(Eevdf::new(setup.time("slice"), setup.switch("asym"))))
};

/// How much more rarely a busy core balances than an idle one (sched_domain::busy_factor since 5.10; half of what CFS had).
const BUSY_FACTOR: u64 = 16;

/// The EEVDF scheduler.
#[derive(Debug)]
pub struct Eevdf {
    /// What a thread requests at a time, before scaling by the number of cores (sysctl_sched_base_slice).
    slice: Ns,
    /// Whether the firmware states capacities.
    asym: bool,
    /// By thread.
    entities: Vec<Entity>,
    /// By core and domain around it: how often in a row it found a busier one and nothing small enough to pull
    /// (nr_balance_failed).
    failed: Vec<[u32; LEVELS]>,
}

/// What EEVDF keeps of a thread, in virtual time (sched_entity).
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// By when it should have had its request; on the scale of the queue that it is in.
    deadline: i64,
    /// What it was owed when it left its core, and how far its deadline was away.
    lag: i64,
    to_deadline: i64,
    /// It has had its request since it was last picked.
    served: bool,
}

#[hooks]
impl Policy for Eevdf {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// A tick at 250 Hz on a core with a misfit thread wakes an idle one up to take it (nohz_balancer_kick): after each
    /// period idle cores balance.
    fn period(&self) -> Option<Ns> {
        self.asym.then_some(Ns::from_ms(4))
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        let t = s.thread(thread);
        let place = match why {
            Why::New { by } => idlest(s, by.map_or(t.core, |by| s.thread(by).core), t.allowed()),
            Why::Woken { .. } if self.asym => idle_and_fit(s, thread),
            _ => None,
        };
        place.unwrap_or_else(|| fair::place(s, thread, why))
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        let first = self.earliest(s, core, s.core(core).queue.iter()).map(Pick::Queued);
        let pick = first.unwrap_or_else(|| fair::pick(s, core));
        match pick {
            Pick::Queued(thread) => self.entity(thread).served = false,
            Pick::Idle if self.asym => return misfit(s, core).map_or(Pick::Idle, Pick::Running),
            _ => {}
        }
        pick
    }

    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        if self.failed.len() <= core.index() {
            self.failed.resize(core.index() + 1, [0; LEVELS]);
        }
        let failed = &mut self.failed[core.index()];
        let pick = fair::balance(s, core);
        if pick != Pick::Idle {
            *failed = [0; LEVELS];
            return pick;
        }
        let domains = s.domains[core.index()].iter().zip(failed).enumerate();
        let mut due = domains.filter(|(level, _)| fair::balance_due(s, core, *level));
        let thread = due.find_map(|(_, (domain, failed))| left_over(s, core, *domain, failed));
        thread.map_or(Pick::Idle, Pick::Queued)
    }

    fn busy_factor(&self) -> u64 {
        BUSY_FACTOR
    }

    fn knows_capacities(&self) -> bool {
        self.asym
    }

    fn forget(&mut self, thread: ThreadId) {
        *self.entity(thread) = Entity::default();
    }

    /// What is left of the request.
    fn slice(&self, s: &State, thread: ThreadId, _core: CoreId) -> Ns {
        let left = (self.deadline(thread) - vruntime_now(s, thread)).max(0) as u64;
        Ns(left * s.thread(thread).weight() / NICE_0_WEIGHT)
    }

    /// Counts the time against the request, and makes the next one once it is fulfilled (update_deadline).
    fn charge(&mut self, s: &State, thread: ThreadId, _core: CoreId, ran: Ns) -> Ns {
        let cost = fair::charge(s, thread, ran);
        let vruntime = s.thread(thread).vruntime + cost.0 as i64;
        let request = self.request(s, thread);
        let entity = self.entity(thread);
        if vruntime >= entity.deadline {
            entity.deadline = vruntime + request;
            entity.served = true;
        }
        cost
    }

    /// Joins with the lag that it left with (place_entity). Its weight moves the average towards it, so it is placed
    /// further off by as much.
    fn enter(&mut self, s: &State, thread: ThreadId, core: CoreId, why: Why) -> i64 {
        let request = self.request(s, thread);
        let stays = core == s.thread(thread).core;
        let entity = self.entity(thread);
        let vruntime = match why {
            Why::Preempted | Why::Taken { .. } if stays => return s.thread(thread).vruntime,
            // Past its share it does not run next in any case (yield_task_fair).
            Why::Yielded if stays && entity.lag < 0 => return s.thread(thread).vruntime,
            // Forfeits what was left: the rest of the request counts as had.
            Why::Yielded if stays => entity.deadline,
            _ => {
                let there = Average::of(s, core);
                let weight = i128::from(s.thread(thread).weight());
                let load = there.load.max(1);
                let lag = if matches!(why, Why::New { .. }) || there.load == 0 { 0 } else { entity.lag };
                there.vruntime() - (i128::from(lag) * (load + weight) / load) as i64
            }
        };
        entity.deadline = match why {
            Why::New { .. } => vruntime + request / 2,
            Why::Preempted | Why::Taken { .. } => vruntime + entity.to_deadline,
            Why::Woken { .. } | Why::Yielded => vruntime + request,
        };
        vruntime
    }

    /// Notes what it is owed, at most two slices or a tick (update_entity_lag).
    fn leave(&mut self, s: &State, thread: ThreadId) {
        let limit = Ns(2 * self.base_slice(s).0).max(s.machine.costs.tick);
        let limit = fair::charge(s, thread, limit).0 as i64;
        let vruntime = vruntime_now(s, thread);
        let lag = Average::of(s, s.thread(thread).core).vruntime() - vruntime;
        let entity = self.entity(thread);
        entity.lag = lag.clamp(-limit, limit);
        entity.to_deadline = entity.deadline - vruntime;
    }

    fn expired(&self, s: &State, running: ThreadId, _core: CoreId) -> bool {
        !self.protected(s, running)
    }

    /// The woken thread is now the one to run, and the running one has had its request or more than its share
    /// (RUN_TO_PARITY). Any other thread preempts one of the idle class, which preempts none.
    fn preempts(&self, s: &State, woken: ThreadId, running: ThreadId, core: CoreId) -> bool {
        let idle = |thread| s.thread(thread).class == Class::idle();
        if idle(woken) || idle(running) {
            return idle(running) && !idle(woken);
        }
        let average = Average::of(s, core);
        if average.eligible(vruntime_now(s, running)) && self.protected(s, running) {
            return false;
        }
        self.earliest(s, core, s.core(core).queue.iter().chain([running])) == Some(woken)
    }
}

impl Eevdf {
    /// With slices of this length, before scaling; `asym` if the firmware states capacities.
    pub fn new(slice: Ns, asym: bool) -> Self {
        Self { slice, asym, entities: Vec::new(), failed: Vec::new() }
    }

    fn base_slice(&self, s: &State) -> Ns {
        Ns(self.slice.0 * fair::scale(s))
    }

    /// A slice in a thread's virtual time.
    fn request(&self, s: &State, thread: ThreadId) -> i64 {
        fair::charge(s, thread, self.base_slice(s)).0 as i64
    }

    fn entity(&mut self, thread: ThreadId) -> &mut Entity {
        if self.entities.len() <= thread.index() {
            self.entities.resize(thread.index() + 1, Entity::default());
        }
        &mut self.entities[thread.index()]
    }

    fn deadline(&self, thread: ThreadId) -> i64 {
        self.entities.get(thread.index()).map_or(0, |entity| entity.deadline)
    }

    /// Whether a running thread has not had all of the request that it had when it was picked.
    fn protected(&self, s: &State, running: ThreadId) -> bool {
        let served = self.entities.get(running.index()).is_some_and(|entity| entity.served);
        !served && vruntime_now(s, running) < self.deadline(running)
    }

    /// Of the eligible ones among some fair threads of a core, the one with the earliest deadline; the first among equals.
    fn earliest(&self, s: &State, core: CoreId, threads: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
        let average = Average::of(s, core);
        let eligible = threads.filter(|thread| fair(s, *thread) && average.eligible(vruntime_now(s, *thread)));
        eligible.min_by_key(|thread| self.deadline(*thread))
    }
}

/// The thread that a core pulls from the busiest one of a domain, even if that has only this one more: then after some attempts,
/// each of which halves what the thread counts for (detach_tasks).
fn left_over(s: &State, core: CoreId, domain: CoreSet, failed: &mut u32) -> Option<ThreadId> {
    let Some((from, imbalance)) = imbalance(s, core, domain) else {
        *failed = 0;
        return None;
    };
    let counts_for = |thread: &ThreadId| s.thread(*thread).weight().checked_shr(*failed).unwrap_or(0);
    let thread = fair::pullable(s, from, core).find(|thread| counts_for(thread) <= imbalance);
    *failed = if thread.is_some() { 0 } else { *failed + 1 };
    thread
}

/// The busiest other core of a domain, and how much weight should come from there so that neither passes the average
/// (calculate_imbalance, migrate_load).
fn imbalance(s: &State, core: CoreId, domain: CoreSet) -> Option<(CoreId, u64)> {
    let (from, _) =
        fair::busiest(s, core, domain, |other| s.weight(other), |other| fair::pullable(s, other, core).next())?;
    let (theirs, ours) = (s.weight(from), s.weight(core));
    let average = domain.iter().map(|core| s.weight(core)).sum::<u64>() / domain.len() as u64;
    let busier = ours < average && average < theirs && 100 * theirs > IMBALANCE_PCT * ours;
    busier.then(|| (from, (theirs - average).min(average - ours)))
}

/// The average virtual time of the fair threads that wait for a core or run on it, by weight (avg_vruntime).
struct Average {
    floor: i64,
    /// Of weight x virtual time above the floor.
    sum: i128,
    load: i128,
}

impl Average {
    fn of(s: &State, core: CoreId) -> Self {
        let queue = &s.core(core).queue;
        let floor = queue.min_vruntime;
        let mut average = Self { floor, sum: 0, load: 0 };
        for thread in queue.iter().chain(s.core(core).current).filter(|thread| fair(s, *thread)) {
            let weight = i128::from(s.thread(thread).weight());
            average.sum += weight * i128::from(vruntime_now(s, thread) - floor);
            average.load += weight;
        }
        average
    }

    fn vruntime(&self) -> i64 {
        self.floor + self.sum.div_euclid(self.load.max(1)) as i64
    }

    /// Whether a thread with this virtual time is owed anything (vruntime_eligible).
    fn eligible(&self, vruntime: i64) -> bool {
        self.sum >= i128::from(vruntime - self.floor) * self.load
    }
}

fn fair(s: &State, thread: ThreadId) -> bool {
    matches!(s.thread(thread).class, Class::Fair { .. })
}
