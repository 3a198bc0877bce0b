//! The policies that exist.

use std::fmt;

use evenkeel_model::{Machine, Ns};

use super::{
    Bias, BindVm, Cfs, ClusterSwitch, Colab, Eas, Eevdf, Fcf, Gts, Hook, Iks, Knob, Oracle, Pfs, Policy, Setup, Static,
    Value, Wash, bias, switcher,
};

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
        summary: "faster core first; a thread that stalls much on a big core changes places with one on a little core that does not",
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
