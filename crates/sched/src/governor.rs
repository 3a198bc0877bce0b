//! DVFS governors: how fast each cluster runs, whatever the policy.
//!
//! A governor sees how much of a cluster's busiest core is used and names a frequency. It does
//! so where it does in Linux: when a thread becomes ready or blocks, and at ticks.

use evenkeel_model::names::suggestion;
use evenkeel_model::{CoreType, Hz};

/// Sets the frequency of clusters. All but [`Governor::Schedutil`] set it once, before the first thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Governor {
    /// Always the highest frequency.
    #[default]
    Performance,
    /// Always the lowest frequency.
    Powersave,
    /// Always the frequency that the user names.
    Userspace(Hz),
    /// A frequency at which the busiest core is used to 80 %.
    Schedutil,
}

/// A governor, for lists.
#[derive(Clone, Copy, Debug)]
pub struct GovernorInfo {
    /// The name that commands use.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// Every governor, in the order in which `evenkeel policies` lists them.
pub const GOVERNORS: &[GovernorInfo] = &[
    GovernorInfo {
        name: "performance",
        summary: "the highest frequency, always",
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    GovernorInfo {
        name: "powersave",
        summary: "the lowest frequency, always",
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    GovernorInfo {
        name: "userspace",
        summary: "the frequency that you name: userspace:800MHz; a cluster that lacks it takes the next higher one",
        source: "Linux, Documentation/admin-guide/pm/cpufreq.rst",
    },
    GovernorInfo {
        name: "schedutil",
        summary: "follows use: the frequency at which the cluster's busiest core is used to 80 %",
        source: "Linux, Documentation/scheduler/schedutil.rst and kernel/sched/cpufreq_schedutil.c",
    },
];

/// A core that is used more than this, in percent of its capacity, has too little: 1 / 1.25, the margin of schedutil and
/// of capacity-aware scheduling (fits_capacity).
pub const ENOUGH: u32 = 80;

/// Whether so much use leaves a capacity some room: it is below 80 % of it.
pub fn fits(usage: u32, capacity: u32) -> bool {
    below(usage, ENOUGH, capacity)
}

/// Whether so much use is below so many per cent of a capacity.
pub(crate) fn below(usage: u32, percent: u32, capacity: u32) -> bool {
    usage * 100 < capacity * percent
}

impl Governor {
    /// Reads `performance`, `powersave`, `schedutil` or `userspace:FREQUENCY`.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("performance", None) => Ok(Self::Performance),
            ("powersave", None) => Ok(Self::Powersave),
            ("schedutil", None) => Ok(Self::Schedutil),
            ("userspace", _) => value
                .and_then(hertz)
                .map(Self::Userspace)
                .ok_or_else(|| "expected a frequency, as in userspace:800MHz".into()),
            ("performance" | "powersave" | "schedutil", Some(_)) => Err(format!("{name} takes no value")),
            _ => Err(format!("unknown governor \"{name}\": {}", suggestion(name, GOVERNORS.iter().map(|g| g.name)))),
        }
    }

    /// The frequency of a cluster of cores with this capacity, of which the busiest has this usage: one of the operating points,
    /// for schedutil the lowest that is not below `1.25 max_freq usage / capacity` (get_next_freq).
    pub fn frequency(self, kind: &CoreType, usage: u32, capacity: u32) -> Hz {
        let most = kind.max_frequency();
        let wanted = match self {
            Self::Performance => most,
            Self::Powersave => Hz(0),
            Self::Userspace(frequency) => frequency,
            Self::Schedutil => {
                Hz((u128::from(most.0) * 100 * u128::from(usage) / u128::from(capacity.max(1) * ENOUGH)) as u64)
            }
        };
        kind.opp_at(wanted).frequency
    }
}

/// `800MHz` or `1.6GHz`.
fn hertz(text: &str) -> Option<Hz> {
    let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let hertz = number.trim().parse::<f64>().ok()? * unit;
    (1.0..=1e12).contains(&hertz).then_some(Hz(hertz.round() as u64))
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{Machine, machines};

    use super::*;

    fn odroid() -> Machine {
        machines::by_name("odroid-xu3").unwrap()
    }

    #[test]
    fn schedutil_rounds_up_to_an_operating_point() {
        let kind = &odroid().core_types[0];
        let mhz = |usage| Governor::Schedutil.frequency(kind, usage, 1024).0 / 1_000_000;
        // 1.25 x 1600 MHz x 410 / 1024 = 801 MHz.
        assert_eq!([0, 100, 409, 410, 819, 1024].map(mhz), [200, 200, 800, 1000, 1600, 1600]);
    }

    #[test]
    fn the_others_do_not_follow_use() {
        let machine = odroid();
        let [big, little] = [&machine.core_types[0], &machine.core_types[1]];
        for usage in [0, 500, 1024] {
            let mhz = |governor: Governor, kind| governor.frequency(kind, usage, 1024).0 / 1_000_000;
            assert_eq!((mhz(Governor::Performance, big), mhz(Governor::Performance, little)), (1600, 800));
            assert_eq!((mhz(Governor::Powersave, big), mhz(Governor::Powersave, little)), (200, 200));
            let user = Governor::Userspace(Hz::from_mhz(900));
            assert_eq!((mhz(user, big), mhz(user, little)), (1000, 800), "the next higher, or the highest");
        }
    }

    #[test]
    fn governors_are_read_and_errors_say_what_was_expected() {
        for info in GOVERNORS.iter().filter(|info| info.name != "userspace") {
            assert!(Governor::parse(info.name).is_ok(), "{}", info.name);
        }
        assert_eq!(Governor::parse("userspace:1.6GHz"), Ok(Governor::Userspace(Hz::from_mhz(1600))));
        let error = |text: &str| Governor::parse(text).unwrap_err();
        assert_eq!(error("shedutil"), r#"unknown governor "shedutil": did you mean "schedutil"?"#);
        assert!(
            error("userspace").contains("userspace:800MHz") && error("userspace:fast").contains("userspace:800MHz")
        );
        assert!(error("userspace:-1MHz").contains("expected") && error("userspace:infGHz").contains("expected"));
        assert_eq!(error("powersave:1GHz"), "powersave takes no value");
    }
}
