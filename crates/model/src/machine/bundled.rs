//! The machines that come with Evenkeel.

use super::Machine;
use super::file::MachineError;
use crate::names::suggestion;

macro_rules! bundle {
    ($($name:literal),* $(,)?) => {
        /// Name and file of every bundled machine, in the order in which they are listed.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../machines/", $name, ".toml")))),*];
    };
}
bundle!(
    "2B2S",
    "2B4S",
    "4B2S",
    "4B4S",
    "odroid-xu3",
    "rk3588",
    "apple-m1",
    "i9-13900k",
    "i9-13900k-ht",
    "phenom-1B5S",
    "phenom-2B4S",
    "phenom-3B3S",
    "phenom-6S",
    "phenom-6B",
    "x5560-1B3S",
    "x5560-1B1S",
    "x5560-4B",
    "x5560-4S",
    "x5560-2x1B3S",
    "aaws-4B4L",
    "aaws-4B4L-stated",
    "aaws-1B7L",
);

/// Names of the bundled machines.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    FILES.iter().map(|(name, _)| *name)
}

/// Why there is no machine of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMachine {
    /// No bundled machine has the name.
    #[error("unknown machine {name:?}: {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// The bundled file is broken.
    #[error(transparent)]
    File(#[from] MachineError),
}

/// A bundled machine. Case does not matter.
///
/// # Errors
/// The name is unknown.
pub fn by_name(name: &str) -> Result<Machine, NoMachine> {
    let Some((name, text)) = entry(name) else {
        return Err(NoMachine::Unknown { name: name.to_owned(), hint: suggestion(name, names()) });
    };
    Ok(Machine::from_toml(text, &format!("machines/{name}.toml"))?)
}

/// The file of a bundled machine. Case does not matter.
pub fn text(name: &str) -> Option<&'static str> {
    entry(name).map(|(_, text)| text)
}

fn entry(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Behaviour, CoreOrder, CoreTypeId};

    #[test]
    fn every_bundled_machine_loads() {
        let colab = [(2, 2), (2, 4), (4, 2), (4, 4)];
        let boards = [(4, 4), (4, 4), (4, 4), (8, 16), (16, 16)];
        let phenom = [(1, 5), (2, 4), (3, 3), (6, 0), (6, 0)];
        let x5560 = [(1, 3), (1, 1), (4, 0), (4, 0), (2, 6)];
        let aaws = [(4, 4), (4, 4), (1, 7)];
        let sizes = [&colab[..], &boards, &phenom, &x5560, &aaws].concat();
        assert_eq!(names().count(), sizes.len());
        for (name, size) in names().zip(sizes) {
            let machine = by_name(name).unwrap();
            assert_eq!(machine.name, name);
            assert_eq!((machine.big().len(), machine.little().len()), size, "{name}");
            assert_eq!(machine.capacity(CoreTypeId(0)), 1024);
            let order = machine.ordered(CoreOrder::LittleFirst);
            assert!(order.big().iter().all(|core| core.index() >= order.little().len()), "{name}: {order:?}");
            assert_eq!(order.ordered(CoreOrder::BigFirst).big(), crate::CoreSet::first(machine.big().len()));
        }
    }

    /// COLAB's Table 2 centres on 2.6; what is bound by memory gains least from a bigger core.
    #[test]
    fn speedups_follow_from_the_code() {
        let machine = by_name("2B2S").unwrap();
        let speedup =
            |ilp, memory_ns| machine.speedup_over(CoreTypeId(1), &Behaviour { ilp, memory_ns, ..Behaviour::REFERENCE });
        assert!((2.5..3.4).contains(&speedup(3.0, 0.0)), "{}", speedup(3.0, 0.0));
        assert!((1.2..2.0).contains(&speedup(1.5, 2000.0)), "{}", speedup(1.5, 2000.0));
    }

    /// CGO 2016, section 3: one big core and five small ones have 41.6 % more capacity than six small ones, and all share
    /// their last-level cache.
    #[test]
    fn the_phenom_is_the_papers() {
        let machine = by_name("phenom-1B5S").unwrap();
        let big = machine.speedup_over(CoreTypeId(1), &Behaviour::REFERENCE);
        assert!(((big + 5.0) / 6.0 - 1.416).abs() < 0.001, "{big}");
        assert_eq!(machine.sharing_cache(crate::CoreId(5)), machine.all());
    }

    /// Two packages with memory of their own, one big core in each.
    #[test]
    fn memory_nodes_are_what_the_file_says() {
        let machine = by_name("x5560-2x1B3S").unwrap();
        assert_eq!(machine.nodes(), 2);
        assert_eq!(machine.node_of(crate::CoreId(5)).iter().map(|core| core.0).collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert!((machine.interleaved_memory() - (1.0 + machine.costs.remote_memory) / 2.0).abs() < 1e-12);
        let one = by_name("x5560-1B3S").unwrap();
        assert_eq!((one.nodes(), one.interleaved_memory(), one.node_of(crate::CoreId(0))), (1, 1.0, one.all()));
    }

    #[test]
    fn an_unknown_machine_is_met_with_the_nearest() {
        assert_eq!(by_name("2B3S").unwrap_err().to_string(), r#"unknown machine "2B3S": did you mean "2B2S"?"#);
    }

    #[test]
    fn clusters_share_a_cache_where_the_file_says_so() {
        let own = by_name("2B4S").unwrap();
        assert_eq!(own.sharing_cache(crate::CoreId(0)), own.big());
        let text = FILES[1].1.replace("[[cluster]]", "[[cluster]]\ncache = 7");
        let error = Machine::from_toml(&text, "m.toml").unwrap_err().message;
        let expected =
            "cache_mb = 0.512: expected the same in all clusters that share the cache, but \"big\" has cache_mb = 2";
        assert_eq!(error, expected);
        // The first one may say it for all.
        let text = text.replace("cache_mb = { value = 0.512", "memory_gbps = { value = 5");
        let shared = Machine::from_toml(&text, "m.toml").unwrap();
        assert_eq!(shared.sharing_cache(crate::CoreId(0)), shared.all());
        assert!(shared.clusters.iter().all(|cluster| cluster.cache_mb == Some(2.0)));
        let one = FILES[1].1.replacen("[[cluster]]", "[[cluster]]\ncache = 1", 1);
        let apart = Machine::from_toml(&one, "m.toml").unwrap();
        assert_eq!(apart.sharing_cache(crate::CoreId(0)), apart.big(), "a number of its own is no other's");
    }

    /// Two threads of a core get 1.25 times as much done as one, if they compute; if they wait for memory, it is more.
    #[test]
    fn hardware_threads_share_the_pipelines_of_a_core() {
        let machine = by_name("i9-13900k-ht").unwrap();
        let both: crate::CoreSet = [crate::CoreId(4), crate::CoreId(5)].into_iter().collect();
        assert_eq!((machine.siblings(crate::CoreId(5)), machine.threads_of_a_core()), (both, 2));
        assert_eq!(machine.siblings(crate::CoreId(16)).len(), 1);
        let big_last = machine.ordered(CoreOrder::LittleFirst);
        assert_eq!(big_last.siblings(crate::CoreId(31)).iter().map(|core| core.0).collect::<Vec<_>>(), [30, 31]);
        assert_eq!(machine.with_cores(3, 1).unwrap().siblings.len(), 1, "the third thread has its core alone");
        let (kind, core) = (CoreTypeId(0), &machine.core_types[0]);
        let gain = |behaviour: &Behaviour| {
            let beside = machine.rate_beside(kind, core.max_frequency(), behaviour, core.longer(2));
            2.0 * beside / machine.rate(kind, core.max_frequency(), behaviour)
        };
        assert!((gain(&Behaviour::REFERENCE) - 1.25).abs() < 1e-9);
        let waits = gain(&Behaviour { memory_ns: 2000.0, ..Behaviour::REFERENCE });
        assert!((1.5..2.0).contains(&waits), "{waits}");
        assert_eq!((core.longer(0), core.longer(1)), (1.0, 1.0));
        assert!((1.0..2.0).contains(&(4.0 / core.longer(4) / 1.25)), "four do more than two");
    }

    fn error(text: &str) -> String {
        Machine::from_toml(text, "m.toml").unwrap_err().to_string()
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let good = FILES[0].1;
        assert!(error("name = 3").starts_with("m.toml:1: 3: expected text in quotes"));
        let without =
            good.split("[[cluster]]").next().unwrap().to_owned() + "[costs]" + good.split("[costs]").nth(1).unwrap();
        assert!(error(&without).contains("a machine without cores"), "{}", error(&without));
        let unknown = good.replace("core = \"cortex-a57\"", "core = \"cortex-a58\"");
        let text = error(&unknown);
        assert!(text.contains("unknown core type \"cortex-a58\": did you mean \"cortex-a5"), "{text}");
        let line = unknown.lines().position(|line| line.contains("cortex-a58")).unwrap() + 1;
        assert!(text.starts_with(&format!("m.toml:{line}: ")), "{text}");
        assert!(error(&good.replace("value = [0, 1]", "value = [0, 0]")).contains("core 0 is listed twice"));
        assert!(error(&good.replace("value = [0, 1]", "value = [0, 9]")).contains("core 9 of 4"));
        let backwards = good.replace("value = [0, 1]", "value = \"0-1,1-0\"");
        let line = backwards.lines().position(|line| line.contains("0-1,1-0")).unwrap() + 1;
        let expected = format!("m.toml:{line}: \"0-1,1-0\": expected core numbers, such as ");
        assert!(error(&backwards).starts_with(&expected), "{}", error(&backwards));
        let threads =
            |number: u16| error(&good.replacen("[[cluster]]", &format!("[[cluster]]\nthreads = {number}"), 1));
        assert!(threads(2).contains("to say with `smt` how much more two get done than one"), "{}", threads(2));
        assert!(threads(3).contains("threads = 3: expected a number that divides the 2 cores of"), "{}", threads(3));
        assert!(threads(0).contains("threads = 0: expected"), "{}", threads(0));

        let twice = error(&good.replace("name = \"little\"", "name = \"big\""));
        assert!(twice.contains("two clusters are called \"big\""), "{twice}");
        let negative = good.replacen("context_switch_us = { value = 2", "context_switch_us = { value = -2", 1);
        assert!(error(&negative).contains("context_switch_us = -2: expected a number from 0"), "{}", error(&negative));
        for (size, shown) in [("0.0005", "0.0005"), ("1e6", "1000000"), ("nan", "NaN")] {
            let text = error(&good.replacen("cache_mb = { value = 2", &format!("cache_mb = {{ value = {size}"), 1));
            let expected = format!("m.toml:10: cache_mb = {shown}: expected a number from 0.001 to 100000");
            assert_eq!(text, expected);
        }
        let unsourced = good.replacen("source = \"COLAB 5.1\"", "source = \"\"", 1);
        assert!(error(&unsourced).contains("an empty source"), "{}", error(&unsourced));
    }

    proptest::proptest! {
        #[test]
        fn damaged_files_never_panic(at in 0..2000usize, cut in 0..40usize, insert in "\\PC{0,8}") {
            let mut text: Vec<char> = FILES[4].1.chars().collect();
            let from = at.min(text.len());
            let to = (from + cut).min(text.len());
            text.splice(from..to, insert.chars());
            let _ = Machine::from_toml(&text.into_iter().collect::<String>(), "damaged.toml");
        }
    }
}
