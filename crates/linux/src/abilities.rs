//! What can be seen and controlled on this machine by this user, and what the lack of it costs. Tried where trying is
//! harmless, since what files and privileges promise is not always kept.

use std::fs;
use std::path::Path;
use std::thread;

use evenkeel_topology::list;
use perf_event::Builder;
use perf_event::events::Hardware;
use rustix::fs::{Access, access};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity};

use crate::vm::{kvm, shares};

/// Something that Evenkeel uses where it can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// What it is.
    pub name: &'static str,
    /// Whether it can be used.
    pub available: bool,
    /// How it stands, or why not.
    pub detail: String,
    /// What is lost without it.
    pub without: &'static str,
}

impl Ability {
    fn new(name: &'static str, state: Result<String, String>, without: &'static str) -> Self {
        let available = state.is_ok();
        Self { name, available, detail: state.unwrap_or_else(|why| why), without }
    }
}

/// All abilities, in a fixed order. `online` has the CPUs of this machine.
pub fn abilities(online: &[u16]) -> Vec<Ability> {
    let all = [
        ("CPUs", cpus(online), "programs started here cannot use the others"),
        ("CAP_SYS_NICE", held(CapabilitySet::SYS_NICE), "only programs of this user can be followed"),
        ("frequencies", governors(), "frequencies cannot be set, and every core counts as running at its highest one"),
        ("uclamp", uclamp(), "the kernel cannot be told how fast a thread has to run"),
        ("counters", counters(), "every thread gains as much from a big core as capacities say; `record` records time"),
        ("eBPF", bpf(), "threads are looked at through /proc: slower, and without who waits for whom; no `record`"),
        ("sched_ext", sched_ext(), "threads are steered through affinity masks instead of scheduled"),
        ("SCHED_FIFO", tried(|| shares::fifo(0)), "QEMU's own threads wait their turn, so that `vm` is less exact"),
        ("SCHED_DEADLINE", tried(|| shares::reserve(0, 0.01)), "`vm` cannot make its cores unequal, only --symmetric"),
        (
            "KVM",
            kvm::works().map(|()| "runs a guest".into()),
            "`vm` translates every instruction: about ten times slower",
        ),
    ];
    all.map(|(name, state, without)| Ability::new(name, state, without)).into()
}

fn cpus(online: &[u16]) -> Result<String, String> {
    let set = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let allowed = |cpu: &u16| usize::from(*cpu) < CpuSet::MAX_CPU && set.is_set(usize::from(*cpu));
    let allowed: Vec<u16> = online.iter().copied().filter(allowed).collect();
    let text = format!("{} of {}", list::text(&allowed), list::text(online));
    if allowed.len() == online.len() { Ok(text) } else { Err(format!("{text}: limited by taskset or a cgroup")) }
}

fn held(wanted: CapabilitySet) -> Result<String, String> {
    let sets = capabilities(None).map_err(|error| error.to_string())?;
    if sets.effective.contains(wanted) { Ok("held".into()) } else { Err("not held; root has it".into()) }
}

fn governors() -> Result<String, String> {
    let folder = Path::new("/sys/devices/system/cpu/cpufreq");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut policies: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.join("scaling_governor").exists()).collect();
    policies.sort_unstable();
    let Some(policy) = policies.first() else { return Err("no cpufreq: the kernel or a hypervisor decides".into()) };
    let text = |file: &str| fs::read_to_string(policy.join(file)).unwrap_or_default().trim().to_owned();
    let governor = format!("{} of {}", text("scaling_governor"), text("scaling_available_governors"));
    match access(policy.join("scaling_governor"), Access::WRITE_OK) {
        Ok(()) => Ok(format!("governor {governor}")),
        Err(_) => Err(format!("governor {governor}; root may change it")),
    }
}

fn uclamp() -> Result<String, String> {
    match Path::new("/proc/sys/kernel/sched_util_clamp_min").exists() {
        true => Ok("supported".into()),
        false => Err("the kernel has it not (CONFIG_UCLAMP_TASK)".into()),
    }
}

fn counters() -> Result<String, String> {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid = format!("perf_event_paranoid {}", paranoid.trim());
    let count = || {
        let mut counter = Builder::new(Hardware::INSTRUCTIONS).build()?;
        counter.enable()?;
        counter.read()
    };
    match count() {
        Ok(0) => Err("instructions are counted as 0, as in some virtual machines".into()),
        Ok(_) => Ok(format!("instructions are counted; {paranoid}")),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            Err("no hardware counters, as in most virtual machines".into())
        }
        Err(error) => Err(format!("{error}; {paranoid}")),
    }
}

fn bpf() -> Result<String, String> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)".into());
    }
    let sets = capabilities(None).map_err(|error| error.to_string())?;
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::SYS_RESOURCE;
    if sets.effective.contains(needed) || sets.effective.contains(CapabilitySet::SYS_ADMIN) {
        return Ok("type information and privileges are there".into());
    }
    Err("needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE".into())
}

fn sched_ext() -> Result<String, String> {
    match fs::read_to_string("/sys/kernel/sched_ext/state") {
        Ok(state) => Ok(format!("supported, {}", state.trim())),
        Err(_) => Err("the kernel has it not (6.12 and later, CONFIG_SCHED_CLASS_EXT)".into()),
    }
}

/// What a thread of its own may do to itself.
fn tried(act: impl Fn() -> std::io::Result<()> + Send) -> Result<String, String> {
    let done = thread::scope(|scope| scope.spawn(act).join());
    match done {
        Ok(Ok(())) => Ok("allowed".into()),
        Ok(Err(error)) => Err(format!("{error}; root may")),
        Err(_) => Err("cannot be tried".into()),
    }
}
