//! What both parts in the kernel have in common: when they can be loaded, what holds the machine, and memory that both sides
//! have.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use evenkeel_linux::{clock, process, refusal};
use evenkeel_model::Ns;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum64, Func};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapMut, ProgramInput, ProgramMut};

use crate::event::Event;
use crate::ring::Ring;
use crate::{Ended, Error};

/// Where the kernel says whether it has sched_ext, and who uses it.
const PLACE: &str = "/sys/kernel/sched_ext";
/// The newest of the kernel's functions that every part needs: from Linux 6.14 on.
const NEWEST: &str = "scx_bpf_now";
/// Only threads of the class SCHED_EXT, not all (`SCX_OPS_SWITCH_PARTIAL`).
const PARTIAL: u64 = 8;
/// The CPU that a thread is still leaving, or one of another cache, finishes its wake-up, while the waker goes on. Else it waits for the thread to have
/// left. From Linux 6.15 on.
const QUEUED_WAKEUPS: &str = "SCX_OPS_ALLOW_QUEUED_WAKEUP";

/// A part in the kernel, from when it is loaded until this is dropped.
pub(crate) struct Loaded<S> {
    /// What holds the machine; none before it is taken over. The first to be dropped, while what it links to is still there.
    links: Vec<Link>,
    pub(crate) skeleton: S,
    ring: Ring,
}

/// What libbpf-cargo makes of a part, of which only the names of types differ.
pub(crate) trait Skeleton {
    /// The ring of events.
    fn ring(&self) -> &MapMut<'static>;

    /// Has the kernel schedule with it, until what is returned is dropped.
    fn attach(&mut self) -> Result<Vec<Link>, Error>;

    /// The memory that every part has.
    fn memory(&mut self) -> Option<Memory<'_>>;
}

/// What every part in the kernel tells, and is told, by memory.
pub(crate) struct Memory<'a> {
    pub(crate) heard: &'a mut u64,
    pub(crate) lost_events: u64,
    pub(crate) exit_kind: &'a mut u32,
    pub(crate) exit_reason: &'a [i8],
    pub(crate) exit_message: &'a [i8],
}

impl<S: Skeleton> Loaded<S> {
    /// Loads a part once `set` has set it up. It does not schedule anything before [`Self::take_over`].
    pub(crate) fn load<B, O>(builder: B, set: impl FnOnce(&mut O) -> Result<(), Error>) -> Result<Self, Error>
    where
        B: SkelBuilder<'static, Output = O>,
        O: OpenSkel<'static, Output = S>,
    {
        can_load()?;
        // The skeleton borrows its object for as long as it lives, which is as long as this process schedules.
        let mut open = builder.open(Box::leak(Box::new(MaybeUninit::uninit()))).map_err(refused)?;
        set(&mut open)?;
        let skeleton = open.load().map_err(refused)?;
        let ring = Ring::new(skeleton.ring())?;
        Ok(Self { links: Vec::new(), skeleton, ring })
    }

    /// From now on the kernel schedules with it.
    pub(crate) fn take_over(&mut self) -> Result<(), Error> {
        self.links = self.skeleton.attach()?;
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

    /// This process is at work, however long that still takes.
    pub(crate) fn answer(&mut self) {
        if let Some(memory) = self.skeleton.memory() {
            long(memory.heard).store(clock::clock().0, Ordering::Release);
        }
    }

    /// All events until then have been acted on. Returns why the kernel has given the machine back, if it has.
    pub(crate) fn heard(&mut self, at: Ns) -> Result<Option<Ended>, Error> {
        let Some(memory) = self.skeleton.memory() else { return Ok(None) };
        long(memory.heard).store(at.0, Ordering::Release);
        if word(memory.exit_kind).load(Ordering::Acquire) != 0 {
            let (reason, message) = (text(memory.exit_reason), text(memory.exit_message));
            return Ok(Some(Ended { reason, message }));
        }
        if memory.lost_events > 0 { Err(Error::Lost(memory.lost_events)) } else { Ok(None) }
    }
}

/// Whether a scheduler can be loaded at all.
fn can_load() -> Result<(), Error> {
    if fs::metadata(PLACE).is_err() {
        return Err(Error::NoSchedExt);
    }
    // Else libbpf would list names that no user knows.
    if Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name::<Func<'_>>(NEWEST).is_none()) {
        return Err(Error::OldSchedExt);
    }
    if !process::numbered_by_kernel() {
        return Err(Error::Container);
    }
    if let Some(other) = other() {
        return Err(Error::Taken(other));
    }
    refusal::listen();
    Ok(())
}

/// How the kernel is to call its part, beside what that states itself.
pub(crate) fn flags(partial: bool) -> u64 {
    let queued = Btf::from_vmlinux().ok().and_then(|btf| flag(&btf, QUEUED_WAKEUPS)).unwrap_or(0);
    queued | if partial { PARTIAL } else { 0 }
}

/// What a flag of operations is in this kernel, which refuses one that it does not know.
fn flag(btf: &Btf<'_>, name: &str) -> Option<u64> {
    let flags = btf.type_by_name::<Enum64<'_>>("scx_ops_flags")?;
    flags.iter().find(|member| member.name.is_some_and(|own| own == name)).map(|member| member.value as u64)
}

/// Whether the kernel's part has a place for each CPU.
pub(crate) fn room(places: usize) -> Result<(), Error> {
    enough(libbpf_rs::num_possible_cpus().map_err(refused)?, places)
}

fn enough(cpus: usize, places: usize) -> Result<(), Error> {
    if cpus > places { Err(Error::TooManyCpus { cpus, most: places }) } else { Ok(()) }
}

/// Takes the machine over, until what is returned is dropped; `beside` are programs that are to run meanwhile. `renames` is one of them that must miss no
/// exec of a scheduled thread, which would keep its old number: it is attached first, and does nothing before threads are scheduled.
pub(crate) fn take_over(
    operations: &mut MapMut,
    renames: &ProgramMut,
    beside: &[&ProgramMut],
) -> Result<Vec<Link>, Error> {
    let renames = renames.attach_trace().map_err(refused)?;
    // Who came first may have come just now.
    let schedules =
        operations.attach_struct_ops().map_err(|error| other().map_or_else(|| refused(error), Error::Taken))?;
    let beside = beside.iter().map(|program| program.attach_trace().map_err(refused));
    [schedules, renames].into_iter().map(Ok).chain(beside).collect()
}

/// Runs a program of the kernel's part with two numbers, such as a CPU and what is to be done there.
pub(crate) fn order(program: &ProgramMut, cpu: u16, what: u32) {
    let mut order = [i32::from(cpu).to_ne_bytes(), what.to_ne_bytes()].concat();
    // It fails only where there is no such core.
    let _ = program.test_run(ProgramInput { context_in: Some(&mut order), ..ProgramInput::default() });
}

/// The scheduler that the kernel has already.
fn other() -> Option<String> {
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
fn text(bytes: &[i8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn refused(error: libbpf_rs::Error) -> Error {
    refusal::refused(error, Error::NotAllowed, Error::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without it is refused before libbpf lists all that is lacking.
    #[test]
    fn the_function_that_a_kernel_must_have_is_one_that_parts_need() {
        let needed = format!(" {NEWEST}(void) __ksym;");
        assert!(include_str!("bpf/ext.h").contains(&needed), "expected{needed}");
    }

    /// Beyond that CPUs would share assignments.
    #[test]
    fn a_machine_with_more_cpus_than_there_is_room_for_is_refused() {
        assert!(enough(1024, 1024).is_ok());
        let error = enough(1025, 1024).map_err(|error| error.to_string());
        assert_eq!(error, Err("this machine can have 1025 CPUs: expected at most 1024".to_owned()));
    }
}
