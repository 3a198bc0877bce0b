//! The part in the kernel, as this process sees it: events come from it, assignments and orders to stop go to it.

use std::sync::atomic::Ordering;

use evenkeel_linux::event::Tid;
use evenkeel_linux::mask;
use libbpf_rs::{Link, MapMut};

use crate::host::{Assignment, Orders};
use crate::loading::{self, Loaded, Memory, Skeleton, long, word};
use crate::skeleton::{ScxSkel, ScxSkelBuilder};
use crate::{Bounds, Error};

/// The part that runs what this process tells it to.
pub(crate) type Kernel = Loaded<ScxSkel<'static>>;

impl Skeleton for ScxSkel<'static> {
    fn ring(&self) -> &MapMut<'static> {
        &self.maps.ring
    }

    fn attach(&mut self) -> Result<Vec<Link>, Error> {
        let progs = &self.progs;
        let beside = [&progs.cpu_closes, &progs.cpu_closed, &progs.first_comes, &progs.scx_waking];
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

impl Kernel {
    /// Loads the scheduler of these CPUs, with their core types.
    pub(crate) fn of(cpus: &[u16], types: &[u8], bounds: &Bounds, partial: bool) -> Result<Self, Error> {
        Self::load(ScxSkelBuilder::default(), |open| {
            let places = open.maps.bss_data.as_deref().map_or(0, |memory| memory.assignments.len());
            loading::room(places)?;
            if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
                settings.machine = mask::words(&mask::of(cpus.iter().copied()));
                settings.late_after = bounds.late.0;
                settings.gone_after = bounds.gone.0;
                settings.decider = std::process::id();
                settings.partial = partial;
                for (place, core_type) in cpus.iter().zip(types) {
                    if let Some(place) = settings.type_of.get_mut(usize::from(*place)) {
                        *place = *core_type;
                    }
                }
            }
            open.struct_ops.evenkeel_mut().flags |= loading::flags(partial);
            Ok(())
        })
    }

    /// Has a core check its assignment, or a thread leave it.
    fn kick(&mut self, cpu: u16, leaves: Tid) {
        loading::order(&self.skeleton.progs.kick, cpu, leaves);
    }

    /// How many threads cores have taken by themselves, because this process was late.
    pub(crate) fn taken_late(&self) -> u64 {
        self.skeleton.maps.bss_data.as_deref().map_or(0, |memory| memory.taken_late)
    }
}

impl Orders for Kernel {
    fn send(&mut self, cpu: u16, assignment: Assignment) {
        let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() else { return };
        let Some(place) = memory.assignments.get_mut(usize::from(cpu)) else { return };
        long(&mut place.slice).store(assignment.slice.0, Ordering::Relaxed);
        word(&mut place.tid).store(assignment.tid, Ordering::Relaxed);
        word(&mut place.number).store(assignment.number, Ordering::Release);
        self.kick(cpu, 0);
    }

    fn stop(&mut self, cpu: u16, tid: Tid) {
        self.kick(cpu, tid);
    }

    fn perform(&mut self, cpu: u16, level: u32) {
        loading::order(&self.skeleton.progs.perform, cpu, level);
    }
}
