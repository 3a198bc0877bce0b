//! Scenarios, and what a host says of a run.

use evenkeel_model::{CoreId, CoreSet, Machine, Ns};
use evenkeel_sched::Setup;
use evenkeel_sched::policy::Guarantee;

use crate::machine;

/// A host that plays scenarios.
pub trait Arm {
    /// What is known of it.
    fn facts(&self) -> Facts;

    /// Plays a scenario under a policy, to its end.
    ///
    /// # Errors
    /// It could not be played, or did not end.
    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String>;

    /// What went wrong when a policy was asked whether it accepts the machine of a scenario, which then is not played.
    fn refused(&mut self) -> Option<String> {
        None
    }
}

/// What expectations need to know of a host.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Its name in reports.
    pub name: String,
    /// It has at most so many cores of each type.
    pub big: u16,
    /// It has at most so many cores of each type.
    pub little: u16,
    /// It learns of what happened at most so much later.
    pub period: Ns,
    /// It carries a decision out at most so much later than it was made.
    pub delay: Ns,
    /// Every decision takes exactly that long.
    pub steady: bool,
    /// Deciding takes at most this share of the time of the cores that it disturbs.
    pub overhead: f64,
    /// Times of running are off by this at most for each step of a thread; `None` if other programs disturb them.
    pub grain: Option<Ns>,
    /// Something other than the scheduler can move its threads.
    pub displaces: bool,
    /// It plays under these policies only.
    pub policies: Option<&'static [&'static str]>,
    /// It knows the future ([`evenkeel_sched::Scheduler::wants_foresight`]).
    pub foretells: bool,
}

impl Facts {
    /// The time in which a host must have reacted to an event by so many decisions in a row.
    pub fn reaction(&self, decisions: u64) -> Ns {
        Ns(self.period.0 + decisions * self.delay.0)
    }
}

/// What threads do, and what is expected of it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name in reports.
    pub name: &'static str,
    /// So many big cores, which come first.
    pub big: u16,
    /// So many little cores.
    pub little: u16,
    /// The policies that it is for.
    pub policies: Policies,
    /// Its threads.
    pub threads: Vec<Script>,
    /// What is expected beyond what every run must meet.
    pub expect: fn(&Scenario, &Facts, &Played) -> Result<(), String>,
}

impl Scenario {
    /// The machine.
    pub fn machine(&self) -> Machine {
        machine(self.big, self.little)
    }
}

/// Some of the policies.
#[derive(Clone, Copy, Debug)]
pub enum Policies {
    /// Every one that accepts the machine.
    All,
    /// Those that guarantee this.
    That(Guarantee),
}

/// What a thread does.
#[derive(Clone, Debug)]
pub struct Script {
    /// When it begins.
    pub begins: Ns,
    /// Where it begins, if the host does not decide that.
    pub on: CoreId,
    /// The cores that it allows itself.
    pub cores: CoreSet,
    /// Step after step; then it exits.
    pub steps: Vec<Step>,
}

impl Script {
    /// A thread that may run everywhere.
    pub fn new(on: u16, steps: Vec<Step>) -> Self {
        Self { begins: Ns::ZERO, on: CoreId(on), cores: CoreSet::first(usize::from(u8::MAX)), steps }
    }

    /// The same, kept to these cores.
    #[must_use]
    pub fn only(self, cores: &[u16]) -> Self {
        Self { cores: cores.iter().map(|core| CoreId(*core)).collect(), ..self }
    }

    /// For how long it could run and did not, if it took so long from its beginning to its end.
    pub fn waited(&self, took: Ns, played: &PlayedThread) -> Ns {
        let slept = |step: &Step| if let Step::Sleep(span) = step { span.0 } else { 0 };
        let slept: u64 = self.steps.iter().map(slept).sum();
        took.since(Ns(played.big.0 + played.little.0 + slept))
    }

    /// All its work, as time on a big core.
    pub fn work(&self) -> Ns {
        let work = |step: &Step| if let Step::Work(work) = step { work.0 } else { 0 };
        Ns(self.steps.iter().map(work).sum())
    }
}

/// One thing that a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computes for so long as it takes on a big core.
    Work(Ns),
    /// Sleeps.
    Sleep(Ns),
    /// Allows itself these cores from now on.
    Restrict(CoreSet),
    /// Is moved to this core by something other than the scheduler.
    Displaced(CoreId),
}

/// What a host saw.
#[derive(Clone, Debug)]
pub struct Played {
    /// By thread.
    pub threads: Vec<PlayedThread>,
    /// How many decisions were stale.
    pub stale: u64,
}

/// What a host saw of a thread.
#[derive(Clone, Debug, Default)]
pub struct PlayedThread {
    /// It did all that it had to do.
    pub ended: bool,
    /// Time on big cores.
    pub big: Ns,
    /// Time on little cores.
    pub little: Ns,
    /// How long it could run and did not, altogether; `None` if this host cannot measure that, or leaves it to a mock of a
    /// kernel.
    pub waited: Option<Ns>,
    /// The cores that it ran on.
    pub cores: CoreSet,
}

/// The longest that a thread runs beside others of its core before the next has its turn, under any policy.
const SLICE: Ns = Ns::from_ms(20);
/// The work left to two threads that began on one core: large beside a slice and a decision. With more work the oracle, which
/// lets threads end at the same time, has one wait for longer than a slice.
const APART: Ns = Ns::from_ms(300);

fn ms(tenths: u64) -> Ns {
    Ns::from_us(100 * tenths)
}

fn work(tenths: u64) -> Vec<Step> {
    vec![Step::Work(ms(tenths))]
}

/// Every scenario, for a host of which this is known.
pub fn scenarios(facts: &Facts) -> Vec<Scenario> {
    let all = vec![
        Scenario {
            name: "an idle big core takes over the thread of a little one",
            big: 1,
            little: 1,
            policies: Policies::That(Guarantee::TakesOver),
            threads: vec![Script::new(0, work(450)), Script::new(1, work(3000))],
            expect: |scenario, facts, played| leaves_little(scenario, facts, played, 1, facts.reaction(1)),
        },
        Scenario {
            name: "two big cores that go idle at once take over two threads",
            big: 2,
            little: 2,
            policies: Policies::That(Guarantee::TakesOver),
            // Little is left by then, so that no other balancing moves them meanwhile.
            threads: [0, 1, 2, 3].map(|on| Script::new(on, work(if on < 2 { 450 } else { 310 }))).into(),
            expect: |scenario, facts, played| {
                // Both want the same thread first; the decision of one is stale, and it decides again.
                leaves_little(scenario, facts, played, 2, facts.reaction(2))?;
                leaves_little(scenario, facts, played, 3, facts.reaction(2))?;
                let together = facts.steady && facts.reaction(1) > Ns::ZERO;
                expect(!together || played.stale > 0, || "no decision was stale".into())
            },
        },
        Scenario {
            name: "a thread exits while a core is about to take it over",
            big: 1,
            little: 1,
            policies: Policies::That(Guarantee::TakesOver),
            threads: vec![
                Script::new(0, work(450)),
                Script::new(1, vec![Step::Work(in_flight(facts))]),
                Script { begins: ms(600), ..Script::new(0, work(10)) },
            ],
            expect: |_, facts, played| {
                let in_flight = facts.steady && facts.delay > Ns::ZERO;
                expect(!in_flight || played.stale > 0, || "the decision to take it over was not stale".into())
            },
        },
        Scenario {
            name: "a thread blocks while a core is about to take it over",
            big: 1,
            little: 1,
            policies: Policies::That(Guarantee::TakesOver),
            threads: vec![
                Script::new(0, work(450)),
                Script::new(1, vec![Step::Work(in_flight(facts)), Step::Sleep(ms(200)), Step::Work(ms(1000))]),
            ],
            expect: |scenario, facts, played| {
                let in_flight = facts.steady && facts.delay > Ns::ZERO;
                expect(!in_flight || played.stale > 0, || "the decision to take it over was not stale".into())?;
                leaves_little(scenario, facts, played, 1, facts.reaction(2))
            },
        },
        Scenario {
            name: "threads block and wake while cores exchange them",
            big: 2,
            little: 2,
            policies: Policies::All,
            threads: (0..6).map(|thread| Script::new(thread % 4, restless(thread))).collect(),
            expect: |_, _, _| Ok(()),
        },
        Scenario {
            name: "a thread runs only where its mask allows, whatever is idle",
            big: 1,
            little: 1,
            policies: Policies::All,
            threads: vec![
                Script::new(0, work(200)),
                Script::new(1, work(600)).only(&[1]),
                Script::new(1, work(600)).only(&[1]),
                Script::new(0, work(100)).only(&[0]),
            ],
            expect: |_, _, _| Ok(()),
        },
        Scenario {
            name: "a running thread narrows its mask and leaves its core",
            big: 1,
            little: 1,
            policies: Policies::All,
            threads: vec![Script::new(
                0,
                vec![Step::Work(ms(200)), Step::Restrict(CoreSet::EMPTY.with(CoreId(1))), Step::Work(ms(400))],
            )],
            expect: |_, facts, played| {
                let most = Ns(ms(200).0 + facts.reaction(2).0);
                let big = played.threads[0].big;
                expect(big <= most, || format!("{big} on the big core, of which it may use {most}"))
            },
        },
        Scenario {
            name: "a thread that is moved from outside is where it was moved to",
            big: 1,
            little: 1,
            policies: Policies::That(Guarantee::TakesOver),
            threads: vec![Script::new(0, vec![Step::Work(ms(450)), Step::Displaced(CoreId(1)), Step::Work(ms(3000))])],
            expect: |_, facts, played| {
                let (little, most) = (played.threads[0].little, facts.reaction(1));
                expect(little <= most, || format!("{little} on the little core with the big one idle; {most} at most"))
            },
        },
        // Load piled on one big core (sched-ext/scx#938).
        Scenario {
            name: "two threads of one big core part when another one is idle",
            big: 2,
            little: 2,
            policies: Policies::All,
            threads: vec![pinned_at_first(APART).only(&[0]), pinned_at_first(APART).only(&[0])],
            expect: |_, facts, played| {
                // At first each waits for the other's work, then for a slice and a decision, and from then on for the host only.
                let host = (APART.0 as f64 * facts.overhead) as u64;
                let most = Ns(ms(200).0 + SLICE.0 + facts.reaction(2).0 + host);
                let waited = played.threads.iter().filter_map(|thread| thread.waited).max().unwrap_or_default();
                expect(waited <= most, || format!("one waited for {waited}; {most} at most"))
            },
        },
        Scenario {
            name: "a busy core takes over what waits for a busier one",
            big: 2,
            little: 2,
            policies: Policies::That(Guarantee::Balances),
            // Even if all three stay where they begin they have ended before the fourth.
            threads: vec![
                pinned_at_first(ms(1300)).only(&[0]),
                pinned_at_first(ms(1300)).only(&[0]),
                pinned_at_first(ms(1300)).only(&[0]),
                Script::new(1, work(6000)).only(&[1]),
            ],
            expect: |_, _, played| {
                // A mock of a kernel may leave waiting threads where they are, between cores of one type.
                let unknown = played.threads.iter().all(|thread| thread.waited.is_none());
                let came = played.threads[..3].iter().any(|thread| thread.cores.contains(CoreId(1)));
                expect(came || unknown, || {
                    "three threads shared one big core and one had the other for itself, all the time".into()
                })
            },
        },
        mixed("more threads than cores, of which some sleep", 2, 2, 9),
    ];
    all.into_iter().filter(|scenario| facts.displaces || !displaces(scenario)).collect()
}

/// A thread that may use one core for 20 ms, then both big ones for the rest of its work.
fn pinned_at_first(rest: Ns) -> Script {
    let both = CoreSet::first(2);
    Script::new(0, vec![Step::Work(ms(200)), Step::Restrict(both), Step::Work(rest)])
}

/// Threads that sleep and compute in turns of their own lengths, some of which are bound to a core.
pub fn mixed(name: &'static str, big: u16, little: u16, threads: u16) -> Scenario {
    let script = |thread: u16| {
        let script =
            Script { begins: ms(u64::from(thread) * 7), ..Script::new(thread % (big + little), restless(thread)) };
        if thread % 4 == 3 { script.only(&[thread % (big + little)]) } else { script }
    };
    let threads = (0..threads).map(script).collect();
    Scenario { name, big, little, policies: Policies::All, threads, expect: |_, _, _| Ok(()) }
}

/// Turns of computing and sleeping; how long they are depends on the thread.
fn restless(thread: u16) -> Vec<Step> {
    let turn = |round: u64| [Step::Work(ms(3 + (round + u64::from(thread)) % 40)), Step::Sleep(ms(5 + round % 3))];
    (0..60).flat_map(turn).collect()
}

/// Work for a little core. When the big one goes idle (45 ms), what is left of it ends after the takeover is decided and
/// before it arrives.
fn in_flight(facts: &Facts) -> Ns {
    Ns((Ns::from_ms(45).0 + facts.delay.0 / 2) / crate::RATIO)
}

fn displaces(scenario: &Scenario) -> bool {
    scenario.threads.iter().flat_map(|thread| &thread.steps).any(|step| matches!(step, Step::Displaced(_)))
}

/// After 45 ms the big cores have nothing else to do: from then on the thread may use a little one for so long at most.
fn leaves_little(scenario: &Scenario, facts: &Facts, played: &Played, thread: usize, most: Ns) -> Result<(), String> {
    let (little, steps) = (played.threads[thread].little, scenario.threads[thread].steps.len() as u64);
    let most = Ns(Ns::from_ms(45).0 + most.0 + facts.grain.unwrap_or(most).0 * steps);
    expect(little <= most, || format!("thread {thread} was on little cores for {little}; {most} at most"))
}

fn expect(holds: bool, found: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(found()) }
}
