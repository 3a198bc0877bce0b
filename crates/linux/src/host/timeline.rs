//! Which thread ran on which CPU when, put together from one sample to the next.
//!
//! How long a thread ran between two samples is known, by core type. With eBPF it is also known since when it has been on
//! its CPU, or off. Everything else is laid out so that it fits: a CPU runs one thread at a time, and a slice whose place
//! between two samples is not known ends where the next that is known begins. Memory is bounded: when there are too many
//! slices, those so far are seen through a coarser grid.

use std::collections::BTreeMap;
use std::path::Path;

use evenkeel_model::lane::{self, append, coarser};
use evenkeel_model::{ClusterId, Hz, Machine, Ns, Watts};

use super::clocks::Clocks;
use super::power::Power;
use crate::event::Tid;
use crate::sample::{MAX_TYPES, Sample, ThreadState, Turn};

/// Not more slices than this, of all CPUs together, are kept.
const SLICES: usize = 1 << 17;
/// Not more moves than this are kept.
const MOVES: usize = 1 << 14;
/// The first grid.
const FINEST: Ns = Ns::from_ms(1);
/// A thread that was off its CPU for less than this was interrupted, if at all.
const BREAK: Ns = Ns(100_000);

/// A thread that ran. Times count from the beginning of the timeline.
pub type Slice = lane::Slice<Tid>;

/// A thread that the policy moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When.
    pub at: Ns,
    /// The thread.
    pub tid: Tid,
    /// The CPU that it was put on.
    pub cpu: u16,
}

/// What ran where.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    began: Ns,
    type_of: Vec<u8>,
    lanes: BTreeMap<u16, Vec<Slice>>,
    moves: Vec<Move>,
    clocks: Clocks,
    power: Power,
    resolution: Option<Ns>,
    sampled: Ns,
    last: BTreeMap<Tid, Last>,
}

/// A thread at the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    cpu: u16,
    run: [Ns; MAX_TYPES],
    /// The CPU of each core type on which it was seen last.
    on: [Option<u16>; MAX_TYPES],
}

/// A thread ran for some time, perhaps from then on.
#[derive(Clone, Copy, Debug)]
struct Guess {
    tid: Tid,
    from: Ns,
    time: Ns,
}

impl Timeline {
    /// An empty one that begins at a time. `type_of` gives the core type of each CPU.
    pub fn new(began: Ns, type_of: Vec<u8>) -> Self {
        Self { began, type_of, ..Self::default() }
    }

    /// With clocks and power of a machine, where the kernel tells them below a root. Core `i` is the CPU `cpus[i]`.
    pub fn with_meters(self, root: &Path, machine: &Machine, cpus: &[u16]) -> Self {
        Self { clocks: Clocks::of(root, machine, cpus), power: Power::of(root), ..self }
    }

    /// The slices of each CPU on which anything ran, in order of time.
    pub fn lanes(&self) -> impl Iterator<Item = (u16, &[Slice])> {
        self.lanes.iter().map(|(cpu, slices)| (*cpu, slices.as_slice()))
    }

    /// The moves, in order of time; of a great many every second one, every fourth one, ...
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// What clock each cluster had, as its first core has it, from each time on until its next; of a great many changes, the older part is
    /// in means.
    pub fn frequencies(&self) -> impl Iterator<Item = (Ns, ClusterId, Hz)> {
        self.clocks.changes()
    }

    /// What each package that counts its energy used, and parts of it, from each time on until its next; of a great many changes, the older
    /// part is in means.
    pub fn power(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = (Ns, Watts)>)> {
        self.power.changes()
    }

    /// What the kernel does not tell, and why.
    pub fn untold(&self) -> Vec<(&'static str, &'static str)> {
        let missing = [("power", self.power.missing()), ("clocks", self.clocks.missing())];
        missing.into_iter().filter_map(|(what, why)| Some((what, why?))).collect()
    }

    /// The grid through which the older part is seen, if there were too many slices to keep each.
    pub fn resolution(&self) -> Option<Ns> {
        self.resolution
    }

    /// Adds what the threads did since the last sample. `gone` are those that have ended since.
    pub fn sample(&mut self, now: Ns, living: &[Sample], gone: &[Sample]) {
        let now = now.since(self.began);
        let mut guesses: BTreeMap<u16, Vec<Guess>> = BTreeMap::new();
        let mut guess = |timeline: &Self, sample| {
            timeline.guess(now, sample, |cpu, guess| guesses.entry(cpu).or_default().push(guess));
        };
        gone.iter().for_each(|sample| guess(self, sample));
        // A living thread may have the number of one that is gone, and counts from zero then.
        for sample in gone {
            self.last.remove(&sample.tid);
        }
        living.iter().for_each(|sample| guess(self, sample));
        for (cpu, guesses) in guesses {
            self.lay_out(cpu, guesses, now);
        }
        let before = std::mem::take(&mut self.last);
        for sample in living {
            let mut on = before.get(&sample.tid).map_or([None; MAX_TYPES], |last| last.on);
            on[self.type_of(sample.cpu)] = Some(sample.cpu);
            self.last.insert(sample.tid, Last { cpu: sample.cpu, run: sample.run, on });
        }
        self.sampled = now;
        self.bound(SLICES);
    }

    /// Notes which clock each cluster has now, and what has been used.
    pub fn read_meters(&mut self, now: Ns) {
        let now = now.since(self.began);
        self.clocks.read(now);
        self.power.read(now);
    }

    /// The policy moved a thread.
    pub(super) fn moved(&mut self, now: Ns, tid: Tid, cpu: u16) {
        if self.moves.len() == MOVES {
            let mut keep = false;
            self.moves.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.moves.push(Move { at: now.since(self.began), tid, cpu });
    }

    fn type_of(&self, cpu: u16) -> usize {
        let core_type = self.type_of.get(usize::from(cpu)).copied().unwrap_or_default();
        usize::from(core_type).min(MAX_TYPES - 1)
    }

    /// Estimates where and when a thread ran since the last sample.
    fn guess(&self, now: Ns, sample: &Sample, mut each: impl FnMut(u16, Guess)) {
        let tid = sample.tid;
        let last = self.last.get(&tid).copied().unwrap_or(Last { cpu: sample.cpu, ..Last::default() });
        let ran = |core_type: usize| sample.run[core_type].since(last.run[core_type]).min(now.since(self.sampled));
        let here = self.type_of(sample.cpu);
        let time = ran(here);
        // The latest stretch, which was where it is now.
        let (from, stretch) = match sample.inside.map(|inside| inside.turn) {
            Some(Turn::On(since)) => {
                let from = since.since(self.began).clamp(self.sampled, now);
                (from, now.since(from))
            }
            Some(Turn::Off(at)) => (at.since(self.began).clamp(self.sampled, now).since(time), time),
            None if sample.state == ThreadState::Runnable => (now.since(time), time),
            None => (self.sampled, time),
        };
        each(sample.cpu, Guess { tid, from, time: stretch });
        // What it ran before that on the same core type.
        let rest = time.since(stretch);
        if last.cpu != sample.cpu && self.type_of(last.cpu) == here {
            each(last.cpu, Guess { tid, from: self.sampled, time: rest });
        } else {
            each(sample.cpu, Guess { tid, from: from.since(rest), time: rest });
        }
        // On another core type it was before that, on the CPU where it has been seen.
        for (core_type, cpu) in last.on.iter().enumerate().filter(|(core_type, _)| *core_type != here) {
            if let Some(cpu) = *cpu {
                each(cpu, Guess { tid, from: self.sampled, time: ran(core_type) });
            }
        }
    }

    /// Lays out what ran on a CPU since the last sample without overlaps: a slice begins no earlier than the one before it ends,
    /// and all end by now.
    fn lay_out(&mut self, cpu: u16, mut guesses: Vec<Guess>, now: Ns) {
        guesses.retain(|guess| guess.time > Ns::ZERO);
        guesses.sort_by_key(|guess| (guess.from, guess.tid));
        let mut slices: Vec<Slice> = Vec::with_capacity(guesses.len());
        let mut free = self.sampled;
        for Guess { tid, from, time } in guesses {
            let from = from.max(free);
            free = from + time;
            slices.push(Slice { who: tid, from, to: free });
        }
        let mut until = now;
        for slice in slices.iter_mut().rev() {
            let late = slice.to.since(until);
            (slice.from, slice.to) = (slice.from.since(late), slice.to.since(late));
            until = slice.from;
        }
        let lane = self.lanes.entry(cpu).or_default();
        for Slice { who, from, to } in slices {
            let from = from.max(self.sampled).max(lane.last().map_or(Ns::ZERO, |last| last.to));
            if to > from {
                append(lane, Slice { who, from, to }, BREAK);
            }
        }
    }

    /// Keeps at most so many slices.
    fn bound(&mut self, slices: usize) {
        let count = |lanes: &BTreeMap<u16, Vec<Slice>>| lanes.values().map(Vec::len).sum::<usize>();
        if count(&self.lanes) <= slices {
            return;
        }
        // Room for as many again. A grid as wide as the timeline leaves one slice a CPU.
        while count(&self.lanes) > (slices / 2).max(self.lanes.len()) {
            let grid = self.resolution.map_or(FINEST, |resolution| Ns(2 * resolution.0));
            self.resolution = Some(grid);
            self.lanes.values_mut().for_each(|lane| *lane = coarser(lane, grid));
        }
    }
}

#[cfg(test)]
mod tests;
