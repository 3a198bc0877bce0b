//! Faster core first and asymmetry-aware load balancing: what an operating system needs first on cores of different speed
//! (Koufaty, Reddy, Hahn: Bias scheduling in heterogeneous multi-core architectures, EuroSys 2010, section 5.2; after Li,
//! Baumberger, Koufaty, Hahn: Efficient operating system scheduling for performance-asymmetric multi-core architectures,
//! SC 2007).
//!
//! Problem: a scheduler that takes all cores for equal leaves a big core idle while a little one works, and gives each
//! core as many threads as any other. Here big cores get work first: a thread that becomes ready goes to the fastest idle
//! core, and a core with nothing to run takes over from a slower one. And they get more of it: load is compared as threads
//! for a core's capacity, the machine's estimate of how much faster a big core is, the same for every thread.
//!
//! Which thread moves makes no difference here. It does to bias scheduling, which calls these functions with a choice of
//! its own.

use evenkeel_model::{CoreId, CoreSet, ThreadId};

use super::{Pick, Policy};
use crate::action::Why;
use crate::cfs;
use crate::state::State;

/// Fast cores before slow ones, load in proportion to their speed.
#[derive(Debug, Default)]
pub struct Fcf;

impl Policy for Fcf {
    fn name(&self) -> &'static str {
        "fcf"
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        place(s, thread, why, s.machine.all())
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        pick(s, core, s.machine.all(), |candidates| candidates.next())
    }

    /// Only waiting threads are balanced: which core a running one is on is decided by who goes idle.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        let mut due = due(s, core, s.machine.all());
        let thread = due.find_map(|domain| pull(s, core, domain, |candidates| candidates.next()));
        thread.map_or(Pick::Idle, Pick::Queued)
    }
}

/// Which of several threads is to move.
type Candidates<'a> = &'a mut dyn Iterator<Item = ThreadId>;

/// A new or woken thread goes to the fastest idle core within reach, the nearest of them to where it was or was started.
/// If none is idle, a new one goes where there is most capacity for each thread, a woken one where CFS wants it.
pub(super) fn place(s: &State, thread: ThreadId, why: Why, reach: CoreSet) -> CoreId {
    let near = match why {
        Why::New { by: Some(parent) } => s.thread(parent).core,
        Why::New { by: None } | Why::Woken { .. } => s.thread(thread).core,
        Why::Preempted | Why::Yielded | Why::Taken { .. } => return cfs::place(s, thread, why),
    };
    let allowed = s.thread(thread).allowed().and(reach);
    let distance = |core: CoreId| s.domains[near.index()].iter().position(|domain| domain.contains(core));
    let idle = allowed.iter().filter(|core| s.idle(*core));
    let fastest = idle.min_by_key(|core| (s.machine.cores[core.index()].core_type, *core != near, distance(*core)));
    let roomiest = || match why {
        Why::New { .. } => allowed.iter().min_by_key(|core| scaled(s, *core, s.occupancy(*core) as u64 + 1)),
        _ => None,
    };
    fastest.or_else(roomiest).unwrap_or_else(|| cfs::place(s, thread, why))
}

/// What a core without a thread runs: the first in its queue, else one that waits elsewhere, else one that a slower core
/// runs ("near-idle performance optimizations", section 6.2). Nearer domains come first.
pub(super) fn pick(
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
        let slower = domain.iter().filter(|other| faster(s, core, *other));
        choose(&mut slower.filter_map(|other| s.movable_current(other, core)))
    });
    running.map_or(Pick::Idle, Pick::Running)
}

/// The waiting thread that a core should pull from the one with most load for its capacity, if that then still has more
/// of it than this one. A core without any work takes whoever waits.
pub(super) fn pull(
    s: &State,
    core: CoreId,
    domain: CoreSet,
    choose: impl Fn(Candidates<'_>) -> Option<ThreadId>,
) -> Option<ThreadId> {
    let from = cfs::busiest(s, core, domain, |other| {
        let theirs = scaled(s, other, s.occupancy(other) as u64);
        let ours = scaled(s, core, s.occupancy(core) as u64 + 1);
        (s.idle(core) || theirs > ours).then(|| scaled(s, other, s.weight(other)))
    })?;
    choose(&mut cfs::pullable(s, from, core))
}

/// The domains around a core in which it is time to balance, smallest first.
pub(super) fn due(s: &State, core: CoreId, reach: CoreSet) -> impl Iterator<Item = CoreSet> + '_ {
    domains(s, core, reach).filter(move |(level, _)| cfs::balance_due(s, core, *level)).map(|(_, domain)| domain)
}

/// Whether one core is of a faster type than another.
pub(super) fn faster(s: &State, core: CoreId, than: CoreId) -> bool {
    s.machine.cores[core.index()].core_type < s.machine.cores[than.index()].core_type
}

fn domains(s: &State, core: CoreId, reach: CoreSet) -> impl Iterator<Item = (usize, CoreSet)> + '_ {
    let domains = s.domains[core.index()].iter().copied().enumerate();
    domains.take_while(move |(_, domain)| domain.minus(reach).is_empty())
}

/// A load as it weighs on a core of this capacity.
fn scaled(s: &State, core: CoreId, load: u64) -> u64 {
    load * 1024 * 1024 / u64::from(s.capacity(core))
}
