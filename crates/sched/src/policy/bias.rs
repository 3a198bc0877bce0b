//! Bias scheduling (Koufaty, Reddy, Hahn: Bias scheduling in heterogeneous multi-core architectures, EuroSys 2010).
//!
//! Problem: what a big core gives a thread depends on what the thread spends its cycles on, and finding out by trying both
//! kinds of cores costs moves. Bias scheduling infers it where the thread happens to run, from internal and external stalls
//! (3.2, 3.3). The bias then only influences load balancing, and never when a thread runs (5.2).
//!
//! Everything else is faster core first ([`super::fcf`]), which the paper takes for granted in a fair evaluation. A host that
//! finds that an exchange has become stale drops it: this is the paper's handshake, one exchange a core at a time (6.2).
//! The rules, and where the paper is silent: `docs/policies/bias.md`.

use evenkeel_model::{CoreId, CoreSet, Instructions, Machine, ThreadId};

use super::description::{Description, Guarantee, Knob, Reads, Setup, Value};
use super::hooks::{Policy, Standing};
use super::in_kernel::InKernel;
use super::parts::faster_first;
use super::parts::stalls::{Monitor, Stalls};
use crate::action::{Pick, Why};
use crate::span::Span;
use crate::state::State;
use evenkeel_hooks::hooks;

/// The constants of section 7.1; 7.4 tries other windows, 7.5 both ways with nodes.
const KNOBS: &[Knob] = &[
    Knob {
        name: "window",
        summary: "billions of instructions that a running average is over",
        value: Value::Number { default: 16.0, from: 0.001, to: 1000.0 },
    },
    Knob {
        name: "starved",
        summary: "starved cycles in 1000 instructions above which a thread is dominated by internal stalls",
        value: Value::Number { default: 130.0, from: 1.0, to: 1e6 },
    },
    Knob {
        name: "offcore",
        summary: "offcore requests in 1000 instructions above which a thread is dominated by external stalls",
        value: Value::Number { default: 10.0, from: 0.01, to: 1e6 },
    },
    Knob { name: "stay-on-node", summary: "no thread leaves its memory node", value: Value::Switch },
];

/// Dominance is told apart in so many steps of its threshold, as inside the kernel: what differs by less is rounding.
const STEPS: f64 = (1 << 20) as f64;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "faster core first; a thread that stalls much on a big core changes places with one on a little core that does not",
    source: "Koufaty, Reddy, Hahn, \"Bias scheduling in heterogeneous multi-core architectures\", EuroSys 2010",
    knobs: KNOBS,
    reads: Reads::Stalls { without: "decides as fcf does" },
    guarantees: &[Guarantee::TakesOver],
    in_kernel: Some(InKernel { choices: &["stay-on-node"], ..InKernel::new(2) }),
    ..Description::of::<Bias>("bias", |setup| Box::new(Bias::new(setup)))
};

/// The bias scheduler.
#[derive(Clone, Debug)]
pub struct Bias {
    window: Instructions,
    starved: f64,
    offcore: f64,
    stay_on_node: bool,
    monitor: Monitor,
}

#[hooks]
impl Policy for Bias {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// "We do not modify the initial thread allocation" (5.2).
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        if let Why::New { .. } = why {
            self.monitor.begin(s, thread);
            return faster_first::place(s, thread, why, s.machine.all());
        }
        faster_first::place(s, thread, why, self.reach(s, s.thread(thread).core))
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        faster_first::pick(s, core, self.reach(s, core), |threads| self.most_biased(s, core, threads))
    }

    fn ran(&mut self, s: &State, thread: ThreadId, core: CoreId, span: &Span) {
        self.monitor.ran(s, thread, core, span, self.window);
    }

    /// Domains are searched "hierarchically from the bottom" (7.5).
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        for domain in faster_first::due(s, core, self.reach(s, core)) {
            if let Some(thread) = faster_first::pull(s, core, domain, |threads| self.most_biased(s, core, threads)) {
                return Pick::Queued(thread);
            }
            if let Some((here, there)) = self.opposites(s, core, domain) {
                return Pick::Exchange { here, there };
            }
        }
        Pick::Idle
    }

    fn standing(&self, s: &State, thread: ThreadId) -> Standing {
        let (fastest, slowest) = (s.big.lowest(), s.little.iter().last());
        let types = fastest.zip(slowest);
        let dominance = |(fastest, slowest)| Some(self.dominance(s, self.monitor.stalls(thread)?, fastest, slowest));
        Standing { dominance: types.and_then(dominance), ..Standing::default() }
    }
}

impl Bias {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            window: Instructions((setup.number("window") * 1e9) as u64),
            starved: setup.number("starved"),
            offcore: setup.number("offcore"),
            stay_on_node: setup.switch("stay-on-node"),
            monitor: Monitor::default(),
        }
    }

    /// The cores with which a core may exchange threads.
    fn reach(&self, s: &State, core: CoreId) -> CoreSet {
        if self.stay_on_node { s.machine.node_of(core) } else { s.machine.all() }
    }

    /// The first of the threads with the highest bias towards a core; the first of all if none has such a bias, or if
    /// their cores are of its type ("if the cores have the same type, bias is irrelevant", 5.2).
    fn most_biased(&self, s: &State, to: CoreId, threads: &mut dyn Iterator<Item = ThreadId>) -> Option<ThreadId> {
        let mut chosen: Option<(f64, ThreadId)> = None;
        for thread in threads {
            let stalls = self.monitor.stalls(thread);
            let bias = stalls.map_or(0.0, |stalls| self.bias(s, stalls, s.thread(thread).core, to)).max(0.0);
            if chosen.is_none_or(|(highest, _)| bias > highest) {
                chosen = Some((bias, thread));
            }
        }
        chosen.map(|(_, thread)| thread)
    }

    /// Two threads on the wrong kinds of cores: one of this core with a bias towards smaller ones, and the one with the highest
    /// bias towards this core. "This process is started only in big cores" (5.2), and finds all pairs from there.
    fn opposites(&self, s: &State, core: CoreId, domain: CoreSet) -> Option<(ThreadId, ThreadId)> {
        let mut chosen: Option<(f64, ThreadId, ThreadId)> = None;
        for other in domain.iter().filter(|other| faster_first::faster(s, core, *other)) {
            let Some((_, here)) = self.misplaced(s, core, other) else { continue };
            let Some((bias, there)) = self.misplaced(s, other, core) else { continue };
            if chosen.is_none_or(|(highest, ..)| bias > highest) {
                chosen = Some((bias, here, there));
            }
        }
        chosen.map(|(_, here, there)| (here, there))
    }

    /// Of the threads that ran on a core of late, and run on or wait for it now (6.2), the one with the highest bias towards
    /// another core that it may use; the latest of several.
    fn misplaced(&self, s: &State, on: CoreId, to: CoreId) -> Option<(f64, ThreadId)> {
        let mut chosen: Option<(f64, ThreadId)> = None;
        for (thread, stalls) in self.monitor.recent(on) {
            let t = s.thread(thread);
            let movable = t.runnable() && t.core == on && t.allowed().contains(to);
            let bias = self.bias(s, stalls, on, to);
            if movable && bias > chosen.map_or(0.0, |(highest, _)| highest) {
                chosen = Some((bias, thread));
            }
        }
        chosen
    }

    /// How far stalls dominate a thread. On cores that differ in frequency alone internal ones are the same number of cycles
    /// everywhere and say nothing: external ones are "the only predictor required" (5.3).
    fn dominance(&self, s: &State, stalls: Stalls, from: CoreId, to: CoreId) -> f64 {
        let internal = if frequency_alone(&s.machine, from, to) { 0.0 } else { stalls.internal / self.starved };
        (internal.max(stalls.external / self.offcore) * STEPS).floor() / STEPS
    }

    /// How much a thread would rather be on another core: above 0 if it has a bias towards its type, below if against
    /// it, 0 between cores of one type.
    fn bias(&self, s: &State, stalls: Stalls, from: CoreId, to: CoreId) -> f64 {
        let dominance = self.dominance(s, stalls, from, to);
        if faster_first::faster(s, to, from) {
            1.0 - dominance
        } else if faster_first::faster(s, from, to) {
            dominance - 1.0
        } else {
            0.0
        }
    }
}

/// Whether two cores differ in their operating points alone. What real cores do in a cycle follows from capacities, which are rounded.
fn frequency_alone(machine: &Machine, one: CoreId, other: CoreId) -> bool {
    let shape = |core| {
        let kind = machine.core_type(core);
        [kind.width, kind.extract, kind.overlap]
    };
    shape(one).iter().zip(shape(other)).all(|(one, other)| (one - other).abs() < 0.01)
}
