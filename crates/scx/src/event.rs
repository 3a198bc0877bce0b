//! What happened to a thread or a core, as the part in the kernel writes it.

use evenkeel_linux::event::Tid;
use evenkeel_linux::numbers;
use evenkeel_model::{CoreId, CoreSet, Ns};

/// `struct event` of `scx.bpf.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Ns,
    /// All time that the thread has run.
    pub(crate) ran: Ns,
    /// The thread; 0 for what happened to a core.
    pub(crate) tid: Tid,
    pub(crate) cpu: u16,
    pub(crate) weight: u32,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A thread is this scheduler's from now on.
    Enabled(Box<Described>),
    /// It has exited, or is another scheduler's.
    Disabled {
        /// Where the kernel's part kept it, if that decides by itself.
        slot: u32,
    },
    /// It waits for a core.
    Ready {
        /// It slept or was just started, not stopped.
        woken: bool,
        /// Who woke or started it, if that was a thread.
        by: Option<Tid>,
        /// For how long it waited in a futex call, if it did.
        waited: Ns,
        /// It gave up its core.
        yielded: bool,
    },
    /// A core has begun to run it.
    Runs,
    /// It waits for something, in a futex call or elsewhere.
    Blocks {
        futex: bool,
    },
    /// A core could not run the thread of its assignment with this number, because it does not wait any more.
    Refused(u32),
    /// The same, but it still waits: it may not run there any more.
    Keeps(u32),
    /// It has called exec, and with that the number of its process's first thread, which has ended.
    Renamed {
        /// Its own number until then.
        before: Tid,
        /// Where the kernel's part keeps it, if that decides by itself.
        slot: u32,
    },
    /// It may run on other cores, or has another weight.
    Mask(Box<Described>),
    Weight,
    /// A core has been switched on or off.
    Online,
    Offline,
}

/// What a thread is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) process: Tid,
    /// Where the kernel's part keeps it, if that decides by itself.
    pub(crate) slot: u32,
    pub(crate) mask: [u64; WORDS],
    pub(crate) name: String,
}

impl Described {
    /// Of a machine whose core `i` is the CPU `cpus[i]`, those that the thread's mask has.
    pub(crate) fn cores(&self, cpus: &[u16]) -> CoreSet {
        let has = |cpu: u16| self.mask.get(usize::from(cpu) / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1);
        cpus.iter().zip(0..).filter(|(cpu, _)| has(**cpu)).map(|(_, core)| CoreId(core)).collect()
    }
}

const WORDS: usize = 16;
/// Where `struct event` ends and the rest of `struct described` begins.
const HEAD: usize = 48;

impl Event {
    /// `None` if these are no bytes of an event.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (word, long) = (|at| numbers::word(bytes, at), |at| numbers::long(bytes, at));
        let described = || {
            let mut mask = [0; WORDS];
            for (place, word) in mask.iter_mut().enumerate() {
                *word = long(HEAD + 8 * place)?;
            }
            let name = bytes.get(HEAD + 8 * WORDS..)?.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            Some(Box::new(Described { process: word(40)?, slot: word(36)?, mask, name }))
        };
        let (at, ran, waited) = (Ns(long(0)?), Ns(long(8)?), Ns(long(16)?));
        let (flags, other) = (word(36)?, word(40)?);
        // `enum kind`.
        let what = match word(24)? {
            0 => What::Enabled(described()?),
            1 => What::Disabled { slot: flags },
            2 => What::Ready {
                woken: flags & 1 != 0,
                by: Some(other).filter(|by| *by != 0),
                waited,
                yielded: flags & 2 != 0,
            },
            3 => What::Runs,
            4 => What::Blocks { futex: flags != 0 },
            5 => What::Refused(flags),
            6 => What::Mask(described()?),
            7 => What::Weight,
            8 => What::Online,
            9 => What::Offline,
            10 => What::Keeps(flags),
            11 => What::Renamed { before: other, slot: flags },
            _ => return None,
        };
        Some(Self { at, ran, tid: word(28)?, cpu: word(32)? as u16, weight: word(44)?, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_the_kernel_writes_them() {
        let mut bytes = Vec::new();
        [7_u64, 8, 9].iter().for_each(|long| bytes.extend(long.to_ne_bytes()));
        [2_u32, 42, 3, 1, 41, 3121].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        let what = What::Ready { woken: true, by: Some(41), waited: Ns(9), yielded: false };
        let event = Event { at: Ns(7), ran: Ns(8), tid: 42, cpu: 3, weight: 3121, what };
        assert_eq!(Event::read(&bytes), Some(event));
        assert_eq!(Event::read(&bytes[..40]), None, "cut");
        bytes[24] = 0;
        assert_eq!(Event::read(&bytes), None, "without its mask");
        bytes.extend([0; 8 * WORDS]);
        bytes.extend(b"worker\0\0garbage\0");
        let Some(Event { what: What::Enabled(described), .. }) = Event::read(&bytes) else { panic!("a thread") };
        assert_eq!((described.process, described.name.as_str()), (41, "worker"));
    }
}
