//! How a caller watches long work, and stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_model::Ns;
use evenkeel_sim::{Meter, Options};
use rayon::prelude::*;

use crate::error::{Error, Result};

/// A stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The machines and workloads of a grid, made and looked at.
    Grid,
    /// Every program alone on big cores only: the references of H_ANTT and H_STP.
    References,
    /// The programs that a speedup predictor learns from.
    Training,
    /// The runs of a plan.
    Runs,
    /// Their results, run by run, into a table.
    Writing,
}

/// Is called as the work proceeds, from any thread.
pub trait Progress: Sync {
    /// A stage of so many runs begins. Stages do not overlap.
    fn begin(&self, _stage: Stage, _runs: usize) {}

    /// One run of the present stage is done.
    fn advance(&self) {}

    /// The present stage is over.
    fn end(&self) {}
}

impl Progress for () {}

/// What a caller passes to long work: where progress is reported, and how the work is limited and stopped.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Is called as the work proceeds.
    pub progress: &'a dyn Progress,
    /// Counts the events of runs. Once it is stopped no further run begins, and the work ends with [`Error::Stopped`].
    pub meter: Option<&'a Arc<Meter>>,
    /// A run that has more events ends with an error.
    pub max_events: u64,
}

impl Default for Control<'_> {
    /// Without reports, and never stopped.
    fn default() -> Self {
        Self { progress: &(), meter: None, max_events: evenkeel_sim::MAX_EVENTS }
    }
}

impl Control<'_> {
    /// Whether the work shall stop.
    pub fn stopped(&self) -> bool {
        self.meter.is_some_and(|meter| meter.stopped())
    }

    /// Counts a run of so many events that is over.
    pub(crate) fn ran(&self, events: u64, time: Ns) {
        if let Some(meter) = self.meter {
            meter.report(events, time, None);
        }
    }

    /// The limits of a run, everything else as usual.
    pub(crate) fn options(&self) -> Options {
        Options { max_events: self.max_events, meter: self.meter.cloned(), ..Options::default() }
    }

    /// Does `run` for every job, spread over all cores. The results are in the order of the jobs, and so is the error that
    /// is returned if there are several.
    pub(crate) fn each<J: Sync, T: Send>(
        &self,
        stage: Stage,
        jobs: &[J],
        run: impl Fn(&J) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let (results, stopped) = self.each_until_stopped(stage, jobs, run)?;
        stopped.map_or_else(|| Ok(results.into_iter().flatten().collect()), Err)
    }

    /// As [`Self::each`], but a stop is no error: jobs that were not done have no result.
    pub(crate) fn each_until_stopped<J: Sync, T: Send>(
        &self,
        stage: Stage,
        jobs: &[J],
        run: impl Fn(&J) -> Result<T> + Sync,
    ) -> Result<(Vec<Option<T>>, Option<Error>)> {
        let done = AtomicUsize::new(0);
        let stage = Ongoing::begin(self.progress, stage, jobs.len());
        let one = |job: &J| {
            if self.stopped() {
                return None;
            }
            let result = run(job);
            if let Err(Error::Stopped { .. }) = result {
                return None;
            }
            done.fetch_add(1, Ordering::Relaxed);
            self.progress.advance();
            Some(result)
        };
        let results: Vec<Option<Result<T>>> = jobs.par_iter().map(one).collect();
        drop(stage);
        let stopped = results.iter().any(Option::is_none);
        let stopped = stopped.then(|| Error::Stopped { done: done.load(Ordering::Relaxed), of: jobs.len() });
        Ok((results.into_iter().map(Option::transpose).collect::<Result<_>>()?, stopped))
    }
}

/// Ends a stage also if a run panics.
struct Ongoing<'a>(&'a dyn Progress);

impl<'a> Ongoing<'a> {
    fn begin(progress: &'a dyn Progress, stage: Stage, runs: usize) -> Self {
        progress.begin(stage, runs);
        Self(progress)
    }
}

impl Drop for Ongoing<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Log(Mutex<Vec<String>>);

    impl Progress for Log {
        fn begin(&self, stage: Stage, runs: usize) {
            self.0.lock().unwrap().push(format!("{stage:?} {runs}"));
        }
        fn advance(&self) {
            self.0.lock().unwrap().push("+".into());
        }
        fn end(&self) {
            self.0.lock().unwrap().push("end".into());
        }
    }

    #[test]
    fn progress_is_reported_for_every_run_and_results_keep_their_order() {
        let log = Log::default();
        let control = Control { progress: &log, ..Control::default() };
        let doubled = control.each(Stage::Runs, &[1, 2, 3], |job| Ok(2 * job));
        assert_eq!(doubled.unwrap(), [2, 4, 6]);
        assert_eq!(log.0.lock().unwrap().join(" "), "Runs 3 + + + end");
    }

    #[test]
    fn no_run_begins_after_a_stop() {
        let meter = Arc::new(Meter::default());
        meter.stop().store(true, Ordering::Relaxed);
        let control = Control { meter: Some(&meter), ..Control::default() };
        let result = control.each(Stage::Runs, &[1, 2, 3], |_| -> Result<()> { panic!("it was stopped before") });
        assert!(matches!(result, Err(Error::Stopped { done: 0, of: 3 })), "{result:?}");
    }

    #[test]
    fn the_first_error_in_the_order_of_the_jobs_is_returned() {
        let fail = |job: &u32| if *job == 1 { Ok(()) } else { Err(Error::Refused(job.to_string())) };
        let error = Control::default().each(Stage::Runs, &[1, 3, 2], fail).unwrap_err();
        assert_eq!(error.to_string(), "3");
    }
}
