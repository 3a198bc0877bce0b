//! How fast the CPUs of a sysfs tree are clocked: what cpufreq can set, else what the firmware states, else what the
//! kernel shows in `/proc/cpuinfo`, as in virtual machines, which have neither of the others.

use evenkeel_model::Hz;

use crate::sysfs::Tree;

/// What the frequencies of a machine are from.
pub(crate) struct Clock {
    /// What says them.
    pub source: &'static str,
    /// What a user should know of that.
    pub note: Option<String>,
    /// Those of each CPU, in any order.
    pub frequencies: Vec<Vec<Hz>>,
}

/// Reads the frequencies of CPUs.
type Reader = fn(&Tree<'_>, &[u16]) -> Vec<Vec<Hz>>;

/// The most precise first: all that can be set; the lowest and the nominal one, without turbo; the one of this moment.
const SOURCES: [(&str, Reader); 3] =
    [("sysfs", settable), ("acpi_cppc/nominal_freq", nominal), ("cpu MHz of /proc/cpuinfo", shown)];

impl Clock {
    /// The first source that says something.
    pub fn of(tree: &Tree<'_>, ids: &[u16]) -> Self {
        let read = |(source, reader): (&'static str, Reader)| {
            let frequencies = reader(tree, ids);
            let note = (source != SOURCES[0].0).then(|| format!("no cpufreq: frequencies are from {source}"));
            frequencies.iter().any(|of| !of.is_empty()).then_some(Self { source, note, frequencies })
        };
        let none = || Self { source: SOURCES[0].0, note: None, frequencies: vec![Vec::new(); ids.len()] };
        SOURCES.into_iter().find_map(read).unwrap_or_else(none)
    }
}

/// cpufreq counts in kHz. While boost is switched off its frequencies are listed all the same, above the highest.
fn settable(tree: &Tree<'_>, ids: &[u16]) -> Vec<Vec<Hz>> {
    let of = |id: &u16| {
        let listed = |file: &str| -> Vec<Hz> {
            let text = tree.of_cpu(*id, &format!("cpufreq/{file}")).unwrap_or_default();
            let khz = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
            khz.map(|khz| Hz(khz.saturating_mul(1000))).collect()
        };
        let highest = listed("cpuinfo_max_freq");
        let mut boost = listed("scaling_boost_frequencies");
        boost.retain(|hz| highest.iter().all(|highest| hz <= highest));
        [listed("cpuinfo_min_freq"), listed("scaling_available_frequencies"), highest, boost].concat()
    };
    ids.iter().map(of).collect()
}

/// CPPC counts in MHz, and some firmware says 0.
fn nominal(tree: &Tree<'_>, ids: &[u16]) -> Vec<Vec<Hz>> {
    let of = |id: &u16| {
        let Some(nominal) = tree.positive(*id, "acpi_cppc/nominal_freq") else { return Vec::new() };
        let lowest = tree.positive(*id, "acpi_cppc/lowest_freq").filter(|lowest| *lowest < nominal);
        lowest.into_iter().chain([nominal]).map(|mhz| Hz((mhz * 1e6) as u64)).collect()
    };
    ids.iter().map(of).collect()
}

/// On x86, `/proc/cpuinfo` has a paragraph a CPU, with its number and its frequency in MHz.
fn shown(tree: &Tree<'_>, ids: &[u16]) -> Vec<Vec<Hz>> {
    let text = tree.text("proc/cpuinfo").unwrap_or_default();
    let cpu = |paragraph: &str| {
        let field = |name: &str| {
            let mut fields = paragraph.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
        };
        let mhz: f64 = field("cpu MHz")?.parse().ok().filter(|mhz| *mhz > 0.0)?;
        Some((field("processor")?.parse::<u16>().ok()?, Hz((mhz * 1e6).round() as u64)))
    };
    let shown: Vec<(u16, Hz)> = text.split("\n\n").filter_map(cpu).collect();
    let of = |id: &u16| shown.iter().filter(|(cpu, _)| cpu == id).map(|(_, hz)| *hz).collect();
    ids.iter().map(of).collect()
}
