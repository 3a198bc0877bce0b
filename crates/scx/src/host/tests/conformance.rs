//! The driver does what every host must, over a model of the part in the kernel that has a clock: cores of two speeds, events
//! that the process hears of some time after they happened, and kicks that reach a core some time after they were sent.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use evenkeel_conformance::{Arm, Facts, Played, PlayedThread, RATIO, Scenario, Script, Step, check, judge, mixed};
use evenkeel_sched::POLICIES;
use proptest::prelude::*;

use super::kernel::Kernel;
use super::*;

/// How often a busy core checks its orders, and an idle one whether the process is late.
const BEAT: Ns = Ns::from_ms(2);
/// The process is late when an event has waited for so long: cores take what waits by themselves.
const LATE: Ns = Ns::from_ms(20);
const FIRST: Tid = 100;

/// How long messages take.
#[derive(Clone, Copy, Debug)]
struct Delays {
    /// From an event until the process acts on it.
    events: Ns,
    /// From a kick until the core acts on it.
    kicks: Ns,
    /// Each takes exactly that long, not a random part of it.
    steady: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Begins(usize),
    Wakes(usize),
    /// The process acts on all events.
    Hears,
    Kick {
        cpu: usize,
        preempt: bool,
    },
    Tick,
    Beat,
}

/// A thread's program.
#[derive(Clone, Debug, Default)]
struct Body {
    steps: VecDeque<Step>,
    /// What is left of its work, in ns on a little core.
    left: u64,
    ended: Ns,
    played: PlayedThread,
}

/// A kernel with a clock, and the process that schedules it.
struct World {
    driver: Driver<Kernel>,
    delays: Delays,
    big: usize,
    draw: Draw,
    calendar: BinaryHeap<Reverse<(Ns, usize)>>,
    moments: Vec<Moment>,
    /// The process is about to act on events.
    hears: bool,
    refreshed: Ns,
    bodies: Vec<Body>,
}

impl World {
    fn new(scenario: &Scenario, policy: &Setup, delays: Delays, seed: u64) -> Self {
        let machine = scenario.machine();
        let cpus = machine.cores.len();
        let driver =
            Driver::new(Kernel::new(cpus), machine, (0..cpus as u16).collect(), policy, Speeds::default(), Ns::ZERO);
        let mut world = Self {
            driver,
            delays,
            big: usize::from(scenario.big),
            draw: Draw(seed),
            calendar: BinaryHeap::new(),
            moments: Vec::new(),
            hears: false,
            refreshed: Ns::ZERO,
            bodies: Vec::new(),
        };
        for (number, script) in scenario.threads.iter().enumerate() {
            world.bodies.push(Body { steps: script.steps.iter().copied().collect(), ..Body::default() });
            world.driver.orders.begin(FIRST + number as Tid, bits(script.cores));
            world.at(script.begins, Moment::Begins(number));
        }
        world.at(TICK, Moment::Tick);
        world.at(BEAT, Moment::Beat);
        world
    }

    fn now(&self) -> Ns {
        self.driver.orders.now
    }

    fn at(&mut self, at: Ns, moment: Moment) {
        self.calendar.push(Reverse((at, self.moments.len())));
        self.moments.push(moment);
    }

    /// A message that takes so long arrives.
    fn arrival(&mut self, most: Ns) -> Ns {
        let takes = if self.delays.steady { most } else { Ns(self.draw.below(most.0 as usize + 1) as u64) };
        self.now() + takes
    }

    fn play(&mut self) -> Result<(), String> {
        while !self.bodies.iter().all(|body| body.played.ended) {
            let Some(Reverse((at, number))) = self.calendar.peek().copied() else {
                return Err("nothing happens any more".into());
            };
            match self.next_done().filter(|(done, _)| *done <= at) {
                Some((done, cpu)) => {
                    self.pass(done);
                    self.proceed(cpu);
                }
                None => {
                    self.calendar.pop();
                    self.pass(at);
                    self.happens(self.moments[number]);
                }
            }
            self.spread();
            if at > Ns::from_secs(60) {
                return Err(format!("not done at {at}: {:?}", self.bodies));
            }
        }
        Ok(())
    }

    /// The core whose thread is the next to have done its work, and when.
    fn next_done(&self) -> Option<(Ns, usize)> {
        let done = (0..self.cpus()).filter_map(|cpu| {
            let left = self.bodies[self.runs(cpu)?].left;
            Some((self.now() + Ns(left.div_ceil(self.speed(cpu))), cpu))
        });
        done.min()
    }

    /// Time passes, in which no thread completes anything.
    fn pass(&mut self, until: Ns) {
        let time = until.since(self.now());
        for cpu in 0..self.cpus() {
            let Some(thread) = self.runs(cpu) else { continue };
            let speed = self.speed(cpu);
            let Body { left, played, .. } = &mut self.bodies[thread];
            *left = left.saturating_sub(time.0 * speed);
            *(if speed > 1 { &mut played.big } else { &mut played.little }) += time;
            if time > Ns::ZERO {
                played.cores.insert(CoreId(cpu as u16));
            }
        }
        self.driver.orders.now = until;
    }

    /// The thread that a core runs has done its work: it goes on to its next.
    fn proceed(&mut self, cpu: usize) {
        let Some(thread) = self.runs(cpu) else { return };
        let kernel = &mut self.driver.orders;
        match self.bodies[thread].steps.pop_front() {
            Some(Step::Work(work)) => self.bodies[thread].left = work.0 * RATIO,
            Some(Step::Restrict(cores)) => {
                kernel.mask(FIRST + thread as Tid, bits(cores));
                if kernel.cpus[cpu].runs.is_none() {
                    kernel.dispatch(cpu, false);
                }
            }
            Some(Step::Sleep(span)) => {
                kernel.blocks(cpu, false);
                kernel.dispatch(cpu, false);
                self.at(self.now() + span, Moment::Wakes(thread));
            }
            Some(Step::Displaced(_)) => unreachable!("nothing else moves its threads"),
            None => {
                self.bodies[thread].played.ended = true;
                self.bodies[thread].ended = kernel.now;
                kernel.blocks(cpu, true);
                kernel.dispatch(cpu, false);
            }
        }
    }

    fn happens(&mut self, moment: Moment) {
        let now = self.now();
        let kernel = &mut self.driver.orders;
        match moment {
            Moment::Begins(thread) | Moment::Wakes(thread) => kernel.ready(FIRST + thread as Tid, 0, true),
            Moment::Kick { cpu, preempt } => {
                if preempt || kernel.cpus[cpu].runs.is_none() {
                    kernel.dispatch(cpu, false);
                }
            }
            Moment::Beat => {
                let late = kernel.events.front().is_some_and(|event| now > event.at + LATE);
                (0..kernel.cpus.len()).for_each(|cpu| kernel.dispatch(cpu, late));
                self.at(now + BEAT, Moment::Beat);
            }
            Moment::Hears => {
                self.hears = false;
                self.listen(false);
            }
            Moment::Tick => {
                // While it is late with what happened, it is late with this.
                if !self.hears {
                    self.listen(true);
                }
                self.at(now + TICK, Moment::Tick);
            }
        }
    }

    /// What the process does in one turn.
    fn listen(&mut self, tick: bool) {
        while let Some(event) = self.driver.orders.events.pop_front() {
            self.driver.hear(&event);
        }
        let now = self.now();
        if tick {
            self.driver.tick(now);
        }
        if self.driver.period().is_some_and(|period| now.since(self.refreshed) >= period) {
            self.refreshed = now;
            self.driver.refresh(now);
        }
        self.driver.tell();
    }

    /// Events and kicks are on their way.
    fn spread(&mut self) {
        for (cpu, preempt) in std::mem::take(&mut self.driver.orders.kicks) {
            let at = self.arrival(self.delays.kicks);
            self.at(at, Moment::Kick { cpu: cpu.into(), preempt });
        }
        if !self.hears && !self.driver.orders.events.is_empty() {
            self.hears = true;
            let at = self.arrival(self.delays.events);
            self.at(at, Moment::Hears);
        }
    }

    fn cpus(&self) -> usize {
        self.driver.orders.cpus.len()
    }

    fn runs(&self, cpu: usize) -> Option<usize> {
        self.driver.orders.cpus[cpu].runs.map(|tid| (tid - FIRST) as usize)
    }

    fn speed(&self, cpu: usize) -> u64 {
        if cpu < self.big { RATIO } else { 1 }
    }
}

/// A mask of the model.
fn bits(cores: CoreSet) -> u64 {
    (0..64).filter(|core| cores.contains(CoreId(*core))).map(|core| 1 << core).sum()
}

struct Modelled {
    delays: Delays,
    seed: u64,
}

impl Arm for Modelled {
    fn facts(&self) -> Facts {
        let Delays { events, kicks, steady } = self.delays;
        Facts {
            name: format!("kernel host, over a model of its part in the kernel, {:?}, seed {}", self.delays, self.seed),
            big: 32,
            little: 32,
            period: events,
            // A core that is stopped may do so at a kick; that it did is heard, and another kick follows.
            delay: if steady { kicks } else { Ns(events.0 + 2 * kicks.0) },
            steady,
            overhead: 0.0,
            grain: Some(Ns(10)),
            displaces: false,
            policies: None,
            foretells: false,
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let mut world = World::new(scenario, policy, self.delays, self.seed);
        world.play()?;
        world.listen(false);
        let Figures { stale, big, little, .. } = world.driver.figures();
        let played = |(body, script): (Body, &Script)| {
            let waited = script.waited(body.ended.since(script.begins), &body.played);
            PlayedThread { waited: Some(waited), ..body.played }
        };
        let threads: Vec<PlayedThread> = world.bodies.into_iter().zip(&scenario.threads).map(played).collect();
        let all = |time: fn(&PlayedThread) -> Ns| Ns(threads.iter().map(|thread| time(thread).0).sum());
        let ran = (all(|thread| thread.big), all(|thread| thread.little));
        if (big, little) != ran {
            return Err(format!("{big} and {little} in the figures, of {} and {} that threads ran", ran.0, ran.1));
        }
        Ok(Played { threads, stale })
    }
}

fn conforms(delays: Delays, seed: u64) {
    let report = check(&mut Modelled { delays, seed });
    println!("{report}");
    assert!(report.failed.is_empty() && report.skipped.is_empty(), "{report}");
}

#[test]
fn the_books_do_what_every_host_must() {
    conforms(Delays { events: Ns::from_us(50), kicks: Ns::from_us(500), steady: true }, 0);
    for seed in 0..4 {
        conforms(Delays { events: Ns::from_us(500), kicks: Ns::from_us(500), steady: false }, seed);
    }
}

#[test]
fn a_process_that_is_late_does_what_every_host_must() {
    for seed in 0..4 {
        conforms(Delays { events: Ns::from_ms(40), kicks: Ns::from_us(500), steady: false }, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_thread_is_lost_whatever_the_policy_and_the_machine(
        policy in 0..POLICIES.len(),
        (big, little, threads) in (1..3_u16, 1..4_u16, 1..14_u16),
        events in 0..40_000_000_u64,
        seed in any::<u64>(),
    ) {
        let scenario = mixed("random", big, little, threads);
        let setup = Setup::from(POLICIES[policy]);
        let made = setup.make();
        if !setup.description().foresight && evenkeel_sched::policy::check(&*made, &scenario.machine()).is_ok() {
            let delays = Delays { events: Ns(events), kicks: Ns::from_us(100), steady: false };
            let mut arm = Modelled { delays, seed };
            let played = arm.play(&scenario, &setup).map_err(TestCaseError::fail)?;
            judge(&scenario, &arm.facts(), &played).map_err(TestCaseError::fail)?;
        }
    }
}
