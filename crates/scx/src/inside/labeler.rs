//! What the policy is told of threads that the kernel's part schedules, and what it makes of them.
//!
//! The scheduler core hears once a period what each thread has done since the last, as from a host whose kernel decides by
//! itself; then it refreshes. It decides nothing else.

use std::collections::BTreeMap;

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Increment, Name, Rates, Source, kind};
use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_model::{Clamp, Class, CoreId, CoreSet, CoreTypeId, Machine, Ns, ThreadId};
use evenkeel_sched::policy::{Culprit, Group, Standing};
use evenkeel_sched::{Governor, NewThread, Scheduler, Setup, Span, ThreadKind, Wait, Why};

use crate::counting::{Counting, Learnt, Measured};
use crate::event::Described;
use crate::moments::Did;
use crate::programs::Programs;

/// What the kernel's part has counted of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// It runs or waits for a core.
    pub(crate) runnable: bool,
    /// It runs.
    pub(crate) running: bool,
    /// Where it is, or was last.
    pub(crate) core: u16,
    /// All time that it has run, by core type.
    pub(crate) on_type: [Ns; TYPES],
    /// How long it has run on the present core since that was counted.
    pub(crate) uncounted: Ns,
    /// All time that it waited for a core, for others, and that others waited for it.
    pub(crate) waited: Ns,
    pub(crate) contended: Ns,
    pub(crate) blame: Ns,
}

/// Core types that the kernel's part tells apart: as many as the other host's does.
pub(crate) const TYPES: usize = evenkeel_linux::sample::MAX_TYPES;

/// What the kernel's part reads of a thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Labels {
    /// Of 1024; 0 if none is predicted.
    pub(crate) speedup: u32,
    pub(crate) standing: Standing,
    /// The cores that the policy wants for it.
    pub(crate) wanted: CoreSet,
}

/// The scheduler core, and the threads of the kernel's part.
pub(crate) struct Labeler {
    sched: Scheduler,
    by_slot: BTreeMap<u32, Known>,
    programs: Programs,
    threads: u64,
    /// Whether the policy does anything at refreshes.
    labels: bool,
    /// Whether the policy decides by stops of a world, which last less than a period, and whether a thread came that serves one.
    stops: bool,
    serves: bool,
    pub(super) counting: Counting,
}

struct Known {
    id: ThreadId,
    tid: Tid,
    process: Tid,
    name: Name,
    begun: bool,
    runnable: bool,
    seen: Seen,
    /// What it had done when it got its number.
    before: Did,
    rates: Rates,
    written: Option<Labels>,
}

impl Labeler {
    pub(crate) fn new(machine: Machine, policy: &Setup, governor: Governor) -> Self {
        let overrides = policy.description().overrides;
        Self {
            sched: Scheduler::new(machine, policy.make(), None).with_governor(governor),
            by_slot: BTreeMap::new(),
            programs: Programs::default(),
            threads: 0,
            stops: policy.description().knobs.iter().any(|knob| knob.name == "gc") && policy.word("gc") == "auto",
            serves: false,
            labels: ["refresh", "standing", "admit"].iter().any(|hook| overrides.contains(hook)),
            counting: Counting::default(),
        }
    }

    /// Counts by this source from now on what the policy reads of threads, if it reads anything.
    pub(crate) fn count_by(&mut self, source: Box<dyn Source>) {
        self.counting = Counting::by(source, &self.sched);
    }

    /// What is not counted, or counts only late, and why.
    pub(crate) fn missing(&self) -> Vec<String> {
        let late = (self.stops && self.serves).then(|| {
            "Inside the kernel gc=auto is decided once a period, and most stops of a virtual machine are shorter: `--path daemon` decides at once."
                .to_owned()
        });
        self.counting.missing().into_iter().chain(late).collect()
    }

    pub(crate) fn state(&self) -> &evenkeel_sched::State {
        self.sched.state()
    }

    /// Which threads are to be blamed for waits.
    pub(crate) fn culprit(&self) -> Culprit {
        self.sched.culprit()
    }

    /// The time from one refresh to the next; `None` if the policy does nothing then, and no thread is measured.
    pub(crate) fn period(&self) -> Option<Ns> {
        self.sched.period().filter(|_| self.labels).or_else(|| self.counting.period())
    }

    /// How many threads there are, and were.
    pub(crate) fn living(&self) -> u64 {
        self.by_slot.len() as u64
    }

    pub(crate) fn threads(&self) -> u64 {
        self.threads
    }

    /// The thread in a slot, for those that watch, given what has been counted of it.
    pub(crate) fn thread(&self, slot: u32, seen: &Seen, cpus: &[u16]) -> Option<ThreadNow> {
        let known = self.by_slot.get(&slot)?;
        let s = self.sched.state();
        let thread = s.thread(known.id);
        let judged = self.sched.judgement(known.id);
        let did = self.did(seen).since(&known.before);
        Some(ThreadNow {
            tid: known.tid,
            process: known.process,
            service: thread.kind == ThreadKind::Service,
            state: match seen {
                Seen { running: true, .. } => State::Running,
                Seen { runnable: true, .. } => State::Ready,
                _ => State::Waiting,
            },
            cpu: cpus.get(usize::from(seen.core)).copied().unwrap_or_default(),
            label: judged.label,
            speedup: judged.speedup,
            run: did.run[..s.machine.core_types.len().min(TYPES)].to_vec(),
            delay: did.delay,
            blame: Some(seen.blame),
            pinned: Vec::new(),
        })
    }

    /// What has been measured of threads, for the policy that comes next.
    pub(crate) fn learnt(&self) -> Learnt {
        self.by_slot.values().map(|known| (known.tid, known.rates.learnt())).collect()
    }

    pub(crate) fn slots(&self) -> Vec<u32> {
        self.by_slot.keys().copied().collect()
    }

    /// The kernel's part has a new thread.
    pub(crate) fn begin(&mut self, slot: u32, tid: Tid, weight: u32, described: &Described, cpus: &[u16]) {
        let id = self.sched.create(&NewThread {
            program: self.programs.begin(described.process),
            kind: kind(&described.name),
            class: Class::Fair { weight: weight.into() },
            cores: self.usable(described, cpus),
            on: CoreId(0),
            clamp: Clamp::default(),
        });
        self.threads += 1;
        self.serves |= kind(&described.name) == ThreadKind::Service;
        let (rates, _) = self.counting.begin(tid, self.sched.state().machine.core_types.len());
        let known = Known {
            id,
            tid,
            process: described.process,
            name: Name::known(&described.name, self.sched.state().now),
            begun: false,
            runnable: false,
            seen: Seen::default(),
            before: Did::default(),
            rates,
            written: None,
        };
        self.by_slot.insert(slot, known);
    }

    /// It is gone, and did this until then.
    pub(crate) fn end(&mut self, slot: u32, seen: &Seen, now: Ns) {
        self.see(slot, seen, now);
        if let Some(known) = self.by_slot.remove(&slot) {
            self.counting.gone(known.tid);
            self.sched.exited(now, known.id);
            self.take_actions();
            self.sched.forget(known.id);
            self.programs.end(known.process);
        }
    }

    /// The slot of another thread with this number: the first one of the process of the thread in `slot`, which has called exec.
    pub(crate) fn other_named(&self, slot: u32, tid: Tid) -> Option<u32> {
        self.by_slot.iter().find(|(other, known)| **other != slot && known.tid == tid).map(|(other, _)| *other)
    }

    /// It has another number from now on, under which it has done nothing yet.
    pub(crate) fn rename(&mut self, slot: u32, tid: Tid, seen: &Seen) {
        let did = self.did(seen);
        if let Some(known) = self.by_slot.get_mut(&slot) {
            self.counting.gone(std::mem::replace(&mut known.tid, tid));
            // It is counted anew.
            known.rates = known.rates.learnt();
            known.before = did;
        }
    }

    /// Its program allows it other cores.
    pub(crate) fn set_mask(&mut self, weight: u32, described: &Described, cpus: &[u16]) {
        let cores = self.usable(described, cpus);
        if let Some(known) = self.by_slot.get(&described.slot) {
            let now = self.sched.state().now;
            self.sched.set_params(now, known.id, Class::Fair { weight: weight.into() }, cores, Clamp::default());
            self.take_actions();
        }
    }

    /// What a thread has done until now.
    pub(crate) fn see(&mut self, slot: u32, seen: &Seen, now: Ns) {
        let Some(known) = self.by_slot.get_mut(&slot) else { return };
        if !self.labels && !self.counting.counts() {
            return;
        }
        // Many threads get their names only after they have started.
        if known.name.read_again(known.process, known.tid, now) {
            let kind = kind(known.name.as_str());
            self.serves |= kind == ThreadKind::Service;
            self.sched.set_kind(known.id, kind);
        }
        // Most threads sleep.
        if known.begun && !known.runnable && *seen == known.seen {
            return;
        }
        let (id, old) = (known.id, std::mem::replace(&mut known.seen, *seen));
        if !std::mem::replace(&mut known.begun, true) {
            self.sched.ready(now, id, Why::New { by: None });
            known.runnable = true;
        } else if seen.runnable && !known.runnable {
            self.sched.ready(now, id, Why::Woken { by: None });
            known.runnable = true;
        }
        let at = CoreId(seen.core);
        let Measured { increment, speedup } = self.measure(slot, seen);
        let mut waited = seen.waited.since(old.waited);
        for (on, (time, before)) in seen.on_type.iter().zip(old.on_type).enumerate() {
            let time = time.since(before);
            if time > Ns::ZERO
                && let Some(core) = self.sched.state().machine.core_of(CoreTypeId(on as u8), Some(at))
            {
                let span = Span { time, waited, speedup, ..Increment::span(increment, on) };
                self.sched.ran(now, id, core, &span);
                waited = Ns::ZERO;
            }
        }
        if let Some(known) = self.by_slot.get_mut(&slot) {
            // Reported with the next span: the kernel's part counts a wait when it is over, and what follows at a tick or stop.
            known.seen.waited = known.seen.waited.since(waited);
        }
        self.sched.contended(id, seen.contended.since(old.contended));
        self.sched.blame(id, seen.blame.since(old.blame));
        if seen.runnable {
            self.sched.found(now, id, at);
        } else if let Some(known) = self.by_slot.get_mut(&slot)
            && std::mem::replace(&mut known.runnable, false)
        {
            self.sched.blocked(now, id, Wait::Sleep);
        }
        self.take_actions();
    }

    /// What has been counted of a thread, with what it ran since the kernel's part last counted.
    fn measure(&mut self, slot: u32, seen: &Seen) -> Measured {
        let ran = self.ran(seen);
        let Some(known) = self.by_slot.get_mut(&slot) else { return Measured::default() };
        let types = self.sched.state().machine.core_types.len();
        self.counting.measure(known.tid, &mut known.rates, &ran, types)
    }

    fn did(&self, seen: &Seen) -> Did {
        Did { run: self.ran(seen), delay: seen.waited }
    }

    /// How long a thread has run on each core type, until now.
    fn ran(&self, seen: &Seen) -> [Ns; TYPES] {
        let mut ran = seen.on_type;
        if let Some(core) = self.sched.state().machine.cores.get(usize::from(seen.core)) {
            ran[core.core_type.index().min(TYPES - 1)] += seen.uncounted;
        }
        ran
    }

    /// The policy's period is over.
    pub(crate) fn refresh(&mut self, now: Ns) {
        self.sched.refresh(now);
        self.take_actions();
    }

    /// What the policy thinks of a thread, if it has changed since this was last called.
    pub(crate) fn labels(&mut self, slot: u32) -> Option<Labels> {
        let known = self.by_slot.get_mut(&slot)?;
        let thread = self.sched.state().thread(known.id);
        let labels = Labels {
            speedup: thread.speedup.map_or(0, |speedup| (speedup * 1024.0) as u32),
            standing: self.sched.standing(known.id),
            wanted: thread.wanted(),
        };
        if known.written.as_ref() == Some(&labels) {
            return None;
        }
        known.written = Some(labels.clone());
        Some(labels)
    }

    /// Ignores them: queues and how much cores are used are those of the kernel's part, and masks reach it with the labels.
    fn take_actions(&mut self) {
        while self.sched.action().is_some() {}
    }

    /// The cores that a program allows a thread; all, if those are none of this machine's.
    fn usable(&self, described: &Described, cpus: &[u16]) -> CoreSet {
        described.cores(cpus).within(self.sched.state().machine.all())
    }
}

/// `enum group`.
pub(crate) fn number(group: Group) -> u32 {
    match group {
        Group::Either => 0,
        Group::Big => 1,
        Group::Little => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use evenkeel_linux::host::Read;
    use evenkeel_model::machines;
    use evenkeel_sched::Reads;
    use evenkeel_sched::policy::Label;

    use crate::counting::Pmu;

    use super::*;

    const CPUS: [u16; 4] = [0, 1, 2, 3];

    fn labeler(policy: &str) -> Labeler {
        Labeler::new(machines::by_name("2B2S").unwrap(), &Setup::parse(policy).unwrap(), Governor::Performance)
    }

    fn begin(labeler: &mut Labeler, slots: std::ops::Range<u32>) {
        let described = Described { process: 7, mask: [0xf; 16], name: "worker".into(), ..Described::default() };
        slots.for_each(|slot| labeler.begin(slot, slot, 1024, &described, &CPUS));
    }

    fn ran(big: u64, little: u64, blame: u64) -> Seen {
        let mut seen = Seen { runnable: true, blame: Ns::from_ms(blame), ..Seen::default() };
        (seen.on_type[0], seen.on_type[1]) = (Ns::from_ms(big), Ns::from_ms(little));
        seen
    }

    #[test]
    fn what_was_measured_is_handed_to_the_policy_that_comes_next() {
        let (mut before, pmu) = (labeler("colab"), Pmu::default());
        before.count_by(pmu.source());
        begin(&mut before, 1..3);
        for (retired, big, little) in [(0, 0, 0), (40, 10, 0), (50, 10, 10)] {
            pmu.set(1, retired);
            before.see(1, &ran(big, little, 0), Ns::from_ms(big + little));
        }
        let mut after = labeler("colab");
        after.count_by(pmu.source());
        after.counting.remember(before.learnt());
        begin(&mut after, 1..3);
        after.counting.forget();
        (1..3).for_each(|slot| after.see(slot, &ran(1, 0, 0), Ns::from_ms(30)));
        assert_eq!([1, 2].map(|slot| after.thread(slot, &ran(1, 0, 0), &CPUS).unwrap().speedup), [Some(4.0), None]);
    }

    /// By the first one's number the kernel's part counts waits for it from then on.
    #[test]
    fn a_thread_that_calls_exec_has_the_number_of_the_first_one_and_what_was_measured_of_it() {
        let (mut labeler, pmu) = (labeler("colab"), Pmu::default());
        labeler.count_by(pmu.source());
        begin(&mut labeler, 1..3);
        labeler.see(1, &ran(1, 0, 0), Ns::ZERO);
        let measure = |labeler: &mut Labeler, tid: Tid, retired: u64, big: u64, little: u64| {
            pmu.set(tid, retired);
            labeler.see(2, &ran(big, little, 0), Ns::from_ms(big + little));
            labeler.thread(2, &ran(big, little, 0), &CPUS).map(|thread| (thread.tid, thread.speedup))
        };
        measure(&mut labeler, 2, 0, 0, 0);
        measure(&mut labeler, 2, 40, 10, 0);
        assert_eq!(measure(&mut labeler, 2, 50, 10, 10), Some((2, Some(4.0))));
        // The kernel tells of the first one's end, after which another one may have its slot, at once or only later.
        let first = labeler.other_named(2, 1);
        assert_eq!(first, Some(1));
        labeler.end(1, &ran(1, 0, 0), Ns::from_ms(20));
        labeler.rename(2, 1, &ran(10, 10, 0));
        assert_eq!(labeler.other_named(2, 1), None, "this is no other one");
        assert_eq!(labeler.learnt().into_keys().collect::<Vec<_>>(), [1]);
        assert_eq!(measure(&mut labeler, 1, 50, 20, 10), Some((1, Some(4.0))), "nothing to compare with");
        assert_eq!(measure(&mut labeler, 1, 70, 30, 10), Some((1, Some(2.0))));
        let did = labeler.thread(2, &ran(30, 10, 0), &CPUS).map(|thread| thread.run);
        assert_eq!(did.unwrap(), [20, 0].map(Ns::from_ms), "what it did before is its old number's");
        labeler.end(1, &ran(1, 0, 0), Ns::from_ms(50));
        assert_eq!((labeler.living(), labeler.slots()), (1, vec![2]));
    }

    #[test]
    fn a_wait_that_is_counted_before_what_follows_is_not_lost() {
        let mut labeler = labeler("wash");
        begin(&mut labeler, 1..2);
        for (at, waited, big) in [(0, 0, 0), (40, 36, 0), (50, 36, 4)] {
            labeler.see(1, &Seen { waited: Ns::from_ms(waited), ..ran(big, 0, 0) }, Ns::from_ms(at));
        }
        let id = labeler.by_slot[&1].id;
        assert_eq!(labeler.sched.state().thread(id).waited, Ns::from_ms(36));
    }

    #[test]
    fn a_thread_is_seen_with_what_it_has_done_until_now() {
        let mut labeler = labeler("pfs");
        begin(&mut labeler, 1..2);
        let seen = Seen { core: 3, uncounted: Ns::from_ms(2), running: true, ..ran(5, 1, 0) };
        assert_eq!(labeler.thread(1, &seen, &CPUS).unwrap().run, [5, 3].map(Ns::from_ms));
    }

    #[test]
    fn the_one_that_others_wait_for_comes_first() {
        let mut labeler = labeler("colab");
        begin(&mut labeler, 1..5);
        (1..5).for_each(|slot| labeler.see(slot, &ran(5, 0, if slot == 3 { 9 } else { 0 }), Ns::from_ms(10)));
        labeler.refresh(Ns::from_ms(10));
        let urgent: Vec<bool> = (1..5).map(|slot| labeler.labels(slot).unwrap().standing.urgency > 0.0).collect();
        assert_eq!(urgent, [false, false, true, false]);
        assert_eq!(labeler.labels(3), None, "nothing has changed");
        (1..5).for_each(|slot| labeler.see(slot, &ran(9, 0, if slot == 3 { 9 } else { 0 }), Ns::from_ms(20)));
        labeler.refresh(Ns::from_ms(20));
        assert_eq!(labeler.labels(3).map(|labels| labels.standing.urgency), Some(4.5e6), "it halves");
        (3..63).for_each(|period| labeler.refresh(Ns::from_ms(10 * period)));
        assert_eq!(labeler.labels(3).map(|labels| Label::from(&labels.standing)), Some(Label::Any), "and ends");
    }

    #[test]
    fn where_instructions_are_counted_speedups_are_measured() {
        let (mut labeler, pmu) = (labeler("colab"), Pmu::default());
        labeler.count_by(pmu.source());
        begin(&mut labeler, 1..2);
        let mut speedup = |big: u64, little: u64, uncounted: u64| {
            // On the core where it ran last.
            let mut seen = ran(big, little, 0);
            (seen.core, seen.uncounted) = (if little > 0 { 3 } else { 0 }, Ns::from_ms(uncounted));
            let on = |time: u64, counted: bool| Ns::from_ms(time + if counted { uncounted } else { 0 }).0;
            pmu.set(1, 4 * on(big, little == 0) + on(little, little > 0));
            labeler.see(1, &seen, Ns::from_ms(big + little + uncounted));
            labeler.refresh(Ns::from_ms(big + little + uncounted));
            labeler.labels(1).map(|labels| labels.speedup)
        };
        speedup(1, 0, 0);
        assert_eq!(speedup(20, 0, 3), None, "it has not run on a little core");
        assert_eq!(speedup(25, 10, 0), None, "on both: how much of it on which is not known");
        assert_eq!(speedup(25, 28, 2), Some(4 * 1024));
        assert_eq!(labeler.missing(), [""; 0]);
    }

    /// What the kernel's part of bias scheduling goes by: how far stalls dominate each thread.
    #[test]
    fn where_stalls_are_counted_they_are_said() {
        let (mut labeler, pmu) = (labeler("bias"), Pmu::default());
        labeler.count_by(pmu.source());
        begin(&mut labeler, 1..4);
        let mut dominance = |period: u64| {
            for (slot, stalls) in [(1, [260, 5]), (2, [13, 1]), (3, [0, 20])] {
                pmu.add(slot, 40_000_000, stalls);
                labeler.see(slot, &ran(40 * period, 0, 0), Ns::from_ms(40 * period));
            }
            labeler.refresh(Ns::from_ms(40 * period));
            [1, 2, 3].map(|slot| labeler.labels(slot).map(|labels| labels.standing.dominance))
        };
        assert_eq!(dominance(1), [Some(None); 3], "nothing to compare with");
        let about = |dominance: f64| Some(Some((dominance * f64::from(1 << 20)).floor() / f64::from(1 << 20)));
        assert_eq!(dominance(2), [2.0, 0.1, 2.0].map(about));
        assert_eq!(dominance(3), [None; 3], "nothing has changed");
        assert_eq!((labeler.period(), labeler.missing()), (Some(Ns::from_ms(40)), vec![]));
    }

    /// What may be late is said where it matters.
    #[test]
    fn stops_of_a_world_are_seen_once_a_period() {
        for (policy, name, said) in [
            ("colab", "GC Thread#0", true),
            ("colab:gc=little", "GC Thread#0", false),
            ("wash", "worker", false),
            ("pfs", "VM Thread", false),
        ] {
            let mut labeler = labeler(policy);
            let described = Described { process: 7, mask: [0xf; 16], name: name.into(), ..Described::default() };
            labeler.begin(1, 1, 1024, &described, &CPUS);
            assert_eq!(labeler.missing().iter().any(|text| text.contains("gc=auto")), said, "{policy}, {name}");
        }
    }

    /// A machine without a PMU.
    struct Uncounted;

    impl Source for Uncounted {
        fn open(&mut self, _: Tid, _: Reads) -> io::Result<Box<dyn Read>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    /// So that what another policy lacks, too, can be told to be the same.
    #[test]
    fn each_thing_that_is_missing_is_said_by_itself() {
        let mut labeler = labeler("colab");
        labeler.count_by(Box::new(Uncounted));
        let described = Described { process: 7, mask: [0xf; 16], name: "GC Thread#0".into(), ..Described::default() };
        labeler.begin(1, 1, 1024, &described, &CPUS);
        labeler.see(1, &ran(1, 0, 0), Ns::ZERO);
        let missing = labeler.missing();
        assert!(missing.len() == 2 && missing[0].starts_with("No hardware counters"), "{missing:?}");
    }

    /// The kernel's part itself keeps to what the program allows, also where labels are not written again.
    #[test]
    fn what_the_program_allows_is_not_what_the_policy_wants() {
        let mut labeler = labeler("cfs");
        let one = Described { process: 7, mask: [1; 16], name: "worker".into(), ..Described::default() };
        labeler.begin(1, 1, 1024, &one, &CPUS);
        assert_eq!(labeler.labels(1).unwrap().wanted, labeler.state().machine.all());
        labeler.set_mask(1024, &Described { slot: 1, mask: [3; 16], ..one }, &CPUS);
        assert_eq!(labeler.labels(1), None);
    }

    /// WASH binds: what is left to one application is the big cores, which the kernel's part is told.
    #[test]
    fn the_cores_that_a_policy_wants_are_said() {
        let mut labeler = labeler("wash");
        begin(&mut labeler, 1..2);
        labeler.see(1, &ran(0, 5, 0), Ns::from_ms(5));
        labeler.refresh(Ns::from_ms(40));
        let wanted = labeler.labels(1).unwrap().wanted;
        assert!(labeler.state().big.contains(wanted.lowest().unwrap()) && wanted.len() == 1, "{wanted:?}");
        labeler.end(1, &ran(0, 6, 0), Ns::from_ms(50));
        assert_eq!((labeler.living(), labeler.threads(), labeler.labels(1)), (0, 1, None));
    }
}
