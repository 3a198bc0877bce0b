//! An event as the part in the kernel writes it.

use evenkeel_model::{Instructions, Ns};
use evenkeel_workload::recording::Division;

use crate::event::{Event, Off, Sharing, What};
use crate::numbers;

/// `struct event` of `watch.bpf.c`.
#[derive(Clone, Copy)]
pub(super) struct RawEvent {
    at: u64,
    tid: u32,
    other: u32,
    cpu: u32,
    kind: u32,
    call: u32,
    manner: u32,
    instructions: u64,
}

impl RawEvent {
    /// `None` if there are too few bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (word, long) = (|at| numbers::word(bytes, at), |at| numbers::long(bytes, at));
        let (at, instructions) = (long(0)?, long(32)?);
        let [tid, other, cpu, kind, call, manner] = [word(8)?, word(12)?, word(16)?, word(20)?, word(24)?, word(28)?];
        Some(Self { at, tid, other, cpu, kind, call, manner, instructions })
    }

    /// `None` for what only ends a wait.
    pub fn event(self) -> Option<Event> {
        // `enum kind` of `watch.bpf.c`.
        let what = match self.kind {
            0 => What::Forked { child: self.other, process: false },
            1 => What::Forked { child: self.other, process: true },
            2 => What::Exec { before: Some(self.other).filter(|before| *before != 0) },
            3 | 10 => What::On,
            4 => What::Off(Off::Preempted),
            5 => What::Off(Off::Futex),
            6 => What::Off(Off::Blocked),
            7 => What::Woken { by: Some(self.other).filter(|by| *by != 0), call: self.call, word: self.manner },
            8 => What::Exited,
            12 => What::Shares(Sharing::RegionBegins(None)),
            13 => What::Shares(Sharing::RegionEnds),
            14 => What::Shares(Sharing::RegionBegins(Some(self.division()))),
            15 => What::Shares(Sharing::LoopBegins { place: self.call, division: self.division() }),
            16 => What::Shares(Sharing::LoopEnds),
            17 => What::Shares(Sharing::Tasks { count: self.other, each: self.manner != 0 }),
            _ => return None,
        };
        let instructions = Some(Instructions(self.instructions)).filter(|count| count.0 > 0);
        Some(Event { at: Ns(self.at), tid: self.tid, cpu: self.cpu as u16, instructions, what })
    }

    fn division(self) -> Division {
        Division { pieces: self.other, guided: self.manner != 0 }
    }
}
