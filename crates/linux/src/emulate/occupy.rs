//! The thread that keeps others from a CPU.

use std::io;
use std::num::NonZeroU64;

use evenkeel_model::Ns;
use rustix::thread::{sched_setaffinity, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};

use super::control::Control;
use super::duty::{Account, Duty};
use crate::clock::clock;
use crate::mask;
use crate::realtime;

/// Binds this thread to a CPU and puts it before all ordinary work there.
pub fn prepare(cpu: u16) -> io::Result<()> {
    sched_setaffinity(None, &mask::of([cpu]))?;
    realtime::fifo(0)?;
    // Kernels before 6.13 let the timers of real-time threads be late, too, where they wait on a futex.
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// Getting a thread onto its CPU takes no longer than this, even in a virtual machine; what does has other reasons.
const LONGEST_SWITCH: Ns = Ns::from_us(50);

/// Occupies this thread's CPU as `duty` says, at the ratio that `control` says, until that says to stop.
pub fn occupy(mut duty: Duty, control: &Control) -> Account {
    let mut before = Usage::now();
    // What others did not get since the clock was last read although this thread has not used it.
    let mut lost = Ns::ZERO;
    let mut switch = LONGEST_SWITCH;
    loop {
        // The time since then has the end of the last span as well: leaving the CPU is occupation, too.
        let (now, usage) = (clock(), Usage::now());
        let taken = usage.cpu.since(before.cpu) + lost;
        let told = control.told();
        if control.stopped() {
            return duty.end(now, taken);
        }
        let span = duty.wake(now, taken, control.ratio());
        control.note(duty.taken());
        // To an absolute time: whatever interrupts this does not make it longer.
        while clock() < span.until && control.told() == told {
            std::hint::spin_loop();
        }
        lost = usage.stolen(now);
        before = usage;
        if clock() < span.next {
            control.sleep(told, span.next);
            let late = clock().since(span.next);
            // From the timer's interrupt to the first instruction here the CPU does nothing for others either. The least
            // that this ever took is that; the rest of a longer delay may have been theirs.
            if late > Ns::ZERO {
                switch = switch.min(late);
                lost += switch;
            }
        }
    }
}

/// What the kernel says that this thread has used.
#[derive(Clone, Copy)]
struct Usage {
    cpu: Ns,
    /// How often another thread took this one's place.
    displaced: i64,
}

impl Usage {
    fn now() -> Self {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        Self { cpu: Ns(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64), displaced: displaced() }
    }

    /// The time since `began`, when this was read, that neither this thread nor any other on its CPU has had: a
    /// hypervisor took it, which the kernel does not count as use. It falls on occupied and other time alike, so it
    /// belongs to the span that it fell on. When another thread had the CPU meanwhile, it is that thread's.
    fn stolen(self, began: Ns) -> Ns {
        let (now, passed) = (Self::now(), clock().since(began));
        if now.displaced == self.displaced { passed.since(now.cpu.since(self.cpu)) } else { Ns::ZERO }
    }
}

/// How often this thread was preempted.
fn displaced() -> i64 {
    // SAFETY: all of a `rusage` are integers, for which zero is a value; the kernel fills in the one that it is given,
    // which lives until the call returns. The call fails for a wrong `who` or address only; then it stays zero.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    usage.ru_nivcsw
}
