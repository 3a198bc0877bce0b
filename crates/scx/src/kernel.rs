//! The part in the kernel, as this process sees it: events come from it, mail and orders to stop go to it.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use evenkeel_linux::event::Tid;
use evenkeel_linux::mask;
use evenkeel_model::Ns;
use libbpf_rs::Link;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use crate::event::Event;
use crate::host::Mail;
use crate::loading::{self, PARTIAL, long, refused, word};
use crate::ring::Ring;
use crate::skeleton::{ScxSkel, ScxSkelBuilder};
use crate::{Bounds, Ended, Error};

/// The scheduler in the kernel, from when it is loaded until this is dropped.
pub(crate) struct Kernel {
    skeleton: ScxSkel<'static>,
    /// What holds the machine; `None` when it has been given back.
    links: Vec<Link>,
    ring: Ring,
}

impl Kernel {
    /// Loads the scheduler of these CPUs. It does not schedule anything before [`Self::take_over`].
    pub(crate) fn load(cpus: &[u16], bounds: &Bounds, partial: bool) -> Result<Self, Error> {
        loading::can_load()?;
        // The skeleton borrows its object for as long as it lives, which is as long as this process schedules.
        let object = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = ScxSkelBuilder::default().open(object).map_err(refused)?;
        let places = open.maps.bss_data.as_deref().map_or(0, |memory| memory.mails.len());
        loading::room(places)?;
        if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
            settings.machine = mask::words(&mask::of(cpus.iter().copied()));
            settings.late_after = bounds.late.0;
            settings.gone_after = bounds.gone.0;
            settings.decider = std::process::id();
        }
        if partial {
            open.struct_ops.evenkeel_mut().flags |= PARTIAL;
        }
        let skeleton = open.load().map_err(refused)?;
        let ring = Ring::new(&skeleton.maps.ring)?;
        Ok(Self { skeleton, links: Vec::new(), ring })
    }

    /// From now on the kernel schedules with it.
    pub(crate) fn take_over(&mut self) -> Result<(), Error> {
        let beside = [&self.skeleton.progs.real_time_comes, &self.skeleton.progs.becomes_first];
        self.links = loading::take_over(&mut self.skeleton.maps.evenkeel, &beside)?;
        Ok(())
    }

    /// Becomes readable when there are events.
    pub(crate) fn ready(&self) -> impl AsFd + '_ {
        self.ring.ready()
    }

    /// Takes the events that have come, in order.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        self.ring.events()
    }

    /// All events until then have been acted on.
    pub(crate) fn heard(&mut self, at: Ns) {
        if let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() {
            long(&mut memory.heard).store(at.0, Ordering::Release);
        }
    }

    /// Has a core run a thread, if it still waits then.
    pub(crate) fn send(&mut self, cpu: u16, mail: Mail) {
        let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() else { return };
        let Some(place) = memory.mails.get_mut(usize::from(cpu)) else { return };
        long(&mut place.slice).store(mail.slice.0, Ordering::Relaxed);
        word(&mut place.tid).store(mail.tid, Ordering::Relaxed);
        word(&mut place.number).store(mail.number, Ordering::Release);
        self.kick(cpu, 0);
    }

    /// Has a thread leave a core, if it is still there then.
    pub(crate) fn stop(&mut self, cpu: u16, tid: Tid) {
        self.kick(cpu, tid);
    }

    /// Sets how fast a core should be, of 1024.
    pub(crate) fn perform(&mut self, cpu: u16, level: u32) {
        loading::order(&self.skeleton.progs.perform, cpu, level);
    }

    /// Has a core look at its mail, or a thread leave it.
    fn kick(&mut self, cpu: u16, leaves: Tid) {
        loading::order(&self.skeleton.progs.kick, cpu, leaves);
    }

    /// How many events were lost for lack of room.
    pub(crate) fn lost(&self) -> u64 {
        self.skeleton.maps.bss_data.as_deref().map_or(0, |memory| memory.lost_events)
    }

    /// How many threads cores have taken by themselves, because this process was late.
    pub(crate) fn taken_late(&self) -> u64 {
        self.skeleton.maps.bss_data.as_deref().map_or(0, |memory| memory.taken_late)
    }

    /// Why the kernel has given the machine back, if it has.
    pub(crate) fn ended(&mut self) -> Option<Ended> {
        let memory = self.skeleton.maps.bss_data.as_deref_mut()?;
        loading::ended(&mut memory.exit_kind, &memory.exit_reason, &memory.exit_message)
    }

    /// Gives the machine back.
    pub(crate) fn give_back(&mut self) {
        self.links.clear();
    }
}
