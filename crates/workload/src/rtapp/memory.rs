//! What `mem`, `memrun` and `iorun` cost: instructions of a kind of code, and for a real device a sleep.
//!
//! rt-app measures nothing here, so the constants are assumptions, chosen for a big.LITTLE phone of the Odroid-XU3's
//! time. They are listed in `docs/rt-app.md`.

use evenkeel_model::{Behaviour, Ns};

/// Assumed: what the private caches of one core hold, in bytes.
const PRIVATE_CACHE: u64 = 512 << 10;
/// A cache line, in bytes.
const LINE: u64 = 64;
/// Assumed: the bandwidth of one core to memory in a streaming loop, in bytes per ns.
const BANDWIDTH: f64 = 4.0;
/// Assumed: the latency of a load from memory that nothing hides, in ns.
const LATENCY: f64 = 100.0;
/// Assumed: bytes that one instruction of a C library's `memset` or of a copy moves (a pair of 64-bit registers).
const BLOCK: u64 = 16;
/// Instructions around one byte-wise access: the access, the increment, the branch.
const BYTE_LOOP: u64 = 3;
/// Assumed: instructions of one `write` system call without its copying.
const SYSCALL: u64 = 1000;
/// Assumed: the time of one request to a flash device, in ns, and its bandwidth, in bytes per us.
const REQUEST: u64 = 100_000;
const DEVICE: u64 = 100;

/// A memory or I/O event.
#[derive(Clone, Copy)]
pub(super) enum Memory {
    /// `memset` over the global buffer.
    Set { bytes: u64 },
    /// Reads byte by byte through a buffer of `size`.
    Read { size: u64, bytes: u64 },
    /// Writes byte by byte through a buffer of `size`.
    Write { size: u64, bytes: u64 },
    /// Follows a chain of pointers that stand `stride` apart in a buffer of `size`.
    Chase { size: u64, stride: u64, sequential: bool, hops: u64 },
    /// Writes to the device in pieces as large as the global buffer.
    Io { bytes: u64 },
}

/// What it is played as.
pub(super) struct Cost {
    /// Name of the kind of code.
    pub(super) phase: String,
    pub(super) behaviour: Behaviour,
    pub(super) instructions: u64,
    /// Time off the core afterwards.
    pub(super) sleep: Ns,
}

impl Memory {
    pub(super) fn cost(self, buffer: u64, real_device: bool) -> Cost {
        match self {
            Self::Set { bytes } => {
                // Each event begins at the buffer's start, so a short one stays in the caches.
                let cached = bytes.min(buffer) <= PRIVATE_CACHE;
                cost("mem", cached, Fetched::Streamed, streaming(BLOCK), 900.0, bytes.div_ceil(BLOCK))
            }
            Self::Read { size, bytes } => {
                let cached = bytes.min(size) <= PRIVATE_CACHE;
                cost("memrun read", cached, Fetched::Streamed, streaming(1) / BYTE_LOOP as f64, 0.0, bytes * BYTE_LOOP)
            }
            Self::Write { size, bytes } => {
                let cached = bytes.min(size) <= PRIVATE_CACHE;
                cost(
                    "memrun write",
                    cached,
                    Fetched::Streamed,
                    streaming(1) / BYTE_LOOP as f64,
                    1000.0 / 3.0,
                    bytes * BYTE_LOOP,
                )
            }
            Self::Chase { size, stride, sequential, hops } => {
                // Each event follows the chain from where the last one stopped, so all of it counts. rt-app rounds its
                // positions down to a power of two. Strides mostly are powers of two as well, and then leave as much of
                // the caches unused as of the buffer.
                let chain = (size / stride).checked_ilog2().map_or(0, |bits| stride << bits);
                // Prefetchers follow a sequential chain at the bandwidth of its lines and lose a random one.
                let hop = if sequential { stride.min(LINE) as f64 / BANDWIDTH } else { LATENCY };
                let name = if sequential { "memrun chase sequential" } else { "memrun chase random" };
                let fetched = if sequential { Fetched::Streamed } else { Fetched::WhenMissed };
                cost(name, chain <= PRIVATE_CACHE, fetched, hop * 1000.0 / BYTE_LOOP as f64, 0.0, hops * BYTE_LOOP)
            }
            Self::Io { bytes } => io(bytes, buffer, real_device),
        }
    }
}

/// How lines come.
#[derive(Clone, Copy)]
enum Fetched {
    /// As fast as one core gets them.
    Streamed,
    /// One for each miss.
    WhenMissed,
}

/// ns of memory time in 1000 instructions that move `bytes` each.
fn streaming(bytes: u64) -> f64 {
    1000.0 * bytes as f64 / BANDWIDTH
}

fn cost(phase: &str, cached: bool, fetched: Fetched, memory_ns: f64, stores: f64, instructions: u64) -> Cost {
    let (phase, memory_ns) = if cached { (format!("{phase}, cached"), 0.0) } else { (phase.to_owned(), memory_ns) };
    let memory_bytes = match fetched {
        Fetched::Streamed => Some(memory_ns * BANDWIDTH),
        Fetched::WhenMissed => None,
    };
    let behaviour = Behaviour { memory_ns, memory_bytes, branches: 100.0, stores, ..Behaviour::REFERENCE };
    Cost { phase, behaviour, instructions, sleep: Ns::ZERO }
}

fn io(bytes: u64, buffer: u64, real_device: bool) -> Cost {
    let requests = bytes.div_ceil(buffer);
    // /dev/null drops what it is given, so only the system calls are left.
    if !real_device {
        let (phase, behaviour) = ("iorun".to_owned(), Behaviour::REFERENCE);
        return Cost { phase, behaviour, instructions: requests * SYSCALL, sleep: Ns::ZERO };
    }
    let cached = bytes.min(buffer) <= PRIVATE_CACHE;
    let blocks = bytes.div_ceil(BLOCK);
    let instructions = requests * SYSCALL + blocks;
    // Only those that copy wait for memory.
    let memory_ns = streaming(BLOCK) * blocks as f64 / instructions.max(1) as f64;
    let copying = cost("iorun copy", cached, Fetched::Streamed, memory_ns, 450.0, instructions);
    Cost { sleep: Ns(requests * REQUEST + bytes * 1000 / DEVICE), ..copying }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_calls_of_an_iorun_take_no_memory_time() {
        let bytes = 1 << 30;
        let copy = Memory::Io { bytes }.cost(1 << 20, true);
        assert_eq!(copy.instructions, 1024 * SYSCALL + bytes / BLOCK);
        let ns = copy.behaviour.memory_ns * copy.instructions as f64 / 1000.0;
        assert!((ns - bytes as f64 / BANDWIDTH).abs() < 1.0, "{ns} ns");
    }
}
