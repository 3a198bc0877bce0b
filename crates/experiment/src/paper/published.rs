//! A published number, and which runs it is about.

use serde::Deserialize;

use super::metric::Metric;

/// What a row of an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Comes out of the mechanisms.
    Result,
    /// Was used to choose a constant.
    Calibration,
    /// Was put in.
    Input,
    /// Is counted in another row: the same number in another unit, or on a machine that reads the paper otherwise.
    Again,
}

/// A published number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Stable name.
    pub id: String,
    /// A sentence.
    pub what: String,
    /// The number; effects are signed fractions.
    pub published: f64,
    /// Section and figure, with a comma between them.
    pub source: String,
    /// Result, calibration, input or again.
    pub kind: RowKind,
    /// Which runs it is about.
    pub select: Selector,
    /// What was measured.
    pub metric: Metric,
    /// The policy that it is about; only [`Metric::Runs`] has none.
    pub policy: Option<String>,
    /// What it is compared with; `None`: the number is absolute.
    pub baseline: Option<Baseline>,
    /// What both sides are divided by, workload by workload, before their means are compared ([`Aggregate::OfMeans`]): what the paper's
    /// figures normalise to.
    pub unit: Option<Baseline>,
    /// How it is compared.
    #[serde(default)]
    pub compare: Compare,
    /// How workloads and machines become one number.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Whether the classes of a machine's workloads count the same, however many workloads each has (CGO 2016, section 8).
    #[serde(default)]
    pub equal_classes: bool,
    /// Set if the paper gives a limit instead of a number.
    pub bound: Option<Bound>,
    /// Tolerance where the paper reports no difference: its measurement error, or a value that the file justifies.
    pub within: Option<f64>,
    /// Why the row misses, as far as it is known.
    pub note: Option<String>,
}

impl Published {
    /// The figure or table of the paper that the number is about: `Figure 8` of `abstract, 5.3, Figure 8`; `None` if it stands in the
    /// text alone.
    pub fn figure(&self) -> Option<&str> {
        self.source.split(", ").find(|part| part.starts_with("Figure") || part.starts_with("Table"))
    }

    /// Whether the number is the share by which something differs from its baseline.
    pub fn is_effect(&self) -> bool {
        self.baseline.is_some() && self.compare == Compare::Effect
    }

    /// Whether the number is how many times something else it is: its baseline, or what its metric is relative to ([`Metric::HAntt`]).
    pub fn is_ratio(&self) -> bool {
        self.compare == Compare::Ratio
    }

    /// Whether two things are compared, so that the number can have the wrong sign.
    pub fn is_compared(&self) -> bool {
        self.baseline.is_some() || self.is_ratio()
    }
}

/// What a number is compared with.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Baseline {
    /// The same workload on the same machine under another policy.
    Policy(String),
    /// The same workload where these differ.
    Other(Other),
}

/// What differs in a baseline. What is not given is the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The policy.
    pub policy: Option<String>,
    /// The machine.
    pub machine: Option<String>,
    /// The set, which has the workload under the same name or an alias.
    pub set: Option<String>,
    /// The workload, by what selectors call it.
    pub workload: Option<String>,
}

impl Baseline {
    /// The policy, if it is another one.
    pub fn policy(&self) -> Option<&str> {
        match self {
            Self::Policy(policy) => Some(policy),
            Self::Other(other) => other.policy.as_deref(),
        }
    }

    /// The machine, if it is another one.
    pub fn machine(&self) -> Option<&str> {
        self.other()?.machine.as_deref()
    }

    /// The set, if it is another one.
    pub fn set(&self) -> Option<&str> {
        self.other()?.set.as_deref()
    }

    /// The workload, if it is another one.
    pub fn workload(&self) -> Option<&str> {
        self.other()?.workload.as_deref()
    }

    fn other(&self) -> Option<&Other> {
        match self {
            Self::Policy(_) => None,
            Self::Other(other) => Some(other),
        }
    }
}

/// How a value is compared with the baseline's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// Value / baseline - 1.
    #[default]
    Effect,
    /// Value / baseline.
    Ratio,
}

/// Which workloads and machines a row is about. What is not given is not restricted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// The set.
    pub set: String,
    /// A class of the workload.
    pub class: Option<String>,
    /// The workload.
    pub workload: Option<String>,
    /// One of its programs, which [`Metric::Time`] and [`Metric::Performance`] are then about: by its name, `*` for each
    /// of them, `first`, or `others` for each but the first.
    pub program: Option<String>,
    /// The machine.
    pub machine: Option<String>,
    /// One of its clusters, which [`Metric::Energy`] and [`Metric::Power`] are then about.
    pub cluster: Option<String>,
    /// Some of its threads, which [`Metric::LockWaiting`] and [`Metric::Cycles`] are then about, by the names of their groups: `node` is
    /// `node-0`, too. Services are never among them.
    pub groups: Option<Vec<String>>,
    /// The thread count against the core count.
    pub threads: Option<Threads>,
    /// The number of programs.
    pub programs: Option<usize>,
}

/// Thread classes (COLAB 5.3, Figure 8).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// Fewer than the machine has cores.
    Few,
    /// At least twice the cores of the largest machine of the set.
    Many,
}

/// How the values of workloads and machines become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// The mean over all of them.
    #[default]
    Mean,
    /// The mean of the values over the mean of their baselines' values: read off two averages of a figure.
    OfMeans,
    /// The geometric mean of the ratios.
    Geomean,
    /// The one in the middle.
    Median,
    /// The largest of them.
    Largest,
    /// The third largest of them: "three of them more than".
    ThirdLargest,
    /// The fourth largest of them: "five of eight less than".
    FourthLargest,
    /// The smallest of them.
    Smallest,
    /// The smallest but one of them: "all but one".
    SecondSmallest,
    /// The ratio that is farthest from 1 but one, up or down: "similar in most" of three.
    SecondFarthest,
    /// The mean over the workloads of each machine, on the machine where that is best.
    Best,
    /// The geometric mean, on the machine where that is best.
    BestGeomean,
    /// The geometric mean, on the machine where that is worst.
    WorstGeomean,
}

impl Aggregate {
    /// Whether ratios are averaged geometrically.
    pub fn is_geometric(self) -> bool {
        matches!(self, Self::Geomean | Self::BestGeomean | Self::WorstGeomean)
    }
}

/// A limit in place of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The effect is smaller than the number.
    Below,
    /// The effect is larger than the number.
    Above,
}
