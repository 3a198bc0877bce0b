//! Which events of a PMU count what threads stall on: the one place that names them.
//!
//! Bias scheduling estimates stalls by two counts (Koufaty et al., EuroSys 2010, 6.1 and 6.2): cycles in which the front end delivered
//! nothing "but not because of lack of resources" (*instruction starvation*), and demand reads and requests for ownership that were
//! served outside of the core, by the last-level cache or by memory (*offcore requests*). Linux has no names for these. What each PMU
//! lists that is nearest to them is in [`KNOWN`].

use crate::pmu::{Event, Pmu};

/// The events of a PMU that count stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StallEvents {
    pub starved: Event,
    /// So many of these are a cycle.
    pub in_a_cycle: u64,
    pub requests: Event,
}

/// The events of one family of PMUs, as [`Pmu::event`] takes them.
struct Family {
    /// What only its PMUs list.
    sign: &'static str,
    starved: &'static str,
    in_a_cycle: u64,
    requests: &'static str,
}

/// How many instructions a core of Intel's may issue in a cycle: where the front end delivers nothing, so many slots stay empty (assumed
/// for all: 5 in Sunny Cove and Gracemont, 6 in Golden Cove and Crestmont, 8 in Lion Cove and Skymont).
const SLOTS: u64 = 6;
/// The same from Sandy Bridge to Skylake.
const EARLIER_SLOTS: u64 = 4;

/// The first whose sign a PMU lists is its family. Requests are those to the last-level cache (Intel: LONGEST_LAT_CACHE.REFERENCE), or what
/// misses the second level. Prefetches, which the paper leaves out, are among them. Nehalem and Westmere, the paper's own, are taken for
/// AMD's: there starved cycles include those without room, and requests are those that miss the last level.
const KNOWN: [Family; 5] = [
    // Arm's PMUv3.
    Family { sign: "stall_frontend", starved: "stall_frontend", in_a_cycle: 1, requests: "l2d_cache_refill" },
    // Intel's big cores since Ice Lake: IDQ_UOPS_NOT_DELIVERED.CORE, later IDQ_BUBBLES.CORE. What they list, `topdown-fe-bound`, is no
    // counter but a share of `slots`.
    Family { sign: "slots", starved: "event=0x9c,umask=0x1", in_a_cycle: SLOTS, requests: "cache-references" },
    // Intel's little cores since Tremont.
    Family { sign: "topdown-fe-bound", starved: "topdown-fe-bound", in_a_cycle: SLOTS, requests: "cache-references" },
    // Intel's from Sandy Bridge to Skylake: IDQ_UOPS_NOT_DELIVERED.CORE.
    Family {
        sign: "topdown-fetch-bubbles",
        starved: "topdown-fetch-bubbles",
        in_a_cycle: EARLIER_SLOTS,
        requests: "cache-references",
    },
    // AMD's.
    Family {
        sign: "stalled-cycles-frontend",
        starved: "stalled-cycles-frontend",
        in_a_cycle: 1,
        requests: "cache-misses",
    },
];

impl StallEvents {
    /// Those of a PMU.
    ///
    /// # Errors
    /// Which it lacks, in words.
    pub fn of(pmu: &Pmu) -> Result<Self, String> {
        let Some(family) = KNOWN.iter().find(|family| pmu.event(family.sign).is_some()) else {
            let signs = KNOWN.map(|family| family.sign).join(", ");
            return Err(format!("the PMU {} lists no event of stalls at the front end: none of {signs}", pmu.name()));
        };
        let event = |name: &str| pmu.event(name).ok_or_else(|| format!("the PMU {} has no event {name}", pmu.name()));
        let (starved, requests) = (event(family.starved)?, event(family.requests)?);
        Ok(Self { starved, in_a_cycle: family.in_a_cycle, requests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pmu::of_threads;
    use crate::pmu::tests::add;

    const X86: [(&str, &str); 2] = [("format/event", "config:0-7"), ("format/umask", "config:8-15")];

    /// The events of each PMU of a machine with these, in order of their types.
    fn events(pmus: &[(&str, &[(&str, &str)])]) -> Vec<Result<(u32, u64, u64, u64), String>> {
        let root = tempfile::tempdir().unwrap();
        pmus.iter().for_each(|(pmu, files)| add(root.path(), pmu, files));
        let event = |pmu: &Pmu| -> Result<(u32, u64, u64, u64), String> {
            let StallEvents { starved, in_a_cycle, requests } = StallEvents::of(pmu)?;
            assert_eq!(starved.kind, requests.kind, "of one PMU");
            Ok((starved.kind, starved.config, in_a_cycle, requests.config))
        };
        of_threads(root.path()).iter().map(event).collect()
    }

    /// As Linux lists them on Alder Lake.
    #[test]
    fn cores_of_intel_count_slots() {
        let big = [
            ("type", "4"),
            ("cpus", "0-15"),
            ("events/slots", "event=0x00,umask=0x4"),
            ("events/topdown-fe-bound", "event=0x00,umask=0x82"),
            ("events/cache-references", "event=0x2e,umask=0x4f"),
        ];
        let little = [
            ("type", "10"),
            ("cpus", "16-23"),
            ("events/topdown-fe-bound", "event=0x71,umask=0x0"),
            ("events/cache-references", "event=0x2e,umask=0x4f"),
        ];
        let files = [[&big[..], &X86].concat(), [&little[..], &X86].concat()];
        let found = events(&[("cpu_core", &files[0]), ("cpu_atom", &files[1])]);
        assert_eq!(found, [Ok((4, 0x019c, 6, 0x4f2e)), Ok((10, 0x0071, 6, 0x4f2e))]);
        let skylake = [
            ("type", "4"),
            ("events/topdown-fetch-bubbles", "event=0x9c,umask=0x1"),
            ("events/cache-references", "event=0x2e,umask=0x4f"),
        ];
        assert_eq!(events(&[("cpu", &[&skylake[..], &X86].concat())]), [Ok((4, 0x019c, 4, 0x4f2e))]);
    }

    /// As Linux lists them on Zen 4.
    #[test]
    fn cores_of_amd_count_cycles_and_what_misses_the_second_level() {
        let files = [
            ("type", "4"),
            ("format/event", "config:0-7,32-35"),
            ("format/umask", "config:8-15"),
            ("events/stalled-cycles-frontend", "event=0xa9"),
            ("events/cache-references", "event=0x60,umask=0xff"),
            ("events/cache-misses", "event=0x64,umask=0x09"),
        ];
        assert_eq!(events(&[("cpu", &files)]), [Ok((4, 0x00a9, 1, 0x0964))]);
    }

    /// Cores of Arm's first PMUv3, such as Cortex-A53, need not count stalls.
    #[test]
    fn cores_of_arm_count_what_they_list_and_others_say_what_they_lack() {
        let of = |number, cpus| [("type", number), ("cpus", cpus), ("format/event", "config:0-15")];
        let (refill, stall) = (("events/l2d_cache_refill", "event=0x0017"), ("events/stall_frontend", "event=0x0023"));
        let big = [&of("9", "4-7")[..], &[refill, stall]].concat();
        let little = [&of("8", "0-3")[..], &[refill]].concat();
        let found = events(&[("armv8_cortex_a76", &big), ("armv8_cortex_a53", &little)]);
        let lacks = "the PMU armv8_cortex_a53 lists no event of stalls at the front end: none of stall_frontend, slots, \
                     topdown-fe-bound, topdown-fetch-bubbles, stalled-cycles-frontend";
        assert_eq!(found, [Err(lacks.to_owned()), Ok((9, 0x23, 1, 0x17))]);
        let found = events(&[("armv8_pmuv3_0", &[&of("8", "0-3")[..], &[stall]].concat())]);
        assert_eq!(found, [Err("the PMU armv8_pmuv3_0 has no event l2d_cache_refill".to_owned())]);
    }
}
