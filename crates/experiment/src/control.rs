//! How a caller watches long work, and stops it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// A stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Every program alone on big cores only: the references of H_ANTT and H_STP.
    References,
    /// The programs that a speedup predictor learns from.
    Training,
    /// The runs of a plan.
    Runs,
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

/// What a caller passes to long work: where progress is reported, and a flag by which the work can be stopped.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Is called as the work proceeds.
    pub progress: &'a dyn Progress,
    /// Once this is true no further run begins, and the work ends with [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Control<'_> {
    /// Reports nothing, and is never stopped.
    fn default() -> Self {
        Self { progress: &(), stop: None }
    }
}

impl<'a> Control<'a> {
    /// One that reports to `progress`.
    pub fn with_progress(progress: &'a dyn Progress) -> Self {
        Self { progress, ..Self::default() }
    }

    /// Whether the work shall stop.
    pub fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Does `run` for every job, spread over all cores. The results are in the order of the jobs, and so is the error that
    /// is returned if there are several.
    pub(crate) fn each<J: Sync, T: Send>(
        &self,
        stage: Stage,
        jobs: &[J],
        run: impl Fn(&J) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let done = AtomicUsize::new(0);
        let stage = Ongoing::begin(self.progress, stage, jobs.len());
        let one = |job: &J| {
            if self.stopped() {
                return None;
            }
            let result = run(job);
            done.fetch_add(1, Ordering::Relaxed);
            self.progress.advance();
            Some(result)
        };
        let results: Vec<Option<Result<T>>> = jobs.par_iter().map(one).collect();
        drop(stage);
        let stopped = || Error::Stopped { done: done.load(Ordering::Relaxed), of: jobs.len() };
        results.into_iter().map(|result| result.unwrap_or_else(|| Err(stopped()))).collect()
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
        let doubled = Control::with_progress(&log).each(Stage::Runs, &[1, 2, 3], |job| Ok(2 * job));
        assert_eq!(doubled.unwrap(), [2, 4, 6]);
        assert_eq!(log.0.lock().unwrap().join(" "), "Runs 3 + + + end");
    }

    #[test]
    fn no_run_begins_after_a_stop() {
        let stop = AtomicBool::new(true);
        let control = Control { stop: Some(&stop), ..Control::default() };
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
