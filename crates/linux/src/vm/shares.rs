//! Holds each virtual core to its share of a real one, so that the guest's cores differ in speed and its kernel does not know it.

use std::fs;
use std::io;
use std::sync::mpsc;
use std::thread;

use evenkeel_model::Ns;

use super::enforcement::{self, Enforcement};
use crate::event::Tid;
use crate::realtime::{self, Reservation};
use crate::spec::Spec;

/// The kernel admits reservations up to 95 % of each CPU (sched_rt_runtime_us), and has reserved some of it itself for ordinary
/// threads; what remains is left to QEMU's other threads, to the enforcement of shares, and to Evenkeel.
const RESERVED: f64 = 0.85 - enforcement::SHARE;
/// A reservation holds within every such span. Shorter ones would cost more, and not be finer, since they are enforced four times in it.
const PERIOD: Ns = Ns::from_ms(2);
/// The kernel takes no runtime below 1024 ns (DL_SCALE): small shares hold within longer spans.
const LEAST: Ns = Ns::from_us(2);
/// No virtual core can use more than one real one, and a reservation must stay below all of it.
const MOST: f64 = 0.95;
/// How often smaller shares are tried when others have reserved CPU time, too.
const ATTEMPTS: u32 = 4;

/// The shares of a real core that big and little virtual cores get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Of a big core.
    pub big: f64,
    /// Of a little core.
    pub little: f64,
}

impl Shares {
    /// The largest shares that this many real cores have.
    pub fn of(spec: &Spec, real_cores: usize) -> Self {
        let big = (RESERVED * real_cores as f64 / spec.capacity()).min(MOST);
        Self { big, little: big / spec.ratio }
    }

    /// The largest ones on this machine.
    pub fn of_this_machine(spec: &Spec) -> Self {
        Self::of(spec, thread::available_parallelism().map_or(1, usize::from))
    }

    /// Reserves the shares for threads that do nothing, and gives them back: whether a guest will get them is known before it
    /// boots.
    ///
    /// # Errors
    /// No privilege, or no time left to reserve.
    pub fn rehearse(self, spec: &Spec) -> io::Result<()> {
        thread::scope(|scope| {
            let (send, tids) = mpsc::channel();
            // The threads end when their senders are dropped.
            let mut held = Vec::new();
            for _ in 0..spec.cores() {
                let (hold, end) = mpsc::channel::<()>();
                held.push(hold);
                let send = send.clone();
                scope.spawn(move || {
                    let _ = send.send(rustix::thread::gettid().as_raw_pid() as Tid);
                    let _ = end.recv();
                });
            }
            let tids: Vec<Tid> = tids.iter().take(held.len()).collect();
            self.reserve(spec, &tids).map(drop)
        })
    }

    /// Reserves the shares for the threads of the virtual cores, the big ones first, and returns what was reserved: less if
    /// others have reservations as well. They hold as long as what is returned with them.
    ///
    /// # Errors
    /// No privilege, or no time left to reserve.
    pub fn reserve(mut self, spec: &Spec, cores: &[Tid]) -> io::Result<(Self, Enforcement)> {
        let enforcement = Enforcement::begin(cores.len(), thread::available_parallelism().map_or(1, usize::from))?;
        for _ in 0..ATTEMPTS {
            let share = |core: usize| if core < usize::from(spec.big) { self.big } else { self.little };
            let with_shares = cores.iter().enumerate().map(|(core, tid)| (*tid, reservation(share(core))));
            let reservations: Vec<(Tid, Reservation)> = with_shares.collect();
            match reservations.iter().try_for_each(|(tid, reservation)| realtime::reserve(*tid, *reservation)) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                    self = Self { big: self.big * 0.85, little: self.little * 0.85 };
                }
                reserved => {
                    reserved?;
                    enforcement.enforce(reservations);
                    return Ok((self, enforcement));
                }
            }
        }
        Err(io::Error::from_raw_os_error(libc::EBUSY))
    }
}

/// What gives a virtual core its share.
fn reservation(share: f64) -> Reservation {
    Reservation::of(share, PERIOD.max(Ns((LEAST.0 as f64 / share).ceil() as u64)))
}

/// Lets what serves the guest's devices and timers run before ordinary work of the host, or a busy host would make the
/// guest's clock tick late. Best effort: with less, the guest is slower to notice things.
pub fn serve_first(process: Tid, except: &[Tid]) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return };
    for tid in tasks.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<Tid>().ok()) {
        if !except.contains(&tid) {
            let _ = realtime::fifo(tid);
        }
    }
}

/// The threads of QEMU's virtual cores, in their order: QEMU names them `CPU n/TCG` or `CPU n/KVM`.
pub fn virtual_cores(qemu: Tid) -> io::Result<Vec<Tid>> {
    let mut cores: Vec<(u16, Tid)> = Vec::new();
    for entry in fs::read_dir(format!("/proc/{qemu}/task"))? {
        let name = entry?.file_name();
        let Some(tid) = name.to_str().and_then(|tid| tid.parse().ok()) else { continue };
        let comm = fs::read_to_string(format!("/proc/{qemu}/task/{tid}/comm")).unwrap_or_default();
        let number = comm.strip_prefix("CPU ").and_then(|rest| rest.split_once('/')).map(|(number, _)| number.parse());
        if let Some(Ok(core)) = number {
            cores.push((core, tid));
        }
    }
    cores.sort_unstable();
    Ok(cores.into_iter().map(|(_, tid)| tid).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_their_ratio_and_fit_the_machine() {
        for (word, real) in [("2B2S:3", 2), ("1B3S:3", 2), ("2B4S:3", 2), ("2B2S:3", 16), ("4B", 64)] {
            let spec: Spec = word.parse().unwrap();
            let shares = Shares::of(&spec, real);
            let sum = shares.big * f64::from(spec.big) + shares.little * f64::from(spec.little);
            assert!(sum <= RESERVED * real as f64 + 1e-9 && shares.big <= MOST, "{word}: {shares:?}");
            assert!((shares.big / shares.little - spec.ratio).abs() < 1e-9);
        }
    }

    #[test]
    fn the_smallest_share_is_one_that_the_kernel_takes() {
        for (word, longer) in [("2B2S:3", false), ("32B32S:100", true)] {
            let spec: Spec = word.parse().unwrap();
            let shares = Shares::of(&spec, 2);
            let little = reservation(shares.little);
            assert!(little.runtime.0 >= LEAST.0 - 1 && (little.period > PERIOD) == longer, "{word}: {little:?}");
            assert!((little.share() / shares.little - 1.0).abs() < 1e-3, "{word}: {little:?}");
        }
    }
}
