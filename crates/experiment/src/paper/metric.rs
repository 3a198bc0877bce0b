//! What a published number measures.

use serde::Deserialize;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Turnaround against a machine of big cores only.
    HAntt,
    /// Throughput against a machine of big cores only.
    HStp,
    /// The inverse of the turnaround.
    Speedup,
    /// Until the last program was done, or the selected one was.
    Time,
    /// The inverse of the time.
    Performance,
    /// The inverse of the geometric mean of the times of its programs (Koufaty et al., EuroSys 2010, 7.1).
    MeanPerformance,
    /// In joules.
    Energy,
    /// The inverse of the energy.
    Efficiency,
    /// Energy over time, in watts.
    Power,
    /// Energy times time.
    Edp,
    /// The standard deviation of the time over seeds and orders, as a share of its mean.
    Spread,
    /// By how much of its time the slowest took longer than the fastest, over seeds and orders.
    Gap,
    /// Moves of threads to other cores.
    Migrations,
    /// The share of their time for which threads waited for locks that others held: of what they ran, and waited for a core or a lock; the
    /// mean over threads.
    LockWaiting,
    /// The share that some threads have of all that their programs' threads ran.
    Cycles,
    /// What all cores of the machine could do together of compute-bound code, in instructions per ns.
    Capacity,
    /// How many workloads x machines x policies there are.
    Runs,
    /// Of a kernel: speed over that of the serial program on a core of the smallest type.
    OverLittle,
    /// The same over a core of the biggest type.
    OverBig,
    /// Mugs for each million instructions.
    Mugs,
    /// Changes of voltage of all cores for each 10 us.
    Transitions,
    /// The share of time in serial parts.
    Serial,
    /// With all cores active.
    HighParallel,
    /// With fewer big cores waiting than little ones active.
    Scarce,
    /// With enough big cores waiting to mug all work.
    Ample,
    /// With some cores waiting and nothing to mug.
    OtherLow,
    /// Of the first-order model: throughput over that at nominal voltage.
    Throughput,
    /// Throughput over that of a little core at nominal voltage.
    OverOneLittle,
    /// The voltage of active big cores.
    VoltsBig,
    /// The voltage of active little cores.
    VoltsLittle,
}

impl Metric {
    /// What stands above a table of it.
    pub fn title(self) -> &'static str {
        match self {
            Self::HAntt => "H_ANTT",
            Self::HStp => "H_STP",
            Self::Speedup => "1 / H_ANTT",
            Self::Time => "Time",
            Self::Performance => "Performance",
            Self::MeanPerformance => "Mean performance",
            Self::Energy => "Energy",
            Self::Power => "Power",
            Self::Edp => "Energy x time",
            Self::Spread => "Spread",
            Self::Gap => "Gap",
            Self::Migrations => "Migrations",
            Self::LockWaiting => "Share of time waiting for locks",
            Self::Cycles => "Share of cycles",
            Self::Capacity => "Capacity",
            Self::Runs => "Runs",
            Self::Efficiency => "Energy efficiency",
            Self::OverLittle => "Speed over a little core",
            Self::OverBig => "Speed over a big core",
            Self::Mugs => "Mugs for each million instructions",
            Self::Transitions => "Changes of voltage for each 10 us",
            Self::Serial => "Share of time in serial parts",
            Self::HighParallel => "Share of time with all cores active",
            Self::Scarce => "Share of time with BI < LA",
            Self::Ample => "Share of time with BI >= LA",
            Self::OtherLow => "Share of time with some cores waiting and nothing to mug",
            Self::Throughput => "Throughput over nominal",
            Self::OverOneLittle => "Throughput over a little core",
            Self::VoltsBig => "Volts of big cores",
            Self::VoltsLittle => "Volts of little cores",
        }
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            Self::HStp
                | Self::Speedup
                | Self::Performance
                | Self::MeanPerformance
                | Self::Efficiency
                | Self::Capacity
                | Self::Runs
                | Self::OverLittle
                | Self::OverBig
                | Self::Throughput
                | Self::OverOneLittle
                | Self::HighParallel
        )
    }
}
