//! Decisions inside the kernel: the policies whose every decision between two refreshes the kernel's part makes by itself
//! (`bpf/policy`). This process only writes beside each thread, once a period, what the policy thinks of it.

mod describe;
mod labeler;
mod part;

use std::os::fd::AsFd;

use evenkeel_linux::host::Perf;
use evenkeel_linux::monitor::ThreadNow;
use evenkeel_linux::sample::PairWaits;
use evenkeel_linux::{clock, wait};
use evenkeel_model::Ns;

use crate::allowance::Allowance;
use crate::counting::Learnt;
use crate::event::What;
use crate::host::Figures;
use crate::moments::Gone;
use crate::session::{POLL, Plan, Turn, come_first};
use crate::speed::Speeds;
use crate::{Ended, Error};
use labeler::{Labeler, Seen};
use part::Part;

/// Refreshes have at most a fiftieth of a core (assumed): between two lie so many times what the first took. This thread comes before
/// all others, and labels have to bring in first what it takes from those.
const REST: u64 = 49;
/// What happens to threads waits for so long, until there is more of it (assumed): decisions do not wait for this process, and where
/// threads come and go it would be woken for each.
const BATCH: Ns = Ns::from_ms(1);

/// The kernel's part, and what is written beside its threads.
pub(crate) struct Inside {
    part: Part,
    labeler: Labeler,
    speeds: Speeds,
    events: u64,
    allowance: Allowance,
    /// When the policy's period is over.
    due: Ns,
    cpus: Vec<u16>,
    gone: Gone,
}

impl Inside {
    /// Takes the machine over.
    pub(crate) fn start(plan: &Plan, learnt: Learnt) -> Result<Self, Error> {
        let Plan { machine, cpus, policy, timeline, .. } = plan;
        let speeds = Speeds::of(cpus);
        let mut labeler = Labeler::new(machine.clone(), policy, speeds.governor());
        labeler.count_by(Box::new(Perf::of_this_machine()));
        labeler.counting.remember(learnt);
        let described = describe::described(labeler.state(), cpus, policy);
        let reads_usage = policy.description().in_kernel.is_some_and(|policy| policy.reads_usage);
        let mut part = Part::of(&described, reads_usage, labeler.culprit(), &speeds, plan)?;
        come_first(machine, cpus)?;
        part.take_over()?;
        let now = clock::clock();
        let due = now + labeler.period().unwrap_or_default();
        let (allowance, cpus) = (Allowance::new(now), cpus.clone());
        let mut inside = Self { part, labeler, speeds, events: 0, allowance, due, cpus, gone: Gone::default() };
        if *timeline {
            inside.gone.keep();
        }
        inside.hear();
        inside.labeler.counting.forget();
        Ok(inside)
    }

    /// No core waits for what is done here, which takes long when thousands of threads come at once.
    fn hear(&mut self) {
        for event in self.part.events() {
            self.part.answer();
            self.events += 1;
            match event.what {
                What::Enabled(described) => {
                    let slot = described.slot;
                    self.labeler.begin(slot, event.tid, event.weight, &described, &self.cpus);
                    self.tell(slot);
                }
                What::Disabled { slot } => {
                    self.end(slot, event.at);
                    self.part.free(slot, event.tid);
                }
                What::Renamed { slot, .. } => {
                    // The kernel may tell of the first one's end only later.
                    if let Some(first) = self.labeler.other_named(slot, event.tid) {
                        self.end(first, event.at);
                    }
                    if let Some(seen) = self.note_gone(slot) {
                        self.labeler.rename(slot, event.tid, &seen);
                    }
                }
                What::Mask(described) => {
                    self.labeler.set_mask(event.weight, &described, &self.cpus);
                    self.tell(described.slot);
                }
                _ => {}
            }
        }
    }

    /// A thread is gone.
    fn end(&mut self, slot: u32, at: Ns) {
        if let Some(seen) = self.note_gone(slot) {
            self.labeler.end(slot, &seen, at);
        }
    }

    /// A thread's number is no longer its own: notes what it did under it. Returns what has been counted of it.
    fn note_gone(&mut self, slot: u32) -> Option<Seen> {
        let seen = self.part.read(slot)?;
        if let Some(thread) = self.labeler.thread(slot, &seen, &self.cpus).filter(|_| self.gone.wanted()) {
            self.gone.add(thread);
        }
        Some(seen)
    }

    fn refresh(&mut self, now: Ns) {
        for slot in self.labeler.slots() {
            self.part.answer();
            if let Some(seen) = self.part.read(slot) {
                self.labeler.see(slot, &seen, now);
            }
        }
        self.labeler.refresh(now);
        for slot in self.labeler.slots() {
            self.part.answer();
            self.tell(slot);
        }
    }

    /// Writes what the policy thinks of a thread, if that has changed.
    fn tell(&mut self, slot: u32) {
        if let Some(labels) = self.labeler.labels(slot) {
            self.part.write(slot, &labels);
        }
    }
}

impl Turn for Inside {
    fn run_until(&mut self, until: Ns) -> Result<Option<Ended>, Error> {
        loop {
            let (now, events) = (clock::clock(), self.events);
            self.hear();
            let period = self.labeler.period();
            if let Some(period) = period
                && now >= self.due
            {
                self.refresh(now);
                self.due = next_refresh(now, clock::clock(), period);
            }
            let ended = self.part.heard(clock::clock())?;
            let heard = if self.events > events { BATCH } else { Ns::ZERO };
            let rest = self.allowance.worked(now, clock::clock()).unwrap_or_default().max(heard);
            if rest > Ns::ZERO {
                let _ = wait::poll(&[], rest);
            }
            if ended.is_some() || now >= until {
                return Ok(ended);
            }
            let now = clock::clock();
            let refresh = period.map_or(POLL, |_| self.due.since(now));
            // A signal ends the wait, too.
            let _ = wait::poll(&[self.part.ready().as_fd()], until.since(now).min(refresh).min(POLL));
        }
    }

    fn figures(&self) -> Figures {
        let counted = self.part.figures();
        Figures {
            events: self.events,
            frequencies: counted.frequencies.and_then(|told| self.speeds.told(told)),
            living: self.labeler.living(),
            threads: self.labeler.threads(),
            ..counted
        }
    }

    fn missing(&self) -> Vec<String> {
        self.labeler.missing()
    }

    fn threads(&mut self) -> Vec<ThreadNow> {
        let slots = self.labeler.slots().into_iter();
        let (labeler, part, cpus) = (&self.labeler, &mut self.part, &self.cpus);
        slots.filter_map(|slot| labeler.thread(slot, &part.read(slot)?, cpus)).collect()
    }

    fn gone(&mut self) -> Vec<ThreadNow> {
        self.gone.take()
    }

    fn pairs(&self) -> Vec<PairWaits> {
        self.part.pairs()
    }

    fn learnt(&self) -> Learnt {
        self.labeler.learnt()
    }
}

/// When the refresh after one is due that began and ended then.
fn next_refresh(began: Ns, ended: Ns, period: Ns) -> Ns {
    (began + period).max(ended + Ns(ended.since(began).0 * REST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes_that_take_long_come_less_often() {
        let (began, period) = (Ns::from_ms(100), Ns::from_ms(10));
        assert_eq!(next_refresh(began, Ns::from_us(100_200), period), Ns::from_ms(110));
        assert_eq!(next_refresh(began, Ns::from_ms(102), period), Ns::from_ms(200));
        assert_eq!(next_refresh(began, Ns::from_ms(120), period), Ns::from_ms(1100));
    }
}
