//! What the part in the kernel tells of threads of this process. None of it needs tracefs.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::thread::{futex, gettid, sched_setaffinity};

use super::*;
use crate::host::clock;
use crate::host::sample::State;

fn watch() -> Option<Watch> {
    match Watch::new(Options::default()) {
        Err(Error::NoTypes | Error::NotAllowed) => {
            eprintln!("skipped: this user may not watch threads here");
            None
        }
        watch => Some(watch.unwrap()),
    }
}

fn own_tid() -> Tid {
    gettid().as_raw_nonzero().get() as Tid
}

/// The sample of a thread, once it is in a state.
fn once(watch: &mut Watch, tid: Tid, state: State) -> Sample {
    for _ in 0..10_000 {
        let (mut living, mut gone) = (Vec::new(), Vec::new());
        watch.sample(clock(), &mut living, &mut gone);
        if let Some(sample) = living.into_iter().find(|sample| sample.tid == tid && sample.state == state) {
            return sample;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("thread {tid} is never {state:?}");
}

/// Runs `wait` in a thread of its own until it has blocked in a state, and then `wake`.
fn blocks(watch: &mut Watch, state: State, wait: impl FnOnce() + Send, wake: impl FnOnce()) -> Tid {
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let waiter = scope.spawn(move || {
            tell.send(own_tid()).unwrap();
            wait();
        });
        let tid = told.recv().unwrap();
        once(watch, tid, state);
        wake();
        waiter.join().unwrap();
        tid
    })
}

/// What the watch tells, twice, of the mask of a thread that has just given itself one by `set`.
fn wishes(watch: &mut Watch, set: impl FnOnce() + Send) -> [Option<CpuSet>; 2] {
    thread::scope(|scope| {
        let ((tell, told), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        scope.spawn(move || {
            set();
            tell.send(own_tid()).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
        let wishes = [watch.wish(tid), watch.wish(tid)];
        drop(end);
        wishes
    })
}

#[test]
fn a_thread_that_waits_for_another_is_told_from_one_that_sleeps() {
    let Some(mut watch) = watch() else { return };
    watch.follow(std::process::id()).unwrap();
    let word = AtomicU32::new(0);
    let wait = || {
        while word.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(&word, futex::Flags::PRIVATE, 0, None);
        }
    };
    let waiter = blocks(&mut watch, State::Futex, wait, || {
        word.store(1, Ordering::Release);
        futex::wake(&word, futex::Flags::PRIVATE, 1).unwrap();
    });
    let own = own_tid();
    let pair = watch.pairs().into_iter().find(|pair| pair.waiter == waiter).unwrap();
    assert!(pair.waker == own && pair.times >= 1 && pair.waited > Ns::ZERO, "{pair:?}");
    blocks(&mut watch, State::Blocked, || thread::sleep(Duration::from_millis(300)), || {});
}

#[test]
fn a_mask_that_a_thread_gives_itself_is_seen_once() {
    let Some(mut watch) = watch() else { return };
    watch.follow(std::process::id()).unwrap();
    let chosen = mask::of(mask::own().unwrap().into_iter().take(1));
    let set = || sched_setaffinity(None, &chosen).unwrap();
    assert_eq!(wishes(&mut watch, set), [Some(chosen), None]);
}

/// Two hosts on one machine do not disturb each other, and the end of one leaves the other at work.
#[test]
fn two_watches_see_the_same() {
    let (Some(mut first), Some(mut second)) = (watch(), watch()) else { return };
    first.follow(std::process::id()).unwrap();
    second.follow(std::process::id()).unwrap();
    once(&mut first, own_tid(), State::Runnable);
    drop(first);
    let own = once(&mut second, own_tid(), State::Runnable);
    assert!(own.inside.is_some());
}

/// The numbers of 32-bit programs are others: what is a futex call here is something else there.
#[cfg(target_arch = "x86_64")]
mod compat {
    use std::arch::asm;

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

    use super::*;

    /// Makes a system call as 32-bit programs do, where only the lower halves of pointers count.
    ///
    /// # Safety
    /// That of the call.
    #[allow(unsafe_code)]
    unsafe fn call(number: u32, args: [u32; 4]) -> i32 {
        let [first, second, third, fourth] = args.map(u64::from);
        let result: i64;
        // SAFETY: the kernel changes no register but the result; rbx, which asm! may not name, is put back.
        unsafe {
            asm!(
                "xchg rbx, {first}", "int 0x80", "xchg rbx, {first}",
                first = inout(reg) first => _, inout("rax") u64::from(number) => result,
                in("rcx") second, in("rdx") third, in("rsi") fourth,
                lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
            );
        }
        result as i32
    }

    /// Memory that 32-bit pointers reach.
    fn low_page() -> u32 {
        let low = MapFlags::from_bits_retain(libc::MAP_32BIT as u32);
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel picks the place, so that nothing else is mapped over.
        #[allow(unsafe_code)]
        let place = unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, both, MapFlags::PRIVATE | low) };
        place.unwrap() as usize as u32
    }

    /// Whether this kernel runs 32-bit programs; one that does not kills a thread that tries.
    fn supported() -> bool {
        const IA32: &str = "CONFIG_IA32_EMULATION=y";
        let says = |config: String| config.lines().any(|line| line == IA32);
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let unpacked = std::process::Command::new("zcat").arg("/proc/config.gz").output();
        fs::read_to_string(format!("/boot/config-{}", release.trim())).is_ok_and(says)
            || unpacked.is_ok_and(|output| says(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    #[test]
    fn calls_of_32_bit_programs_are_known_by_their_own_numbers() {
        const FUTEX: u32 = 240;
        const SCHED_SETAFFINITY: u32 = 241;
        let Some(mut watch) = watch().filter(|_| supported()) else {
            eprintln!("skipped: needs eBPF and a kernel that runs 32-bit programs");
            return;
        };
        watch.follow(std::process::id()).unwrap();
        let page = low_page();
        // A futex word that is 0, a time of 300 ms, a mask with CPU `cpu`.
        let (word, time, cpus) = (page, page + 64, page + 128);
        let cpu = mask::own().unwrap()[0];
        // SAFETY: the page is mapped, large enough, and nothing else uses it.
        #[allow(unsafe_code)]
        unsafe {
            (time as usize as *mut [u32; 2]).write([0, 300_000_000]);
            (cpus as usize as *mut [u32; 32])
                .write(std::array::from_fn(|word| if word == usize::from(cpu) / 32 { 1 << (cpu % 32) } else { 0 }));
        }
        // SAFETY: FUTEX_WAIT until a time, which only reads the page.
        #[allow(unsafe_code)]
        let wait = || assert_eq!(unsafe { call(FUTEX, [word, 0, 0, time]) }, -libc::ETIMEDOUT);
        let waiter = blocks(&mut watch, State::Futex, wait, || {});
        assert!(watch.pairs().iter().all(|pair| pair.waiter != waiter), "a timer ends that wait");
        // SAFETY: sets the mask of the thread that calls this, which only reads the page.
        #[allow(unsafe_code)]
        let set = || assert_eq!(unsafe { call(SCHED_SETAFFINITY, [0, 128, cpus, 0]) }, 0);
        assert_eq!(wishes(&mut watch, set), [Some(mask::of([cpu])), None]);
    }
}
