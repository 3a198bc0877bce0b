//! The driver against a kernel that is made up: CPUs that share time equally, and know nothing of big and little.

use evenkeel_model::{ClusterId, Core, CoreType, CoreTypeId, machines};
use proptest::prelude::*;

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

const LOOK: Ns = Ns::from_ms(10);

/// A thread of the made-up kernel.
#[derive(Clone, Copy, Debug)]
struct Task {
    sample: Sample,
    /// Work that is left, as time on a big core.
    left: Ns,
    cores: CoreSet,
}

struct Kernel {
    spec: Spec,
    driver: Driver,
    now: Ns,
    tasks: Vec<Task>,
    started: Tid,
}

impl Kernel {
    fn new(spec: &str, policy: &str) -> Self {
        let spec: Spec = spec.parse().unwrap();
        let cpus: Vec<u16> = (0..spec.cores()).collect();
        let driver = Driver::new(machine(&spec), &cpus, &Setup::parse(policy).unwrap(), Ns::ZERO);
        Self { spec, driver, now: Ns::ZERO, tasks: Vec::new(), started: 100 }
    }

    fn start(&mut self, cpu: u16, work: Ns) -> Tid {
        let tid = self.started;
        self.started += 1;
        let sample = Sample { tid, process: 100, cpu, ..Sample::default() };
        self.tasks.push(Task { sample, left: work, cores: CoreSet::first(usize::from(self.spec.cores())) });
        tid
    }

    fn task(&mut self, tid: Tid) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.sample.tid == tid).unwrap()
    }

    /// Lets every CPU run its threads in turn until the next look, then asks the driver and does what it says.
    fn look(&mut self) {
        self.now += LOOK;
        for cpu in 0..self.spec.cores() {
            let here = |task: &&mut Task| task.sample.cpu == cpu && task.sample.state == State::Runnable;
            let here: Vec<&mut Task> = self.tasks.iter_mut().filter(here).collect();
            let each = Ns(LOOK.0 / here.len().max(1) as u64);
            let core_type = usize::from(cpu >= self.spec.big);
            let slowdown = if core_type == 0 { 1.0 } else { self.spec.ratio };
            for task in here {
                task.sample.run[core_type] += each;
                task.sample.delay += LOOK.since(each);
                task.left = task.left.since(Ns((each.0 as f64 / slowdown) as u64));
            }
        }
        self.tasks.retain(|task| task.left > Ns::ZERO);
        let samples: Vec<Sample> = self.tasks.iter().map(|task| task.sample).collect();
        let cores: BTreeMap<Tid, CoreSet> = self.tasks.iter().map(|task| (task.sample.tid, task.cores)).collect();
        self.driver.step(self.now, &samples, |sample| Newcomer {
            kind: Kind::Application,
            class: Class::fair(0),
            cores: cores[&sample.tid],
        });
        for order in self.driver.orders().to_vec() {
            match order {
                Order::Move { tid, to } => {
                    let task = self.task(tid);
                    assert!(task.cores.contains(to), "{tid} may not run on {to:?}");
                    task.sample.cpu = to.0;
                }
                Order::Bind { tid, cores } => {
                    let task = self.task(tid);
                    let may = |core: &CoreId| cores.contains(*core) && task.cores.contains(*core);
                    let first = cores.iter().find(may).unwrap_or_else(|| panic!("{tid} is left without a core"));
                    if !cores.contains(CoreId(task.sample.cpu)) {
                        task.sample.cpu = first.0;
                    }
                }
            }
        }
    }

    /// How long it takes until all is done, at most ten seconds.
    fn finish(&mut self) -> Ns {
        for _ in 0..1000 {
            if self.tasks.is_empty() {
                return self.now;
            }
            self.look();
        }
        panic!("not done: {:?}", self.tasks);
    }
}

/// Four equal threads, one a core, on two big cores and two of a third of their speed: 3/4 of a second of work each takes
/// 2.25 s where nobody moves, and 1.125 s at best.
#[test]
fn equal_threads_make_equal_progress_under_pfs() {
    let makespan = |policy: &str| {
        let mut kernel = Kernel::new("2B2S:3", policy);
        for cpu in 0..4 {
            kernel.start(cpu, Ns::from_ms(750));
        }
        kernel.finish()
    };
    assert!(makespan("cfs") >= Ns::from_ms(2250));
    let pfs = makespan("pfs");
    assert!(pfs <= Ns::from_ms(1240), "{pfs}: at most a tenth over the ideal");
}

/// Mugging: a big core without work takes over the thread of a little one.
#[test]
fn an_idle_big_core_takes_over_a_little_ones_thread() {
    for policy in ["pfs", "colab"] {
        let mut kernel = Kernel::new("1B1S:3", policy);
        kernel.start(0, Ns::from_ms(50));
        let slow = kernel.start(1, Ns::from_ms(900));
        (0..4).for_each(|_| kernel.look());
        assert_eq!(kernel.task(slow).sample.cpu, 1, "{policy}: the big core is busy");
        (0..4).for_each(|_| kernel.look());
        assert_eq!(kernel.task(slow).sample.cpu, 0, "{policy}");
    }
}

/// Both big cores want the same thread first. For one of them that is stale; it takes over the other thread, in the same
/// step.
#[test]
fn two_idle_big_cores_take_over_two_threads_at_once() {
    for policy in ["pfs", "colab", "fcf", "bias"] {
        let mut kernel = Kernel::new("2B2S:3", policy);
        (0..2).for_each(|cpu| {
            kernel.start(cpu, Ns::from_ms(45));
        });
        let slow = [kernel.start(2, Ns::from_ms(900)), kernel.start(3, Ns::from_ms(900))];
        (0..5).for_each(|_| kernel.look());
        let mut cpus = slow.map(|tid| kernel.task(tid).sample.cpu);
        cpus.sort_unstable();
        assert_eq!(cpus, [0, 1], "{policy}");
        assert_eq!(kernel.driver.stale(), 1, "{policy}");
    }
}

/// WASH keeps the thread that others wait for on the big core.
#[test]
fn whoever_is_waited_for_gets_the_big_core() {
    let mut kernel = Kernel::new("1B1S:3", "wash");
    kernel.start(0, Ns::from_secs(5));
    let critical = kernel.start(1, Ns::from_secs(5));
    kernel.look();
    (0..30).for_each(|_| {
        kernel.driver.blame(Blame { waker: critical, waited: Ns::from_ms(9) });
        kernel.look();
    });
    assert_eq!(kernel.task(critical).sample.cpu, 0);
}

/// Where instructions are counted, the speedup is measured as soon as a thread has run on both core types.
#[test]
fn speedups_are_measured_where_instructions_are_counted() {
    let mut kernel = Kernel::new("1B1S:3", "pfs");
    let tid = kernel.start(0, Ns::from_secs(5));
    kernel.task(tid).cores = CoreSet::EMPTY.with(CoreId(0)).with(CoreId(1));
    let mut look = |cpu: u16, rate: u64| {
        let task = kernel.task(tid);
        task.sample.cpu = cpu;
        let before = task.sample.instructions.unwrap_or_default();
        task.sample.instructions = Some(Instructions(before.0 + rate * LOOK.0));
        kernel.look();
        let id = kernel.driver.thread(tid).unwrap();
        kernel.driver.state().thread(id).speedup
    };
    look(0, 4);
    assert_eq!(look(0, 4), None, "it has not run on the little core");
    assert_eq!(look(1, 2), Some(2.0));
    assert_eq!(look(1, 1), Some(4.0));
}

#[test]
fn a_thread_that_the_kernel_moved_is_where_the_kernel_says() {
    let mut kernel = Kernel::new("2B:1", "cfs");
    let tid = kernel.start(0, Ns::from_secs(1));
    kernel.look();
    kernel.task(tid).sample.cpu = 1;
    kernel.look();
    let id = kernel.driver.thread(tid).unwrap();
    assert_eq!(kernel.driver.state().thread(id).core, CoreId(1));
    assert_eq!(kernel.driver.state().core(CoreId(0)).current, None);
}

#[test]
fn a_thread_that_is_not_there_any_more_is_gone() {
    let mut kernel = Kernel::new("1B1S:3", "pfs");
    let tid = kernel.start(0, Ns::from_ms(15));
    kernel.look();
    kernel.look();
    assert_eq!(kernel.driver.gone(), [tid]);
    assert_eq!(kernel.driver.thread(tid), None);
}

#[derive(Clone, Debug)]
enum Event {
    Start { cpu: u16, work_ms: u64, core: Option<u16> },
    Block { which: usize, futex: bool },
    Wake { which: usize },
    Migrate { which: usize, cpu: u16 },
    Blame { which: usize, ms: u64 },
    Look,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..4_u16, 1..300_u64, prop::option::of(0..4_u16))
            .prop_map(|(cpu, work_ms, core)| { Event::Start { cpu: core.unwrap_or(cpu), work_ms, core } }),
        (0..20_usize, any::<bool>()).prop_map(|(which, futex)| Event::Block { which, futex }),
        (0..20_usize).prop_map(|which| Event::Wake { which }),
        (0..20_usize, 0..4_u16).prop_map(|(which, cpu)| Event::Migrate { which, cpu }),
        (0..20_usize, 0..50_u64).prop_map(|(which, ms)| Event::Blame { which, ms }),
        Just(Event::Look),
        Just(Event::Look),
        Just(Event::Look),
    ]
}

proptest! {
    /// Whatever the kernel and the program do: no order that the thread's own mask forbids (which `look` checks), no
    /// hang, and the books agree with the kernel.
    #[test]
    fn whatever_happens_orders_can_be_carried_out(
        policy in prop::sample::select(vec!["cfs", "static", "gts", "pfs", "bind-vm", "wash", "colab"]),
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut kernel = Kernel::new("2B2S:3", policy);
        for event in events {
            let pick = |which: usize, kernel: &Kernel| which.checked_rem(kernel.tasks.len());
            match event {
                Event::Start { cpu, work_ms, core } => {
                    let tid = kernel.start(cpu, Ns::from_ms(work_ms));
                    if let Some(core) = core {
                        kernel.task(tid).cores = CoreSet::EMPTY.with(CoreId(core));
                    }
                }
                Event::Block { which, futex } => {
                    if let Some(which) = pick(which, &kernel) {
                        kernel.tasks[which].sample.state = if futex { State::Futex } else { State::Blocked };
                    }
                }
                Event::Wake { which } => {
                    if let Some(which) = pick(which, &kernel) {
                        kernel.tasks[which].sample.state = State::Runnable;
                    }
                }
                Event::Migrate { which, cpu } => {
                    if let Some(which) = pick(which, &kernel).filter(|which| {
                        kernel.tasks[*which].cores.contains(CoreId(cpu))
                    }) {
                        kernel.tasks[which].sample.cpu = cpu;
                    }
                }
                Event::Blame { which, ms } => {
                    if let Some(which) = pick(which, &kernel) {
                        let waker = kernel.tasks[which].sample.tid;
                        kernel.driver.blame(Blame { waker, waited: Ns::from_ms(ms) });
                    }
                }
                Event::Look => kernel.look(),
            }
        }
        kernel.look();
        for task in &kernel.tasks {
            let id = kernel.driver.thread(task.sample.tid);
            let runnable = id.map(|id| kernel.driver.state().thread(id).runnable());
            prop_assert_eq!(runnable, Some(task.sample.state == State::Runnable));
        }
    }
}

/// The host looks more rarely while this holds.
#[test]
fn threads_that_stay_where_they_are_are_steady() {
    let mut kernel = Kernel::new("2B2S:3", "cfs");
    let first = kernel.start(0, Ns::from_ms(500));
    kernel.start(2, Ns::from_ms(500));
    kernel.look();
    assert!(!kernel.driver.steady(), "both are new");
    // Where the kernel has them, which need not be where the policy would.
    kernel.look();
    kernel.look();
    assert!(kernel.driver.steady());
    kernel.task(first).sample.cpu = 1;
    kernel.look();
    assert!(!kernel.driver.steady(), "the kernel has moved one");
    kernel.task(first).sample.state = State::Futex;
    kernel.look();
    assert!(!kernel.driver.steady(), "one waits");
    kernel.look();
    assert!(kernel.driver.steady(), "it still does");
    kernel.tasks.retain(|task| task.sample.tid != first);
    kernel.look();
    assert!(!kernel.driver.steady(), "it has gone");
}
