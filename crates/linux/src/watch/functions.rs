//! The functions of OpenMP's libraries by which threads share out work as they run, and where these libraries are.
//!
//! A library is found where the dynamic loader finds it by its name. Copies that a program brings along are not.
//!
//! oneTBB is left alone: where a region ends is seen at its return, for which the kernel puts another return address on the stack, and no
//! exception can pass that. Those of OpenMP's regions may not leave them, those of oneTBB's may.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_model::Ns;
use libbpf_rs::{Link, ProgramMut, UprobeMultiOpts};
use object::{Object, ObjectSegment, ObjectSymbol};

use super::skeleton::WatchProgs;
use crate::clock::clock;

// `enum function` of `sharing.h`.
const REGION: u64 = 0;
const LOOP_REGION: u64 = 1;
const LOOP: u64 = 2;
const LOOP_END: u64 = 3;
const TASK: u64 = 4;
const TASK_LOOP: u64 = 5;
const DISPATCH: u64 = 6;
const DISPATCH_TASKS: u64 = 7;
const PART: u64 = 15;
const GUIDED: u64 = 1 << 4;
const AT_RUNTIME: u64 = 1 << 5;
const UPWARDS: u64 = 1 << 6;
const NARROW: u64 = 1 << 7;

/// A name, and what it is.
type Function = (&'static str, u64);

/// Those of GCC's library. Some have several names; these are the oldest.
const GNU: &[Function] = &[
    ("GOMP_parallel", REGION),
    ("GOMP_parallel_reductions", REGION),
    ("GOMP_parallel_sections", REGION),
    ("GOMP_parallel_loop_dynamic", LOOP_REGION),
    ("GOMP_parallel_loop_guided", LOOP_REGION | GUIDED),
    ("GOMP_parallel_loop_runtime", LOOP_REGION | AT_RUNTIME),
    ("GOMP_loop_dynamic_start", LOOP),
    ("GOMP_loop_guided_start", LOOP | GUIDED),
    ("GOMP_loop_runtime_start", LOOP | AT_RUNTIME),
    ("GOMP_loop_ull_dynamic_start", LOOP | UPWARDS),
    ("GOMP_loop_ull_guided_start", LOOP | UPWARDS | GUIDED),
    ("GOMP_loop_ull_runtime_start", LOOP | UPWARDS | AT_RUNTIME),
    ("GOMP_loop_end", LOOP_END),
    ("GOMP_loop_end_nowait", LOOP_END),
    ("GOMP_task", TASK),
    ("GOMP_taskloop", TASK_LOOP),
    ("GOMP_taskloop_ull", TASK_LOOP),
];

/// Those of LLVM's, which is Intel's, too.
const LLVM: &[Function] = &[
    ("__kmpc_fork_call", REGION),
    ("__kmpc_dispatch_init_4", DISPATCH | NARROW),
    ("__kmpc_dispatch_init_4u", DISPATCH | NARROW),
    ("__kmpc_dispatch_init_8", DISPATCH),
    ("__kmpc_dispatch_init_8u", DISPATCH),
    ("__kmpc_barrier", LOOP_END),
    ("__kmpc_omp_task", TASK),
    ("__kmpc_omp_task_with_deps", TASK),
    ("__kmpc_taskloop", DISPATCH_TASKS),
];

const LIBRARIES: &[(&str, &[Function])] =
    &[("libgomp.so.1", GNU), ("libomp.so.5", LLVM), ("libomp.so", LLVM), ("libiomp5.so", LLVM)];

/// How loops are dealt out that leave it to `OMP_SCHEDULE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// So many iterations at a time; 0 if all are dealt out beforehand.
    pub chunk: u64,
    /// Ever fewer.
    pub guided: bool,
}

impl Schedule {
    /// As GCC's library reads the variable, and as LLVM's does: they differ where it is not set, and in what `auto` is.
    pub(super) fn of(text: Option<&str>) -> [Self; 2] {
        let text = text.map(str::to_ascii_lowercase).unwrap_or_default();
        let text = text.split_once(':').map_or(text.as_str(), |(_, schedule)| schedule);
        let (name, chunk) = text.split_once(',').unwrap_or((text, "1"));
        let chunk = chunk.trim().parse().unwrap_or(1).max(1);
        let (beforehand, guided) = (Self { chunk: 0, guided: false }, Self { chunk, guided: true });
        match name.trim() {
            "" => [Self { chunk: 1, guided: false }, beforehand],
            "static" => [beforehand; 2],
            "auto" => [beforehand, guided],
            name => [Self { chunk, guided: name == "guided" }; 2],
        }
    }
}

/// The libraries that there are, with their functions: where links lead, each once.
fn libraries() -> Vec<(PathBuf, &'static [Function])> {
    let known = Command::new("ldconfig").arg("-p").env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").output();
    let known = known.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let listed = known.lines().filter_map(|line| {
        let (name, path) = line.split_once(" => ")?;
        Some((name.split_whitespace().next()?.to_owned(), PathBuf::from(path.trim())))
    });
    let folders = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&folders).collect();
    let named = folders
        .iter()
        .flat_map(|folder| LIBRARIES.iter().map(move |(name, _)| ((*name).to_owned(), folder.join(name))));
    let mut seen = BTreeSet::new();
    let all = named.chain(listed).filter_map(|(name, path)| {
        let (_, functions) = LIBRARIES.iter().find(|(library, _)| *library == name)?;
        let path = path.canonicalize().ok()?;
        seen.insert(path.clone()).then_some((path, *functions))
    });
    all.collect()
}

/// Has the kernel's side see the calls of these functions, for as long as the links live. What a library lacks is left out.
///
/// # Errors
/// The kernel cannot, in words.
pub(super) fn attach(programs: &WatchProgs<'_>) -> Result<Vec<Link>, String> {
    let mut links = Vec::new();
    for (path, functions) in libraries() {
        let places = places(&path);
        let there: Vec<(usize, u64)> =
            functions.iter().filter_map(|(name, what)| Some((*places.get(*name)?, *what))).collect();
        let regions = there.iter().copied().filter(|(_, what)| matches!(what & PART, REGION | LOOP_REGION)).collect();
        let mut attach = |program: &ProgramMut<'_>, functions: Vec<(usize, u64)>, retprobe| {
            if !functions.is_empty() {
                let (offsets, cookies) = functions.into_iter().unzip();
                let options = UprobeMultiOpts { offsets, cookies, retprobe, ..UprobeMultiOpts::default() };
                let link = program.attach_uprobe_multi_with_opts(-1, &path, "", options);
                links.push(link.map_err(|error| format!("{}: {error:#}", path.display()))?);
            }
            Ok::<(), String>(())
        };
        // The ends first: a region whose begin is seen ends.
        attach(&programs.region_returns, regions, true)?;
        attach(&programs.called, there, false)?;
    }
    Ok(links)
}

/// How long a call takes longer because it is seen: the median of some calls of a function of this program. Nothing if that cannot be seen.
pub(super) fn cost(programs: &WatchProgs<'_>) -> Ns {
    let options = || {
        let offsets = vec![own_place(called as *const () as usize)?];
        Some(UprobeMultiOpts { offsets, cookies: vec![LOOP_END], ..UprobeMultiOpts::default() })
    };
    let attach = |options| programs.called.attach_uprobe_multi_with_opts(-1, "/proc/self/exe", "", options).ok();
    let Some(_link) = options().and_then(attach) else { return Ns::ZERO };
    let mut spans = [(); CALLS].map(|()| {
        let before = clock();
        called();
        clock().since(before)
    });
    spans.sort_unstable();
    spans[CALLS / 2]
}

/// So many calls are timed.
const CALLS: usize = 21;

/// Does nothing, but begins as functions of libraries do: with an instruction that the kernel cannot carry out by itself instead of the program,
/// which takes most of the time where a hypervisor sees each step.
// SAFETY: the instructions leave all registers, but for the stack pointer, which they restore, as they were.
#[allow(unsafe_code)]
#[unsafe(naked)]
extern "C" fn called() {
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!("endbr64", "ret");
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!("stp x29, x30, [sp, #-16]!", "ldp x29, x30, [sp], #16", "ret");
}

/// Where in this program's file something is that is mapped from there.
fn own_place(address: usize) -> Option<usize> {
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    fs::read_to_string("/proc/self/maps").ok()?.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (first, end) = words.next()?.split_once('-')?;
        let offset = number(words.nth(1)?)?;
        let first = number(first)?;
        (first..number(end)?).contains(&address).then(|| address - first + offset)
    })
}

/// Where in its file each function that a library exports is.
fn places(path: &Path) -> BTreeMap<String, usize> {
    let places = |bytes: Vec<u8>| {
        // Programs of 32 bits pass arguments otherwise.
        let file = object::File::parse(&*bytes).ok().filter(object::File::is_64)?;
        let place = |symbol: object::Symbol<'_, '_>| {
            let mut segments = file.segments();
            let within = |segment: &object::Segment<'_, '_>| {
                (segment.address()..segment.address() + segment.size()).contains(&symbol.address())
            };
            let segment = segments.find(within)?;
            let offset = symbol.address() - segment.address() + segment.file_range().0;
            Some((symbol.name().ok()?.to_owned(), usize::try_from(offset).ok()?))
        };
        Some(file.dynamic_symbols().filter(ObjectSymbol::is_definition).filter_map(place).collect())
    };
    fs::read(path).ok().and_then(places).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_openmp_reads_them() {
        let read = |text| Schedule::of(Some(text)).map(|schedule| (schedule.chunk, schedule.guided));
        let static_schedule = (0, false);
        assert_eq!(Schedule::of(None).map(|schedule| schedule.chunk), [1, 0]);
        assert_eq!(read("dynamic"), [(1, false); 2]);
        assert_eq!(read("monotonic:dynamic, 4"), [(4, false); 2]);
        assert_eq!(read("GUIDED,8"), [(8, true); 2]);
        assert_eq!([read("static"), read("static,2")], [[static_schedule; 2]; 2]);
        assert_eq!(read("auto"), [static_schedule, (1, true)]);
        assert_eq!(read("dynamic,x"), [(1, false); 2]);
    }
}
