//! Policies: what a scheduler may decide, and the registry of those that exist.
//!
//! A policy overrides exactly the hooks that its paper changed; the default of every hook is CFS ([`crate::cfs`]).
//! A policy never assumes that its last answer was carried out: what it sees in [`State`] is what the host reported.

mod bias;
mod bind_vm;
mod cluster_switch;
mod colab;
mod eas;
mod eevdf;
mod fair;
mod fcf;
mod gts;
mod iks;
mod knobs;
mod oracle;
mod pfs;
mod pinned;
mod stalls;
mod switcher;
mod wash;

use std::fmt;

use evenkeel_model::predict::Quality;
use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Machine, Ns, ThreadId};

use crate::action::Why;
use crate::cfs;
use crate::scheduler::Span;
use crate::state::State;

pub use bias::Bias;
pub use bind_vm::BindVm;
pub use cluster_switch::ClusterSwitch;
pub use colab::Colab;
pub use eas::Eas;
pub use eevdf::Eevdf;
pub use fair::Cfs;
pub use fcf::Fcf;
pub use gts::Gts;
pub use iks::Iks;
pub use knobs::{Knob, Setup, SetupError, Value};
pub use oracle::Oracle;
pub use pfs::Pfs;
pub use pinned::Static;
pub use wash::Wash;

/// What a core should run next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// This waiting thread, from whichever queue it waits in.
    Queued(ThreadId),
    /// This thread, which runs on another core and is to be taken over from it.
    Running(ThreadId),
    /// This thread, which runs on or waits for another core, in exchange for the one that runs here. Only in
    /// [`Policy::balance`].
    Exchange(ThreadId),
    /// Nothing.
    Idle,
}

/// A scheduling policy.
pub trait Policy: Send {
    /// The name that commands use.
    fn name(&self) -> &'static str;

    /// Whether it can schedule a machine. Hosts ask [`check`], which says whose complaint it is.
    ///
    /// # Errors
    /// What it needs and the machine does not have, as the end of a sentence.
    fn accepts(&self, _machine: &Machine) -> Result<(), String> {
        Ok(())
    }

    /// How often [`Policy::refresh`] is called; `None` for never.
    fn period(&self) -> Option<Ns> {
        None
    }

    /// Whether the policy reads counters or predicted speedups. Hosts need not sample them otherwise.
    fn counters(&self) -> bool {
        false
    }

    /// Whether the policy must know the future of every thread ([`crate::Thread::future`]). Only a simulator can tell it;
    /// every other host refuses such a policy.
    fn foresight(&self) -> bool {
        false
    }

    /// How good the predictor of speedups should be, where one is trained.
    fn predictor(&self) -> Quality {
        Quality::Best
    }

    /// The cores that a thread may use from its creation on.
    fn admit(&mut self, s: &State, _thread: ThreadId) -> CoreSet {
        s.machine.all()
    }

    /// The core on which a thread that became ready is queued. Must be one of [`crate::Thread::allowed`].
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        cfs::place(s, thread, why)
    }

    /// What a core without a thread runs next.
    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        cfs::pick(s, core)
    }

    /// How long a thread may run on a core while others wait for it.
    fn slice(&self, s: &State, thread: ThreadId, core: CoreId) -> Ns {
        cfs::slice(s, thread, core)
    }

    /// What a span of running on a core costs a thread in virtual time.
    fn charge(&mut self, s: &State, thread: ThreadId, _core: CoreId, ran: Ns) -> Ns {
        cfs::charge(s, thread, ran)
    }

    /// The virtual time with which a thread joins those that wait for a core. Where it was is in [`crate::Thread::core`];
    /// that it moves while it waits counts as [`Why::Taken`].
    fn enter(&mut self, s: &State, thread: ThreadId, core: CoreId, why: Why) -> i64 {
        cfs::enter(s, thread, core, why, self.slice(s, thread, core))
    }

    /// A thread is about to leave the core that it runs on or waits for. Nothing to decide: a policy may note what it
    /// had there.
    fn leave(&mut self, _s: &State, _thread: ThreadId) {}

    /// At a tick: whether the thread that runs on a core has had its turn while others wait.
    fn expired(&self, s: &State, running: ThreadId, core: CoreId) -> bool {
        cfs::expired(s, running, core, self.slice(s, running, core))
    }

    /// A thread ran for a span, and may go on: for policies that keep books of their own.
    fn ran(&mut self, _s: &State, _thread: ThreadId, _core: CoreId, _span: &Span) {}

    /// Whether a woken thread, queued on the core, preempts the one that runs there.
    fn preempts(&self, s: &State, woken: ThreadId, running: ThreadId, _core: CoreId) -> bool {
        cfs::preempts(s, woken, running)
    }

    /// At a tick: a thread that this core should pull from another one. A running thread comes only if it is named at
    /// several ticks in a row, or in exchange, which is made at once.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        cfs::balance(s, core)
    }

    /// Once a period: looks at what the threads did and changes where they may run, or how fast.
    fn refresh(&mut self, _s: &State, _changes: &mut Changes) {}
}

/// What a policy changes in a refresh.
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
    /// [`Policy::refresh`]: affinities and frequencies.
    Refresh,
}

/// An entry of the registry.
pub struct PolicyInfo {
    /// The name that commands use.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from: title, venue, section.
    pub source: &'static str,
    /// The hooks in which it differs from CFS.
    pub hooks: &'static [Hook],
    /// What can be set.
    pub knobs: &'static [Knob],
    /// Makes one, as it is set up.
    pub make: fn(&Setup) -> Box<dyn Policy>,
}

impl fmt::Debug for PolicyInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every policy, in the order in which `evenkeel policies` lists them.
pub const POLICIES: &[PolicyInfo] = &[
    PolicyInfo {
        name: "cfs",
        summary: "Linux's fair scheduler, which takes all cores for equal; the baseline",
        source: "Linux 3.16, kernel/sched/fair.c",
        hooks: &[],
        knobs: &[],
        make: |_| Box::new(Cfs),
    },
    PolicyInfo {
        name: "eevdf",
        summary: "today's Linux: the earliest virtual deadline of those that have not had their share; all cores count as equal",
        source: "Linux 6.12, kernel/sched/fair.c; Stoica and Abdel-Wahab, Earliest Eligible Virtual Deadline First, 1995",
        hooks: &[Hook::Place, Hook::Pick, Hook::Slice, Hook::Charge, Hook::Preempts],
        knobs: &[
            Knob {
                name: "slice",
                summary: "what a thread asks for at a time, times 1 + log2 of the number of cores (base_slice_ns)",
                value: Value::Time(Ns::from_us(700)),
            },
            Knob { name: "asym", summary: "the firmware tells capacities: misfit migration", value: Value::Switch },
        ],
        make: |setup| Box::new(Eevdf::new(setup.time("slice"), setup.switch("asym"))),
    },
    PolicyInfo {
        name: "static",
        summary: "threads dealt to the cores one by one; none ever leaves its cluster",
        source: "Exploiting asymmetric multi-core processors with flexible system software, section V",
        hooks: &[Hook::Admit, Hook::Place],
        knobs: &[],
        make: |_| Box::new(Static::default()),
    },
    PolicyInfo {
        name: "cluster-switch",
        summary: "either the big or the little cores are active, by how much they are used",
        source: "Exploiting asymmetric multi-core processors with flexible system software, section III.A",
        hooks: &[Hook::Admit, Hook::Refresh],
        knobs: switcher::KNOBS,
        make: |setup| Box::new(ClusterSwitch::new(setup)),
    },
    PolicyInfo {
        name: "iks",
        summary: "in-kernel switch: little and big cores in pairs, of which one is active, by how much it is used",
        source: "Exploiting asymmetric multi-core processors with flexible system software, section III.B",
        hooks: &[Hook::Admit, Hook::Place, Hook::Balance, Hook::Refresh],
        knobs: switcher::KNOBS,
        make: |setup| Box::new(Iks::new(setup)),
    },
    PolicyInfo {
        name: "gts",
        summary: "busy threads go to big cores, idle ones to little cores, by load average",
        source: "Exploiting asymmetric multi-core processors with flexible system software, section III.C; Linaro big.LITTLE MP",
        hooks: &[Hook::Place, Hook::Pick, Hook::Balance],
        knobs: &[],
        make: |_| Box::new(Gts),
    },
    PolicyInfo {
        name: "eas",
        summary: "a woken thread goes where the machine's energy stays lowest; balances load only when a core is over-utilised",
        source: "Linux 6.1, Documentation/scheduler/sched-energy.rst and sched-capacity.rst",
        hooks: &[Hook::Place, Hook::Pick, Hook::Balance],
        knobs: &[],
        make: |_| Box::new(Eas::default()),
    },
    PolicyInfo {
        name: "pfs",
        summary: "equal progress: the thread that is furthest behind goes to a big core",
        source: "Jibaja et al., CGO 2016, section 2; Saez et al., ACM TOCS 30(2), 2012; Van Craeynest et al., PACT 2013",
        hooks: &[Hook::Place, Hook::Pick, Hook::Charge, Hook::Balance],
        knobs: &[],
        make: |_| Box::new(Pfs::default()),
    },
    PolicyInfo {
        name: "bind-vm",
        summary: "application threads on big cores, a virtual machine's service threads on small ones",
        source: "Jibaja et al., CGO 2016, sections 1, 2 and 7; Cao et al., ISCA 2012",
        hooks: &[Hook::Admit, Hook::Refresh],
        knobs: BindVm::KNOBS,
        make: |setup| Box::new(BindVm::new(setup)),
    },
    PolicyInfo {
        name: "wash",
        summary: "ranks threads by progress x predicted speedup and by lock blame, and binds the top ones to big cores",
        source: "Jibaja et al., Portable performance on asymmetric multicore processors, CGO 2016, section 6",
        hooks: &[Hook::Admit, Hook::Refresh],
        knobs: Wash::KNOBS,
        make: |setup| Box::new(Wash::new(setup)),
    },
    PolicyInfo {
        name: "colab",
        summary: "deals threads to cores by sensitivity, runs the most blamed first, lets big cores take over from little ones",
        source: "Yu et al., COLAB: a collaborative multi-factor scheduler for asymmetric multicore processors, CGO 2020",
        hooks: &[Hook::Place, Hook::Pick, Hook::Slice, Hook::Charge, Hook::Preempts, Hook::Balance, Hook::Refresh],
        knobs: &[],
        make: |_| Box::new(Colab::default()),
    },
    PolicyInfo {
        name: "fcf",
        summary: "faster core first, and as many threads for each core as its capacity says",
        source: "Koufaty et al., Bias scheduling in heterogeneous multi-core architectures, EuroSys 2010, section 5.2; Li et al., SC 2007",
        hooks: &[Hook::Place, Hook::Pick, Hook::Balance],
        knobs: &[],
        make: |_| Box::new(Fcf),
    },
    PolicyInfo {
        name: "bias",
        summary: "faster core first; threads that stall much change places with those on big and little cores that do not",
        source: "Koufaty et al., Bias scheduling in heterogeneous multi-core architectures, EuroSys 2010",
        hooks: &[Hook::Place, Hook::Pick, Hook::Balance],
        knobs: bias::KNOBS,
        make: |setup| Box::new(Bias::new(setup)),
    },
    PolicyInfo {
        name: "oracle",
        summary: "knows the future: the longest way to the end goes first, on the fastest core; a bound, no contestant",
        source: "Graham, SIAM J. Appl. Math. 17(2), 1969; Horvath, Lam and Sethi, A level algorithm for preemptive scheduling, JACM 24(1), 1977",
        hooks: &[Hook::Place, Hook::Pick, Hook::Preempts, Hook::Balance],
        knobs: &[Knob {
            name: "goal",
            summary: "what is to be small: the mean slowdown of programs, or the time until the last is done",
            value: Value::Word(&["turnaround", "makespan"]),
        }],
        make: |setup| Box::new(Oracle::new(setup.word("goal"))),
    },
];

/// Whether a policy can schedule a machine.
///
/// # Errors
/// Why not, in a sentence.
pub fn check(policy: &dyn Policy, machine: &Machine) -> Result<(), String> {
    policy.accepts(machine).map_err(|why| format!("policy {} cannot schedule {}: {why}", policy.name(), machine.name))
}

/// The policy of a name.
pub fn by_name(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|policy| policy.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registry says of every policy which hooks it changes, and its source shows whether that is so.
    #[test]
    fn hooks_are_those_that_the_source_changes() {
        let sources = [
            ("cfs", include_str!("fair.rs")),
            ("eevdf", include_str!("eevdf.rs")),
            ("static", include_str!("pinned.rs")),
            ("cluster-switch", include_str!("cluster_switch.rs")),
            ("iks", include_str!("iks.rs")),
            ("eas", include_str!("eas.rs")),
            ("gts", include_str!("gts.rs")),
            ("pfs", include_str!("pfs.rs")),
            ("bind-vm", include_str!("bind_vm.rs")),
            ("wash", include_str!("wash.rs")),
            ("colab", include_str!("colab.rs")),
            ("fcf", include_str!("fcf.rs")),
            ("bias", include_str!("bias.rs")),
            ("oracle", include_str!("oracle.rs")),
        ];
        let all = [
            (Hook::Admit, "fn admit("),
            (Hook::Place, "fn place("),
            (Hook::Pick, "fn pick("),
            (Hook::Slice, "fn slice("),
            (Hook::Charge, "fn charge("),
            (Hook::Preempts, "fn preempts("),
            (Hook::Balance, "fn balance("),
            (Hook::Refresh, "fn refresh("),
        ];
        assert_eq!(sources.len(), POLICIES.len());
        for (name, source) in sources {
            let changed: Vec<Hook> =
                all.iter().filter(|(_, text)| source.contains(text)).map(|(hook, _)| *hook).collect();
            assert_eq!(by_name(name).unwrap().hooks, changed, "{name}");
        }
    }
}
