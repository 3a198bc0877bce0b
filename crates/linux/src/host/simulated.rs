//! The host that `evenkeel run` is, beside a simulated kernel: the driver's samples are of simulated threads, and so are those that its
//! orders move. That programs are not moved while they start is left out, and nothing is counted, as on a machine without a PMU.

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
    /// By thread of the simulation.
    lives: Vec<Life>,
    /// By number: whose it is, or was.
    numbers: Vec<ThreadId>,
}

/// A thread, from its start to its exit. One that starts again has another number, as it has under a kernel.
#[derive(Clone, Copy, Default)]
struct Life {
    /// From 1 on; 0 before the thread is first seen.
    tid: Tid,
    began: Ns,
    /// All its blame at the last look.
    blame: Ns,
}

impl Simulated {
    /// What a sample and what follows usually cost (assumed: half of what 100 threads do by docs/run.md, 0.3 to 0.6 % of a CPU with
    /// pauses of 17 to 20 ms).
    pub const SAMPLE: Ns = Ns::from_us(50);

    /// For a machine whose cores have their CPUs' numbers, where a sample and what follows cost so much.
    pub fn new(machine: &Machine, policy: &Setup, cost: Ns) -> Self {
        let cpus: Vec<u16> = (0..machine.cores.len() as u16).collect();
        let driver = Driver::new(machine.clone(), &cpus, policy, Ns::ZERO);
        let pace = Pace::new(PERIOD, cpus.len(), Ns::ZERO);
        Self { driver, pace, cost, lives: Vec::new(), numbers: Vec::new() }
    }

    /// The number of a thread, a new one if it has begun since the last look.
    fn tid(&mut self, seen: &Seen<'_>) -> Tid {
        let index = seen.thread.index();
        self.lives.resize(self.lives.len().max(index + 1), Life::default());
        let life = &mut self.lives[index];
        if life.tid == 0 || life.began != seen.began {
            self.numbers.push(seen.thread);
            *life = Life { tid: self.numbers.len() as Tid, began: seen.began, blame: Ns::ZERO };
        }
        life.tid
    }

    /// The thread of a number, unless it has started again since.
    fn thread(&self, tid: Tid) -> Option<ThreadId> {
        let thread = *self.numbers.get(tid as usize - 1)?;
        (self.lives[thread.index()].tid == tid).then_some(thread)
    }
}

fn sample(tid: Tid, seen: &Seen<'_>) -> Sample {
    let mut sample = Sample {
        tid,
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
        let samples: Vec<Sample> = threads.iter().map(|seen| sample(self.tid(seen), seen)).collect();
        self.driver.step(now, &samples, |sample| {
            let seen = threads.iter().zip(&samples).find(|(_, of)| of.tid == sample.tid).map(|(seen, _)| seen);
            let kind = seen.map_or(ThreadKind::Application, |seen| seen.kind);
            let class = seen.map_or_else(|| Class::fair(0), |seen| seen.class);
            Newcomer { kind, class, cores: seen.map_or(CoreSet::EMPTY, |seen| seen.cores) }
        });
        for seen in threads {
            let life = &mut self.lives[seen.thread.index()];
            let waited = seen.blame.since(std::mem::replace(&mut life.blame, seen.blame));
            self.driver.blame(Blame { waker: life.tid, waited });
        }
        self.pace.sampled(now, self.cost, self.driver.steady());
        let (next, soonest) = self.pace.next();
        (next, soonest.unwrap_or(Ns::NEVER))
    }

    fn orders(&self) -> Vec<steering::Order> {
        let order = |order: &Order| match *order {
            Order::Move { tid, to } => Some(steering::Order::Move(self.thread(tid)?, to)),
            Order::Bind { tid, cores } => Some(steering::Order::Bind(self.thread(tid)?, cores)),
        };
        self.driver.orders().iter().filter_map(order).collect()
    }

    fn judgement(&self, thread: ThreadId) -> Judgement {
        self.lives.get(thread.index()).map_or_else(Judgement::default, |life| self.driver.judgement(life.tid))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{CoreId, ProgramId, machines};

    use super::*;

    #[test]
    fn a_thread_that_has_started_again_between_two_looks_is_a_new_one() {
        let machine = machines::by_name("2B2S").unwrap();
        let mut host = Simulated::new(&machine, &Setup::parse("pfs").unwrap(), Ns::ZERO);
        let mut look = |now: u64, began: u64, ran: u64, blame: u64| {
            let seen = Seen {
                thread: ThreadId(0),
                program: ProgramId(0),
                kind: ThreadKind::Application,
                class: Class::fair(0),
                cores: machine.all(),
                core: CoreId(0),
                waits: None,
                began: Ns::from_ms(began),
                on_type: &[Ns::from_ms(ran), Ns::ZERO],
                waited: Ns::ZERO,
                blame: Ns::from_ms(blame),
            };
            host.look(Ns::from_ms(now), &[seen]);
            let threads = host.driver.state().living().map(|thread| host.driver.state().thread(thread));
            threads.map(|thread| (thread.executed, thread.blame)).collect::<Vec<_>>()
        };
        look(10, 0, 10, 0);
        assert_eq!(look(20, 0, 20, 7), [(Ns::from_ms(20), Ns::from_ms(7))]);
        assert_eq!(look(30, 25, 5, 1), [(Ns::from_ms(5), Ns::from_ms(1))]);
    }
}
