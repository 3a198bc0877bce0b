//! The machine's performance monitoring units. Machines with several core types have one for each, which counts only what
//! happens on its cores.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evenkeel_topology::list;
use perf_event::Builder;
use perf_event::events::Hardware;

/// A unit of some cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pmu {
    /// Its type, which PERF_TYPE_HARDWARE takes in the upper half of `config`. A single one has 0 there, which is whichever there is.
    pub number: u32,
    /// The CPUs that it counts on.
    pub cpus: Vec<u16>,
    folder: PathBuf,
}

/// An event, as `perf_event_open` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// `type`.
    pub kind: u32,
    /// `config`.
    pub config: u64,
}

impl Event {
    /// A builder of its counters.
    pub fn builder(self) -> Builder<'static> {
        let mut builder = Builder::new(Hardware::INSTRUCTIONS);
        let attrs = builder.attrs_mut();
        (attrs.type_, attrs.config) = (self.kind, self.config);
        builder
    }
}

impl Pmu {
    /// What its folder is called.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Retired instructions, which every PMU counts under the same number.
    pub fn instructions(&self) -> Event {
        let builder = Builder::new(Hardware::INSTRUCTIONS);
        let attrs = builder.attrs();
        Event { kind: attrs.type_, config: attrs.config | (u64::from(self.number) << 32) }
    }

    /// The event of a name among those that the PMU lists, or of terms such as `event=0x9c,umask=0x1`
    /// (Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format} of Linux).
    pub fn event(&self, text: &str) -> Option<Event> {
        let terms = if text.contains('=') { text.to_owned() } else { self.read(&format!("events/{text}"))? };
        let mut event = Event { kind: self.read("type")?.trim().parse().ok()?, config: 0 };
        for term in terms.trim().split(',') {
            let (field, value) = term.split_once('=').unwrap_or((term, "1"));
            let value = match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                None => value.parse().ok()?,
            };
            let format = self.read(&format!("format/{field}"))?;
            // Which bits: `config:0-7,32-35`.
            let bits = list::parse(format.strip_prefix("config:")?).ok()?;
            if bits.iter().any(|bit| *bit >= 64) || value.checked_shr(bits.len() as u32).unwrap_or(0) > 0 {
                return None;
            }
            event.config |= bits.iter().enumerate().map(|(at, bit)| (value >> at & 1) << bit).sum::<u64>();
        }
        Some(event)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }
}

const DEVICES: &str = "sys/bus/event_source/devices";

/// The units that `/sys` below `root` lists, in order of their types; none where a single one counts everywhere.
pub(crate) fn of_cores(root: &Path) -> Vec<Pmu> {
    let devices = fs::read_dir(root.join(DEVICES)).into_iter().flatten().flatten();
    let pmu = |folder: PathBuf| {
        let pmu = Pmu { number: 0, cpus: Vec::new(), folder };
        let (cpus, number) = (list::parse(&pmu.read("cpus")?).ok()?, pmu.read("type")?.trim().parse().ok()?);
        Some(Pmu { number, cpus, ..pmu })
    };
    let mut pmus: Vec<Pmu> = devices.filter_map(|device| pmu(device.path())).collect();
    pmus.sort_unstable_by_key(|pmu| pmu.number);
    pmus
}

/// The units that count what a thread does, wherever it runs: those of the cores, or the single one.
pub(crate) fn of_threads(root: &Path) -> Vec<Pmu> {
    let pmus = of_cores(root);
    if pmus.is_empty() {
        vec![Pmu { number: 0, cpus: Vec::new(), folder: root.join(DEVICES).join("cpu") }]
    } else {
        pmus
    }
}

/// Why a counter cannot be opened.
pub(crate) fn refused(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOENT) => io::Error::other("there are none, as in most virtual machines"),
        _ => error,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Adds a PMU below a root, with these files in its folder.
    pub(crate) fn add(root: &Path, pmu: &str, files: &[(&str, &str)]) {
        for (name, text) in files {
            let file = root.join(DEVICES).join(pmu).join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    fn shown(pmus: &[Pmu]) -> Vec<String> {
        pmus.iter().map(|pmu| format!("{} {} {}", pmu.name(), pmu.number, list::text(&pmu.cpus))).collect()
    }

    #[test]
    fn machines_of_several_core_types_have_a_pmu_for_each() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "cpu_core", &[("type", "10"), ("cpus", "0-3,8")]);
        add(root.path(), "cpu_atom", &[("type", "4"), ("cpus", "4-7")]);
        add(root.path(), "power", &[("type", "9")]);
        let pmus = ["cpu_atom 4 4-7", "cpu_core 10 0-3,8"];
        assert_eq!(shown(&of_cores(root.path())), pmus);
        assert_eq!(shown(&of_threads(root.path())), pmus);
        let none = root.path().join("none");
        assert_eq!(of_cores(&none), []);
        assert_eq!(shown(&of_threads(&none)), ["cpu 0 "]);
    }

    /// As AMD's, whose numbers of events are in two parts.
    #[test]
    fn events_are_what_the_pmu_lists_in_its_own_format() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("type", "4\n"),
            ("format/event", "config:0-7,32-35\n"),
            ("format/umask", "config:8-15\n"),
            ("format/inv", "config:23\n"),
            ("format/cmask", "config:24-31\n"),
            ("format/ldlat", "config1:0-15\n"),
            ("events/cache-misses", "event=0x64,umask=0x9\n"),
            ("events/late", "event=0x187,cmask=1,inv\n"),
            ("events/loads", "event=0xcd,umask=0x1,ldlat=3\n"),
            ("events/chosen", "event=?\n"),
            ("events/large", "umask=0x100\n"),
        ];
        add(root.path(), "cpu", &files);
        let pmus = of_threads(root.path());
        let config = |event: &str| pmus[0].event(event).map(|event| (event.kind, event.config));
        assert_eq!(config("cache-misses"), Some((4, 0x0964)));
        assert_eq!(config("late"), Some((4, 0x1_0180_0087)));
        assert_eq!(config("event=0x9c,umask=0x1"), Some((4, 0x019c)));
        for lacking in ["stall_frontend", "loads", "chosen", "large", "event=x", "edge=1"] {
            assert_eq!(config(lacking), None, "{lacking}");
        }
    }

    #[test]
    fn each_pmu_counts_instructions_on_its_own_cores() {
        let root = tempfile::tempdir().unwrap();
        add(root.path(), "cpu_core", &[("type", "10"), ("cpus", "0-3")]);
        assert_eq!(of_threads(root.path())[0].instructions(), Event { kind: 0, config: 0xa_0000_0001 });
    }
}
