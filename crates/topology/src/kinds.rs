//! Which cores are of one kind, and how fast each kind is.
//!
//! There are several sources, some more precise than others. Not all of them distinguish cores: firmware often says that all
//! are equal. The first that does decides; the others are compared with it.

use std::fmt;

/// A type of core, which the functions here call a kind, as `evenkeel topology` does.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuType {
    /// `big` for the fastest, `little` for the slowest of several, `middle` between.
    pub name: String,
    /// The kernel's name for the design, such as `cortex-a76`, where it has one.
    pub design: Option<String>,
    /// How fast its cores are, as Linux counts: the fastest kind has 1024, every slower one less, none less than 11.
    pub capacity: u32,
    /// What the capacity is from: `cpu_capacity 530`, or `assumed: ...`.
    pub source: String,
}

/// What one source says about all CPUs, in the order of the CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its name, such as `cpu_capacity`.
    pub name: String,
    /// What it says.
    pub says: Says,
}

/// What a source says of each CPU.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// A number, larger for faster CPUs. CPUs of one kind may differ by less than `gap` from the next.
    Speed {
        /// One a CPU; positive.
        values: Vec<f64>,
        /// How many times larger the next larger value must be to belong to another kind.
        gap: f64,
    },
    /// The kind, counted from the fastest.
    Kind(Vec<usize>),
}

/// The kind of every CPU, the kinds, and what a user should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// A position in `kinds` for every CPU.
    pub kind_of: Vec<usize>,
    /// The kinds, fastest first, without designs.
    pub kinds: Vec<CpuType>,
    /// Sentences.
    pub notes: Vec<String>,
}

/// More kinds than this are lumped together: as many as a policy can account for.
pub const MOST: usize = 8;
/// The slowest kind has at least this capacity, about a hundredth of the fastest's: a machine file takes no slower core.
const LEAST: u32 = 11;

/// How notes end that are void once the user states the kinds.
pub(crate) const KINDS_SAY_IT: &str = "(--big and --little say it)";
/// How notes end that are void once the user states the ratio.
pub(crate) const RATIO_SAYS_IT: &str = "(--ratio says it)";

/// Finds the kinds of `count` CPUs from sources, the most precise first.
pub fn find(count: usize, sources: &[Source]) -> Found {
    let groups: Vec<Vec<usize>> = sources.iter().map(|source| source.says.groups()).collect();
    let several = |groups: &Vec<usize>| groups.iter().any(|group| *group > 0);
    let Some(decides) = groups.iter().position(several) else { return equal(count, sources) };
    let kind_of = groups[decides].clone();
    let chosen = &sources[decides];
    let mut notes = Vec::new();
    for (source, _) in sources.iter().zip(&groups).filter(|(_, groups)| !several(groups)) {
        notes.push(format!("{} says that all cores are equal; {} distinguishes them", source.name, chosen.name));
    }
    for source in &sources[decides + 1..] {
        notes.extend(source.contradiction(&kind_of, chosen));
    }
    // Kinds without numbers get them from the first source whose numbers agree with them.
    let numbers = sources[decides..].iter().find_map(|source| Some((source, source.falling(&kind_of)?)));
    let (capacities, from): (Vec<f64>, Vec<String>) = match numbers {
        Some((source, ranges)) => {
            let from = |range: &Range| format!("{} {range}", source.name);
            (ranges.iter().map(|range| range.mean / ranges[0].mean).collect(), ranges.iter().map(from).collect())
        }
        None => {
            notes.push(format!(
                "{} distinguishes kinds of cores, but nothing says how fast each is; assumed that each is {} times as fast as \
                 the next {RATIO_SAYS_IT}",
                chosen.name,
                crate::UNKNOWN_RATIO
            ));
            let kinds = kind_of.iter().max().map_or(1, |last| last + 1);
            let from = format!("assumed: {} times slower than the next faster kind", crate::UNKNOWN_RATIO);
            (
                (0..kinds).map(|kind| crate::UNKNOWN_RATIO.powi(-(kind as i32))).collect(),
                (0..kinds).map(|kind| if kind == 0 { chosen.name.clone() } else { from.clone() }).collect(),
            )
        }
    };
    Found { kind_of, kinds: of_capacities(&capacities, &from), notes }
}

/// Kinds with capacities as shares of the fastest, fastest first, and what each is from.
pub fn of_capacities(capacities: &[f64], from: &[String]) -> Vec<CpuType> {
    let mut kinds: Vec<CpuType> = Vec::new();
    for (share, source) in capacities.iter().zip(from) {
        let slower = capacities.len() - kinds.len() - 1;
        let capacity = ((1024.0 * share).round() as u32).max(LEAST + slower as u32);
        kinds.push(CpuType {
            name: name(kinds.len(), capacities.len()),
            design: None,
            capacity: kinds.last().map_or(1024, |faster| capacity.min(faster.capacity - 1)),
            source: source.clone(),
        });
    }
    kinds
}

/// The name of the kind at a position.
fn name(position: usize, of: usize) -> String {
    match position {
        0 => "big".into(),
        last if last + 1 == of => "little".into(),
        1 if of == 3 => "middle".into(),
        middle => format!("middle{middle}"),
    }
}

/// All cores are of one kind.
fn equal(count: usize, sources: &[Source]) -> Found {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let (source, notes) = match names.as_slice() {
        [] => (
            "assumed: nothing says otherwise".to_owned(),
            vec![format!("nothing says how fast the cores are; assumed that all are equal {KINDS_SAY_IT}")],
        ),
        names => (format!("{}: all equal", names.join(", ")), Vec::new()),
    };
    Found { kind_of: vec![0; count], kinds: of_capacities(&[1.0], &[source]), notes }
}

impl Says {
    /// The group of every CPU, counted from the fastest.
    fn groups(&self) -> Vec<usize> {
        match self {
            Self::Kind(kinds) => ranks(kinds),
            Self::Speed { values, gap } => {
                let mut sorted = values.clone();
                sorted.sort_by(|a, b| b.total_cmp(a));
                let mut steps: Vec<(f64, f64)> =
                    sorted.windows(2).map(|pair| (pair[0] / pair[1], pair[1])).filter(|step| step.0 >= *gap).collect();
                steps.sort_by(|a, b| b.0.total_cmp(&a.0));
                steps.truncate(MOST - 1);
                // A CPU's group is the number of wide steps above it.
                values.iter().map(|value| steps.iter().filter(|step| step.1 >= *value).count()).collect()
            }
        }
    }
}

/// The same order of kinds, without gaps in the numbering and without more kinds than can be accounted for.
fn ranks(kinds: &[usize]) -> Vec<usize> {
    let mut known = kinds.to_vec();
    known.sort_unstable();
    known.dedup();
    kinds.iter().map(|kind| known.partition_point(|other| other < kind).min(MOST - 1)).collect()
}

/// The numbers that a source has for the CPUs of a kind.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: f64,
    most: f64,
    mean: f64,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most, mean } = self;
        if least == most { write!(f, "{least}") } else { write!(f, "{least} to {most}, mean {mean:.1}") }
    }
}

impl Source {
    /// The numbers of every kind, if they fall from each kind to the next.
    fn falling(&self, kind_of: &[usize]) -> Option<Vec<Range>> {
        let ranges = self.ranges(kind_of)?;
        ranges.windows(2).all(|pair| pair[0].mean > 1.01 * pair[1].mean).then_some(ranges)
    }

    fn ranges(&self, kind_of: &[usize]) -> Option<Vec<Range>> {
        let Says::Speed { values, .. } = &self.says else { return None };
        let kinds = kind_of.iter().max()? + 1;
        let range = |kind: usize| {
            let of: Vec<f64> = values.iter().zip(kind_of).filter(|(_, of)| **of == kind).map(|(v, _)| *v).collect();
            Range {
                least: of.iter().copied().fold(f64::INFINITY, f64::min),
                most: of.iter().copied().fold(0.0, f64::max),
                mean: of.iter().sum::<f64>() / of.len() as f64,
            }
        };
        Some((0..kinds).map(range).collect())
    }

    /// How this source contradicts the kinds that another one distinguishes.
    fn contradiction(&self, kind_of: &[usize], chosen: &Source) -> Option<String> {
        match &self.says {
            Says::Speed { gap, .. } => {
                let ranges = self.ranges(kind_of)?;
                let wrong = ranges.windows(2).position(|pair| pair[0].mean * gap <= pair[1].mean)?;
                Some(format!(
                    "{} contradicts {}: it says {} where that has faster cores and {} where it has slower ones; {} is used",
                    self.name,
                    chosen.name,
                    ranges[wrong],
                    ranges[wrong + 1],
                    chosen.name
                ))
            }
            Says::Kind(kinds) => {
                // The same kind here may be several there, and the other way round, but the order must be the same.
                let pairs = || kinds.iter().zip(kind_of);
                let wrong = pairs().any(|(a, b)| pairs().any(|(other_a, other_b)| a < other_a && b > other_b));
                wrong.then(|| {
                    format!(
                        "{} contradicts {}: it orders the cores otherwise; {} is used",
                        self.name, chosen.name, chosen.name
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(name: &str, gap: f64, values: &[f64]) -> Source {
        Source { name: name.into(), says: Says::Speed { values: values.to_vec(), gap } }
    }

    #[test]
    fn a_favoured_core_is_no_kind_of_its_own() {
        let rankings = speed("prefcore", 1.15, &[236.0, 231.0, 226.0, 221.0, 216.0, 211.0, 206.0, 201.0]);
        let found = find(8, &[rankings]);
        assert_eq!((found.kinds.len(), found.kind_of), (1, vec![0; 8]));
    }

    #[test]
    fn the_first_source_that_tells_cores_apart_decides_and_the_rest_is_named() {
        let equal = speed("cpu_capacity", 1.1, &[1024.0; 4]);
        let highest = speed("highest_perf", 1.15, &[64.0, 66.0, 39.0, 39.0]);
        let wrong = speed("max_freq", 1.15, &[3e6, 3e6, 4e6, 4e6]);
        let found = find(4, &[equal, highest, wrong]);
        assert_eq!(found.kind_of, [0, 0, 1, 1]);
        assert_eq!(found.kinds.iter().map(|kind| kind.capacity).collect::<Vec<_>>(), [1024, 614]);
        assert!(found.notes[0].contains("cpu_capacity says that all cores are equal"), "{:?}", found.notes);
        assert!(found.notes[1].contains("max_freq contradicts highest_perf"), "{:?}", found.notes);
    }

    #[test]
    fn kinds_without_numbers_take_them_from_a_later_source_or_say_that_they_are_assumed() {
        let kinds = Source { name: "cpu_core".into(), says: Says::Kind(vec![0, 0, 1, 1]) };
        let found = find(4, &[kinds.clone(), speed("max_freq", 1.15, &[5.0, 5.2, 4.5, 4.5])]);
        assert_eq!((found.kinds[1].capacity, found.kinds[1].source.as_str()), (904, "max_freq 4.5"));
        let found = find(4, &[kinds]);
        assert_eq!(found.kinds[1].capacity, 512);
        assert!(found.kinds[1].source.contains("assumed") && found.notes.len() == 1);
    }

    #[test]
    fn no_more_kinds_than_can_be_accounted_for_and_none_too_slow() {
        let values: Vec<f64> = (0..20).map(|power| 2f64.powi(power)).collect();
        let found = find(20, &[speed("x", 1.1, &values)]);
        assert_eq!(found.kinds.len(), MOST);
        assert!(found.kinds.iter().all(|kind| kind.capacity >= 11), "{:?}", found.kinds);
    }
}
