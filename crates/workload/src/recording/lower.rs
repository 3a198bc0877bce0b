//! From a recording to a program.

use std::collections::BTreeMap;

use evenkeel_model::{Behaviour, CoreTypeId, Machine, Ns};

use super::division::{Division, Parts, parts};
use super::groups::{Pool, barriers, lists, locks, pools, results};
use super::recorded::{RecordedItem, RecordedThread, Recording};
use super::step::Step;
use crate::program::{
    Barrier, BarrierId, Calibration, List, ListId, LockId, Op, Phase, PhaseId, Program, Queue, QueueId, SchedParams,
    Semaphore, SemaphoreId, Spread, Thread, ThreadIndex, Work, Workload,
};

pub(super) fn lower(recording: &Recording, name: &str, ran_on: Option<&Machine>) -> Workload {
    let mut codes = Codes { ran_on, unit: unit(recording.counted, ran_on), phases: Vec::new(), known: BTreeMap::new() };
    let names = names(&recording.threads);
    let semaphore = |name: String| Semaphore { name: format!("wake-up of {name}"), count: 0 };
    let all =
        names.iter().cloned().chain((0..recording.items.len()).map(|item| format!("item {}", names.len() + item)));
    let results = results(recording);
    let results_of = results.keys().map(|item| Semaphore { name: format!("result of item {item}"), count: 0 });
    let semaphores: Vec<Semaphore> = all.map(semaphore).chain(results_of).collect();
    let barriers = barriers(&recording.threads);
    let places: BTreeMap<u32, BarrierId> = barriers.keys().copied().zip((0..).map(BarrierId)).collect();
    let pools = Pools::of(pools(&recording.threads), &recording.pools);
    let barrier = |(number, parties): (&u32, &Vec<usize>)| Barrier {
        name: format!("barrier {number}"),
        parties: parties.len() as u32,
    };
    let lists = lists(recording);
    let result_ids = (recording.threads.len() + recording.items.len()) as u32..;
    let locks = locks(recording);
    let objects = Objects {
        barriers: places,
        locks: locks.iter().copied().zip((0..).map(LockId)).collect(),
        pools,
        lists: lists.keys().copied().zip((0..).map(ListId)).collect(),
        results: results.keys().copied().zip(result_ids.map(SemaphoreId)).collect(),
    };
    let of_thread: Vec<Code> =
        recording.threads.iter().zip(&names).map(|(thread, name)| codes.of(&thread.rates, name)).collect();
    let lowered = |own: usize, code: Code, steps: &[Step]| -> Vec<Op> {
        steps.iter().flat_map(|step| objects.ops(*step, SemaphoreId(own as u32), code)).collect()
    };
    let item = |position: &usize| {
        let RecordedItem { by, steps, .. } = &recording.items[*position];
        let number = recording.threads.len() + position;
        let mut ops = lowered(number, of_thread[*by as usize], steps);
        if let Some(times) = results.get(&(number as u32)) {
            ops.extend(vec![Op::Post(objects.results[&(number as u32)]); *times]);
        }
        ops
    };
    let list = |(number, list): (&u32, &super::groups::List)| List {
        name: format!("list {number}"),
        items: list.items.iter().map(item).collect(),
    };
    let thread = |(position, (thread, name)): (usize, (&RecordedThread, &String))| {
        let ops = lowered(position, of_thread[position], &thread.steps);
        let (start, kind, sched) = (thread.start, thread.kind, SchedParams::default());
        Thread { name: name.clone(), process: thread.process, ops, start, kind, sched }
    };
    let program = Program {
        name: name.to_owned(),
        threads: recording.threads.iter().zip(&names).enumerate().map(thread).collect(),
        phases: codes.phases,
        locks: locks.iter().map(|number| format!("lock {number}")).collect(),
        semaphores,
        lists: lists.iter().map(list).collect(),
        barriers: barriers.iter().map(barrier).collect(),
        queues: objects.pools.queues(),
        calibration: Calibration::Biggest,
        measured: true,
        ..Program::default()
    };
    Workload { name: name.to_owned(), programs: vec![program], ..Workload::default() }
}

/// The parts of each pool, by its number: queues that are full from the start.
struct Pools(BTreeMap<u32, Vec<(QueueId, Parts)>>);

impl Pools {
    fn of(pools: BTreeMap<u32, Pool>, divisions: &BTreeMap<u32, Division>) -> Self {
        let mut queues = (0..).map(QueueId);
        let divided = |(number, pool): (u32, Pool)| {
            let parts = parts(divisions.get(&number).copied(), pool.work, pool.threads.len() as u64);
            (number, queues.by_ref().zip(parts).collect())
        };
        Self(pools.into_iter().map(divided).collect())
    }

    fn queues(&self) -> Vec<Queue> {
        let queue = |(number, count): (u32, u64)| Queue {
            name: format!("pool {number}"),
            capacity: count,
            filled: count,
            producers: 0,
        };
        let all = self.0.iter().flat_map(|(number, parts)| parts.iter().map(|(_, parts)| (*number, parts.count)));
        all.map(queue).collect()
    }
}

/// The names of the threads; those that several share get the thread's number.
fn names(threads: &[RecordedThread]) -> Vec<String> {
    let mut bearers: BTreeMap<&str, u32> = BTreeMap::new();
    for thread in threads {
        *bearers.entry(&thread.name).or_default() += 1;
    }
    let name = |(position, thread): (usize, &RecordedThread)| match bearers.get(thread.name.as_str()) {
        Some(2..) => format!("{}#{position}", thread.name),
        _ => thread.name.clone(),
    };
    threads.iter().enumerate().map(name).collect()
}

/// What a unit of [`Step::Run`] is.
#[derive(Clone, Copy)]
enum Unit {
    /// So many instructions.
    Instructions(f64),
    /// A nanosecond of the biggest core, whichever that is.
    Time,
}

fn unit(counted: bool, ran_on: Option<&Machine>) -> Unit {
    let biggest = CoreTypeId(0);
    match ran_on {
        _ if counted => Unit::Instructions(1.0),
        Some(machine) => {
            let frequency = machine.core_types[biggest.index()].max_frequency();
            Unit::Instructions(machine.rate(biggest, frequency, &Behaviour::REFERENCE))
        }
        None => Unit::Time,
    }
}

/// What a thread runs.
#[derive(Clone, Copy)]
struct Code {
    phase: PhaseId,
    unit: Unit,
}

impl Code {
    /// Runs so many units of [`Step::Run`].
    fn compute(self, amount: u64) -> Op {
        let work = match self.unit {
            Unit::Instructions(each) => Work::Instructions((amount as f64 * each).round() as u64),
            Unit::Time => Work::Time(Ns(amount)),
        };
        Op::Compute { phase: self.phase, work, spread: Spread::None }
    }
}

/// The code of all threads.
struct Codes<'a> {
    ran_on: Option<&'a Machine>,
    unit: Unit,
    phases: Vec<Phase>,
    /// By rates, as bits.
    known: BTreeMap<Vec<Option<u64>>, Code>,
}

impl Codes<'_> {
    /// Code that is as fast on the machine that it was recorded on. If no code is, since what is not known of the machine is
    /// assumed, an instruction is less work instead: so it takes as long there.
    fn of(&mut self, rates: &[Option<f64>], thread: &str) -> Code {
        let rates = if self.ran_on.is_some() { rates } else { &[] };
        let bits = rates.iter().map(|rate| rate.map(f64::to_bits)).collect();
        if let Some(code) = self.known.get(&bits) {
            return *code;
        }
        let fitting = self.ran_on.and_then(|machine| fitting(machine, rates));
        let (name, behaviour, unit) = match fitting {
            Some((behaviour, share)) => (format!("code of {thread}"), behaviour, Unit::Instructions(share)),
            None => ("recorded".to_owned(), Behaviour::REFERENCE, self.unit),
        };
        let code = Code { phase: PhaseId(self.phases.len() as u32), unit };
        self.phases.push(Phase { name, behaviour });
        self.known.insert(bits, code);
        code
    }
}

/// Code with these rates, and how much of each instruction it has to do to be as fast as it was; `None` if no rate is known.
fn fitting(machine: &Machine, rates: &[Option<f64>]) -> Option<(Behaviour, f64)> {
    let all = machine.core_types.iter().zip(rates).enumerate();
    let (id, core, rate) = all.filter_map(|(id, (core, rate))| Some((id, core, (*rate)?))).next()?;
    let behaviour = Behaviour::fitting(machine, rates);
    let reached = machine.rate(CoreTypeId(id as u8), core.max_frequency(), &behaviour);
    Some((behaviour, reached / rate))
}

/// What numbers in a recording stand for.
struct Objects {
    barriers: BTreeMap<u32, BarrierId>,
    locks: BTreeMap<u32, LockId>,
    pools: Pools,
    lists: BTreeMap<u32, ListId>,
    results: BTreeMap<u32, SemaphoreId>,
}

impl Objects {
    /// A step of who has this semaphore.
    fn ops(&self, step: Step, own: SemaphoreId, code: Code) -> Vec<Op> {
        let op = match step {
            Step::Run(amount) => code.compute(amount),
            Step::Share { pool, .. } => {
                let drain = |(queue, parts): &(QueueId, Parts)| Op::Drain {
                    queue: *queue,
                    body: vec![code.compute(parts.work)],
                };
                return self.pools.0[&pool].iter().map(drain).collect();
            }
            Step::Wait => Op::Acquire(own),
            Step::Wake(other) => Op::Post(SemaphoreId(other)),
            Step::Sleep(span) | Step::Io(span) => Op::Sleep { span, spread: Spread::None },
            Step::Spawn(thread) => Op::Spawn(ThreadIndex(thread)),
            Step::Barrier(barrier) => Op::Barrier(self.barriers[&barrier]),
            Step::Take(list) => Op::Take(self.lists[&list]),
            Step::Result(item) => Op::Acquire(self.results[&item]),
            Step::Lock(lock) => Op::Lock(self.locks[&lock]),
            Step::Unlock(lock) => Op::Unlock(self.locks[&lock]),
        };
        vec![op]
    }
}
