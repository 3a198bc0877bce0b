//! The books against a kernel that does what `scx.bpf.c` does, in every order that events and orders can have: whatever
//! happens, no thread is forgotten, and in the end both agree on where each one is.

use std::collections::VecDeque;

use evenkeel_model::machines;
use evenkeel_sched::POLICIES;

use super::*;

/// What the part in the kernel keeps.
#[derive(Default)]
struct Kernel {
    cpus: Vec<Cpu>,
    threads: BTreeMap<Tid, Where>,
    masks: BTreeMap<Tid, u64>,
    events: VecDeque<Event>,
    now: Ns,
}

#[derive(Clone, Default)]
struct Cpu {
    runs: Option<Tid>,
    local: VecDeque<Tid>,
    mail: Option<Mail>,
    stop: Option<Tid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Blocked,
    Waits,
    Local,
    Runs,
}

impl Orders for Kernel {
    fn send(&mut self, cpu: u16, mail: Mail) {
        // In place of older mail about a thread that another core has taken meanwhile.
        self.cpus[usize::from(cpu)].mail = Some(mail);
    }

    fn stop(&mut self, cpu: u16, tid: Tid) {
        self.cpus[usize::from(cpu)].stop = Some(tid);
    }

    fn perform(&mut self, _cpu: u16, _level: u32) {}
}

impl Kernel {
    fn tell(&mut self, tid: Tid, cpu: usize, what: What) {
        self.now += Ns::from_us(10);
        let ran = Ns(self.now.0 / 2);
        self.events.push_back(Event { at: self.now, ran, tid, cpu: cpu as u16, nice: 0, what });
    }

    fn ready(&mut self, tid: Tid, cpu: usize, woken: bool) {
        self.threads.insert(tid, Where::Waits);
        self.tell(tid, cpu, What::Ready { woken, by: None, waited: Ns::ZERO, yielded: false });
    }

    fn begin(&mut self, tid: Tid) {
        self.threads.insert(tid, Where::Blocked);
        self.masks.insert(tid, u64::MAX);
        self.tell(tid, 0, What::Enabled(described(u64::MAX)));
    }

    /// A thread is given another mask; if it runs elsewhere, it leaves.
    fn mask(&mut self, tid: Tid, mask: u64) {
        self.masks.insert(tid, mask);
        self.tell(tid, 0, What::Mask(described(mask)));
        if let Some(cpu) = self.cpus.iter().position(|cpu| cpu.runs == Some(tid)).filter(|cpu| mask >> cpu & 1 == 0) {
            self.cpus[cpu].runs = None;
            self.ready(tid, mask.trailing_zeros() as usize, false);
        }
    }

    fn may_use(&self, tid: Tid, cpu: usize) -> bool {
        self.masks[&tid] >> cpu & 1 == 1
    }

    /// What a core does when it is kicked, or its thread's slice is over.
    fn dispatch(&mut self, cpu: usize, late: bool) {
        if let Some(Mail { tid, number, .. }) = self.cpus[cpu].mail.take() {
            match self.threads.get(&tid) {
                Some(Where::Waits) if self.may_use(tid, cpu) => {
                    self.threads.insert(tid, Where::Local);
                    self.cpus[cpu].local.push_back(tid);
                }
                Some(Where::Waits) => self.tell(tid, cpu, What::Keeps(number)),
                _ => self.tell(tid, cpu, What::Refused(number)),
            }
        } else if late && self.cpus[cpu].runs.is_none() {
            let waits = |(tid, place): &(&Tid, &Where)| **place == Where::Waits && self.may_use(**tid, cpu);
            let waits = self.threads.iter().find(waits).map(|(tid, _)| *tid);
            if let Some(tid) = waits {
                self.threads.insert(tid, Where::Local);
                self.cpus[cpu].local.push_back(tid);
            }
        }
        if let Some(tid) = self.cpus[cpu].runs.filter(|tid| self.cpus[cpu].stop == Some(*tid)) {
            (self.cpus[cpu].runs, self.cpus[cpu].stop) = (None, None);
            self.ready(tid, cpu, false);
        }
        if self.cpus[cpu].runs.is_none()
            && let Some(tid) = self.cpus[cpu].local.pop_front()
        {
            if !self.may_use(tid, cpu) {
                return self.ready(tid, self.masks[&tid].trailing_zeros() as usize, false);
            }
            self.cpus[cpu].runs = Some(tid);
            self.threads.insert(tid, Where::Runs);
            self.tell(tid, cpu, What::Runs);
        }
    }

    fn blocks(&mut self, cpu: usize, exits: bool) {
        let Some(tid) = self.cpus[cpu].runs.take() else { return };
        if self.cpus[cpu].stop == Some(tid) {
            self.cpus[cpu].stop = None;
        }
        self.threads.insert(tid, Where::Blocked);
        self.tell(tid, cpu, What::Blocks { futex: false });
        if exits {
            self.threads.remove(&tid);
            self.tell(tid, cpu, What::Disabled);
        }
    }
}

fn described(mask: u64) -> Box<Described> {
    let mut words = [0; 16];
    words[0] = mask;
    Box::new(Described { process: 1, mask: words, name: "thread".into() })
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most as u64) as usize
    }
}

fn books(policy: &str) -> Books<Kernel> {
    let machine = machines::by_name("2B2S").unwrap();
    let kernel = Kernel { cpus: vec![Cpu::default(); 4], ..Kernel::default() };
    Books::new(kernel, machine, (0..4).collect(), &Setup::parse(policy).unwrap(), Ns::ZERO)
}

/// The process acts on everything that it has heard of.
fn listen(books: &mut Books<Kernel>, tick: bool, refresh: bool) {
    while let Some(event) = books.orders.events.pop_front() {
        books.hear(&event);
    }
    let now = books.orders.now;
    if tick {
        books.tick(now);
    }
    if refresh {
        books.refresh(now);
    }
    books.tell();
}

/// Random steps, then quiet: everything that waits must get a core while one is idle.
fn play(policy: &str, seed: u64, late: bool) {
    let (mut books, mut draw) = (books(policy), Draw(seed));
    if seed.is_multiple_of(2) {
        books.patience = Ns::from_ms(20);
    }
    for tid in 100..100 + 3 + draw.below(6) as Tid {
        books.orders.begin(tid);
    }
    let mut next = 200;
    for _ in 0..400 {
        let cpu = draw.below(4);
        match draw.below(12) {
            0..3 => {
                let blocked = books.orders.threads.iter().filter(|(_, place)| **place == Where::Blocked);
                let blocked: Vec<Tid> = blocked.map(|(tid, _)| *tid).collect();
                if !blocked.is_empty() {
                    let tid = blocked[draw.below(blocked.len())];
                    books.orders.ready(tid, cpu, true);
                }
            }
            3 => books.orders.blocks(cpu, draw.below(8) == 0),
            4 if draw.below(10) == 0 => {
                books.orders.begin(next);
                next += 1;
            }
            4..8 => {
                let helps = late && draw.below(4) == 0;
                books.orders.dispatch(cpu, helps);
            }
            8 if draw.below(4) == 0 => {
                let known: Vec<Tid> = books.orders.threads.keys().copied().collect();
                let mask = if draw.below(2) == 0 { u64::MAX } else { 1 << cpu };
                books.orders.mask(known[draw.below(known.len())], mask);
            }
            8 => books.orders.now += Ns::from_ms(1 + draw.below(8) as u64),
            _ => listen(&mut books, draw.below(2) == 0, draw.below(6) == 0),
        }
    }
    books.patience = Ns::NEVER;
    for round in 0..200 {
        // What was rescued last leaves its core at a tick.
        listen(&mut books, round < 20, false);
        (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
    }
    let state = format!("{policy}, seed {seed}, late {late}");
    assert!(books.orders.events.is_empty(), "{state}: it never comes to rest");
    assert!(books.stops.is_empty(), "{state}: threads are still to be stopped");
    for (tid, place) in &books.orders.threads {
        let id = books.by_tid[tid];
        let expected = match place {
            Where::Blocked => Place::Blocked,
            Where::Waits => Place::Waiting,
            Where::Local => panic!("{state}: {tid} was sent to a core that does not run it"),
            Where::Runs => {
                Place::Running(CoreId(books.orders.cpus.iter().position(|cpu| cpu.runs == Some(*tid)).unwrap() as u16))
            }
        };
        assert_eq!(books.threads[id.index()].place, expected, "{state}: thread {tid}");
        let run = books.sched.state().thread(id).run;
        let agrees = match place {
            Where::Waits => run == Run::Ready,
            Where::Runs => run == Run::Running,
            _ => matches!(run, Run::Blocked(_) | Run::Absent),
        };
        assert!(agrees, "{state}: thread {tid} is {place:?}, to the scheduler {run:?}");
    }
    // Whatever runs blocks: each one that waits must have its turn.
    for _ in 0..200 {
        books.orders.now += Ns::from_ms(5);
        listen(&mut books, true, true);
        (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
        (0..4).for_each(|cpu| books.orders.blocks(cpu, false));
    }
    let left: Vec<_> = books.orders.threads.iter().filter(|(_, place)| **place != Where::Blocked).collect();
    assert!(left.is_empty(), "{state}: {left:?} never had their turns");
}

/// In a long session threads come and go without end: what is kept of them must not grow.
#[test]
fn threads_that_have_ended_leave_nothing_behind() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut books = books(policy.name);
        for tid in 100..600 {
            books.orders.begin(tid);
            books.orders.ready(tid, 0, true);
            for _ in 0..4 {
                listen(&mut books, true, true);
                (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
            }
            listen(&mut books, false, false);
            // Two live at a time.
            if tid > 100 {
                let old = books.orders.cpus.iter().position(|cpu| cpu.runs == Some(tid - 1));
                books.orders.blocks(old.unwrap(), true);
            }
        }
        listen(&mut books, false, false);
        assert_eq!((books.figures().threads, books.figures().living), (500, 1), "{}", policy.name);
        let kept = (books.threads.len(), books.sched.state().threads.len(), books.processes.len());
        assert!(kept.0 <= 2 && kept.1 <= 2 && kept.2 == 1, "{}: {kept:?}", policy.name);
    }
}

/// A policy that would leave a thread of the lowest weight waiting for half a minute beside heavy ones.
#[test]
fn no_thread_waits_for_long_whatever_the_policy_decides() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut books = books(policy.name);
        for tid in 100..108 {
            let nice = if tid < 104 { -20 } else { 19 };
            books.orders.begin(tid);
            books.orders.events.back_mut().unwrap().nice = nice;
            books.orders.ready(tid, 0, true);
        }
        for _ in 0..10_000 {
            listen(&mut books, true, true);
            (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
            books.orders.now += Ns::from_ms(2);
        }
        let longest = books.figures().longest_wait;
        assert!(longest < Ns::from_secs(2), "{}: {longest}", policy.name);
    }
}

/// A core that is left without work while a thread waits that may use it is told, and for how long; not one whose threads are
/// all bound elsewhere.
#[test]
fn the_figures_tell_how_long_cores_were_left_without_work() {
    let mut books = books("static");
    books.orders.begin(100);
    books.orders.ready(100, 0, true);
    listen(&mut books, false, false);
    assert_eq!(books.figures().longest_idle, Ns::ZERO, "it was sent to one at once");
    // As a policy would that decides nothing.
    let id = books.by_tid[&100];
    let Place::Sent(core) = books.threads[id.index()].place else { panic!("it is sent") };
    (books.cores[core.index()].sent, books.cores[core.index()].unsent) = (None, None);
    books.sched.blocked(books.now, id, Wait::Sleep);
    books.sched.ready(books.now, id, Why::Woken { by: None });
    books.tell();
    books.now += Ns::from_ms(7);
    books.tell();
    assert_eq!(books.figures().longest_idle, Ns::from_ms(7));
    assert_eq!(books.figures().longest_misplaced, Ns::ZERO, "nothing runs");
}

#[test]
fn no_order_of_events_makes_the_books_forget_a_thread() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        for seed in 0..150 {
            for late in [false, true] {
                play(policy.name, seed, late);
            }
        }
    }
}
