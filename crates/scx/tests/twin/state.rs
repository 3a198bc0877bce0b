//! The scheduler core's state, written down as the kernel's part reads it.

use evenkeel_model::{CoreId, CoreSet, CoreTypeId, ThreadId};
use evenkeel_sched::policy::parts::{energy, fair};
use evenkeel_sched::policy::{Group, Standing, by_name};
use evenkeel_sched::{Run, Setup, State};

use crate::library::{CHOICES, Library, NUMBERS, Place, STEPS, Step, TYPES};

/// Of `enum run`.
pub const WAITING: u32 = 1;
pub const RUNNING: u32 = 2;

pub fn slot(thread: ThreadId) -> u32 {
    thread.0 + 1
}

/// The machine, which does not change.
pub fn write_machine(library: &Library, s: &State, policy: &Setup) {
    let in_kernel = policy.description().in_kernel.unwrap();
    let machine = library.machine();
    machine.policy = in_kernel.number;
    machine.cores = s.cores.len() as u32;
    machine.caches = s.caches.len() as u32;
    machine.clusters = s.machine.clusters.len() as u32;
    machine.types = s.machine.core_types.len() as u32;
    machine.least = s.machine.capacity(CoreTypeId(machine.types as u8 - 1));
    machine.speedup = 1024 * 1024 / machine.least;
    machine.scale = fair::latency(s).0 as u32 / 6_000_000;
    machine.choices = [0; CHOICES];
    for (place, knob) in machine.choices.iter_mut().zip(in_kernel.choices) {
        *place = policy.choice(knob);
    }
    machine.numbers = [0; NUMBERS];
    for (place, knob) in machine.numbers.iter_mut().zip(in_kernel.numbers) {
        *place = policy.whole(knob);
    }
    machine.span = in_kernel.span.map_or(0, |knob| policy.time(knob).0 as i64);
    machine.steps = [[Step::default(); STEPS]; TYPES];
    for (id, steps) in machine.steps.iter_mut().enumerate().take(s.machine.core_types.len()) {
        for (step, (from, power)) in steps.iter_mut().zip(energy::steps(s, CoreTypeId(id as u8))) {
            *step = Step { from, power: (power * (1_u64 << 40) as f64) as u64 };
        }
    }
    let mut nodes: Vec<CoreSet> = Vec::new();
    for core in s.machine.all().iter() {
        let (cache, node) = (s.machine.sharing_cache(core), s.machine.node_of(core));
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        let place = &mut machine.places[core.index()];
        *place = Place {
            cpu: core.0.into(),
            kind: s.machine.cores[core.index()].core_type.0.into(),
            capacity: s.capacity(core),
            cache: s.caches.iter().position(|cores| cores.contains(core)).unwrap() as u32,
            cluster: s.machine.cores[core.index()].cluster.0.into(),
            node: nodes.iter().position(|known| *known == node).unwrap() as u32,
            levels: s.domains[core.index()].len() as u32,
            ..Place::default()
        };
        for (level, domain) in s.domains[core.index()].iter().enumerate() {
            place.domains[level] = if *domain == cache { 0 } else { 2 - u32::from(*domain == node) };
            place.sizes[level] = domain.len() as u32;
        }
    }
}

/// Two big cores and two little ones, of half their capacity, in one domain: nothing runs or waits there.
pub fn write_two_and_two(library: &Library, policy: &str) {
    let machine = library.machine();
    machine.policy = by_name(policy).and_then(|policy| policy.in_kernel).unwrap().number;
    (machine.cores, machine.types, machine.least) = (4, 2, 512);
    machine.choices = [0; CHOICES];
    for (core, place) in machine.places.iter_mut().enumerate().take(4) {
        (place.kind, place.capacity) = if core < 2 { (0, 1024) } else { (1, 512) };
        (place.levels, place.domains[0], place.sizes[0]) = (1, 2, 4);
        let to = library.core(core);
        (to.current, to.leaves, to.queued) = (0, 0, 0);
    }
}

/// Everything else.
pub fn write(library: &Library, s: &State, uses: bool, standing: impl Fn(ThreadId) -> Standing) {
    library.time(s.now.0);
    for (number, core) in s.cores.iter().enumerate() {
        let id = CoreId(number as u16);
        let to = library.core(number);
        to.min_vruntime = core.queue.min_vruntime;
        for level in 0..s.domains[number].len() {
            to.balanced[level] = s.balanced(id, level).0;
        }
        to.queue_weight = core.queue.weight();
        to.weight = core.current.map_or(0, |thread| s.thread(thread).weight());
        to.queued = core.queue.len() as u32;
        to.current = core.current.map_or(0, slot);
        (to.used, to.expected) = (0, 0);
        for (place, thread) in library.queue(number).iter_mut().zip(core.queue.iter()) {
            *place = slot(thread);
        }
    }
    for (number, thread) in s.threads.iter().enumerate() {
        let id = ThreadId(number as u32);
        if !thread.alive() {
            library.thread(slot(id)).run = 0;
            continue;
        }
        let standing = standing(id);
        let to = library.thread(slot(id));
        to.vruntime = thread.vruntime;
        to.weight = thread.weight();
        to.since = thread.since.0;
        to.last_ran = thread.last_ran.0;
        to.stint = thread.stint.0;
        to.executed = thread.executed.0;
        to.load.average = u64::from(thread.load.load()) << 10;
        to.usage.average = u64::from(thread.usage(s.now)) << 10;
        to.usage.last = s.now.0;
        to.run = match thread.run {
            Run::Absent | Run::Blocked(_) => 0,
            Run::Ready => WAITING,
            Run::Running => RUNNING,
        };
        to.core = thread.core.0.into();
        to.estimate = thread.estimate;
        to.expected = if thread.runnable() { thread.usage(s.now).max(thread.estimate) } else { 0 };
        if uses {
            let core = library.core(thread.core.index());
            core.used += thread.usage(s.now);
            core.expected += to.expected;
        }
        to.speedup = thread.speedup.map_or(0, |speedup| (speedup * 1024.0) as u32);
        to.urgency = (standing.urgency * 1024.0) as u64;
        to.group = match standing.group {
            Group::Either => 0,
            Group::Big => 1,
            Group::Little => 2,
        };
        to.dominance =
            standing.dominance.map_or(0, |dominance| ((dominance * f64::from(1 << 20)) as u32).saturating_add(1));
        to.may = [0; 16];
        thread.allowed().iter().for_each(|core| to.may[core.index() / 64] |= 1 << (core.0 % 64));
        to.wanted = [u64::MAX; 16];
    }
}
