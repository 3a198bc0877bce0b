//! Samples the threads of a program with eBPF: what the kernel does with them, at no cost to them between two context
//! switches, and which thread waits for which.
//!
//! The part in the kernel is `watch.bpf.c`. It keeps one record a thread, in memory that is mapped here, so that a sample
//! of all threads needs no system call.

mod counters;
mod functions;
mod raw;
mod records;
mod skeleton;

pub use counters::Counters;

use std::cell::RefCell;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_model::Ns;
use evenkeel_sched::policy::Culprit;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, ProgramType, RingBuffer, RingBufferBuilder};
use rustix::thread::CpuSet;

use crate::event::{Event, Tid};
use crate::mask;
use crate::numbers;
use crate::process;
use crate::refusal;
use crate::sample::{PairWaits, Sample};
use raw::RawEvent;
use records::{BLOCKED, EXITED, FREE, RUNNING, Records};
use skeleton::types::record as Record;
use skeleton::{WatchSkel, WatchSkelBuilder};

/// What to watch.
#[derive(Debug, Default)]
pub struct Options {
    /// How many bytes of events are kept until they are read; `None` if only the records are wanted. Rounded up to a power
    /// of two. They are of OpenMP's loops and tasks, too.
    pub events: Option<u32>,
    /// What counts the instructions of events; none by default.
    pub counters: Counters,
    /// The core type of each CPU.
    pub type_of: Vec<u8>,
    /// CPUs that set off [`Watch::alarm`] when they go idle because a followed thread had to wait. Without `events`, a thread
    /// that starts with other CPUs than the program wants sets it off, too.
    pub alarm_idle: Vec<u16>,
}

/// What was missed for lack of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// Events that came while the buffer was full.
    pub events: u64,
    /// Threads that started while [`Watch::most_threads`] others lived.
    pub threads: u64,
    /// Waits of a pair of threads that came after [`Watch::most_pairs`] other pairs.
    pub waits: u64,
}

/// Why threads cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no description of its types.
    #[error("the kernel has no type information; expected one with CONFIG_DEBUG_INFO_BTF")]
    NoTypes,
    /// It runs in a container whose PID namespace gives threads other numbers than the kernel's.
    #[error("{}; expected to be {}", process::NUMBERED_OTHERWISE, process::OUTSIDE)]
    Container,
    /// This user may not.
    #[error("this user may not; it needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE")]
    NotAllowed,
    /// The kernel refuses the program.
    #[error("the kernel refuses it: {0}")]
    Refused(String),
}

/// Watches the threads of some processes, and of all that these start.
pub struct Watch {
    skeleton: WatchSkel<'static>,
    /// To the functions by which threads share out work, or why they cannot be seen.
    functions: Result<Vec<Link>, String>,
    call: Ns,
    records: Records,
    ring: RingBuffer<'static>,
    ring_fd: OwnedFd,
    raw: Rc<RefCell<Vec<RawEvent>>>,
    type_of: Vec<u8>,
    /// How many masks the thread of each record had been given when [`Self::wish`] was last called for it.
    noticed: Vec<u32>,
    wished: Vec<Tid>,
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
        if !process::numbered_by_kernel() {
            return Err(Error::Container);
        }
        // What libbpf and the kernel's verifier have to say becomes a part of the error.
        refusal::listen();
        // The skeleton borrows its object for as long as it lives, which is as long as this process watches.
        let object = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = WatchSkelBuilder::default().open(object).map_err(refused)?;
        if let Some(bytes) = options.events {
            let bytes = bytes.max(rustix::param::page_size() as u32).checked_next_power_of_two().unwrap_or(1 << 31);
            open.maps.ring.set_max_entries(bytes).map_err(refused)?;
        }
        if let Some(settings) = open.maps.rodata_data.as_deref_mut() {
            settings.stream = options.events.is_some();
            settings.host = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            settings.usable = mask::words(&mask::limit());
            let schedule = std::env::var("OMP_SCHEDULE").ok();
            for (place, schedule) in functions::Schedule::of(schedule.as_deref()).into_iter().enumerate() {
                settings.runtime_chunk[place] = schedule.chunk;
                settings.runtime_guided[place] = u8::from(schedule.guided);
            }
            settings.counts = !options.counters.of_cpus.is_empty();
            for (place, core_type) in settings.type_of.iter_mut().zip(&options.type_of) {
                *place = *core_type;
            }
            for cpu in &options.alarm_idle {
                if let Some(place) = settings.alarm_idle.get_mut(usize::from(*cpu)) {
                    *place = 1;
                }
            }
        }
        if options.events.is_none() {
            let functions =
                open.open_object_mut().progs_mut().filter(|program| program.prog_type() == ProgramType::Kprobe);
            functions.for_each(|mut program| program.set_autoload(false));
        }
        open.progs.switched_back.set_autoattach(false);
        let mut skeleton = open.load().map_err(refused)?;
        // The map keeps them open.
        for (cpu, counter) in &options.counters.of_cpus {
            let (cpu, counter) = (u32::from(*cpu).to_ne_bytes(), counter.as_raw_fd().to_ne_bytes());
            skeleton.maps.counters.update(&cpu, &counter, MapFlags::ANY).map_err(refused)?;
        }
        let records = {
            let map = &skeleton.maps.records;
            assert_eq!(map.value_size() as usize, size_of::<Record>(), "one source describes both");
            Records::new(map.as_fd(), map.max_entries() as usize).map_err(|error| Error::Refused(error.to_string()))?
        };
        skeleton.attach().map_err(refused)?;
        skeleton.links.switched_back = match skeleton.progs.switched_back.attach() {
            // Kernels before 6.15 do not have that event.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                refusal::forget();
                None
            }
            link => Some(link.map_err(refused)?),
        };
        let functions = if options.events.is_some() { functions::attach(&skeleton.progs) } else { Ok(Vec::new()) };
        let call = if functions.as_ref().is_ok_and(|links| !links.is_empty()) {
            functions::cost(&skeleton.progs)
        } else {
            Ns::ZERO
        };
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
        Ok(Self { skeleton, functions, call, records, ring, ring_fd, raw, type_of: options.type_of, noticed, wished })
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
        let Some(stat) = Stat::of(process, tid) else { return Ok(false) };
        let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() else { return Ok(false) };
        // SAFETY: the counter is mapped for as long as the skeleton lives, aligned, and changed atomically on both sides.
        #[allow(unsafe_code)]
        let used = unsafe { AtomicU32::from_ptr(&raw mut memory.used) };
        let slot = used.fetch_add(1, Ordering::Relaxed);
        let state = if stat.running { RUNNING } else { BLOCKED };
        let since = crate::clock::clock().0;
        let own = mask::of_thread(tid).map(|own| mask::words(&mask::lasting(own))).unwrap_or_default();
        let [uid, euid] = process::users(tid).unwrap_or_default();
        let record = Record { since, tid, tgid: process, state, cpu: stat.cpu, own, uid, euid, ..Record::default() };
        if !self.records.write(slot as usize, record) {
            used.fetch_sub(1, Ordering::Relaxed);
            return Ok(false);
        }
        let (key, value) = (tid.to_ne_bytes(), slot.to_ne_bytes());
        self.skeleton.maps.slots.update(&key, &value, MapFlags::ANY).map_err(io::Error::other)?;
        // What came before this line was not seen.
        match Stat::of(process, tid) {
            Some(Stat { exiting: true, .. }) => self.records.exits(slot as usize),
            Some(_) => {}
            None => {
                let _ = self.skeleton.maps.slots.delete(&key);
                self.records.write(slot as usize, Record { state: EXITED, ..self.records.read(slot as usize) });
            }
        }
        Ok(true)
    }

    /// From now on these are blamed for waits ([`Inside::blame`](crate::sample::Inside)). [`Self::pairs`] always has the holders.
    pub fn set_culprit(&mut self, culprit: Culprit) {
        if let Some(memory) = self.skeleton.maps.bss_data.as_deref_mut() {
            memory.blames_waker = u32::from(culprit == Culprit::Waker);
        }
    }

    /// From now on no thread is blamed for what this one waits for: it serves a language's runtime system, and waits for work.
    pub fn serves(&mut self, tid: Tid) {
        if let Some(slot) = self.slot(tid) {
            self.records.serves(slot);
        }
    }

    /// Samples every followed thread. `gone` gets the last sample of those that have exited since.
    pub fn sample(&mut self, now: Ns, living: &mut Vec<Sample>, gone: &mut Vec<Sample>) {
        let Some(memory) = self.skeleton.maps.bss_data.as_deref() else { return };
        let used = memory.used.min(self.most_threads()) as usize;
        self.noticed.resize(used.max(self.noticed.len()), 0);
        self.wished.clear();
        for slot in 0..used {
            let record = self.records.read(slot);
            match record.state {
                FREE => {}
                EXITED => {
                    gone.push(records::sample(&record, now, &self.type_of));
                    self.records.write(slot, Record::default());
                    self.noticed[slot] = 0;
                    let slot = (slot as u32).to_ne_bytes();
                    let _ = self.skeleton.maps.reusable.update(&[], &slot, MapFlags::ANY);
                }
                _ => {
                    living.push(records::sample(&record, now, &self.type_of));
                    if record.wishes != self.noticed[slot] {
                        self.wished.push(record.tid);
                    }
                }
            }
        }
    }

    /// The threads that the last sample found to have been given a mask that [`Self::wish`] has not returned.
    pub fn wished(&mut self) -> Vec<Tid> {
        std::mem::take(&mut self.wished)
    }

    /// The mask that the program last gave one of its threads, or is about to, if this has not returned it before.
    pub fn wish(&mut self, tid: Tid) -> Option<CpuSet> {
        let slot = self.slot(tid)?;
        if self.noticed.len() <= slot {
            self.noticed.resize(slot + 1, 0);
        }
        let (own, count) = self.records.own(slot).filter(|(_, count)| *count != self.noticed[slot])?;
        self.noticed[slot] = count;
        Some(own)
    }

    /// The mask that the program wants one of its threads to have, whatever it has; `None` if the thread is not followed.
    pub fn own_mask(&self, tid: Tid) -> Option<CpuSet> {
        self.records.own(self.slot(tid)?).map(|(own, _)| own)
    }

    /// Which record a thread has.
    fn slot(&self, tid: Tid) -> Option<usize> {
        let slot = self.skeleton.maps.slots.lookup(&tid.to_ne_bytes(), MapFlags::ANY).ok()??;
        Some(numbers::word(&slot, 0)? as usize)
    }

    /// Which thread waited for which in the futex system call, of all threads ever followed.
    pub fn pairs(&self) -> Vec<PairWaits> {
        let map = &self.skeleton.maps.pairs;
        let pair = |key: Vec<u8>| {
            let value = map.lookup(&key, MapFlags::ANY).ok()??;
            PairWaits::read(&key, &value)
        };
        map.keys().filter_map(pair).collect()
    }

    /// Becomes readable when the host should sample soon ([`Options::alarm_idle`]); [`Self::events`] resets it.
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

    /// What was missed for lack of room.
    pub fn missed(&self) -> Missed {
        let missed = |memory: &skeleton::types::bss| Missed {
            events: memory.lost_events,
            threads: memory.lost_threads,
            waits: memory.lost_pairs,
        };
        self.skeleton.maps.bss_data.as_deref().map(missed).unwrap_or_default()
    }

    /// The threads and waits that were missed, and why, in words.
    pub fn missing(&self) -> Option<String> {
        let Missed { threads, waits, .. } = self.missed();
        let (most_threads, most_pairs) = (self.most_threads(), self.most_pairs());
        let threads = (threads > 0).then(|| {
            format!(
                "{threads} threads were not followed: eBPF follows {most_threads} at a time, and all of those lived."
            )
        });
        let waits = (waits > 0)
            .then(|| format!("{waits} waits are in no pair of waiter and waker: eBPF counts {most_pairs} pairs."));
        let missing: Vec<String> = threads.into_iter().chain(waits).collect();
        (!missing.is_empty()).then(|| missing.join(" "))
    }

    /// Why events lack the loops and tasks of libraries; `None` if they have them.
    pub fn blind(&self) -> Option<&str> {
        self.functions.as_ref().err().map(String::as_str)
    }

    /// How much longer a call takes that is seen.
    pub fn call(&self) -> Ns {
        self.call
    }

    /// So many bytes of events are kept until they are read.
    pub fn buffer(&self) -> u32 {
        self.skeleton.maps.ring.max_entries()
    }

    /// So many living threads are followed.
    pub fn most_threads(&self) -> u32 {
        self.skeleton.maps.records.max_entries()
    }

    /// At most so many pairs of a thread that waited and one that ended the wait are counted.
    pub fn most_pairs(&self) -> u32 {
        self.skeleton.maps.pairs.max_entries()
    }
}

/// What `/proc` says of a thread.
struct Stat {
    running: bool,
    exiting: bool,
    cpu: u32,
}

impl Stat {
    /// `None` when the thread has ended, though its number may stay until the whole process has.
    fn of(process: Tid, tid: Tid) -> Option<Self> {
        const PF_EXITING: u64 = 4;
        let stat = process::text(format!("/proc/{process}/task/{tid}/stat")).ok()?;
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3).and_then(|field| field.parse::<u64>().ok());
        let state = *fields.first()?;
        (!matches!(state, "Z" | "X")).then(|| Self {
            running: state == "R",
            exiting: number(9).is_some_and(|flags| flags & PF_EXITING != 0),
            cpu: number(39).unwrap_or_default() as u32,
        })
    }
}

fn refused(error: libbpf_rs::Error) -> Error {
    refusal::refused(error, Error::NotAllowed, Error::Refused)
}
