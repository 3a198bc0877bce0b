//! The decisions of an asymmetry-aware work-stealing runtime (Torng et al., "Asymmetry-Aware Work-Stealing Runtimes",
//! ISCA 2016, III). The runtime and the simulated workers both call these functions, so what is simulated is what runs.
//!
//! All functions are pure and allocate nothing. A caller passes what it can see of its workers at that moment, in any order.
//! Core types are numbered from the biggest, [`CoreTypeId`] 0, to the smallest; there may be more than two.

use std::fmt;
use std::str::FromStr;

use crate::CoreTypeId;

/// After so many failed steals in a row a worker counts as waiting, and a big one considers mugging (III.A, III.B).
/// With the fullest queue as victim one failed steal is often bad luck, two are not.
pub const HINT_AFTER: u32 = 2;

/// Whether a worker's hint is that it waits.
pub const fn waits(failed_steals: u32) -> bool {
    failed_steals >= HINT_AFTER
}

/// The techniques of III, each of which can be switched.
///
/// Written as in the paper: `base` is `biasing` and `serial_sprinting`, and the letters after a `+` add to it: `p`acing, `s`printing,
/// `m`ugging, as in `base+psm`. `none` has nothing; `b` and `r` add the two parts of `base` to it one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Techniques {
    /// Cores do not steal while a bigger one waits (III.C).
    pub biasing: bool,
    /// The one big core that runs a truly serial region gets the power of the others (III.C).
    pub serial_sprinting: bool,
    /// With all cores active, voltages where their marginal costs are equal (III.A).
    pub pacing: bool,
    /// With some cores waiting, these rest and the others get their power, at equal marginal costs (III.A).
    pub sprinting: bool,
    /// A waiting core takes over the task of a smaller one (III.B).
    pub mugging: bool,
}

/// One of the techniques, or one of the two names that others start from, for lists.
#[derive(Clone, Copy, Debug)]
pub struct TechniqueInfo {
    /// What it is in the names of [`Techniques`].
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// All of them, in the order in which `evenkeel policies` lists them.
pub const TECHNIQUES: &[TechniqueInfo] = &[
    TechniqueInfo { name: "none", summary: "takes all cores for equal", source: "AAWS, ISCA 2016, II" },
    TechniqueInfo {
        name: "base",
        summary: "work-biasing and serial-sprinting: the paper's baseline",
        source: "AAWS, ISCA 2016, III.C",
    },
    TechniqueInfo {
        name: "b",
        summary: "work-biasing: a core does not steal while a bigger one waits",
        source: "AAWS, ISCA 2016, III.C",
    },
    TechniqueInfo {
        name: "r",
        summary: "serial-sprinting: the one big core that runs a truly serial region gets the power of the others",
        source: "AAWS, ISCA 2016, III.C",
    },
    TechniqueInfo {
        name: "p",
        summary: "work-pacing: while all cores are active, voltages at which a little more work costs the same power on each",
        source: "AAWS, ISCA 2016, III.A",
    },
    TechniqueInfo {
        name: "s",
        summary: "work-sprinting: waiting cores rest, and the active ones share the power that these leave in the same way",
        source: "AAWS, ISCA 2016, III.A",
    },
    TechniqueInfo {
        name: "m",
        summary: "work-mugging: a waiting core takes over the task of a smaller one",
        source: "AAWS, ISCA 2016, III.B",
    },
];

/// What a parallel program is doing, by the hints of its workers (II, III.C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Outside of all parallel regions: one thread runs.
    Serial,
    /// Every core is active (HP).
    HighParallel,
    /// Some cores wait (LP).
    LowParallel,
}

/// A task queue that a thief may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its owner, never the thief.
    pub worker: usize,
    /// How many tasks are in it.
    pub tasks: usize,
    /// How far away from the thief it is, in any unit; see [`ring_distance`].
    pub distance: usize,
}

/// A worker that executes a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Active {
    /// Its number.
    pub worker: usize,
    /// The type of the core that it is on.
    pub core_type: CoreTypeId,
    /// How much it has before it, such as the tasks in its queue.
    pub load: usize,
}

/// A worker that has nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub worker: usize,
    /// The type of the core that it is on.
    pub core_type: CoreTypeId,
}

/// How many places `worker` comes after `thief` among `workers` that stand in a ring: distances for machines on which all are
/// equally near. Different for each worker, so ties do not send all thieves to the same one.
pub const fn ring_distance(thief: usize, worker: usize, workers: usize) -> usize {
    (worker + workers - thief) % workers
}

/// The worker to steal from: the one with the fullest queue (occupancy-based selection, Contreras and Martonosi, IISWC 2008), of
/// equals the nearest. `None` if all queues are empty.
pub fn victim(queues: impl IntoIterator<Item = Queue>) -> Option<usize> {
    let full = queues.into_iter().filter(|queue| queue.tasks > 0);
    full.min_by_key(|queue| (std::cmp::Reverse(queue.tasks), queue.distance, queue.worker)).map(|queue| queue.worker)
}

impl Techniques {
    /// An asymmetry-oblivious runtime.
    pub const NONE: Self =
        Self { biasing: false, serial_sprinting: false, pacing: false, sprinting: false, mugging: false };
    /// The paper's baseline: work-biasing and serial-sprinting.
    pub const BASE: Self = Self { biasing: true, serial_sprinting: true, ..Self::NONE };
    /// `base+p`.
    pub const BASE_P: Self = Self { pacing: true, ..Self::BASE };
    /// `base+ps`.
    pub const BASE_PS: Self = Self { sprinting: true, ..Self::BASE_P };
    /// `base+psm`: everything.
    pub const BASE_PSM: Self = Self { mugging: true, ..Self::BASE_PS };
    /// `base+m`.
    pub const BASE_M: Self = Self { mugging: true, ..Self::BASE };

    /// Whether voltages follow activity in this region. Where they do not, every core stays at its nominal voltage.
    pub const fn scales(self, region: Region) -> bool {
        match region {
            Region::Serial => self.serial_sprinting,
            Region::HighParallel => self.pacing,
            Region::LowParallel => self.sprinting,
        }
    }

    /// Whether a worker on a core of type `thief` may steal, given the core types of all workers that wait: work-biasing keeps
    /// smaller cores from it while a bigger one waits. If waiting workers sleep, a refused worker has to wake a bigger one.
    pub fn may_steal(self, thief: CoreTypeId, waiting: impl IntoIterator<Item = CoreTypeId>) -> bool {
        !self.biasing || waiting.into_iter().all(|other| other >= thief)
    }

    /// The worker to mug, for one on a core of type `mugger` that has failed so often to steal: of all active workers one on the
    /// smallest core type, and there the one with the most load. Never one on the mugger's type or a bigger one.
    pub fn muggee(
        self,
        mugger: CoreTypeId,
        failed_steals: u32,
        active: impl IntoIterator<Item = Active>,
    ) -> Option<usize> {
        if !self.mugging || !waits(failed_steals) {
            return None;
        }
        let smaller = active.into_iter().filter(|worker| worker.core_type > mugger);
        let key = |worker: &Active| (worker.core_type, worker.load, std::cmp::Reverse(worker.worker));
        smaller.max_by_key(key).map(|worker| worker.worker)
    }

    /// The worker with which logical thread 0, on a core of type `own` after a parallel region, exchanges cores before it runs
    /// serially: one on the biggest core type. `None` if no worker has a bigger core. After a parallel region all other workers
    /// have nothing to run, whether their hints say so yet or not.
    ///
    /// Only mugging moves thread 0 away from the core where it began, so only with it there is anything to do.
    pub fn home(self, own: CoreTypeId, waiting: impl IntoIterator<Item = Waiting>) -> Option<usize> {
        if !self.mugging {
            return None;
        }
        let bigger = waiting.into_iter().filter(|worker| worker.core_type < own);
        bigger.min_by_key(|worker| (worker.core_type, worker.worker)).map(|worker| worker.worker)
    }
}

/// A name of techniques that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no techniques: write `none` or `base`, then `+` and letters of `p`, `s` and `m`, as in `base+psm`"
)]
pub struct NoTechniques(String);

impl FromStr for Techniques {
    type Err = NoTechniques;

    fn from_str(name: &str) -> Result<Self, NoTechniques> {
        let wrong = || NoTechniques(name.to_owned());
        let (start, letters) = match name.split_once('+') {
            Some((_, "")) => return Err(wrong()),
            Some(parts) => parts,
            None => (name, ""),
        };
        let mut techniques = match start {
            "none" => Self::NONE,
            "base" => Self::BASE,
            _ => return Err(wrong()),
        };
        for letter in letters.chars() {
            let technique = match letter {
                'b' => &mut techniques.biasing,
                'r' => &mut techniques.serial_sprinting,
                'p' => &mut techniques.pacing,
                's' => &mut techniques.sprinting,
                'm' => &mut techniques.mugging,
                _ => return Err(wrong()),
            };
            *technique = true;
        }
        Ok(techniques)
    }
}

impl fmt::Display for Techniques {
    /// The name as in the paper: `base+psm`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.biasing && self.serial_sprinting;
        let letters = [
            (self.biasing && !base, 'b'),
            (self.serial_sprinting && !base, 'r'),
            (self.pacing, 'p'),
            (self.sprinting, 's'),
            (self.mugging, 'm'),
        ];
        f.write_str(if base { "base" } else { "none" })?;
        let added: String = letters.into_iter().filter_map(|(on, letter)| on.then_some(letter)).collect();
        if added.is_empty() { Ok(()) } else { write!(f, "+{added}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BIG: CoreTypeId = CoreTypeId(0);
    const MIDDLE: CoreTypeId = CoreTypeId(1);
    const LITTLE: CoreTypeId = CoreTypeId(2);

    fn techniques() -> impl Strategy<Value = Techniques> {
        any::<[bool; 5]>().prop_map(|[biasing, serial_sprinting, pacing, sprinting, mugging]| Techniques {
            biasing,
            serial_sprinting,
            pacing,
            sprinting,
            mugging,
        })
    }

    fn active() -> impl Strategy<Value = Vec<Active>> {
        let worker = (0..4_u8, 0..5_usize);
        prop::collection::vec(worker, 0..70).prop_map(|workers| {
            let numbered = workers.into_iter().enumerate();
            numbered
                .map(|(worker, (core_type, load))| Active { worker, core_type: CoreTypeId(core_type), load })
                .collect()
        })
    }

    #[test]
    fn the_names_are_those_of_the_paper() {
        let named = [
            ("none", Techniques::NONE),
            ("base", Techniques::BASE),
            ("base+p", Techniques::BASE_P),
            ("base+ps", Techniques::BASE_PS),
            ("base+psm", Techniques::BASE_PSM),
            ("base+m", Techniques::BASE_M),
        ];
        for (name, techniques) in named {
            assert_eq!(name.parse(), Ok(techniques));
            assert_eq!(techniques.to_string(), name);
        }
        for wrong in ["", "base+", "+psm", "psm", "base+x", "BASE", "base+p+s"] {
            assert!(wrong.parse::<Techniques>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_technique_is_listed_by_a_letter_of_its_own() {
        let (starts, letters): (Vec<_>, Vec<_>) =
            TECHNIQUES.iter().map(|technique| technique.name).partition(|name| name.len() > 1);
        assert_eq!(starts, ["none", "base"]);
        let with = |letters: &str| format!("none+{letters}").parse::<Techniques>();
        let all = letters.concat();
        assert_eq!(with(&all), Ok(Techniques::BASE_PSM));
        for letter in letters {
            let lacks_one = with(&all.replace(letter, ""));
            assert!(lacks_one.is_ok() && lacks_one != Ok(Techniques::BASE_PSM), "{letter}");
        }
    }

    #[test]
    fn the_fullest_queue_is_chosen_and_of_equals_the_nearest() {
        let queues = |tasks: [usize; 4], thief: usize| {
            let others = (0..4).filter(move |worker| *worker != thief);
            others.map(move |worker| Queue { worker, tasks: tasks[worker], distance: ring_distance(thief, worker, 4) })
        };
        assert_eq!(victim(queues([0, 1, 3, 2], 0)), Some(2));
        assert_eq!(victim(queues([1, 1, 1, 1], 2)), Some(3));
        assert_eq!(victim(queues([1, 1, 0, 0], 2)), Some(0));
        assert_eq!(victim(queues([0, 0, 9, 0], 2)), None, "its own queue is no victim");
    }

    #[test]
    fn little_cores_leave_work_to_big_ones_that_wait() {
        assert!(!Techniques::BASE.may_steal(LITTLE, [LITTLE, BIG]));
        assert!(!Techniques::BASE.may_steal(LITTLE, [MIDDLE]));
        assert!(Techniques::BASE.may_steal(BIG, [BIG, LITTLE]));
        assert!(Techniques::NONE.may_steal(LITTLE, [BIG]));
    }

    #[test]
    fn the_smallest_core_is_mugged_first_and_there_the_busiest() {
        let active = [
            Active { worker: 0, core_type: BIG, load: 9 },
            Active { worker: 1, core_type: MIDDLE, load: 8 },
            Active { worker: 2, core_type: LITTLE, load: 1 },
            Active { worker: 3, core_type: LITTLE, load: 2 },
        ];
        let mugging = Techniques::BASE_M;
        assert_eq!(mugging.muggee(BIG, HINT_AFTER, active), Some(3));
        assert_eq!(mugging.muggee(BIG, HINT_AFTER - 1, active), None, "too early");
        assert_eq!(mugging.muggee(LITTLE, HINT_AFTER, active), None, "little cores mug no worker");
        assert_eq!(Techniques::BASE_PS.muggee(BIG, HINT_AFTER, active), None);
    }

    #[test]
    fn thread_0_goes_on_serially_on_a_big_core() {
        let waiting = [
            Waiting { worker: 4, core_type: MIDDLE },
            Waiting { worker: 2, core_type: BIG },
            Waiting { worker: 1, core_type: BIG },
        ];
        assert_eq!(Techniques::BASE_M.home(LITTLE, waiting), Some(1));
        assert_eq!(Techniques::BASE_M.home(BIG, waiting), None);
        assert_eq!(Techniques::BASE_M.home(LITTLE, [Waiting { worker: 3, core_type: LITTLE }]), None);
    }

    proptest! {
        #[test]
        fn every_name_is_read_back(techniques in techniques()) {
            prop_assert_eq!(techniques.to_string().parse(), Ok(techniques));
        }

        #[test]
        fn no_queue_is_fuller_than_the_victims(tasks in prop::collection::vec(0..6_usize, 1..70)) {
            let queue = |(worker, tasks): (usize, &usize)| Queue { worker, tasks: *tasks, distance: worker };
            match victim(tasks.iter().enumerate().map(queue)) {
                Some(worker) => prop_assert_eq!(tasks[worker], *tasks.iter().max().unwrap_or(&0)),
                None => prop_assert!(tasks.iter().all(|tasks| *tasks == 0)),
            }
        }

        #[test]
        fn somebody_may_always_steal(techniques in techniques(), waiting in prop::collection::vec(0..4_u8, 1..70)) {
            let types = || waiting.iter().copied().map(CoreTypeId);
            prop_assert!(types().any(|thief| techniques.may_steal(thief, types())));
        }

        #[test]
        fn a_mug_moves_work_to_a_bigger_core(active in active(), mugger in 0..4_u8, failed in 0..4_u32) {
            let mugged = Techniques::BASE_PSM.muggee(CoreTypeId(mugger), failed, active.iter().copied());
            let smallest = active.iter().map(|worker| worker.core_type).max();
            let possible = waits(failed) && smallest.is_some_and(|smallest| smallest.0 > mugger);
            prop_assert_eq!(mugged.is_some(), possible);
            if let Some(worker) = mugged {
                prop_assert_eq!(Some(active[worker].core_type), smallest);
            }
        }
    }
}
