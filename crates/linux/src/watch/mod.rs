//! Looks at the threads of a program with eBPF: what the kernel does with them, at no cost to them between two context
//! switches, and who waits for whom.
//!
//! The part in the kernel is `watch.bpf.c`. It keeps one record a thread, in memory that is mapped here, so that a look
//! at all threads needs no system call.

mod counters;
mod skeleton;

pub use counters::Counters;

use std::cell::RefCell;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_model::{Instructions, Ns};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, PrintLevel, RingBuffer, RingBufferBuilder};
use rustix::thread::CpuSet;

use crate::event::{Event, Off, Tid, What};
use crate::host::sample::{Birth, Inside, MAX_TYPES, PairWaits, Sample, State, Turn};
use crate::mask;
use skeleton::types::record as Record;
use skeleton::{WatchSkel, WatchSkelBuilder};

/// The ring holds this much when every event is wanted: a million events.
const RING_BYTES: u32 = 32 << 20;

/// What to look at.
#[derive(Debug, Default)]
pub struct Options {
    /// Whether every event is wanted, not only the records.
    pub events: bool,
    /// What counts the instructions that events tell; none by default.
    pub counters: Counters,
    /// The core type of each CPU.
    pub type_of: Vec<u8>,
    /// CPUs that set off [`Watch::alarm`] when they go idle because a followed thread had to wait.
    pub tell_idle: Vec<u16>,
}

/// Why threads cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel describes its types to nobody.
    #[error("the kernel has no type information (CONFIG_DEBUG_INFO_BTF)")]
    NoTypes,
    /// This user may not.
    #[error("this needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE")]
    NotAllowed,
    /// The kernel refuses the program.
    #[error("the kernel refuses it: {0}")]
    Refused(String),
}

/// Watches the threads of some processes, and of all that these start.
pub struct Watch {
    skeleton: WatchSkel<'static>,
    ring: RingBuffer<'static>,
    ring_fd: OwnedFd,
    raw: Rc<RefCell<Vec<RawEvent>>>,
    type_of: Vec<u8>,
    /// How many masks the thread of each record had been given when somebody last asked.
    noticed: Vec<u32>,
    wished: Vec<Tid>,
}

/// `struct event` of `watch.bpf.c`.
#[derive(Clone, Copy)]
struct RawEvent {
    at: u64,
    tid: u32,
    other: u32,
    cpu: u32,
    kind: u32,
    call: u32,
    instructions: u64,
}

impl Watch {
    /// Loads the part in the kernel. Nothing is followed yet.
    ///
    /// # Errors
    /// The kernel cannot, or this user may not.
    pub fn new(options: Options) -> Result<Self, Error> {
        if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err(Error::NoTypes);
        }
        // What libbpf and the kernel's verifier have to say becomes a part of the error.
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            if let Ok(mut said) = SAID.lock() {
                said.push_str(&text);
            }
        })));
        // The skeleton borrows its object for as long as it lives, which is as long as this process watches.
        let object = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = WatchSkelBuilder::default().open(object).map_err(refused)?;
        if options.events {
            open.maps.ring.set_max_entries(RING_BYTES).map_err(refused)?;
        }
        if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
            settings.stream = options.events;
            settings.counts = !options.counters.of_cpus.is_empty();
            for (place, core_type) in settings.type_of.iter_mut().zip(&options.type_of) {
                *place = *core_type;
            }
            for cpu in &options.tell_idle {
                if let Some(place) = settings.tell_idle.get_mut(usize::from(*cpu)) {
                    *place = 1;
                }
            }
        }
        let mut skeleton = open.load().map_err(refused)?;
        // The map keeps them open.
        for (cpu, counter) in &options.counters.of_cpus {
            let (cpu, counter) = (u32::from(*cpu).to_ne_bytes(), counter.as_raw_fd().to_ne_bytes());
            skeleton.maps.counters.update(&cpu, &counter, MapFlags::ANY).map_err(refused)?;
        }
        skeleton.attach().map_err(refused)?;
        let raw = Rc::new(RefCell::new(Vec::new()));
        let sink = raw.clone();
        let mut builder = RingBufferBuilder::new();
        let read = move |bytes: &[u8]| {
            if let Some(event) = RawEvent::read(bytes) {
                sink.borrow_mut().push(event);
            }
            0
        };
        builder.add(&skeleton.maps.ring, read).map_err(refused)?;
        let ring = builder.build().map_err(refused)?;
        let ring_fd =
            skeleton.maps.ring.as_fd().try_clone_to_owned().map_err(|error| Error::Refused(error.to_string()))?;
        let (noticed, wished) = (Vec::new(), Vec::new());
        Ok(Self { skeleton, ring, ring_fd, raw, type_of: options.type_of, noticed, wished })
    }

    /// Follows a process: its threads, those to come, and all processes that they start.
    ///
    /// # Errors
    /// There is no such process.
    pub fn follow(&mut self, process: Tid) -> io::Result<()> {
        // Threads that start meanwhile are started by threads that are followed already, or are found in the next round.
        loop {
            let mut found = false;
            for entry in fs::read_dir(format!("/proc/{process}/task"))? {
                let name = entry?.file_name();
                let Some(tid) = name.to_str().and_then(|tid| tid.parse::<Tid>().ok()) else { continue };
                if self.skeleton.maps.slots.lookup(&tid.to_ne_bytes(), MapFlags::ANY).is_ok_and(|slot| slot.is_some()) {
                    continue;
                }
                found |= self.add(process, tid)?;
            }
            if !found {
                return Ok(());
            }
        }
    }

    /// Whether there was such a thread, and room for it.
    fn add(&mut self, process: Tid, tid: Tid) -> io::Result<bool> {
        let stat = fs::read_to_string(format!("/proc/{process}/task/{tid}/stat")).unwrap_or_default();
        let fields = stat.rfind(')').map_or("", |end| stat[end + 1..].trim_start());
        if fields.is_empty() || fields.starts_with(['Z', 'X']) {
            // It has ended, though its number may stay until the whole process has.
            return Ok(false);
        }
        let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() else { return Ok(false) };
        // SAFETY: the counter is mapped for as long as the skeleton lives, aligned, and changed atomically on both sides.
        #[allow(unsafe_code)]
        let used = unsafe { AtomicU32::from_ptr(&raw mut memory.used) };
        let slot = used.fetch_add(1, Ordering::Relaxed);
        let Some(place) = memory.records.get_mut(slot as usize) else { return Ok(false) };
        let running = fields.starts_with('R');
        let cpu = stat.rsplit(' ').nth(13).and_then(|cpu| cpu.trim().parse().ok()).unwrap_or_default();
        let state = if running { RUNNING } else { BLOCKED };
        *place = Record { since: crate::host::clock().0, tid, tgid: process, state, cpu, ..Record::default() };
        let updated = self.skeleton.maps.slots.update(&tid.to_ne_bytes(), &slot.to_ne_bytes(), MapFlags::ANY);
        updated.map(|()| true).map_err(io::Error::other)
    }

    /// Looks at every followed thread. `gone` gets the last of those that have exited since.
    pub fn look(&mut self, now: Ns, living: &mut Vec<Sample>, gone: &mut Vec<Sample>) {
        let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() else { return };
        let used = (memory.used as usize).min(memory.records.len());
        self.noticed.resize(used, 0);
        self.wished.clear();
        for slot in 0..used {
            let record = consistent(&memory.records[slot]);
            match record.state {
                FREE => {}
                EXITED => {
                    gone.push(sample(&record, now, &self.type_of));
                    memory.records[slot].state = FREE;
                    self.noticed[slot] = 0;
                    let slot = (slot as u32).to_ne_bytes();
                    let _ = self.skeleton.maps.reusable.update(&[], &slot, MapFlags::ANY);
                }
                _ => {
                    living.push(sample(&record, now, &self.type_of));
                    if memory.wishes[slot].count != self.noticed[slot] {
                        self.wished.push(record.tid);
                    }
                }
            }
        }
    }

    /// The threads that the last look found to have been given a mask that [`Self::wish`] has not told.
    pub fn wished(&mut self) -> Vec<Tid> {
        std::mem::take(&mut self.wished)
    }

    /// The mask that the program last gave one of its threads, or is about to, if this has not told it before.
    pub fn wish(&mut self, tid: Tid) -> Option<CpuSet> {
        let slot = self.skeleton.maps.slots.lookup(&tid.to_ne_bytes(), MapFlags::ANY).ok()??;
        let slot = u32::from_ne_bytes(slot.try_into().ok()?) as usize;
        let place = self.skeleton.maps.bss_data.as_deref()?.wishes.get(slot)?;
        if self.noticed.len() <= slot {
            self.noticed.resize(slot + 1, 0);
        }
        loop {
            // SAFETY: it is mapped for as long as it is borrowed, and consists of integers, so that any bits are a wish.
            // The kernel changes it while it is read: hence volatile, and the comparison below.
            #[allow(unsafe_code)]
            let (wish, count) =
                unsafe { (std::ptr::read_volatile(place), std::ptr::read_volatile(&raw const place.count)) };
            if count == self.noticed[slot] {
                return None;
            }
            // Odd for as long as it takes to copy a mask.
            if wish.count == count && count.is_multiple_of(2) {
                self.noticed[slot] = count;
                return Some(mask::of_words(wish.cpus));
            }
        }
    }

    /// Who waited for whom in the futex system call, of all threads ever followed.
    pub fn pairs(&self) -> Vec<PairWaits> {
        let map = &self.skeleton.maps.pairs;
        let pair = |key: Vec<u8>| {
            let value = map.lookup(&key, MapFlags::ANY).ok()??;
            Some(PairWaits {
                waiter: u32::from_ne_bytes(key.get(..4)?.try_into().ok()?),
                waker: u32::from_ne_bytes(key.get(4..8)?.try_into().ok()?),
                waited: Ns(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?)),
                times: u64::from_ne_bytes(value.get(8..16)?.try_into().ok()?),
            })
        };
        map.keys().filter_map(pair).collect()
    }

    /// Becomes readable when one of the CPUs of [`Options::tell_idle`] goes idle; [`Self::events`] resets it.
    pub fn alarm(&self) -> BorrowedFd<'_> {
        self.ring_fd.as_fd()
    }

    /// The events since the last call, in the order in which the CPUs reported them.
    ///
    /// # Errors
    /// None in practice.
    pub fn events(&mut self, mut each: impl FnMut(Event)) -> io::Result<()> {
        self.ring.consume().map_err(io::Error::other)?;
        for raw in self.raw.borrow_mut().drain(..) {
            if let Some(event) = raw.event() {
                each(event);
            }
        }
        Ok(())
    }

    /// How many events or threads were missed because there was no room.
    pub fn lost(&self) -> u64 {
        self.skeleton.maps.bss_data.as_deref().map_or(0, |memory| memory.lost)
    }
}

// `enum state` of `watch.bpf.c`.
const FREE: u32 = 0;
const READY: u32 = 1;
const RUNNING: u32 = 2;
const IN_FUTEX: u32 = 3;
const BLOCKED: u32 = 4;
const EXITED: u32 = 5;

/// A copy of a record that the kernel did not change in the meantime.
fn consistent(record: &Record) -> Record {
    let mut copy = Record::default();
    for _ in 0..4 {
        // SAFETY: the record is mapped for as long as it is borrowed, and consists of integers, so that any bits are a
        // record. The kernel changes it while it is read: hence volatile, and the comparison below.
        #[allow(unsafe_code)]
        let (first, second) =
            unsafe { (std::ptr::read_volatile(record), std::ptr::read_volatile(&raw const record.since)) };
        copy = first;
        if copy.since == second {
            break;
        }
    }
    copy
}

fn sample(record: &Record, now: Ns, type_of: &[u8]) -> Sample {
    let mut sample = Sample {
        tid: record.tid,
        process: record.tgid,
        state: match record.state {
            READY | RUNNING => State::Runnable,
            IN_FUTEX => State::Futex,
            _ => State::Blocked,
        },
        cpu: record.cpu as u16,
        run: record.run.map(Ns),
        delay: Ns(record.delay),
        switches: u64::from(record.voluntary) + u64::from(record.involuntary),
        birth: (record.parent != 0).then_some(Birth { parent: record.parent, at: Ns(record.born) }),
        instructions: None,
        inside: Some(Inside {
            // Its time was last counted when it left its CPU.
            turn: if record.state == RUNNING { Turn::On(Ns(record.since)) } else { Turn::Off(Ns(record.counted_at)) },
            preempted: u64::from(record.involuntary),
            waited: Ns(record.waited),
            blame: Ns(record.blame),
        }),
    };
    // What is not over yet is not in the sums yet.
    match record.state {
        RUNNING => {
            let core_type = usize::from(type_of.get(record.cpu as usize).copied().unwrap_or_default());
            sample.run[core_type.min(MAX_TYPES - 1)] += now.since(Ns(record.counted_at));
        }
        READY => sample.delay += now.since(Ns(record.since)),
        IN_FUTEX => {
            if let Some(inside) = &mut sample.inside {
                inside.waited += now.since(Ns(record.since));
            }
        }
        _ => {}
    }
    sample
}

impl RawEvent {
    fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (at, instructions) = (long(0)?, long(32)?);
        let [tid, other, cpu, kind, call] = [word(8)?, word(12)?, word(16)?, word(20)?, word(24)?];
        Some(Self { at, tid, other, cpu, kind, call, instructions })
    }

    /// `None` for what only ends a wait.
    fn event(self) -> Option<Event> {
        // `enum kind` of `watch.bpf.c`.
        let what = match self.kind {
            0 => What::Forked { child: self.other, process: false },
            1 => What::Forked { child: self.other, process: true },
            2 => What::Exec,
            3 | 10 => What::On,
            4 => What::Off(Off::Preempted),
            5 => What::Off(Off::Futex),
            6 => What::Off(Off::Blocked),
            7 => What::Woken { by: Some(self.other).filter(|by| *by != 0), call: self.call },
            8 => What::Exited,
            _ => return None,
        };
        let instructions = Some(Instructions(self.instructions)).filter(|count| count.0 > 0);
        Some(Event { at: Ns(self.at), tid: self.tid, cpu: self.cpu as u16, instructions, what })
    }
}

/// What libbpf has said.
static SAID: Mutex<String> = Mutex::new(String::new());

fn refused(error: libbpf_rs::Error) -> Error {
    let said = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
    match error.kind() {
        // The verifier says so as well, but it explains itself.
        libbpf_rs::ErrorKind::PermissionDenied if !said.contains("BEGIN PROG LOAD LOG") => Error::NotAllowed,
        // The verifier's reason is the line before its statistics.
        _ => {
            let reason = said.lines().take_while(|line| !line.starts_with("processed ")).last().unwrap_or_default();
            Error::Refused(format!("{error:#}: {reason}"))
        }
    }
}
