//! The records of threads, in memory that the part in the kernel writes and this process reads.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

use evenkeel_model::Ns;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::CpuSet;

use super::skeleton::types::record as Record;
use crate::mask;
use crate::sample::{Birth, Inside, MAX_TYPES, Sample, ThreadState, Turn};

// `enum state` of `watch.bpf.c`.
pub(super) const FREE: u32 = 0;
const READY: u32 = 1;
pub(super) const RUNNING: u32 = 2;
const IN_FUTEX: u32 = 3;
pub(super) const BLOCKED: u32 = 4;
pub(super) const EXITED: u32 = 5;

/// All records, mapped.
pub(super) struct Records {
    first: NonNull<Record>,
    count: usize,
}

impl Records {
    /// Maps the array of so many records behind `map`.
    pub fn new(map: BorrowedFd<'_>, count: usize) -> io::Result<Self> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel picks the place, so that nothing else is mapped over.
        #[allow(unsafe_code)]
        let place = unsafe { mmap(std::ptr::null_mut(), bytes(count), both, MapFlags::SHARED, map, 0)? };
        let first = NonNull::new(place.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { first, count })
    }

    /// Where a record lies.
    fn place(&self, slot: usize) -> Option<NonNull<Record>> {
        // SAFETY: so many records are mapped one after another, and `slot` is one of them.
        #[allow(unsafe_code)]
        (slot < self.count).then(|| unsafe { self.first.add(slot) })
    }

    /// A copy of a record that the kernel did not change in the meantime; of a free one if there is no such slot.
    pub fn read(&self, slot: usize) -> Record {
        let mut copy = Record::default();
        let Some(place) = self.place(slot) else { return copy };
        let place = place.as_ptr();
        for _ in 0..4 {
            // SAFETY: the record is mapped for as long as `self` lives, and consists of integers, so that any bits are a
            // record. The kernel changes it while it is read: hence volatile, and the comparison below.
            #[allow(unsafe_code)]
            let (first, second) = unsafe { (place.read_volatile(), (&raw const (*place).since).read_volatile()) };
            copy = first;
            if copy.since == second {
                break;
            }
        }
        copy
    }

    /// How many masks the thread of a record was given by its program, twice; odd while one is copied.
    pub fn wishes(&self, slot: usize) -> u32 {
        // SAFETY: as in `read`; the field is an aligned integer.
        #[allow(unsafe_code)]
        self.place(slot).map_or(0, |place| unsafe { (&raw const (*place.as_ptr()).wishes).read_volatile() })
    }

    /// The mask that the program wants the thread of a record to have, and how many it was given up to then, twice.
    pub fn own(&self, slot: usize) -> Option<(CpuSet, u32)> {
        let place = self.place(slot)?.as_ptr();
        loop {
            let count = self.wishes(slot);
            // Odd for as long as it takes to copy a mask.
            if count.is_multiple_of(2) {
                fence(Ordering::Acquire);
                // SAFETY: as in `read`; what was changed meanwhile is read again.
                #[allow(unsafe_code)]
                let own = unsafe { (&raw const (*place).own).read_volatile() };
                fence(Ordering::Acquire);
                if self.wishes(slot) == count {
                    return Some((mask::of_words(own), count));
                }
            }
            std::hint::spin_loop();
        }
    }

    /// Whether there is such a slot, which gets a record.
    pub fn write(&mut self, slot: usize, record: Record) -> bool {
        let place = self.place(slot);
        if let Some(place) = place {
            // SAFETY: the record is mapped, aligned and holds integers. No thread has it yet, or its thread is gone, so
            // that the kernel's part writes to another one.
            #[allow(unsafe_code)]
            unsafe {
                place.write_volatile(record);
            }
        }
        place.is_some()
    }

    /// The thread of a record serves a language's runtime system.
    pub fn serves(&mut self, slot: usize) {
        if let Some(place) = self.place(slot) {
            // SAFETY: as in `write`; only this field is written, which the kernel's part only reads.
            #[allow(unsafe_code)]
            unsafe {
                (&raw mut (*place.as_ptr()).serves).write_volatile(1);
            }
        }
    }

    /// The thread of a record has begun to exit, which the kernel's part has not seen.
    pub fn exits(&mut self, slot: usize) {
        if let Some(place) = self.place(slot) {
            // SAFETY: as in `write`; only this field is written, to the value that the kernel's part writes.
            #[allow(unsafe_code)]
            unsafe {
                (&raw mut (*place.as_ptr()).exiting).write_volatile(1);
            }
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped exactly this, and nothing borrows from it.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.first.as_ptr().cast(), bytes(self.count)) };
    }
}

/// What an array of so many records takes.
fn bytes(count: usize) -> usize {
    (count * size_of::<Record>()).next_multiple_of(rustix::param::page_size())
}

/// What a record says of its thread now.
pub(super) fn sample(record: &Record, now: Ns, type_of: &[u8]) -> Sample {
    let mut sample = Sample {
        tid: record.tid,
        process: record.tgid,
        state: match record.state {
            READY | RUNNING => ThreadState::Runnable,
            IN_FUTEX => ThreadState::Futex,
            _ => ThreadState::Blocked,
        },
        cpu: record.cpu as u16,
        run: record.run.map(Ns),
        delay: Ns(record.delay),
        switches: u64::from(record.voluntary) + u64::from(record.involuntary),
        birth: (record.parent != 0).then_some(Birth { parent: record.parent, at: Ns(record.born) }),
        counts: None,
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
