//! The kernel's part that decides by itself, as this process sees it: what it has counted of each thread is read, and what the
//! policy thinks is written, in memory that both have.

use std::sync::atomic::Ordering;

use evenkeel_linux::clock;
use evenkeel_linux::event::Tid;
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::Ns;
use evenkeel_sched::policy::Culprit;
use libbpf_rs::{Link, MapCore, MapFlags, MapMut};

use super::labeler::{Labels, Seen, TYPES, number};
use crate::Error;
use crate::host::Figures;
use crate::loading::{self, Loaded, Memory, Skeleton, long, word};
use crate::session::Plan;
use crate::skeleton::inside::types::{self, thread};
use crate::skeleton::inside::{InsideSkel, InsideSkelBuilder};
use crate::speed::Speeds;

/// `enum run`: it has a core.
const RUNNING: u32 = 2;

/// The part that decides by itself.
pub(super) type Part = Loaded<InsideSkel<'static>>;

impl Skeleton for InsideSkel<'static> {
    fn ring(&self) -> &MapMut<'static> {
        &self.maps.ring
    }

    fn attach(&mut self) -> Result<Vec<Link>, Error> {
        let progs = &self.progs;
        let beside = [&progs.cpu_closes, &progs.cpu_closed, &progs.first_comes, &progs.inside_waking];
        loading::take_over(&mut self.maps.evenkeel, &progs.becomes_first, &beside)
    }

    fn memory(&mut self) -> Option<Memory<'_>> {
        let memory = self.maps.bss_data.as_deref_mut()?;
        Some(Memory {
            heard: &mut memory.heard,
            lost_events: memory.lost_events,
            exit_kind: &mut memory.exit_kind,
            exit_reason: &memory.exit_reason,
            exit_message: &memory.exit_message,
        })
    }
}

impl Part {
    /// Loads the scheduler of a machine.
    pub(super) fn of(
        machine: &types::machine,
        reads_usage: bool,
        culprit: Culprit,
        speeds: &Speeds,
        plan: &Plan,
    ) -> Result<Self, Error> {
        Self::load(InsideSkelBuilder::default(), |open| {
            let places = open.maps.rodata_data.as_deref().map_or(0, |settings| settings.core_of_cpu.len());
            loading::room(places)?;
            if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
                settings.gone_after = plan.bounds.gone.0;
                settings.decider = std::process::id();
                settings.machine = *machine;
                settings.blames_waker = culprit == Culprit::Waker;
                settings.partial = plan.partial;
                settings.notes_pairs = plan.timeline;
                settings.governed = !speeds.whole().is_empty();
                settings.reads_usage = reads_usage || settings.governed;
                for (place, whole) in settings.whole.iter_mut().zip(speeds.whole()) {
                    *place = *whole;
                }
                for (core, cpu) in plan.cpus.iter().enumerate() {
                    if let Some(place) = settings.core_of_cpu.get_mut(usize::from(*cpu)) {
                        *place = core as u16 + 1;
                    }
                }
            }
            if !plan.timeline {
                open.maps.pairs.set_max_entries(1).map_err(loading::refused)?;
            }
            open.struct_ops.evenkeel_mut().flags |= loading::flags(plan.partial);
            Ok(())
        })
    }

    /// What has been counted of the thread in a slot. Each number is whole; together they may be of a moment apart.
    pub(super) fn read(&mut self, slot: u32) -> Option<Seen> {
        let now = Ns(clock::clock().0.saturating_add_signed(-self.clock_ahead()));
        let thread = self.thread(slot)?;
        let get = |place: &mut u64| Ns(long(place).load(Ordering::Relaxed));
        let mut on_type = [Ns::ZERO; TYPES];
        on_type.iter_mut().zip(&mut thread.on_type).for_each(|(time, place)| *time = get(place));
        let running = word(&mut thread.run).load(Ordering::Relaxed) == RUNNING;
        let counted = get(&mut thread.last_ran).max(get(&mut thread.since));
        Some(Seen {
            uncounted: if running { now.since(counted) } else { Ns::ZERO },
            running,
            runnable: word(&mut thread.run).load(Ordering::Relaxed) != 0,
            core: word(&mut thread.core).load(Ordering::Relaxed) as u16,
            on_type,
            waited: get(&mut thread.waited),
            contended: get(&mut thread.contended),
            blame: get(&mut thread.blame),
        })
    }

    /// Which thread has waited for which, of the pairs that are not forgotten.
    pub(super) fn pairs(&self) -> Vec<PairWaits> {
        let map = &self.skeleton.maps.pairs;
        // While it is read pairs come and go: with room for these, too, one batch has all.
        let all = map.lookup_batch(2 * map.max_entries(), MapFlags::ANY, MapFlags::ANY);
        all.into_iter().flatten().filter_map(|(key, value)| PairWaits::read(&key, &value)).collect()
    }

    /// Writes what the policy thinks of the thread in a slot.
    pub(super) fn write(&mut self, slot: u32, labels: &Labels) {
        let Some(thread) = self.thread(slot) else { return };
        let standing = &labels.standing;
        word(&mut thread.speedup).store(labels.speedup, Ordering::Relaxed);
        word(&mut thread.group).store(number(standing.group), Ordering::Relaxed);
        long(&mut thread.urgency).store((standing.urgency * 1024.0) as u64, Ordering::Relaxed);
        let dominance =
            standing.dominance.map_or(0, |dominance| ((dominance * f64::from(1 << 20)) as u32).saturating_add(1));
        word(&mut thread.dominance).store(dominance, Ordering::Relaxed);
        for (place, word) in thread.wanted.iter_mut().zip(labels.wanted.words()) {
            long(place).store(*word, Ordering::Relaxed);
        }
    }

    /// The thread of a slot is gone, and what it did has been read.
    pub(super) fn free(&mut self, slot: u32, tid: Tid) {
        if let Some(thread) = self.thread(slot) {
            let _ = word(&mut thread.tid).compare_exchange(tid, 0, Ordering::Release, Ordering::Relaxed);
        }
    }

    pub(super) fn figures(&self) -> Figures {
        let Some(memory) = self.skeleton.maps.bss_data.as_deref() else { return Figures::default() };
        let counted = &memory.figures;
        Figures {
            switches: counted.switches,
            stops: counted.stops,
            exchanges: counted.exchanges,
            stale: counted.stale,
            left_out: counted.without_slot,
            blamed: Ns(counted.blamed),
            frequencies: Some(counted.frequencies),
            longest_wait: Ns(counted.longest_wait),
            longest_idle: Ns(counted.longest_idle),
            longest_misplaced: Ns(counted.longest_misplaced),
            big: Ns(counted.big),
            little: Ns(counted.little),
            ..Figures::default()
        }
    }

    /// How far this process's clock is ahead of the scheduler's, in ns.
    fn clock_ahead(&self) -> i64 {
        self.skeleton.maps.bss_data.as_deref().map_or(0, |memory| memory.clock_ahead)
    }

    fn thread(&mut self, slot: u32) -> Option<&mut thread> {
        self.skeleton.maps.bss_data.as_deref_mut()?.threads.get_mut(slot as usize)
    }
}
