//! Two that take turns on a CPU: what a switch costs from one thread to another, of the same process or of another one.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::{io, thread};

use evenkeel_model::Ns;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};

use crate::clock::clock;
use crate::windows::{self, MOST, per_time};

const MINE: u8 = 0;
const YOURS: u8 = 1;
const OVER: u8 = 2;

/// Until the other one has its first turn. In an emulated guest, more than [`MOST`] were seen.
const START: Ns = Ns::from_secs(1);

const PAGE: usize = 4096;
const LINE: usize = 64;

/// Who the other one is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Partner {
    Thread,
    Process,
}

/// The mean cost of a turn on a CPU: a switch, and for each its use of so many pages of its own. `None` if it could not be
/// measured, or not in time.
pub fn turn(cpu: u16, partner: Partner, pages: usize) -> Option<Ns> {
    let measured = || {
        // The other one is made by this thread, and so has its mask and priority.
        windows::begin_on(cpu).then_some(())?;
        let shared = Shared::new().ok()?;
        let (mut own, mut others) = (vec![1_u8; pages * PAGE], vec![1_u8; pages * PAGE]);
        let answers = || answer(shared.turn(), &mut others, clock() + START + MOST + MOST);
        let mut measure = || {
            let mut there_and_back = |most: Ns| {
                let began = clock();
                touch(&mut own);
                shared.turn().store(YOURS, Ordering::Release);
                while shared.turn().load(Ordering::Acquire) == YOURS {
                    thread::yield_now();
                    if clock().since(began) > most {
                        return None;
                    }
                }
                Some(clock().since(began).0 as f64)
            };
            // The first time lasts until the partner has started.
            there_and_back(START)?;
            per_time(clock() + MOST, || there_and_back(MOST))
        };
        let both = match partner {
            Partner::Thread => thread::scope(|scope| {
                thread::Builder::new().spawn_scoped(scope, answers).ok()?;
                let both = measure();
                shared.turn().store(OVER, Ordering::Release);
                both
            }),
            Partner::Process => {
                let _child = Child::new(answers).ok()?;
                measure()
            }
        };
        Some(Ns(both?.0 / 2))
    };
    // In a thread of its own, whose mask ends with it.
    thread::scope(|scope| thread::Builder::new().spawn_scoped(scope, measured).ok()?.join().ok()?)
}

/// What the other one does. It makes system calls that a child of a process with several threads may make, allocates nothing,
/// and cannot panic.
fn answer(turn: &AtomicU8, pages: &mut [u8], until: Ns) {
    loop {
        match turn.load(Ordering::Acquire) {
            YOURS => {
                touch(pages);
                let _ = turn.compare_exchange(YOURS, MINE, Ordering::AcqRel, Ordering::Acquire);
            }
            OVER => return,
            _ if clock() > until => return,
            _ => {}
        }
        thread::yield_now();
    }
}

/// Writes a line of each page, of another part of the caches each time.
fn touch(pages: &mut [u8]) {
    for (at, page) in pages.chunks_exact_mut(PAGE).enumerate() {
        if let Some(byte) = page.get_mut(at * LINE % PAGE) {
            *byte = byte.wrapping_add(1);
        }
    }
}

/// Whose turn it is, in memory that a child has in common with its parent.
struct Shared(NonNull<AtomicU8>);

impl Shared {
    fn new() -> io::Result<Self> {
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel picks the place, so that nothing else is mapped over.
        #[allow(unsafe_code)]
        let place = unsafe { mmap_anonymous(std::ptr::null_mut(), PAGE, both, MapFlags::SHARED)? };
        let place = NonNull::new(place.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self(place))
    }

    fn turn(&self) -> &AtomicU8 {
        // SAFETY: it is mapped for as long as `self` lives, filled with zeros by the kernel, and used by atomic operations only.
        #[allow(unsafe_code)]
        unsafe {
            self.0.as_ref()
        }
    }
}

// SAFETY: what it points to is an atomic, which threads may share.
#[allow(unsafe_code)]
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and what borrowed from `self` is gone.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

/// A process like this one that does one thing. It ends with this value, and with the thread that made it.
struct Child(Pid);

impl Child {
    fn new(does: impl FnOnce()) -> io::Result<Self> {
        // SAFETY: in the child of a process with several threads, locks may be held that are never released. So `does` must only
        // compute and make system calls, as `answer` does; then the child is gone, without anything of Rust's or C's being run.
        #[allow(unsafe_code)]
        match unsafe { libc::fork() } {
            0 => {
                let _ = set_parent_process_death_signal(Some(Signal::KILL));
                does();
                // SAFETY: it ends the process whatever its state.
                unsafe { libc::_exit(0) }
            }
            pid => Pid::from_raw(pid).filter(|_| pid > 0).map(Self).ok_or_else(io::Error::last_os_error),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::test_kill_process;

    use super::*;
    use crate::mask;

    /// Nothing can be measured on a machine that is too busy. What is, is no less than a system call.
    #[test]
    fn threads_and_processes_take_turns_and_leave_this_thread_where_it_was() {
        let before = mask::own().unwrap();
        let cpu = before[0];
        for partner in [Partner::Thread, Partner::Process] {
            let cost = turn(cpu, partner, 8);
            assert!(cost.is_none_or(|cost| (Ns(50)..MOST).contains(&cost)), "{cost:?}");
        }
        assert_eq!(mask::own().unwrap(), before);
        assert_eq!(turn(u16::MAX, Partner::Process, 1), None);
    }

    #[test]
    fn a_child_has_the_turn_in_common_with_its_parent_and_ends_with_its_value() {
        let shared = Shared::new().unwrap();
        let child = Child::new(|| answer(shared.turn(), &mut [0; PAGE], Ns::NEVER)).unwrap();
        shared.turn().store(YOURS, Ordering::Release);
        while shared.turn().load(Ordering::Acquire) != MINE {
            thread::yield_now();
        }
        let pid = child.0;
        test_kill_process(pid).unwrap();
        drop(child);
        assert!(test_kill_process(pid).is_err());
    }

    #[test]
    fn an_answer_comes_to_an_end() {
        answer(&AtomicU8::new(OVER), &mut [], Ns::NEVER);
        answer(&AtomicU8::new(MINE), &mut [], Ns::ZERO);
        let mut pages = vec![0; 3 * PAGE];
        touch(&mut pages);
        assert_eq!((pages[0], pages[PAGE + LINE], pages[2 * PAGE + 2 * LINE]), (1, 1, 1));
        assert_eq!(pages.iter().map(|byte| usize::from(*byte)).sum::<usize>(), 3);
    }
}
