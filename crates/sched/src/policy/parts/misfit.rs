//! Threads and the capacity that they need: what kernels do that know what their cores can.

use evenkeel_model::{CoreId, ThreadId};

use crate::governor::fits;
use crate::state::State;

/// An idle core that is big enough, where the thread was before others, else the biggest idle one (select_idle_capacity).
pub(crate) fn idle_and_fit(s: &State, thread: ThreadId) -> Option<CoreId> {
    let t = s.thread(thread);
    let demand = t.demand(s.now);
    let idle = s.whole(t.allowed().and(s.idle_cores()));
    let here = idle.contains(t.core).then_some(t.core);
    let first = |capacity_is: &dyn Fn(u32) -> bool| {
        let here = here.filter(|core| capacity_is(s.capacity(*core)));
        here.or_else(|| s.idle_of(idle, capacity_is).min())
    };
    let biggest = || {
        let most = s.idle_of(idle, |_| true).map(|core| s.capacity(core)).max()?;
        first(&|capacity| capacity == most)
    };
    first(&|capacity| fits(demand, capacity)).or_else(biggest)
}

/// The most demanding thread that runs on a core which is too small for it, and smaller than this one
/// (update_misfit_status, load_balance with migrate_misfit).
pub(crate) fn misfit(s: &State, core: CoreId) -> Option<ThreadId> {
    let smaller = s.misfits().iter().filter(|other| s.capacity(*other) < s.capacity(core));
    let running = smaller.filter_map(|other| s.movable_current(other, core));
    let too_big = running.filter(|thread| !fits(s.thread(*thread).demand(s.now), s.capacity(s.thread(*thread).core)));
    too_big.reduce(|a, b| if s.thread(b).demand(s.now) > s.thread(a).demand(s.now) { b } else { a })
}
