//! Which thread is where and for how long it has run, noted again and again for a timeline. The thread that decides only notes
//! it; all that takes longer, such as reading names, is left to the thread that wants to know it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use evenkeel_linux::clock::clock;
use evenkeel_linux::monitor::ThreadNow;
use evenkeel_linux::sample::{MAX_TYPES, PairWaits};
use evenkeel_model::Ns;

use crate::session::{POLL, Turn};

/// Beside thousands of threads moments are further apart: between two lies so many times what noting the first took (assumed).
const REST: u64 = 99;
/// So many moments wait to be read; what comes while there are as many is not noted, and the next one covers more time.
const UNREAD: usize = 8;

/// What was scheduled at one moment.
pub(crate) struct Moment {
    pub(crate) at: Ns,
    /// How often the machine was taken over anew until then: what threads have done counts from the last time.
    pub(crate) takeovers: usize,
    pub(crate) living: Vec<ThreadNow>,
    /// Threads that have ended since the moment before.
    pub(crate) gone: Vec<ThreadNow>,
    /// Which thread has waited for which since the last takeover.
    pub(crate) pairs: Vec<PairWaits>,
}

/// What a thread has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Did {
    /// How long it has run on each core type.
    pub(crate) run: [Ns; MAX_TYPES],
    /// How long it has been ready without a core.
    pub(crate) delay: Ns,
}

impl Did {
    /// What of it was not done before.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        self.run.iter_mut().zip(before.run).for_each(|(run, before)| *run = run.since(before));
        self.delay = self.delay.since(before.delay);
        self
    }
}

/// Where moments are noted.
pub(crate) struct Moments {
    to: SyncSender<Moment>,
    due: Ns,
    takeovers: usize,
    /// Threads that have ended, of moments for which there was no room.
    gone: Vec<ThreadNow>,
}

impl Moments {
    /// None yet, and where they are read.
    pub(crate) fn new() -> (Self, Receiver<Moment>) {
        let (to, read) = sync_channel(UNREAD);
        (Self { to, due: Ns::ZERO, takeovers: 0, gone: Vec::new() }, read)
    }

    /// Notes one, if it is time for it or a policy has just taken over.
    pub(crate) fn note(&mut self, scheduling: &mut dyn Turn, takeovers: usize) {
        if clock() >= self.due || takeovers != self.takeovers {
            self.note_now(scheduling, takeovers);
        }
    }

    /// Notes one in any case, such as the last one before another policy takes over.
    pub(crate) fn note_now(&mut self, scheduling: &mut dyn Turn, takeovers: usize) {
        let at = clock();
        let mut gone = std::mem::take(&mut self.gone);
        gone.extend(scheduling.gone());
        let moment = Moment { at, takeovers, living: scheduling.threads(), gone, pairs: scheduling.pairs() };
        if let Err(TrySendError::Full(moment)) = self.to.try_send(moment) {
            self.gone = moment.gone;
            self.gone.truncate(Gone::MOST);
        }
        (self.due, self.takeovers) = (next(at, clock()), takeovers);
    }
}

/// When the moment after one is due that was noted from then to then.
fn next(began: Ns, ended: Ns) -> Ns {
    (began + POLL).max(ended + Ns(ended.since(began).0 * REST))
}

/// Threads that have ended since the last moment, if there are moments.
#[derive(Default)]
pub(crate) struct Gone(Option<Vec<ThreadNow>>);

impl Gone {
    /// Not more are kept for one moment.
    const MOST: usize = 4096;

    /// From now on.
    pub(crate) fn keep(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// Whether another one is wanted.
    pub(crate) fn wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.len() < Self::MOST)
    }

    /// Keeps one, if it is wanted.
    pub(crate) fn add(&mut self, thread: ThreadNow) {
        if let Some(kept) = self.0.as_mut().filter(|kept| kept.len() < Self::MOST) {
            kept.push(thread);
        }
    }

    /// Those since the last call.
    pub(crate) fn take(&mut self) -> Vec<ThreadNow> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::counting::Learnt;
    use crate::{Ended, Error, Figures};

    #[test]
    fn noting_takes_at_most_a_hundredth_of_the_time() {
        let at = Ns::from_ms;
        assert_eq!(next(at(100), at(100)), at(150));
        assert_eq!(next(at(100), at(101)), at(200));
    }

    /// Stands for a scheduler of which a thread has ended since it was last asked.
    pub(crate) struct Ends;

    impl Turn for Ends {
        fn run_until(&mut self, _: Ns) -> Result<Option<Ended>, Error> {
            Ok(None)
        }

        fn figures(&self) -> Figures {
            Figures::default()
        }

        fn missing(&self) -> Vec<String> {
            Vec::new()
        }

        fn threads(&mut self) -> Vec<ThreadNow> {
            Vec::new()
        }

        fn gone(&mut self) -> Vec<ThreadNow> {
            vec![ThreadNow::default()]
        }

        fn pairs(&self) -> Vec<PairWaits> {
            Vec::new()
        }

        fn learnt(&self) -> Learnt {
            Learnt::default()
        }
    }

    #[test]
    fn threads_that_end_while_moments_are_not_read_are_in_a_later_one() {
        let (mut moments, read) = Moments::new();
        (0..UNREAD + 3).for_each(|_| moments.note_now(&mut Ends, 0));
        assert_eq!(read.try_iter().map(|moment| moment.gone.len()).sum::<usize>(), UNREAD);
        moments.note_now(&mut Ends, 0);
        assert_eq!(read.try_iter().map(|moment| moment.gone.len()).sum::<usize>(), 3 + 1);
    }

    #[test]
    fn of_threads_that_have_gone_nothing_is_kept_unless_it_is_wanted() {
        let mut gone = Gone::default();
        gone.add(ThreadNow::default());
        assert_eq!((gone.wanted(), gone.take().len()), (false, 0));
        gone.keep();
        assert!(gone.wanted());
        (0..=Gone::MOST).for_each(|_| gone.add(ThreadNow::default()));
        assert_eq!((gone.wanted(), gone.take().len(), gone.take().len()), (false, Gone::MOST, 0));
    }
}
