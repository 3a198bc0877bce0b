//! Faster core first, over a choice of which thread moves: what [`fcf`](super::super::fcf) and bias scheduling share.

use evenkeel_model::{CoreId, CoreSet, ThreadId};

use super::fair;
use crate::action::{Pick, Why};
use crate::state::State;

/// Which of several threads is to move.
type Candidates<'a> = &'a mut dyn Iterator<Item = ThreadId>;

/// A new or woken thread goes to the fastest idle core within reach, the nearest of them to where it was or was started.
/// If none is idle, a new one goes where there is most capacity for each thread, a woken one where CFS wants it, or, if that
/// is out of reach, where a new one would.
pub(crate) fn place(s: &State, thread: ThreadId, why: Why, reach: CoreSet) -> CoreId {
    let near = match why {
        Why::New { by: Some(parent) } => s.thread(parent).core,
        Why::New { by: None } | Why::Woken { .. } => s.thread(thread).core,
        Why::Preempted | Why::Yielded | Why::Taken { .. } => return fair::place(s, thread, why),
    };
    let allowed = s.thread(thread).allowed().and(reach);
    let distance = |core: CoreId| s.domains[near.index()].iter().position(|domain| domain.contains(core));
    let idle = s.whole(allowed.and(s.idle_cores()));
    let fastest =
        idle.iter().min_by_key(|core| (s.machine.cores[core.index()].core_type, *core != near, distance(*core)));
    let roomiest = || allowed.iter().min_by_key(|core| scaled(s, *core, s.weight(*core) + s.thread(thread).weight()));
    let as_cfs = || fair::place(s, thread, why);
    let among_busy = || match why {
        Why::New { .. } => roomiest(),
        _ => Some(as_cfs()).filter(|core| reach.contains(*core)).or_else(roomiest),
    };
    fastest.or_else(among_busy).unwrap_or_else(as_cfs)
}

/// What a core without a thread runs: the first in its queue, else one that waits elsewhere, else one that a slower core
/// runs ("near-idle performance optimizations", section 6.2). Nearer domains come first.
pub(crate) fn pick(
    s: &State,
    core: CoreId,
    reach: CoreSet,
    choose: impl Fn(Candidates<'_>) -> Option<ThreadId>,
) -> Pick {
    if let Some(first) = s.core(core).queue.first() {
        return Pick::Queued(first);
    }
    let mut around = domains(s, core, reach).map(|(_, domain)| domain);
    if let Some(thread) = around.find_map(|domain| pull(s, core, domain, &choose)) {
        return Pick::Queued(thread);
    }
    let running = domains(s, core, reach).find_map(|(_, domain)| {
        let slower = domain.iter().filter(|other| s.gains(*other, core));
        choose(&mut slower.filter_map(|other| s.movable_current(other, core)))
    });
    running.map_or(Pick::Idle, Pick::Running)
}

/// The waiting thread that a core should pull from the one with most load for its capacity, if that had more of it than this
/// one then has: of threads that differ in weight, one that is light enough. A core without any work takes any.
pub(crate) fn pull(
    s: &State,
    core: CoreId,
    domain: CoreSet,
    choose: impl Fn(Candidates<'_>) -> Option<ThreadId>,
) -> Option<ThreadId> {
    let load = |other: CoreId| scaled(s, other, s.weight(other));
    let candidates = |from: CoreId| {
        let room = carried(s, core, load(from)).saturating_sub(s.weight(core));
        let fits = move |thread: &ThreadId| s.idle(core) || s.thread(*thread).weight() < room;
        fair::pullable(s, from, core).filter(fits)
    };
    let (from, _) = fair::busiest(s, core, domain, load, |other| candidates(other).next())?;
    choose(&mut candidates(from))
}

/// The domains around a core in which it is time to balance, smallest first.
pub(crate) fn due(s: &State, core: CoreId, reach: CoreSet) -> impl Iterator<Item = CoreSet> + '_ {
    domains(s, core, reach).filter(move |(level, _)| fair::balance_due(s, core, *level)).map(|(_, domain)| domain)
}

/// Whether one core is of a faster type than another.
pub(crate) fn faster(s: &State, core: CoreId, than: CoreId) -> bool {
    s.machine.cores[core.index()].core_type < s.machine.cores[than.index()].core_type
}

fn domains(s: &State, core: CoreId, reach: CoreSet) -> impl Iterator<Item = (usize, CoreSet)> + '_ {
    let domains = s.domains[core.index()].iter().copied().enumerate();
    domains.take_while(move |(_, domain)| domain.minus(reach).is_empty())
}

/// A load as it weighs on a core of this capacity.
pub(crate) fn scaled(s: &State, core: CoreId, load: u64) -> u64 {
    load * 1024 * 1024 / u64::from(s.capacity(core))
}

/// The least that would weigh so much on a core.
fn carried(s: &State, core: CoreId, scaled: u64) -> u64 {
    (scaled * u64::from(s.capacity(core))).div_ceil(1024 * 1024)
}
