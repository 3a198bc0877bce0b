//! Has the kernel enforce the shares of virtual cores more often than at its own ticks.
//!
//! The kernel looks at what a thread has used of its reservation when the thread leaves its CPU, and at ticks. Where it ticks every
//! 4 ms, a core with a fifth of a CPU runs for 4 ms and then stands still for 16, however short its period is. The kernel looks, too,
//! when a thread is given a reservation (`__sched_setscheduler` takes it off its CPU and puts it back). So each is given its own again and
//! again.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_model::Ns;

use crate::event::Tid;
use crate::realtime::{self, Reservation};

/// The part of all CPUs that it takes at most. With less it was itself held up, and little cores stood still for longer.
pub(super) const SHARE: f64 = 0.08;
/// How often it is done where that part suffices (assumed: four times in a reservation's period).
const OFTEN: Ns = Ns::from_us(500);
/// What giving one reservation takes at most (measured on a virtual machine: 6 to 15; others are faster).
const TAKES: Ns = Ns::from_us(20);

/// Threads and their reservations.
type Held = Vec<(Tid, Reservation)>;

/// Goes on until it is dropped.
pub struct Enforcement {
    /// When it is gone, the thread ends.
    tell: Option<Sender<Held>>,
    thread: Option<JoinHandle<()>>,
}

impl Enforcement {
    /// Begins, so far without reservations but its own.
    ///
    /// # Errors
    /// No privilege, or no time left to reserve.
    pub(super) fn begin(threads: usize, cpus: usize) -> io::Result<Self> {
        let most = (SHARE * cpus as f64).min(0.5);
        let period = OFTEN.max(Ns((threads as f64 * TAKES.0 as f64 / most) as u64));
        let (tell, told) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let thread = thread::spawn(move || {
            let reserved = realtime::reserve(0, Reservation::of(most, period).at_once());
            let begins = reserved.is_ok();
            let _ = answer.send(reserved);
            let mut held = Held::new();
            for round in 0.. {
                match told.recv_timeout(Duration::from_nanos(period.0)) {
                    Ok(new) => held = new,
                    Err(RecvTimeoutError::Timeout) if begins => {}
                    Err(_) => return,
                }
                // Once a thread is gone, its number may become another one's.
                if held.iter().any(|(tid, reservation)| gone(again(*tid, *reservation, round))) {
                    held.clear();
                }
            }
        });
        answers.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { tell: Some(tell), thread: Some(thread) })
    }

    /// Enforces these from now on.
    pub(super) fn enforce(&self, reservations: Held) {
        if let Some(tell) = &self.tell {
            let _ = tell.send(reservations);
        }
    }
}

/// Gives a thread its reservation, in turn whole and without a nanosecond: the kernel looks only if something is new.
fn again(tid: Tid, reservation: Reservation, round: u64) -> io::Result<()> {
    realtime::reserve(tid, Reservation { runtime: Ns(reservation.runtime.0 - round % 2), ..reservation })
}

fn gone(given: io::Result<()>) -> bool {
    given.is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
}

impl Drop for Enforcement {
    fn drop(&mut self) {
        self.tell = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Without the privilege it says so.
    #[test]
    fn a_thread_is_given_its_reservation_again_and_again() {
        let enforcement = match Enforcement::begin(1, 1) {
            Ok(enforcement) => enforcement,
            Err(error) => {
                return assert!([libc::EPERM, libc::EBUSY].contains(&error.raw_os_error().unwrap()), "{error}");
            }
        };
        let (send, tids) = channel();
        let (hold, end) = channel::<()>();
        let thread = thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_pid() as Tid).unwrap();
            let _ = end.recv();
        });
        let (tid, own) = (tids.recv().unwrap(), Reservation::of(0.02, Ns::from_ms(2)));
        enforcement.enforce(vec![(tid, own)]);
        // It has its own, and a nanosecond less, in turn.
        for wanted in [own.runtime, Ns(own.runtime.0 - 1), own.runtime] {
            let given = || realtime::reservation(tid).map(|held| held.runtime) == Some(wanted);
            // On however slow a machine: some ten seconds.
            let once = |_| {
                thread::sleep(Duration::from_micros(100));
                given()
            };
            assert!((0..100_000).any(once), "{wanted} was never given");
        }
        drop(enforcement);
        let left = realtime::reservation(tid);
        assert!(left.is_some_and(|left| left.period == own.period), "it keeps it: {left:?}");
        drop(hold);
        thread.join().unwrap();
    }
}
