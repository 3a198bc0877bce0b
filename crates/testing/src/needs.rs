//! What tests may need. Each need is probed by use, once in a binary, when a test has it.
#![expect(non_upper_case_globals, reason = "the names stand in `#[test(two_cpus)]`")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Something that a machine may lack.
pub struct Need {
    /// Its name in `EVENKEEL_REQUIRE` and in `#[test(...)]`.
    pub name: &'static str,
    probe: fn() -> Result<(), String>,
    found: OnceLock<Result<(), String>>,
}

impl Need {
    const fn new(name: &'static str, probe: fn() -> Result<(), String>) -> Self {
        Self { name, probe, found: OnceLock::new() }
    }

    /// Why it cannot be had, if it cannot.
    pub fn missing(&self) -> Option<&str> {
        self.found.get_or_init(self.probe).as_ref().err().map(String::as_str)
    }
}

macro_rules! needs {
    ($($(#[$attribute:meta])* $name:ident: $probe:expr;)*) => {
        $($(#[$attribute])* pub static $name: Need = Need::new(stringify!($name), $probe);)*

        /// All of them, for `EVENKEEL_REQUIRE`, also those whose probes this binary does not have.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

needs! {
    /// Two CPUs that this process may use.
    two_cpus: || cpus(2);
    /// Three of them.
    three_cpus: || cpus(3);
    /// Files that have no name until they are complete, where temporary files are.
    unnamed_files: unnamed;
    /// A kernel that runs 32-bit programs, too.
    programs_of_32_bits: compat;
    /// Many minutes, which `make test-full` gives.
    slow: patience;
    /// `pkg-config`.
    pkg_config: || installed("pkg-config");
    /// `stress-ng`.
    stress_ng: || installed("stress-ng");
    /// zsh, a shell.
    zsh: || installed("zsh");
    /// fish, another one.
    fish: || installed("fish");
    /// A JDK, whose virtual machine is HotSpot.
    jdk: || installed("javac");
    /// clang with its OpenMP library.
    libomp: openmp;
    /// Chromium, a browser that draws pages.
    chromium: || installed("chromium");
    /// Python with what its package is tested with. Those tests are in Python: `scripts/python` skips them, or fails.
    python: || installed("python3");
    /// rt-app's own files, which lie beside the clone and are not ours to distribute.
    rt_app_files: || exists(RT_APP_FILES);
    /// Programs in the kernel that report on threads.
    #[cfg(feature = "linux")]
    ebpf: || linux::capability("eBPF");
    /// Programs in the kernel that report on calls into libraries (Linux 6.6).
    #[cfg(feature = "linux")]
    library_calls: linux::library_calls;
    /// An event of each thread that begins to run, from itself (Linux 6.15).
    #[cfg(feature = "linux")]
    switched_back: linux::switched_back;
    /// A counter of the kernel's own for each thread and CPU.
    #[cfg(feature = "linux")]
    counting: linux::counting;
    /// Cores made slower by threads that come before all others.
    #[cfg(feature = "linux")]
    emulation: linux::emulation;
    /// A virtual machine: QEMU and a kernel. That it boots is what tests find out.
    #[cfg(feature = "linux")]
    vm: linux::vm;
    /// Other kernels than the one that guests have, which `make test-full` fetches.
    #[cfg(feature = "linux")]
    other_kernels: linux::other_kernels;
    /// CPU time that threads reserve (SCHED_DEADLINE), which makes virtual cores unequal.
    #[cfg(feature = "linux")]
    reservations: || linux::capability("SCHED_DEADLINE");
}

/// Where rt-app's own files are.
pub const RT_APP_FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/rt-app");

fn cpus(least: usize) -> Result<(), String> {
    let set = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let count = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).count();
    if count < least { Err(format!("this process may use {count} CPUs only")) } else { Ok(()) }
}

fn patience() -> Result<(), String> {
    std::env::var_os("EVENKEEL_SLOW").map(|_| ()).ok_or_else(|| "`make test-full` sets EVENKEEL_SLOW".into())
}

fn unnamed() -> Result<(), String> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let opened = rustix::fs::open(std::env::temp_dir(), flags, Mode::from_raw_mode(0o600));
    opened.map(drop).map_err(|error| format!("{}: {error}", std::env::temp_dir().display()))
}

/// By how the kernel was configured: one that does not run them kills a thread that tries.
fn compat() -> Result<(), String> {
    let name = if cfg!(target_arch = "x86_64") { "CONFIG_IA32_EMULATION" } else { "CONFIG_COMPAT" };
    let set = |config: &str| config.lines().any(|line| line.strip_prefix(name) == Some("=y"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let unpacked = Command::new("zcat").arg("/proc/config.gz").output();
    let config = unpacked.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let file = || std::fs::read_to_string(format!("/boot/config-{}", release.trim())).ok();
    match config.filter(|config| !config.is_empty()).or_else(file) {
        Some(config) if set(&config) => Ok(()),
        Some(_) => Err(format!("the kernel has no {name}")),
        None => Err("how the kernel was configured is not known".into()),
    }
}

fn installed(program: &str) -> Result<(), String> {
    let output = Command::new(program).arg("--version").output();
    output.map(drop).map_err(|error| format!("{program}: {error}"))
}

fn openmp() -> Result<(), String> {
    let folder = std::env::temp_dir();
    let program = folder.join(format!("evenkeel-openmp-{}", std::process::id()));
    let mut clang = Command::new("clang");
    clang.args(["-fopenmp", "-x", "c", "-", "-o"]).arg(&program).stdin(Stdio::piped()).stderr(Stdio::piped());
    let built = clang.spawn().and_then(|mut clang| {
        if let Some(mut source) = clang.stdin.take() {
            source.write_all(b"#include <omp.h>\nint main(void) { return omp_get_level(); }\n")?;
        }
        clang.wait_with_output()
    });
    let _ = std::fs::remove_file(&program);
    let built = built.map_err(|error| format!("clang: {error}"))?;
    if built.status.success() { Ok(()) } else { Err("clang has no OpenMP: install libomp-dev".into()) }
}

fn exists(path: &str) -> Result<(), String> {
    if Path::new(path).exists() { Ok(()) } else { Err(format!("there is no {path}")) }
}

#[cfg(feature = "linux")]
mod linux {
    use evenkeel_linux::emulate::{Emulation, Plan};
    use evenkeel_linux::probe;
    use evenkeel_linux::record::BUFFER;
    use evenkeel_linux::spec::Spec;
    use evenkeel_linux::vm::kernel;
    use evenkeel_linux::watch::{Options, Watch};
    use evenkeel_model::Ns;
    use perf_event::Builder;
    use perf_event::events::Software;

    /// By the probes of `evenkeel topology`.
    pub fn capability(name: &str) -> Result<(), String> {
        let found = probe::all(&[0]).into_iter().find(|capability| capability.name == name);
        match found {
            Some(capability) if capability.available => Ok(()),
            Some(capability) => Err(capability.detail),
            None => Err("`evenkeel topology` does not mention it".into()),
        }
    }

    pub fn library_calls() -> Result<(), String> {
        let options = Options { events: Some(BUFFER), ..Options::default() };
        let watch = Watch::new(options).map_err(|error| error.to_string())?;
        watch.blind().map_or(Ok(()), |why| Err(why.to_owned()))
    }

    pub fn switched_back() -> Result<(), String> {
        let types = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|error| error.to_string())?;
        let name = b"\0btf_trace_sched_exit_tp\0";
        let has = types.windows(name.len()).any(|found| found == name);
        if has { Ok(()) } else { Err("the kernel has no tracepoint sched_exit_tp".into()) }
    }

    pub fn counting() -> Result<(), String> {
        let on_a_cpu = Builder::new(Software::CPU_CLOCK).any_pid().one_cpu(0).build().map(drop);
        let counted = on_a_cpu.and_then(|()| Builder::new(Software::TASK_CLOCK).build().map(drop));
        counted.map_err(|error| error.to_string())
    }

    pub fn emulation() -> Result<(), String> {
        let spec: Spec = "1B1L:2".parse()?;
        let plan = Plan::of(&spec, Ns::from_ms(10), None).map_err(|error| error.to_string())?;
        Emulation::start(&plan).map(|emulation| _ = emulation.finish()).map_err(|error| error.to_string())
    }

    pub fn vm() -> Result<(), String> {
        super::installed("qemu-system-x86_64")?;
        kernel::find(None).map(drop).map_err(|error| error.to_string())
    }

    pub fn other_kernels() -> Result<(), String> {
        let none = kernel::others().is_empty();
        if none { Err("scripts/kernel --others has fetched none".into()) } else { Ok(()) }
    }
}
