//! Real people's problems (`workloads/complaints/`), and which policies solve them. What counts as solved follows from what
//! they wanted, as the header of each file says.
//!
//! The figures are the table of `docs/complaints.md`; `SNAPSHOTS=overwrite cargo test --test it complaints` accepts new ones.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_model::{CoreSet, Machine, machines};
use evenkeel_sched::{POLICIES, Setup};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::{Workload, format};

/// What people wanted.
#[derive(Clone, Copy)]
enum Wanted {
    /// At most so many times as long as if all cores were busy to the end with what the program does.
    NearIdeal(f64),
    /// At most so many times as long as the cores of the fastest type would take alone.
    NoSlowerThanBig(f64),
    /// At least so many frames a second: a number of frames, from a time on, in seconds.
    Frames { rate: f64, frames: f64, from: f64 },
    /// At most this share of so many frames is late.
    InTime { late: f64, frames: f64 },
    /// No wake-up waits for longer, in ms.
    WakeUp(f64),
}

impl Wanted {
    /// The column of the table that says how it is measured.
    fn text(self) -> String {
        match self {
            Self::NearIdeal(most) => format!("time / ideal ≤ {most}"),
            Self::NoSlowerThanBig(most) => format!("time / big cores alone ≤ {most}"),
            Self::Frames { rate, .. } => format!("frames a second ≥ {rate}"),
            Self::InTime { late, .. } => format!("late frames ≤ {:.0} %", late * 100.0),
            Self::WakeUp(most) => format!("longest wake-up ≤ {most} ms"),
        }
    }

    /// What came out, and whether that is what was wanted.
    fn judge(self, machine: &Machine, workload: &Workload, outcome: &Outcome) -> (String, bool) {
        let time = outcome.makespan.as_secs_f64();
        let over = |cores: CoreSet, most: f64| {
            let ratio = time / fastest(machine, workload, outcome, cores);
            (format!("{ratio:.2}"), ratio <= most)
        };
        match self {
            Self::NearIdeal(most) => over(machine.all(), most),
            Self::NoSlowerThanBig(most) => over(machine.big(), most),
            Self::Frames { rate, frames, from } => {
                let found = frames / (time - from);
                (format!("{found:.0}"), found >= rate)
            }
            Self::InTime { late, frames } => {
                let found = outcome.missed_timers as f64 / frames;
                (format!("{:.0} %", found * 100.0), found <= late)
            }
            Self::WakeUp(most) => {
                let found = outcome.wakeup_latency.max.as_secs_f64() * 1000.0;
                (format!("{found:.1} ms"), found <= most)
            }
        }
    }
}

/// How long the first program's work takes if these cores are busy to the end with it.
pub fn fastest(machine: &Machine, workload: &Workload, outcome: &Outcome, cores: CoreSet) -> f64 {
    let [phase] = workload.programs[0].phases.as_slice() else { panic!("one phase, so that speeds are known") };
    let rate = |core| {
        let kind = machine.core_type(core);
        machine.rate(machine.cores[core.index()].core_type, kind.max_frequency(), &phase.behaviour)
    };
    outcome.programs[0].instructions.0 as f64 / cores.iter().map(rate).sum::<f64>() / 1e9
}

/// A file stands here once for each thing that was wanted.
const COMPLAINTS: [(&str, &str, Wanted); 14] = [
    ("kratos-12924", "i9-13900k", Wanted::NearIdeal(1.15)),
    ("john-5435", "i9-13900-avx2.toml", Wanted::NearIdeal(1.15)),
    ("halide-8433", "apple-m1", Wanted::NoSlowerThanBig(1.05)),
    ("llama-5225", "i5-12600k.toml", Wanted::NoSlowerThanBig(1.05)),
    ("llama-842", "i9-13900k", Wanted::NearIdeal(1.15)),
    ("llama-14532", "rk3588", Wanted::NoSlowerThanBig(1.05)),
    ("scx-3259", "core-ultra-7-258v.toml", Wanted::Frames { rate: 57.0, frames: 240.0, from: 0.05 }),
    ("scx-938", "i7-12700h.toml", Wanted::WakeUp(2.3)),
    ("scx-938", "i7-12700h.toml", Wanted::NearIdeal(1.15)),
    ("scx-3739", "i7-12700h.toml", Wanted::WakeUp(16.7)),
    ("onednn-1844", "i9-13900k", Wanted::NearIdeal(1.15)),
    ("onetbb-1270", "i9-13900k", Wanted::NearIdeal(1.15)),
    ("enkits-99", "i9-13900k", Wanted::InTime { late: 0.01, frames: 240.0 }),
    ("datafusion-16490", "apple-m1", Wanted::NearIdeal(1.15)),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn machine(name: &str) -> Machine {
    if name.ends_with(".toml") {
        let path = root().join("workloads/complaints").join(name);
        return Machine::from_toml(&fs::read_to_string(path).unwrap(), name).unwrap();
    }
    machines::by_name(name).unwrap()
}

fn workload(name: &str) -> Workload {
    let path = root().join("workloads/complaints").join(format!("{name}.toml"));
    format::load(name, &fs::read_to_string(path).unwrap(), name, None).unwrap()
}

/// Every policy, and today's Linux where the firmware states capacities.
fn policies() -> Vec<Setup> {
    let mut names: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    let eevdf = names.iter().position(|name| *name == "eevdf").unwrap();
    names.insert(eevdf + 1, "eevdf:asym");
    names.into_iter().map(|name| Setup::parse(name).unwrap()).collect()
}

/// A row for each policy: what came out, and whether it was what was wanted; `None` if it refuses the machine. Policies see
/// the true speedups.
fn run(name: &str, on: &str, wanted: Wanted) -> Vec<Option<(String, bool)>> {
    let (machine, workload) = (machine(on), workload(name));
    let options = Options { oracle: true, ..Options::default() };
    let one = |policy: &Setup| {
        evenkeel_sched::policy::check(policy.make().as_ref(), &machine).ok()?;
        let outcome = evenkeel_sim::run(&machine, &workload, policy.make(), None, &options, &mut ());
        let outcome = outcome.unwrap_or_else(|error| panic!("{name} under {}: {error}", policy.name()));
        Some(wanted.judge(&machine, &workload, &outcome))
    };
    policies().iter().map(one).collect()
}

const BEGIN: &str = "<!-- figures: crates/cli/tests/it/complaints.rs -->\n";
const END: &str = "<!-- end of figures -->";

#[test]
fn the_page_says_which_policies_solve_which_problem() {
    let solved: Vec<_> = COMPLAINTS.iter().map(|(name, on, wanted)| run(name, on, *wanted)).collect();
    let mut table = String::from("| policy |");
    for (name, ..) in COMPLAINTS {
        let _ = write!(
            table,
            " {} |",
            name.rsplit_once('-').map_or(name.into(), |(who, number)| format!("{who} {number}"))
        );
    }
    let _ = write!(table, "\n| --- |{}\n| *wanted* |", " ---: |".repeat(COMPLAINTS.len()));
    for (.., wanted) in COMPLAINTS {
        let _ = write!(table, " *{}* |", wanted.text());
    }
    for (row, policy) in policies().iter().enumerate() {
        let _ = write!(table, "\n| `{}` |", policy.name());
        for column in &solved {
            let _ = match &column[row] {
                Some((value, true)) => write!(table, " **{value}** |"),
                Some((value, false)) => write!(table, " {value} |"),
                None => write!(table, " |"),
            };
        }
    }
    table.push('\n');
    let path = root().join("docs/complaints.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find(BEGIN).expect("the page has a place for the figures") + BEGIN.len();
    let end = page.find(END).expect("and an end of it");
    if page[begin..end] != table {
        if std::env::var("SNAPSHOTS").is_ok_and(|mode| mode == "overwrite") {
            fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
        } else {
            panic!("docs/complaints.md has other figures; SNAPSHOTS=overwrite accepts these:\n{table}");
        }
    }
}

#[test]
fn every_file_names_its_thread_and_how_to_run_it() {
    let folder = root().join("workloads/complaints");
    for (name, on, _) in COMPLAINTS {
        let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let header = header.join("\n");
        for part in ["https://github.com/", "# Saw: ", "# Wanted: ", "# Here: ", "# Satisfied: "] {
            assert!(header.contains(part), "{name}: {part}");
        }
        assert!(header.contains(&format!("compare workloads/complaints/{name}.toml --machine")), "{name}");
        assert!(header.contains(on), "{name} names the machine {on}");
    }
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let workloads = files.filter(|file| !COMPLAINTS.iter().any(|(_, on, _)| on == file)).count();
    let mut names: Vec<&str> = COMPLAINTS.iter().map(|(name, _, _)| *name).collect();
    names.dedup();
    assert_eq!(workloads, names.len(), "each file is a complaint or its machine");
}
