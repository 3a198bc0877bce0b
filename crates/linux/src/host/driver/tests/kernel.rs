//! A mock of the kernel under the driver: CPUs that share time equally among their threads, and know nothing of big and
//! little.

use std::collections::VecDeque;

use evenkeel_conformance::{PlayedThread, Step};
use evenkeel_model::{ClusterId, Core, CoreType, CoreTypeId, machines};

use super::*;
use crate::spec::Spec;

/// Big cores, and the same again at a part of their frequency.
fn machine(spec: &Spec) -> Machine {
    let mut machine = machines::by_name("2B2S").unwrap();
    let big = machine.core_types[0].clone();
    let mut little = CoreType { name: "slow".into(), ..big.clone() };
    for opp in &mut little.opps {
        opp.frequency.0 = (opp.frequency.0 as f64 / spec.ratio) as u64;
    }
    machine.core_types = vec![big, little];
    let kind = |core: u16| u8::from(core >= spec.big);
    let cores = 0..spec.cores();
    let core = |core| Core { core_type: CoreTypeId(kind(core)), cluster: ClusterId(kind(core).into()) };
    machine.cores = cores.clone().map(core).collect();
    for (id, cluster) in (0..).zip(&mut machine.clusters) {
        cluster.core_type = CoreTypeId(id);
        cluster.cores = cores.clone().filter(|core| kind(*core) == id).map(CoreId).collect();
    }
    if spec.little == 0 {
        machine.core_types.truncate(1);
        machine.clusters.truncate(1);
    }
    machine
}

/// The time from one sample to the next.
pub(super) const PERIOD: Ns = Ns::from_ms(10);
/// In between, the CPUs share their time in steps of this length.
pub(super) const QUANTUM: Ns = Ns::from_us(100);

/// A thread of the kernel.
#[derive(Clone, Debug)]
pub(super) struct MockThread {
    pub sample: Sample,
    /// What is left of its present work, as time on a big core.
    pub left: Ns,
    /// What it does then.
    pub steps: VecDeque<Step>,
    /// When it wakes up by itself.
    pub wakes: Ns,
    /// The cores that it allows itself.
    pub cores: CoreSet,
    /// It has changed them since the last sample.
    pub restricted: bool,
}

/// CPUs and threads, sampled by a driver.
pub(super) struct Kernel {
    pub spec: Spec,
    pub driver: Driver,
    pub now: Ns,
    pub threads: Vec<MockThread>,
    /// What became of every thread, in the order in which they were started.
    pub played: Vec<PlayedThread>,
}

const FIRST: Tid = 100;

impl Kernel {
    pub fn new(spec: &str, policy: &Setup) -> Self {
        let spec: Spec = spec.parse().unwrap();
        let cpus: Vec<u16> = (0..spec.cores()).collect();
        let driver = Driver::new(machine(&spec), &cpus, policy, Ns::ZERO);
        Self { spec, driver, now: Ns::ZERO, threads: Vec::new(), played: Vec::new() }
    }

    /// Starts a thread with this work.
    pub fn start(&mut self, cpu: u16, work: Ns) -> Tid {
        let all = CoreSet::first(usize::from(self.spec.cores()));
        self.start_script(cpu, all, [Step::Work(work)].into())
    }

    /// Starts a thread that does this, on one of these cores.
    pub fn start_script(&mut self, cpu: u16, cores: CoreSet, steps: VecDeque<Step>) -> Tid {
        let tid = FIRST + self.played.len() as Tid;
        let sample = Sample { tid, process: FIRST, cpu, ..Sample::default() };
        let wakes = Ns::NEVER;
        self.threads.push(MockThread { sample, left: Ns::ZERO, steps, wakes, cores, restricted: false });
        self.played.push(PlayedThread::default());
        self.proceed();
        tid
    }

    /// Another policy decides from now on.
    pub fn hand_over(&mut self, policy: &Setup) {
        let cpus: Vec<u16> = (0..self.spec.cores()).collect();
        let mut driver = Driver::new(machine(&self.spec), &cpus, policy, self.now);
        for MockThread { sample, cores, .. } in &self.threads {
            let about = Newcomer { kind: ThreadKind::Application, class: Class::fair(0), cores: *cores };
            driver.take_over(self.now, sample, about, &self.driver);
        }
        self.driver = driver;
    }

    pub fn thread(&mut self, tid: Tid) -> &mut MockThread {
        self.threads.iter_mut().find(|thread| thread.sample.tid == tid).unwrap()
    }

    /// Lets every CPU run its threads in turn until the next sample, then does what the driver decides.
    pub fn sample(&mut self) {
        let next = self.now + PERIOD;
        while self.now < next {
            self.share();
            self.now += QUANTUM;
            self.proceed();
        }
        let samples: Vec<Sample> = self.threads.iter().map(|thread| thread.sample).collect();
        let cores: BTreeMap<Tid, CoreSet> =
            self.threads.iter().map(|thread| (thread.sample.tid, thread.cores)).collect();
        for thread in &mut self.threads {
            if std::mem::take(&mut thread.restricted) {
                self.driver.allow(self.now, thread.sample.tid, thread.cores);
            }
        }
        self.driver.step(self.now, &samples, |sample| Newcomer {
            kind: ThreadKind::Application,
            class: Class::fair(0),
            cores: cores[&sample.tid],
        });
        for order in self.driver.orders().to_vec() {
            match order {
                Order::Move { tid, to } => {
                    let thread = self.thread(tid);
                    assert!(thread.cores.contains(to), "{tid} may not run on {to:?}");
                    thread.sample.cpu = to.0;
                }
                Order::Bind { tid, cores } => {
                    let thread = self.thread(tid);
                    let may = |core: &CoreId| cores.contains(*core) && thread.cores.contains(*core);
                    let first = cores.iter().find(may).unwrap_or_else(|| panic!("{tid} is left without a core"));
                    if !cores.contains(CoreId(thread.sample.cpu)) {
                        thread.sample.cpu = first.0;
                    }
                }
            }
        }
    }

    /// Every CPU runs its threads for equal parts of a quantum.
    fn share(&mut self) {
        for cpu in 0..self.spec.cores() {
            let here =
                |thread: &&mut MockThread| thread.sample.cpu == cpu && thread.sample.state == ThreadState::Runnable;
            let here: Vec<&mut MockThread> = self.threads.iter_mut().filter(here).collect();
            let each = Ns(QUANTUM.0 / here.len().max(1) as u64);
            let core_type = usize::from(cpu >= self.spec.big);
            let slowdown = if core_type == 0 { 1.0 } else { self.spec.ratio };
            for thread in here {
                thread.sample.run[core_type] += each;
                thread.sample.delay += QUANTUM.since(each);
                thread.left = thread.left.since(Ns((each.0 as f64 / slowdown) as u64));
                let played = &mut self.played[(thread.sample.tid - FIRST) as usize];
                *(if core_type == 0 { &mut played.big } else { &mut played.little }) += each;
                played.cores = played.cores.with(CoreId(cpu));
            }
        }
    }

    /// Threads whose work is done begin their next steps; those without another one exit.
    fn proceed(&mut self) {
        for thread in &mut self.threads {
            if thread.wakes <= self.now {
                thread.wakes = Ns::NEVER;
                thread.sample.state = ThreadState::Runnable;
            }
            while thread.left == Ns::ZERO && thread.sample.state == ThreadState::Runnable {
                match thread.steps.pop_front() {
                    Some(Step::Work(work)) => thread.left = work,
                    Some(Step::Sleep(span)) => {
                        thread.sample.state = ThreadState::Blocked;
                        thread.wakes = self.now + span;
                    }
                    Some(Step::Restrict(cores)) => {
                        thread.cores = cores;
                        thread.restricted = true;
                        if !cores.contains(CoreId(thread.sample.cpu)) {
                            thread.sample.cpu = cores.iter().next().unwrap().0;
                        }
                    }
                    Some(Step::Displaced(core)) => thread.sample.cpu = core.0,
                    None => {
                        self.played[(thread.sample.tid - FIRST) as usize].ended = true;
                        break;
                    }
                }
            }
        }
        self.threads.retain(|thread| !self.played[(thread.sample.tid - FIRST) as usize].ended);
    }

    /// How long it takes until all is done, at most ten seconds.
    pub fn finish(&mut self) -> Ns {
        for _ in 0..1000 {
            if self.threads.is_empty() {
                return self.now;
            }
            self.sample();
        }
        panic!("not done: {:?}", self.threads);
    }
}
