//! The part in the kernel, as this process sees it: events come from it, mail and orders to stop go to it.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use evenkeel_linux::event::Tid;
use evenkeel_linux::mask;
use evenkeel_linux::refusal::{self, Refusal};
use evenkeel_model::Ns;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, ProgramInput};

use crate::event::Event;
use crate::host::Mail;
use crate::ring::Ring;
use crate::skeleton::{ScxSkel, ScxSkelBuilder};
use crate::{Bounds, Ended, Error};

/// Where the kernel says whether it has sched_ext, and who uses it.
pub(crate) const PLACE: &str = "/sys/kernel/sched_ext";
/// Only threads of the class SCHED_EXT, not all (`SCX_OPS_SWITCH_PARTIAL`).
pub(crate) const PARTIAL: u64 = 8;

/// The scheduler in the kernel, from when it is loaded until this is dropped.
pub(crate) struct Kernel {
    skeleton: ScxSkel<'static>,
    /// What holds the machine; `None` when it has been given back.
    link: Option<Link>,
    ring: Ring,
}

impl Kernel {
    /// Loads the scheduler of these CPUs. It does not schedule anything before [`Self::take_over`].
    pub(crate) fn load(cpus: &[u16], bounds: &Bounds, partial: bool) -> Result<Self, Error> {
        if fs::metadata(PLACE).is_err() {
            return Err(Error::NoSchedExt);
        }
        if let Some(other) = other() {
            return Err(Error::Taken(other));
        }
        refusal::listen();
        // The skeleton borrows its object for as long as it lives, which is as long as this process schedules.
        let object = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = ScxSkelBuilder::default().open(object).map_err(refused)?;
        let places = open.maps.bss_data.as_deref().map_or(0, |memory| memory.mails.len());
        room(libbpf_rs::num_possible_cpus().map_err(refused)?, places)?;
        if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
            settings.machine = mask::words(&mask::of(cpus.iter().copied()));
            settings.late_after = bounds.late.0;
            settings.gone_after = bounds.gone.0;
        }
        if partial {
            open.struct_ops.evenkeel_mut().flags |= PARTIAL;
        }
        let skeleton = open.load().map_err(refused)?;
        let ring = Ring::new(&skeleton.maps.ring)?;
        Ok(Self { skeleton, link: None, ring })
    }

    /// From now on the kernel schedules with it.
    pub(crate) fn take_over(&mut self) -> Result<(), Error> {
        match self.skeleton.maps.evenkeel.attach_struct_ops() {
            Ok(link) => self.link = Some(link),
            // Who came first may have come just now.
            Err(error) => return Err(other().map_or_else(|| refused(error), Error::Taken)),
        }
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
        let mut order = [i32::from(cpu).to_ne_bytes(), level.to_ne_bytes()].concat();
        let input = ProgramInput { context_in: Some(&mut order), ..ProgramInput::default() };
        let _ = self.skeleton.progs.perform.test_run(input);
    }

    /// Has a core look at its mail, or a thread leave it.
    fn kick(&mut self, cpu: u16, leaves: Tid) {
        let mut order = [i32::from(cpu).to_ne_bytes(), leaves.cast_signed().to_ne_bytes()].concat();
        let input = ProgramInput { context_in: Some(&mut order), ..ProgramInput::default() };
        // It fails only where there is no such core.
        let _ = self.skeleton.progs.kick.test_run(input);
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
        if word(&mut memory.exit_kind).load(Ordering::Acquire) == 0 {
            return None;
        }
        Some(Ended { reason: text(&memory.exit_reason), message: text(&memory.exit_message) })
    }

    /// Gives the machine back.
    pub(crate) fn give_back(&mut self) {
        self.link = None;
    }
}

/// Whether the kernel's part has a place for each CPU.
pub(crate) fn room(cpus: usize, places: usize) -> Result<(), Error> {
    if cpus > places { Err(Error::TooManyCpus { cpus, most: places }) } else { Ok(()) }
}

/// The scheduler that the kernel has already.
pub(crate) fn other() -> Option<String> {
    let state = fs::read_to_string(format!("{PLACE}/state")).unwrap_or_default();
    if state.trim() == "disabled" {
        return None;
    }
    let name = fs::read_to_string(format!("{PLACE}/root/ops")).unwrap_or_default();
    Some(if name.trim().is_empty() { state.trim().to_owned() } else { name.trim().to_owned() })
}

pub(crate) fn word(place: &mut u32) -> &AtomicU32 {
    // SAFETY: it is aligned and mapped for as long as it is borrowed, and both sides access it atomically.
    #[allow(unsafe_code)]
    unsafe {
        AtomicU32::from_ptr(place)
    }
}

pub(crate) fn long(place: &mut u64) -> &AtomicU64 {
    // SAFETY: as for `word`.
    #[allow(unsafe_code)]
    unsafe {
        AtomicU64::from_ptr(place)
    }
}

/// Text up to its first zero.
pub(crate) fn text(bytes: &[i8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn refused(error: libbpf_rs::Error) -> Error {
    match Refusal::from(error) {
        Refusal::NotAllowed => Error::NotAllowed,
        Refusal::Because(reason) => Error::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond that CPUs would share their mail.
    #[test]
    fn a_machine_with_more_cpus_than_there_is_room_for_is_refused() {
        assert!(room(1024, 1024).is_ok());
        let error = room(1025, 1024).map_err(|error| error.to_string());
        assert_eq!(error, Err("this machine can have 1025 CPUs: expected at most 1024".to_owned()));
    }
}
