//! What a policy may decide, and when. The default of every hook is CFS ([`super::parts::fair`]).

use evenkeel_model::predict::Quality;
use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Machine, Ns, ThreadId};

use super::description::Description;
use super::parts::culprit::Culprit;
use super::parts::fair;
use crate::action::{Pick, Why};
use crate::span::Span;
use crate::state::State;
use evenkeel_hooks::hooks;

/// A scheduling policy.
#[hooks]
pub trait Policy: Send {
    /// What it is: the description beside its code.
    fn description(&self) -> &'static Description;

    /// The name that commands use.
    fn name(&self) -> &'static str {
        self.description().name
    }

    /// Whether it can schedule a machine. Hosts use [`super::check`], which names the policy and the machine.
    ///
    /// # Errors
    /// What it needs and the machine does not have, as the end of a sentence.
    fn accepts(&self, _machine: &Machine) -> Result<(), String> {
        Ok(())
    }

    /// The time from one [`Policy::refresh`] to the next; `None` if there is none.
    fn period(&self) -> Option<Ns> {
        None
    }

    /// How good the predictor of speedups should be, where one is trained.
    fn predictor(&self) -> Quality {
        Quality::Best
    }

    /// Which threads are blamed for a wait of another one ([`crate::Thread::blame`]).
    fn culprit(&self) -> Culprit {
        Culprit::default()
    }

    /// The cores that a thread may use from its creation on.
    fn admit(&mut self, s: &State, _thread: ThreadId) -> CoreSet {
        s.machine.all()
    }

    /// The core on which a thread that became ready is queued. Must be one of [`crate::Thread::allowed`].
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        fair::place(s, thread, why)
    }

    /// What a core without a thread runs next.
    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        fair::pick(s, core)
    }

    /// How long a thread may run on a core while others wait for it.
    fn slice(&self, s: &State, thread: ThreadId, core: CoreId) -> Ns {
        fair::slice(s, thread, core)
    }

    /// What a span of running on a core costs a thread in virtual time.
    fn charge(&mut self, s: &State, thread: ThreadId, _core: CoreId, ran: Ns) -> Ns {
        fair::charge(s, thread, ran)
    }

    /// What the thread that runs on a core is still to be charged: hosts report before ticks and stops, not before wake-ups,
    /// which count it. A policy with another [`Policy::charge`] has this by the same measure, and notes nothing.
    fn owes(&self, s: &State, running: ThreadId, _core: CoreId) -> Ns {
        fair::owes(s, running)
    }

    /// The virtual time with which a thread joins those that wait for a core. Where it was is in [`crate::Thread::core`];
    /// that it moves while it waits counts as [`Why::Taken`].
    fn enter(&mut self, s: &State, thread: ThreadId, core: CoreId, why: Why) -> i64 {
        let owes = s.core(core).current.map_or(Ns::ZERO, |running| self.owes(s, running, core));
        fair::enter(s, thread, core, why, owes)
    }

    /// A thread is about to leave the core that it runs on or waits for. Nothing to decide: a policy may note what it
    /// had there.
    fn leave(&mut self, _s: &State, _thread: ThreadId) {}

    /// A thread was sent to a core, and counts as running there. Nothing to decide: the counterpart of [`Policy::leave`].
    fn arrive(&mut self, _s: &State, _thread: ThreadId, _core: CoreId) {}

    /// A thread has exited, and its number may become another one's: what is kept by thread begins anew.
    fn forget(&mut self, _thread: ThreadId) {}

    /// At a tick: whether the thread that runs on a core has had its turn while others wait.
    fn expired(&self, s: &State, running: ThreadId, core: CoreId) -> bool {
        fair::expired(s, running, core, self.slice(s, running, core))
    }

    /// A thread ran for a span, and may still run: for policies that keep books of their own.
    fn ran(&mut self, _s: &State, _thread: ThreadId, _core: CoreId, _span: &Span) {}

    /// Whether a woken thread, queued on the core, preempts the one that runs there.
    fn preempts(&self, s: &State, woken: ThreadId, running: ThreadId, core: CoreId) -> bool {
        fair::preempts(s, woken, running, self.owes(s, running, core))
    }

    /// At a tick: a thread that this core should pull from another one. A running thread comes only if it is named at
    /// several ticks in a row, or in exchange, which is made at once. An idle core is balanced when the interval of one of
    /// its domains is over ([`fair::balance`]), so that a tick costs the same on many cores as on few, unless
    /// [`Policy::balances_always`].
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        fair::balance(s, core)
    }

    /// How much more rarely a busy core balances than an idle one.
    fn busy_factor(&self) -> u64 {
        fair::BUSY_FACTOR
    }

    /// Whether it knows what cores can do, as Linux does where the firmware states it. If not, all count as able to do as much as
    /// the biggest, also in [`State::usage`].
    fn knows_capacities(&self) -> bool {
        true
    }

    /// Whether [`Policy::balance`] may name a thread for an idle core before the interval of one of its domains is over.
    fn balances_always(&self) -> bool {
        false
    }

    /// A thread has become ready, begun to wait, or ended: what cannot wait for the next [`Policy::refresh`], and changes the same.
    fn turned(&mut self, _s: &State, _thread: ThreadId, _changes: &mut Changes) {}

    /// Once a period: sees what the threads did and changes where they may run, or how fast.
    fn refresh(&mut self, _s: &State, _changes: &mut Changes) {}

    /// What the last refresh has left for the other hooks to decide by: a host whose other hooks are elsewhere, such as
    /// inside the kernel, passes it on.
    fn standing(&self, _s: &State, _thread: ThreadId) -> Standing {
        Standing::default()
    }
}

/// What a policy thinks of a thread from one refresh to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Which cores it is dealt to when it becomes ready.
    pub group: Group,
    /// For how long others waited for it, in ns, if that makes it come before others; else 0.
    pub urgency: f64,
    /// How far what it stalls on dominates what it does: above 1 it has a bias towards little cores. `None` if that is
    /// not known.
    pub dominance: Option<f64>,
}

/// What a policy thinks of a thread, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Label {
    /// It belongs on the fastest cores.
    Big,
    /// It belongs on the others.
    Little,
    /// Others wait for it.
    Critical,
    /// It may be anywhere.
    #[default]
    Any,
}

impl Label {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Big => "big",
            Self::Little => "little",
            Self::Critical => "critical",
            Self::Any => "any",
        }
    }
}

impl From<&Standing> for Label {
    fn from(standing: &Standing) -> Self {
        match standing.group {
            _ if standing.urgency > 0.0 => Self::Critical,
            Group::Big => Self::Big,
            Group::Little => Self::Little,
            Group::Either => Self::Any,
        }
    }
}

/// What is thought of a thread at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// By the policy.
    pub label: Label,
    /// How much faster it is on the biggest core type than on the smallest, if that was measured or predicted.
    pub speedup: Option<f64>,
}

/// Cores of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// Those of the fastest type.
    Big,
    /// All others.
    Little,
    /// All.
    #[default]
    Either,
}

/// What a policy changes in a refresh, or at once ([`Policy::turned`]).
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub(crate) affinities: Vec<(ThreadId, CoreSet)>,
    pub(crate) frequencies: Vec<(ClusterId, Hz)>,
}

impl Changes {
    /// From now on the thread may run on these cores (within what its program allows).
    pub fn affinity(&mut self, thread: ThreadId, cores: CoreSet) {
        self.affinities.push((thread, cores));
    }

    /// From now on the cluster runs at this frequency.
    pub fn frequency(&mut self, cluster: ClusterId, frequency: Hz) {
        self.frequencies.push((cluster, frequency));
    }
}

/// A hook of [`Policy`] that decides something. Hosts differ in which of them they can enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// [`Policy::admit`]: where a thread may run at all.
    Admit,
    /// [`Policy::place`]: where a ready thread waits.
    Place,
    /// [`Policy::pick`]: which waiting thread runs, and which running one is taken over.
    Pick,
    /// [`Policy::slice`]: for how long.
    Slice,
    /// [`Policy::charge`]: the order of waiting threads.
    Charge,
    /// [`Policy::preempts`]: whether a woken thread runs at once.
    Preempts,
    /// [`Policy::balance`]: which threads change cores.
    Balance,
    /// [`Policy::turned`]: affinities at once.
    Turned,
    /// [`Policy::refresh`]: affinities and frequencies.
    Refresh,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Admit,
        Self::Place,
        Self::Pick,
        Self::Slice,
        Self::Charge,
        Self::Preempts,
        Self::Balance,
        Self::Turned,
        Self::Refresh,
    ];

    /// The method of [`Policy`] that it is.
    pub fn method(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Place => "place",
            Self::Pick => "pick",
            Self::Slice => "slice",
            Self::Charge => "charge",
            Self::Preempts => "preempts",
            Self::Balance => "balance",
            Self::Turned => "turned",
            Self::Refresh => "refresh",
        }
    }
}

/// Which methods of [`Policy`] a policy overrides; of `dyn Policy`, all there are. Not to be implemented by hand: the attribute
/// [`macro@super::hooks`] on the `impl` does it.
pub trait Overrides {
    /// Their names.
    const METHODS: &'static [&'static str];
}
