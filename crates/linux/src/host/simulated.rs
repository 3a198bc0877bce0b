//! The host that `evenkeel run` is, beside a simulated kernel: the driver's samples are of simulated threads, and so are those that its
//! orders move. That programs are not moved while they start is left out.

use evenkeel_model::{CoreSet, Machine, Ns, ThreadId};
use evenkeel_sched::policy::{Culprit, Judgement};
use evenkeel_sched::steering::{self, Seen, Steering};
use evenkeel_sched::{Class, Setup, ThreadKind, Wait};

use super::driver::{Driver, Newcomer, Order};
use super::pace::{PERIOD, Pace};
use crate::event::Tid;
use crate::sample::{Blame, Sample, ThreadState};

/// Moves the threads of a simulated kernel as a policy says.
pub struct Simulated {
    driver: Driver,
    pace: Pace,
    /// What a sample and what follows cost.
    cost: Ns,
    /// All blame of each thread, by its number.
    blame: Vec<Ns>,
}

impl Simulated {
    /// What a sample and what follows usually cost (assumed: half of what 100 threads do by docs/run.md, 0.3 to 0.6 % of a CPU with
    /// pauses of 17 to 20 ms).
    pub const SAMPLE: Ns = Ns::from_us(50);

    /// For a machine whose cores have their CPUs' numbers, where a sample and what follows cost so much.
    pub fn new(machine: &Machine, policy: &Setup, cost: Ns) -> Self {
        let cpus: Vec<u16> = (0..machine.cores.len() as u16).collect();
        let driver = Driver::new(machine.clone(), &cpus, policy, Ns::ZERO);
        Self { driver, pace: Pace::new(PERIOD, cpus.len(), Ns::ZERO), cost, blame: Vec::new() }
    }
}

/// Numbers of threads begin with 1.
fn tid(thread: ThreadId) -> Tid {
    thread.0 + 1
}

fn sample(seen: &Seen<'_>) -> Sample {
    let mut sample = Sample {
        tid: tid(seen.thread),
        process: seen.program.0 + 1,
        state: match seen.waits {
            None => ThreadState::Runnable,
            Some(Wait::Futex) => ThreadState::Futex,
            Some(_) => ThreadState::Blocked,
        },
        cpu: seen.core.0,
        delay: seen.waited,
        ..Sample::default()
    };
    sample.run.iter_mut().zip(seen.on_type).for_each(|(time, on)| *time = *on);
    sample
}

impl Steering for Simulated {
    fn culprit(&self) -> Culprit {
        self.driver.culprit()
    }

    fn look(&mut self, now: Ns, threads: &[Seen<'_>]) -> (Ns, Ns) {
        let samples: Vec<Sample> = threads.iter().map(sample).collect();
        self.driver.step(now, &samples, |sample| {
            let seen = threads.iter().find(|seen| tid(seen.thread) == sample.tid);
            let kind = seen.map_or(ThreadKind::Application, |seen| seen.kind);
            let class = seen.map_or_else(|| Class::fair(0), |seen| seen.class);
            Newcomer { kind, class, cores: seen.map_or(CoreSet::EMPTY, |seen| seen.cores) }
        });
        for seen in threads {
            let index = seen.thread.index();
            self.blame.resize(self.blame.len().max(index + 1), Ns::ZERO);
            let waited = seen.blame.since(std::mem::replace(&mut self.blame[index], seen.blame));
            self.driver.blame(Blame { waker: tid(seen.thread), waited });
        }
        self.pace.sampled(now, self.cost, self.driver.steady());
        let (next, soonest) = self.pace.next();
        (next, soonest.unwrap_or(Ns::NEVER))
    }

    fn orders(&self) -> Vec<steering::Order> {
        let thread = |tid: Tid| ThreadId(tid - 1);
        let order = |order: &Order| match *order {
            Order::Move { tid, to } => steering::Order::Move(thread(tid), to),
            Order::Bind { tid, cores } => steering::Order::Bind(thread(tid), cores),
        };
        self.driver.orders().iter().map(order).collect()
    }

    fn judgement(&self, thread: ThreadId) -> Judgement {
        self.driver.judgement(tid(thread))
    }
}
