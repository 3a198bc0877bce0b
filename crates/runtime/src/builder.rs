//! How a pool is configured.

use std::env;
use std::thread;

use evenkeel_model::stealing::Techniques;
use evenkeel_topology::Topology;

use crate::asymmetry;
use crate::error::{BuildError, MAX_THREADS};
use crate::fork::PerProcess;
use crate::missing::Missing;
use crate::pool::Pool;
use crate::workers::{Lifetime, PoolPlan};

static GLOBAL: PerProcess<Pool> = PerProcess::new();

/// Makes a pool.
///
/// ```
/// # fn main() -> Result<(), evenkeel_runtime::BuildError> {
/// let pool = evenkeel_runtime::PoolBuilder::new().threads(2).name("render").build()?;
/// assert_eq!(pool.threads(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct PoolBuilder {
    threads: Option<usize>,
    name: Option<String>,
    cores: Option<Topology>,
    techniques: Option<Techniques>,
    without_turns: bool,
    record: Record,
    on_missing: Option<fn(&Missing)>,
}

/// What a pool records about its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Record {
    /// Nothing.
    #[default]
    Nothing,
    /// For how long they were busy on which type of core: [`Pool::accounts`].
    Times,
    /// Also when they began to run tasks and to wait, and where: [`Pool::trace`]. Takes memory for as long as the pool exists.
    Events,
}

impl PoolBuilder {
    /// As many threads as `EVENKEEL_THREADS` says, or else as there are cores that this process may use.
    pub fn new() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// For this many cores. The thread that calls the pool counts, too.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> PoolBuilder {
        self.threads = Some(threads);
        self
    }

    /// The name of its threads, before a dash and their number. Default: `evenkeel`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> PoolBuilder {
        self.name = Some(name.into());
        self
    }

    /// The cores to run on. Default: those of this machine that this process may use. If they differ, workers are bound to them, the biggest first, and
    /// the thread that calls the pool is bound while it is in there. Workers are not bound to cores that do not differ. A thread that a task starts is bound to the core on which
    /// its task was, as the kernel has it: another pool should be made outside.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // The kernel does not say that CPUs 4 to 7 are slower.
    /// let machine = evenkeel_runtime::this_machine()?;
    /// if let Ok(machine) = machine.with(Some("0-3"), Some("4-7"), Some(2.5)) {
    ///     let pool = evenkeel_runtime::PoolBuilder::new().cores(machine).build()?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cores(mut self, cores: Topology) -> PoolBuilder {
        self.cores = Some(cores);
        self
    }

    /// What is done about cores that differ. Default: `base+psm` where the machine says what its cores use and how much power they sustain
    /// ([`Topology::powers_known`], [`Topology::sustained`] or [`Cpu::base`](evenkeel_topology::Cpu::base)), and no core is clocked higher than without
    /// this pool; else `base+m`, without a frequency being set. Techniques that are named set frequencies in any case, if need be by powers that are
    /// assumed. With `none`, workers are not even bound.
    #[must_use]
    pub fn techniques(mut self, techniques: Techniques) -> PoolBuilder {
        self.techniques = Some(techniques);
        self
    }

    /// Whether tasks that cannot be split take turns on the bigger cores where tasks are mugged. Default: true. Without, mugging is what Torng et al.
    /// (ISCA 2016, III.B) describe. The turns are not theirs, so [`Techniques`] has no letter for them.
    #[must_use]
    pub fn turns(mut self, turns: bool) -> PoolBuilder {
        self.without_turns = !turns;
        self
    }

    /// What is recorded about the workers. Default: nothing, which costs nothing.
    #[must_use]
    pub fn record(mut self, record: Record) -> PoolBuilder {
        self.record = record;
        self
    }

    /// Is called with what this machine does not allow, once for each pool and each thing. [`Pool::missing`] returns it afterwards.
    #[must_use]
    pub fn on_missing(mut self, tell: fn(&Missing)) -> PoolBuilder {
        self.on_missing = Some(tell);
        self
    }

    /// Makes the pool.
    ///
    /// # Errors
    /// A number of threads or a name that cannot be, here or in the environment, or powers that cannot be there. If the system refuses threads the pool works with those it got, and
    /// [`Pool::shortage`] returns why.
    pub fn build(&self) -> Result<Pool, BuildError> {
        self.build_for(Lifetime::Scoped)
    }

    fn build_for(&self, lifetime: Lifetime) -> Result<Pool, BuildError> {
        let plan = self.plan(self.thread_count()?, lifetime)?;
        let workers = plan.start();
        Ok(Pool::from_parts(plan, workers))
    }

    /// As many threads as requested, else as the environment says, else as there are cores.
    fn thread_count(&self) -> Result<usize, BuildError> {
        if let Some(threads) = self.threads {
            return Ok(threads);
        }
        let count = || self.cores.as_ref().map_or_else(cores, |cores| cores.cpus.len().clamp(1, MAX_THREADS));
        Ok(from_environment(env::var_os("EVENKEEL_THREADS"))?.unwrap_or_else(count))
    }

    /// Makes the global pool, before anything has used it.
    ///
    /// # Errors
    /// As for [`build`](Self::build), and if there is one already.
    pub fn build_global(&self) -> Result<&'static Pool, BuildError> {
        if GLOBAL.get().is_some() {
            return Err(BuildError::GlobalExists);
        }
        GLOBAL.set(self.build_for(Lifetime::Process)?).map_err(|_| BuildError::GlobalExists)?;
        Ok(Pool::global())
    }

    /// For the global pool that was not configured, where no caller could get an error.
    fn build_anyway(&self) -> Pool {
        self.build_for(Lifetime::Process).unwrap_or_else(|error| {
            let (threads, instead) = match (&error, self.thread_count()) {
                (BuildError::Powers(_), Ok(threads)) => (threads, "using what the machine states".to_owned()),
                _ => (cores(), format!("using {}", cores())),
            };
            eprintln!("evenkeel: {error}; {instead}");
            let plan = PoolPlan { threads, lifetime: Lifetime::Process, ..PoolPlan::default() };
            let workers = plan.start();
            Pool::from_parts(plan, workers)
        })
    }

    fn plan(&self, threads: usize, lifetime: Lifetime) -> Result<PoolPlan, BuildError> {
        match threads {
            0 => return Err(BuildError::ZeroThreads),
            1..=MAX_THREADS => {}
            _ => return Err(BuildError::TooManyThreads(threads)),
        }
        if threads > 1
            && self.cores.is_none()
            && let Some(wrong) = asymmetry::wrong_powers()
        {
            return Err(BuildError::Powers(wrong));
        }
        let name = self.name.clone().unwrap_or_else(|| PoolPlan::default().name);
        if name.contains('\0') {
            return Err(BuildError::Name(name));
        }
        Ok(PoolPlan {
            threads,
            name,
            cores: self.cores.clone(),
            techniques: self.techniques,
            turns: !self.without_turns,
            times: self.record >= Record::Times,
            events: self.record >= Record::Events,
            on_missing: self.on_missing,
            lifetime,
        })
    }
}

impl Pool {
    /// A pool for this many cores.
    ///
    /// # Errors
    /// Zero, or more than [`MAX_THREADS`](crate::MAX_THREADS). If the system refuses threads the pool works with those it got: [`shortage`](Self::shortage).
    pub fn new(threads: usize) -> Result<Pool, BuildError> {
        PoolBuilder::new().threads(threads).build()
    }

    /// The pool that is used outside of all others: made when it is first needed, for the number of cores in the environment variable `EVENKEEL_THREADS`, or else for all
    /// cores that this process may use. [`PoolBuilder::build_global`] makes another one in its place.
    pub fn global() -> &'static Pool {
        GLOBAL.get_or_make(|parent| parent.map_or_else(|| PoolBuilder::new().build_anyway(), Pool::again))
    }
}

fn from_environment(value: Option<std::ffi::OsString>) -> Result<Option<usize>, BuildError> {
    let Some(value) = value else { return Ok(None) };
    match value.to_str().map(str::parse) {
        Some(Ok(threads)) if threads > 0 => Ok(Some(threads)),
        _ => Err(BuildError::Environment(value.to_string_lossy().into_owned())),
    }
}

/// The cores that this process may use: its affinity mask and quota count.
fn cores() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::thread::PoolThread;

    #[test]
    fn a_pool_works_with_the_threads_that_it_got() {
        for got in 1..4 {
            let mut left = got - 1;
            let plan = PoolBuilder::new().plan(5, Lifetime::Scoped).unwrap();
            let workers = plan.start_with(|name, body| {
                if left == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                left -= 1;
                PoolThread::start(name, body)
            });
            let pool = Pool::from_parts(plan, workers);
            assert_eq!(pool.threads(), got);
            assert_eq!(pool.stats().len(), got);
            let shortage = pool.shortage().unwrap();
            assert_eq!((shortage.got, shortage.wanted), (got, 5));
            assert_eq!(shortage.reason.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(pool.par_map_reduce(0..100, || 0, |i| i, |a, b| a + b), 4950);
        }
    }

    #[test]
    fn the_environment_says_how_many() {
        assert_eq!(from_environment(None), Ok(None));
        assert_eq!(from_environment(Some("7".into())), Ok(Some(7)));
        for wrong in ["", "0", "-1", "two", "1.5"] {
            assert_eq!(from_environment(Some(wrong.into())), Err(BuildError::Environment(wrong.to_owned())));
        }
    }
}
