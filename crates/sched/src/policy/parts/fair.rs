//! The default of every hook: Linux's Completely Fair Scheduler, oblivious to core types.
//!
//! Constants and rules are those of Linux 3.16 (kernel/sched/fair.c), the kernel of COLAB's evaluation (COLAB 4):
//! targeted latency, minimum and wake-up granularity scaled by 1 + log2 of the number of cores (at most 8), sleepers
//! credited with half a latency, wake-affine placement among idle siblings, idle and periodic balancing that moves
//! waiting threads, and a running one only from a cluster that stays overloaded while another has idle cores. A cluster
//! here is what shares a last-level cache, whatever types its cores have. All capacities count the same, as on a machine
//! whose firmware does not state them. Simplified: groups are compared by runnable weight at this moment, not by its
//! decayed average.

use evenkeel_model::{Class, CoreId, CoreSet, NICE_0_WEIGHT, Ns, ThreadId};

use crate::action::{Pick, Why};
use crate::state::State;
use crate::thread::{Run, Thread};

/// sysctl_sched_latency, before scaling.
const LATENCY: Ns = Ns::from_ms(6);
/// sysctl_sched_min_granularity, before scaling.
const MIN_GRANULARITY: Ns = Ns::from_us(750);
/// sysctl_sched_wakeup_granularity, before scaling.
const WAKEUP_GRANULARITY: Ns = Ns::from_ms(1);
/// sched_nr_latency: with more threads than this on a core the period stretches.
const NR_LATENCY: u64 = 8;
/// sysctl_sched_migration_cost: a thread that ran this recently is cache hot and is not pulled away.
const MIGRATION_COST: Ns = Ns::from_us(500);
/// A busy core balances this much more rarely than an idle one (sched_domain::busy_factor).
pub const BUSY_FACTOR: u64 = 32;

/// SCHED_TUNABLESCALING_LOG: 1 + log2(cores), counting at most 8 cores.
pub(crate) fn scale(s: &State) -> u64 {
    1 + u64::from(s.cores.len().min(8).ilog2())
}

/// sched_latency of this machine: the period in which every thread of a core runs once.
pub fn latency(s: &State) -> Ns {
    Ns(LATENCY.0 * scale(s))
}

/// sched_min_granularity of this machine.
pub fn min_granularity(s: &State) -> Ns {
    Ns(MIN_GRANULARITY.0 * scale(s))
}

/// Where a ready thread is queued (select_task_rq_fair).
pub fn place(s: &State, thread: ThreadId, why: Why) -> CoreId {
    let t = s.thread(thread);
    let previous = t.core;
    match why {
        Why::New { by } => idlest(s, by.map_or(previous, |by| s.thread(by).core), t.allowed()),
        Why::Woken { by } => {
            let waker = by.filter(|by| s.thread(*by).run == Run::Running).map(|by| s.thread(by).core);
            let target = wake_affine(s, t, waker);
            idle_sibling(s, t, target)
        }
        Why::Preempted | Why::Yielded if t.may_run_on(previous) => previous,
        Why::Preempted | Why::Yielded => idlest(s, previous, t.allowed()),
        Why::Taken { by } => by,
    }
}

// Cores are tried in a circle from the core's own: the order of a scheduling domain's groups (sched_domain::groups).

/// find_idlest_group and find_idlest_cpu: the cluster with the least weight a core, the parent's own if it is as good,
/// and in it the core with the least weight, in the parent's own from the parent's core on; of equal ones one whose siblings are idle.
fn idlest(s: &State, parent: CoreId, allowed: CoreSet) -> CoreId {
    let mut best: Option<(u64, bool, CoreId)> = None;
    for (cache, group) in s.caches.iter().enumerate() {
        let cores = group.and(allowed);
        if cores.is_empty() {
            continue;
        }
        let weight: u64 =
            if cores == *group { s.cache_weight(cache) } else { cores.iter().map(|core| s.weight(core)).sum() };
        let per_core = weight * 1024 / cores.len() as u64;
        let foreign = !group.contains(parent);
        if best.is_some_and(|best| (per_core, foreign) > (best.0, best.1)) {
            continue;
        }
        let first = if foreign { CoreId(0) } else { parent };
        // Without any weight the first is as good as any.
        let mut around = cores.around(first);
        let room = |core: &CoreId| (s.weight(*core), !s.alone(*core));
        let least = if weight == 0 { around.next() } else { around.min_by_key(room) };
        let Some(core) = least else { continue };
        let candidate = (per_core, foreign, core);
        if best.is_none_or(|best| candidate < best) {
            best = Some(candidate);
        }
    }
    best.map_or(CoreId(0), |(_, _, core)| core)
}

/// The core with the least weight, of equal ones one whose siblings are idle, the lowest number first.
pub fn least(s: &State, cores: CoreSet) -> Option<CoreId> {
    cores.iter().min_by_key(|core| (s.weight(*core), !s.alone(*core)))
}

/// wake_affine: the waker's core if the woken thread may run there and it is no busier than where the thread was.
fn wake_affine(s: &State, t: &Thread, waker: Option<CoreId>) -> CoreId {
    let previous = Some(t.core).filter(|core| t.may_run_on(*core));
    let waker = waker.filter(|core| t.may_run_on(*core));
    match (previous, waker) {
        (Some(previous), Some(waker)) if s.weight(waker) < s.weight(previous) => waker,
        (Some(previous), _) => previous,
        (None, Some(waker)) => waker,
        (None, None) => least(s, t.allowed()).unwrap_or(CoreId(0)),
    }
}

/// select_idle_sibling: the target if idle, else where the thread was if idle and in the same cluster, else the next
/// idle core that shares the target's last-level cache, else the target. Cores whose hardware threads are all idle come first.
fn idle_sibling(s: &State, t: &Thread, target: CoreId) -> CoreId {
    if s.idle(target) && s.alone(target) {
        return target;
    }
    let near = &s.domains[target.index()][0];
    if near.contains(t.core) && s.idle(t.core) && s.alone(t.core) && t.may_run_on(t.core) {
        return t.core;
    }
    let idle = s.whole(near.and(s.idle_cores()).and(t.allowed()));
    if idle.contains(target) { target } else { idle.around(target).next().unwrap_or(target) }
}

/// What a core runs next: the first in its queue, or, when that is empty, a waiting thread from the busiest core around
/// (idle_balance), the cluster before the machine.
pub fn pick(s: &State, core: CoreId) -> Pick {
    if let Some(first) = s.core(core).queue.first() {
        return Pick::Queued(first);
    }
    for domain in s.domains[core.index()].iter() {
        if let Some(thread) = pull_from_busiest(s, core, *domain, 0) {
            return Pick::Queued(thread);
        }
    }
    Pick::Idle
}

/// The waiting thread that `core` should pull from the busiest other core of a domain.
pub fn pull(s: &State, core: CoreId, domain: CoreSet) -> Option<ThreadId> {
    pull_from_busiest(s, core, domain, s.weight(core))
}

/// The waiting thread that `core`, with a weight of `ours`, should pull from the busiest other core of a domain.
fn pull_from_busiest(s: &State, core: CoreId, domain: CoreSet, ours: u64) -> Option<ThreadId> {
    let candidates = |from: CoreId| {
        let surplus = surplus(s, from, ours);
        pullable(s, from, core).filter(move |thread| s.thread(*thread).weight() < surplus)
    };
    busiest(s, core, domain, |other| s.weight(other), |other| candidates(other).next()).map(|(_, thread)| thread)
}

/// By how much a core outweighs one that weighs `ours`. The two are closer to each other after the move of a thread if, and
/// only if, it weighs less than that (calculate_imbalance and detach_tasks, for two cores): so nice threads make room for
/// the others, and nothing moves back and forth. Without bound if one of the two has nothing to run, which takes any thread.
fn surplus(s: &State, from: CoreId, ours: u64) -> u64 {
    if ours == 0 || s.core(from).current.is_none() { u64::MAX } else { s.weight(from).saturating_sub(ours) }
}

/// The other core of a domain with the highest load, the next one among equals, of those that have a candidate to give away
/// (LBF_ALL_PINNED: cores whose threads may all not run here are passed over), and that candidate.
pub(crate) fn busiest<L: PartialOrd>(
    s: &State,
    core: CoreId,
    domain: CoreSet,
    load: impl Fn(CoreId) -> L,
    candidate: impl Fn(CoreId) -> Option<ThreadId>,
) -> Option<(CoreId, ThreadId)> {
    let mut busiest: Option<(L, CoreId, ThreadId)> = None;
    if !domain.intersects(&s.occupancy.queued) {
        return None;
    }
    for other in domain.and(s.queued_cores()).without(core).around(core) {
        let load = load(other);
        // The load of every core is at hand; threads are searched only where that decides.
        if busiest.as_ref().is_none_or(|(most, ..)| load > *most)
            && let Some(thread) = candidate(other)
        {
            busiest = Some((load, other, thread));
        }
    }
    busiest.map(|(_, core, thread)| (core, thread))
}

/// The threads that wait for a core and may run on another one, in the order in which they are pulled: cold ones before
/// those that just ran (can_migrate_task), the last in line first.
pub(crate) fn pullable(s: &State, from: CoreId, to: CoreId) -> impl Iterator<Item = ThreadId> + '_ {
    let cold = |thread: ThreadId| {
        let thread = s.thread(thread);
        thread.executed == Ns::ZERO || s.now.since(thread.last_ran) >= MIGRATION_COST
    };
    let movable = move || s.core(from).queue.iter().rev().filter(move |t| s.thread(*t).may_run_on(to));
    movable().filter(move |t| cold(*t)).chain(movable().filter(move |t| !cold(*t)))
}

/// Periodic balancing (rebalance_domains), once an interval of as many ms as the domain has cores, more rarely for
/// a busy core ([`BUSY_FACTOR`]): a waiting thread to pull to `core`, or, for an idle core beside an overloaded cluster, or beside pipelines that
/// threads share, a running one (active_load_balance), which moves only if it is still so after three intervals.
pub fn balance(s: &State, core: CoreId) -> Pick {
    let domains = &s.domains[core.index()];
    let mut due = domains.iter().enumerate().filter(|(level, _)| balance_due(s, core, *level));
    if let Some(thread) = due.find_map(|(_, domain)| pull(s, core, *domain)) {
        return Pick::Queued(thread);
    }
    let due_in_all = balance_due(s, core, domains.len() - 1);
    let running = || from_overloaded_cluster(s, core).or_else(|| from_shared_pipelines(s, core));
    let running = if due_in_all && s.idle(core) { running() } else { None };
    running.map_or(Pick::Idle, Pick::Running)
}

/// After so many intervals in vain a running thread is moved (cache_nice_tries + 2).
pub(crate) const PATIENCE: u8 = 3;

/// A running thread of the cluster with the most weight a core, if that cluster would still have no less of it than the
/// idle core's after the move (find_busiest_group: balanced clusters have equally many idle cores).
fn from_overloaded_cluster(s: &State, core: CoreId) -> Option<ThreadId> {
    let local = s.occupancy.cache_of(core);
    let others = (0..s.caches.len()).filter(|cache| *cache != local);
    let size = |cache: usize| s.caches[cache].len() as u64;
    // Weights a core, compared by cross-multiplication.
    let busiest = others.max_by(|a, b| (s.cache_weight(*a) * size(*b)).cmp(&(s.cache_weight(*b) * size(*a))))?;
    let thread = s.busy(s.caches[busiest]).find_map(|other| s.movable_current(other, core))?;
    let own = s.thread(thread).weight();
    let (theirs, ours) = (s.cache_weight(busiest).saturating_sub(own), s.cache_weight(local) + own);
    (theirs * size(local) >= ours * size(busiest)).then_some(thread)
}

/// A thread that runs beside another one in the same pipelines, while this core of the same cluster has nothing to do at all (group_smt_balance).
fn from_shared_pipelines(s: &State, core: CoreId) -> Option<ThreadId> {
    if s.machine.siblings.is_empty() || !s.alone(core) {
        return None;
    }
    let cluster = &s.machine.clusters[s.machine.cores[core.index()].cluster.index()];
    s.busy(cluster.cores).filter(|other| !s.alone(*other)).find_map(|other| s.movable_current(other, core))
}

/// Whether a core should balance in one of its domains again.
pub(crate) fn balance_due(s: &State, core: CoreId, level: usize) -> bool {
    let factor = if s.idle(core) { 1 } else { s.busy_factor };
    let interval = Ns::from_ms(s.domain_size(core, level) * factor);
    s.now.since(s.core(core).balanced[level]) >= interval
}

/// When an idle core should search in one of its domains next.
pub(crate) fn next_balance(s: &State, core: CoreId) -> Ns {
    let levels = 0..s.domains[core.index()].len();
    let due = levels.map(|level| s.core(core).balanced[level] + Ns::from_ms(s.domain_size(core, level)));
    due.min().unwrap_or(Ns::NEVER)
}

/// How long a thread may run while others wait (sched_slice): its share of a period that gives every thread at least the
/// minimum granularity.
pub fn slice(s: &State, thread: ThreadId, core: CoreId) -> Ns {
    let queue = &s.core(core).queue;
    share(s, thread, queue.len(), queue.weight())
}

/// A thread's share of a period beside so many others of this weight.
fn share(s: &State, thread: ThreadId, others: usize, weight: u64) -> Ns {
    let running = others as u64 + 1;
    let period = if running > NR_LATENCY { min_granularity(s).0 * running } else { latency(s).0 };
    let own = s.thread(thread).weight();
    Ns(period * own / (weight + own))
}

/// What a span of running costs in virtual time (calc_delta_fair).
pub fn charge(s: &State, thread: ThreadId, ran: Ns) -> Ns {
    match s.thread(thread).class {
        Class::Fair { weight: NICE_0_WEIGHT } => ran,
        Class::Fair { weight } => Ns((u128::from(ran.0) * u128::from(NICE_0_WEIGHT) / u128::from(weight)) as u64),
        Class::RealTime { .. } => Ns::ZERO,
    }
}

/// The virtual time with which a thread joins a queue (place_entity): a new one behind the others by a slice, a sleeper
/// with half a latency of credit at most, any other with what it had above the floor of the queue that it left. What runs on
/// the core `owes` so much ([`crate::Policy::owes`]).
pub fn enter(s: &State, thread: ThreadId, core: CoreId, why: Why, owes: Ns) -> i64 {
    let queue = &s.core(core).queue;
    let t = s.thread(thread);
    let vruntime = t.vruntime - s.core(t.core).queue.min_vruntime + queue.min_vruntime;
    match why {
        Why::New { .. } => {
            // Of all fair ones that are there, the running one included: those of real time are in a queue of their own.
            let is_fair = |other: &ThreadId| matches!(s.thread(*other).class, Class::Fair { .. });
            let fair = queue.iter().chain(s.core(core).current).filter(is_fair);
            let (others, weight) = fair.fold((0, 0), |sum, other| (sum.0 + 1, sum.1 + s.thread(other).weight()));
            floor(s, core, owes) + charge(s, thread, share(s, thread, others, weight)).0 as i64
        }
        Why::Woken { .. } => vruntime.max(floor(s, core, owes) - latency(s).0 as i64 / 2),
        // yield_task_fair with the skip hint: behind all that wait.
        Why::Yielded => queue.iter().next_back().map_or(vruntime, |last| vruntime.max(s.thread(last).vruntime + 1)),
        Why::Preempted | Why::Taken { .. } => vruntime,
    }
}

/// The floor of a core's queue now (update_min_vruntime): what runs there counts with what it owes.
fn floor(s: &State, core: CoreId, owes: Ns) -> i64 {
    let queue = &s.core(core).queue;
    let Some(running) = s.core(core).current else { return queue.min_vruntime };
    let ahead = s.thread(running).vruntime + owes.0 as i64;
    queue.min_vruntime.max(queue.first_vruntime().map_or(ahead, |first| first.min(ahead)))
}

/// Whether the thread that runs on a core should give way at a tick (check_preempt_tick): it has run for what the policy
/// gives it there (`stint`), or the first in line is a whole slice behind, in virtual time.
pub fn expired(s: &State, running: ThreadId, core: CoreId, stint: Ns) -> bool {
    let t = s.thread(running);
    let ahead = s.core(core).queue.first_vruntime().map_or(0, |first| t.vruntime - first);
    t.stint >= stint || ahead > slice(s, running, core).0 as i64 && t.stint >= min_granularity(s)
}

/// Whether a woken thread should preempt the running one (wakeup_preempt_entity): it is behind by more than the wake-up
/// granularity, scaled to its own weight. The running one `owes` so much ([`crate::Policy::owes`]).
pub fn preempts(s: &State, woken: ThreadId, running: ThreadId, owes: Ns) -> bool {
    let ahead = s.thread(running).vruntime + owes.0 as i64 - s.thread(woken).vruntime;
    ahead > wakeup_granularity(s, woken).0 as i64
}

/// A thread's virtual time now: what a running one has had since the last report counts (update_curr).
pub(crate) fn vruntime_now(s: &State, thread: ThreadId) -> i64 {
    s.thread(thread).vruntime + owes(s, thread).0 as i64
}

/// What a thread is still to be charged.
pub fn owes(s: &State, thread: ThreadId) -> Ns {
    charge(s, thread, unreported(s, thread))
}

/// For how long a running thread has had its core since the last report: hosts report before ticks and stops, not before wake-ups.
pub(crate) fn unreported(s: &State, thread: ThreadId) -> Ns {
    let t = s.thread(thread);
    if t.run == Run::Running { s.now.since(t.last_ran.max(t.since)) } else { Ns::ZERO }
}

/// By how much a thread must be behind to preempt at its wake-up, scaled to its own weight (wakeup_gran).
pub fn wakeup_granularity(s: &State, woken: ThreadId) -> Ns {
    charge(s, woken, Ns(WAKEUP_GRANULARITY.0 * scale(s)))
}
