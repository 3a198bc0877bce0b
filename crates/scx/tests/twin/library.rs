//! The kernel's decisions, compiled for this machine and loaded.
#![expect(unsafe_code, reason = "functions and memory of a library in C")]

use std::path::Path;
use std::process::Command;

use libloading::Library as Loaded;

pub const CORES: usize = 1024;
pub const LEVELS: usize = 3;
pub const TYPES: usize = 8;
pub const STEPS: usize = 64;
pub const CHOICES: usize = 5;
pub const NUMBERS: usize = 2;

/// `struct place` of `bpf/policy/state.h`; the others are its structs, too.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Place {
    pub cpu: u32,
    pub kind: u32,
    pub capacity: u32,
    pub cache: u32,
    pub node: u32,
    pub cluster: u32,
    pub levels: u32,
    pub domains: [u32; LEVELS],
    pub sizes: [u32; LEVELS],
}

#[repr(C)]
pub struct Machine {
    pub policy: u32,
    pub cores: u32,
    pub caches: u32,
    pub clusters: u32,
    pub types: u32,
    pub least: u32,
    pub speedup: u32,
    pub scale: u32,
    pub choices: [u32; CHOICES],
    pub numbers: [u32; NUMBERS],
    pub span: i64,
    pub places: [Place; CORES],
    pub steps: [[Step; STEPS]; TYPES],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Step {
    pub from: u32,
    pub power: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Pelt {
    pub average: u64,
    pub elapsed: u64,
    pub counted: u64,
    pub last: u64,
}

#[repr(C)]
pub struct Core {
    pub min_vruntime: i64,
    pub balanced: [u64; LEVELS],
    pub queue_weight: u64,
    pub weight: u64,
    pub queued: u32,
    pub current: u32,
    pub leaves: u32,
    pub failed: u32,
    pub used: u32,
    pub expected: u32,
}

#[repr(C)]
pub struct Thread {
    pub vruntime: i64,
    pub weight: u64,
    pub queued_weight: u64,
    pub since: u64,
    pub last_ran: u64,
    pub stint: u64,
    pub executed: u64,
    pub on_type: [u64; TYPES],
    pub waited: u64,
    pub contended: u64,
    pub blame: u64,
    pub progress: i64,
    pub load: Pelt,
    pub usage: Pelt,
    pub tid: u32,
    pub run: u32,
    pub core: u32,
    pub claims: u32,
    pub speedup: u32,
    pub urgency: u64,
    pub group: u32,
    pub dominance: u32,
    pub estimate: u32,
    pub expected: u32,
    pub may: [u64; CORES / 64],
    pub wanted: [u64; CORES / 64],
}

/// The library. Each has a memory of its own, which one thread uses at a time.
pub struct Library(Loaded);

impl Library {
    /// Compiles and loads it.
    pub fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("twin.so");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let compiler = Command::new("clang")
            .args(["-O1", "-Wall", "-Wno-unused", "-shared", "-fPIC", "-o"])
            .arg(&file)
            .arg("-I")
            .arg(here.join("src/bpf/policy"))
            .arg(here.join("tests/twin/native.c"))
            .output()
            .unwrap();
        assert!(compiler.status.success(), "{}", String::from_utf8_lossy(&compiler.stderr));
        // SAFETY: the library has no initialisers.
        let library = Self(unsafe { Loaded::new(&file) }.unwrap());
        let mut sizes = [0_u64; 3];
        // SAFETY: it writes three numbers.
        unsafe { library.call::<fn(*mut u64)>("twin_sizes")(sizes.as_mut_ptr()) };
        let ours = [size_of::<Machine>(), size_of::<Core>(), size_of::<Thread>()].map(|size| size as u64);
        assert_eq!(sizes, ours, "the structs here are not those of state.h");
        library
    }

    /// A function, which the library has with this type.
    unsafe fn call<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller knows the type.
        *unsafe { self.0.get::<F>(name.as_bytes()) }.unwrap()
    }

    pub fn begin(&self) {
        // SAFETY: native.c says so, here and below; memory is handed out by number within its bounds, and only the test
        // that has built the library uses it, in one thread at a time.
        unsafe { self.call::<extern "C" fn()>("twin_begin")() }
    }

    #[expect(clippy::mut_from_ref, reason = "the library's memory, not this value's")]
    pub fn machine(&self) -> &mut Machine {
        // SAFETY: as above.
        unsafe { &mut *self.call::<extern "C" fn() -> *mut Machine>("twin_machine")() }
    }

    #[expect(clippy::mut_from_ref, reason = "the library's memory, not this value's")]
    pub fn core(&self, core: usize) -> &mut Core {
        assert!(core < CORES);
        // SAFETY: as above.
        unsafe { &mut *self.call::<extern "C" fn(u32) -> *mut Core>("twin_core")(core as u32) }
    }

    #[expect(clippy::mut_from_ref, reason = "the library's memory, not this value's")]
    pub fn queue(&self, core: usize) -> &mut [u32; 256] {
        assert!(core < CORES);
        // SAFETY: as above.
        unsafe { &mut *self.call::<extern "C" fn(u32) -> *mut [u32; 256]>("twin_queue")(core as u32) }
    }

    #[expect(clippy::mut_from_ref, reason = "the library's memory, not this value's")]
    pub fn thread(&self, slot: u32) -> &mut Thread {
        assert!(slot < 32_768);
        // SAFETY: as above.
        unsafe { &mut *self.call::<extern "C" fn(u32) -> *mut Thread>("twin_thread")(slot) }
    }

    pub fn time(&self, now: u64) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u64)>("twin_time")(now) }
    }

    pub fn move_takes(&self, time: u64) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u64)>("twin_move_takes")(time) }
    }

    pub fn place(&self, slot: u32, why: u32, by: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u32) -> u32>("twin_place")(slot, why, by) }
    }

    pub fn pick(&self, core: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32) -> u64>("twin_pick")(core) }
    }

    pub fn next(&self, core: u32, ran: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32) -> u32>("twin_next")(core, ran) }
    }

    pub fn balance(&self, core: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32) -> u64>("twin_balance")(core) }
    }

    pub fn slice(&self, slot: u32, core: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32) -> u64>("twin_slice")(slot, core) }
    }

    pub fn charge(&self, slot: u32, core: u32, ran: u64) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u64) -> u64>("twin_charge")(slot, core, ran) }
    }

    pub fn owes(&self, running: u32, core: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32) -> u64>("twin_owes")(running, core) }
    }

    pub fn enter(&self, slot: u32, core: u32, why: u32) -> i64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u32) -> i64>("twin_enter")(slot, core, why) }
    }

    pub fn expired(&self, running: u32, core: u32) -> bool {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32) -> i32>("twin_expired")(running, core) != 0 }
    }

    pub fn preempts(&self, woken: u32, running: u32, core: u32) -> bool {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u32) -> i32>("twin_preempts")(woken, running, core) != 0 }
    }

    pub fn accrue(&self, load: &mut Pelt, time: u64, level: u32) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(*mut Pelt, u64, u32)>("twin_accrue")(load, time, level) }
    }

    pub fn waits_too_long(&self, core: u32) -> bool {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32) -> i32>("twin_waits_too_long")(core) != 0 }
    }

    pub fn comes_next(&self, core: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32) -> u32>("twin_comes_next")(core) }
    }

    pub fn exchange(&self, slot: u32, core: u32, here: u32) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u32)>("twin_exchange")(slot, core, here) }
    }

    /// If a core's thread was told to give way: for which core, and for which thread.
    pub fn stopped(&self, core: u32) -> Option<(u32, u32)> {
        // SAFETY: as above.
        let stopped = unsafe { self.call::<extern "C" fn(u32) -> u64>("twin_stopped")(core) };
        (stopped != 0).then(|| (stopped as u32, (stopped >> 32) as u32 - 1))
    }

    pub fn take_overdue(&self, core: u32) -> u32 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32) -> u32>("twin_take_overdue")(core) }
    }

    pub fn bind_elsewhere(&self, slot: u32) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32)>("twin_bind_elsewhere")(slot) }
    }

    pub fn blame_waker(&self) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn()>("twin_blame_waker")() }
    }

    pub fn released(&self, slot: u32, waker: u32, waited: u64, now: u64) {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32, u64, u64)>("twin_released")(slot, waker, waited, now) }
    }

    /// For how long one of the first 31 slots waited for another of these.
    pub fn waited_for(&self, slot: u32, waker: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.call::<extern "C" fn(u32, u32) -> u64>("twin_waited_for")(slot, waker) }
    }
}
