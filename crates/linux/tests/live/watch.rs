//! What eBPF reports of threads of this process. None of it needs tracefs.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use evenkeel_linux::event::{Event, Off, Tid, What};
use evenkeel_linux::mask;
use evenkeel_linux::record::BUFFER;
use evenkeel_linux::sample::{Sample, ThreadState};
use evenkeel_linux::watch::{Options, Watch};
use evenkeel_model::Ns;
use evenkeel_sched::policy::Culprit;
use rustix::thread::{CpuSet, futex, gettid, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// A watch of this process.
fn watch() -> Watch {
    let mut watch = Watch::new(Options::default()).unwrap();
    watch.follow(std::process::id()).unwrap();
    watch
}

fn now() -> Ns {
    let now = clock_gettime(ClockId::Monotonic);
    Ns(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn samples(watch: &mut Watch) -> Vec<Sample> {
    let (mut living, mut gone) = (Vec::new(), Vec::new());
    watch.sample(now(), &mut living, &mut gone);
    living
}

fn own_tid() -> Tid {
    gettid().as_raw_nonzero().get() as Tid
}

/// The sample of a thread, once it is in a state.
fn once(watch: &mut Watch, tid: Tid, state: ThreadState) -> Sample {
    for _ in 0..10_000 {
        let sample = samples(watch).into_iter().find(|sample| sample.tid == tid && sample.state == state);
        if let Some(sample) = sample {
            return sample;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("thread {tid} is never {state:?}");
}

/// Runs `wait` in a thread of its own until it has blocked in a state, and then `wake`.
fn blocks(watch: &mut Watch, state: ThreadState, wait: impl FnOnce() + Send, wake: impl FnOnce()) -> Tid {
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

/// Returns what the watch has, twice, of the mask of a thread that has just given itself one by `set`.
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

#[test(ebpf)]
fn a_thread_that_waits_for_another_is_told_from_one_that_sleeps() {
    let mut watch = watch();
    let word = AtomicU32::new(0);
    let wait = || {
        while word.load(Ordering::Acquire) == 0 {
            let _ = futex::wait(&word, futex::Flags::PRIVATE, 0, None);
        }
    };
    let waiter = blocks(&mut watch, ThreadState::Futex, wait, || {
        word.store(1, Ordering::Release);
        futex::wake(&word, futex::Flags::PRIVATE, 1).unwrap();
    });
    let own = own_tid();
    let pair = watch.pairs().into_iter().find(|pair| pair.waiter == waiter).unwrap();
    assert!(pair.waker == own && pair.times >= 1 && pair.waited > Ns::ZERO, "{pair:?}");
    blocks(&mut watch, ThreadState::Blocked, || thread::sleep(Duration::from_millis(300)), || {});
}

/// A thread waits for a second one, which only passes on what it waits for itself: for how long this thread, for which both wait, and the second one
/// are blamed.
fn blamed_where_work_is_passed_on(culprit: Culprit) -> [Ns; 2] {
    let mut watch = watch();
    watch.set_culprit(culprit);
    thread::scope(|scope| {
        let ((begin, begun), (pass, passed), (end, ended)) = (mpsc::channel(), mpsc::channel(), mpsc::channel::<()>());
        let ((tell_second, second), (tell_last, last)) = (mpsc::channel(), mpsc::channel());
        scope.spawn(move || {
            tell_second.send(own_tid()).unwrap();
            begun.recv().unwrap();
            pass.send(()).unwrap();
            let _ = ended.recv();
        });
        scope.spawn(move || {
            tell_last.send(own_tid()).unwrap();
            passed.recv().unwrap();
            tell_last.send(own_tid()).unwrap();
        });
        let (second, waits) = (second.recv().unwrap(), last.recv().unwrap());
        for tid in [second, waits] {
            once(&mut watch, tid, ThreadState::Futex);
        }
        thread::sleep(Duration::from_millis(300));
        begin.send(()).unwrap();
        last.recv().unwrap();
        let samples = samples(&mut watch);
        let blame = |tid: Tid| samples.iter().find(|sample| sample.tid == tid).unwrap().inside.unwrap().blame;
        drop(end);
        [blame(own_tid()), blame(second)]
    })
}

#[test(ebpf)]
fn those_are_blamed_that_the_policy_holds_to_be_at_fault() {
    let [own, second] = blamed_where_work_is_passed_on(Culprit::Holders);
    assert!(own > Ns::from_ms(500) && second < Ns(own.0 / 2), "{own}, {second}");
    let [own, second] = blamed_where_work_is_passed_on(Culprit::Waker);
    assert!(own > Ns::from_ms(250) && second > Ns::from_ms(250), "{own}, {second}");
}

#[test(ebpf)]
fn a_mask_that_a_thread_gives_itself_is_seen_once() {
    let mut watch = watch();
    let chosen = mask::of(mask::own().unwrap().into_iter().take(1));
    let set = || sched_setaffinity(None, &chosen).unwrap();
    assert_eq!(wishes(&mut watch, set), [Some(chosen), None]);
}

/// By `taskset -p`, of which the kernel refuses other users' calls.
#[test(ebpf)]
fn a_mask_that_the_user_of_a_thread_gives_it_from_outside_is_seen() {
    const USER: u32 = 65534;
    let mut watch = Watch::new(Options::default()).unwrap();
    let mut sleep = Command::new("sleep").arg("60").uid(USER).spawn().unwrap();
    let tid = sleep.id();
    watch.follow(tid).unwrap();
    let cpu = mask::own().unwrap()[0];
    let wishes = [USER - 1, USER].map(|user| {
        let mut taskset = Command::new("taskset");
        taskset.args(["-cp", &cpu.to_string(), &tid.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        (taskset.uid(user).status().unwrap().success(), watch.wish(tid))
    });
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert_eq!(wishes, [(false, None), (true, Some(mask::of([cpu])))]);
}

/// Two hosts on one machine do not disturb each other, and the end of one leaves the other at work.
#[test(ebpf)]
fn two_watches_see_the_same() {
    let (mut first, mut second) = (watch(), watch());
    once(&mut first, own_tid(), ThreadState::Runnable);
    drop(first);
    let own = once(&mut second, own_tid(), ThreadState::Runnable);
    assert!(own.inside.is_some());
}

/// Servers run thousands of threads.
#[test(ebpf)]
fn six_thousand_threads_are_followed_at_a_time() {
    const THREADS: usize = 6000;
    let mut watch = watch();
    let (started, ended) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let wait = || {
                started.wait();
                ended.wait();
            };
            thread::Builder::new().stack_size(1 << 16).spawn_scoped(scope, wait).unwrap();
        }
        started.wait();
        let found = samples(&mut watch);
        ended.wait();
        assert!(found.len() > THREADS, "{} of {THREADS}", found.len());
    });
    assert_eq!(watch.missed().threads, 0);
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

    #[test(ebpf, programs_of_32_bits)]
    fn calls_of_32_bit_programs_are_known_by_their_own_numbers() {
        const FUTEX: u32 = 240;
        const SCHED_SETAFFINITY: u32 = 241;
        let mut watch = watch();
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
        let waiter = blocks(&mut watch, ThreadState::Futex, wait, || {});
        assert!(watch.pairs().iter().all(|pair| pair.waiter != waiter), "a timer ends that wait");
        // SAFETY: sets the mask of the thread that calls this, which only reads the page.
        #[allow(unsafe_code)]
        let set = || assert_eq!(unsafe { call(SCHED_SETAFFINITY, [0, 128, cpus, 0]) }, 0);
        assert_eq!(wishes(&mut watch, set), [Some(mask::of([cpu])), None]);
    }
}

/// Only then another one can have its CPU: a thread may be preempted on its way out.
#[test(ebpf)]
fn a_thread_that_exits_is_seen_to_leave_its_cpu() {
    let mut watch = Watch::new(Options { events: Some(BUFFER), ..Options::default() }).unwrap();
    watch.follow(std::process::id()).unwrap();
    let tid = thread::spawn(own_tid).join().unwrap();
    let mut seen = Vec::new();
    for _ in 0..1000 {
        let each = |event: Event| {
            if event.tid == tid {
                seen.push(event.what);
            }
        };
        watch.events(each).unwrap();
        if seen.contains(&What::Exited) && seen.last() == Some(&What::Off(Off::Blocked)) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{seen:?}");
}

/// Kernels are known whose sched_switch does not tell of every thread that it puts on a CPU. One of which it does not tell is
/// found at a tick, by two events: since when, and that it runs. A tick that is due just then may be first.
#[test(ebpf, switched_back)]
fn a_thread_is_seen_to_begin_whenever_it_runs() {
    const AT_ONCE: Ns = Ns::from_us(500);
    let mut watch = Watch::new(Options { events: Some(BUFFER), ..Options::default() }).unwrap();
    watch.follow(std::process::id()).unwrap();
    let works = |cpu: u16| {
        let mut only = CpuSet::new();
        only.set(usize::from(cpu));
        sched_setaffinity(None, &only).unwrap();
        for _ in 0..200 {
            let began = now();
            while now().since(began) < Ns(10_000_000) {}
            thread::sleep(Duration::from_millis(1));
        }
        own_tid()
    };
    let workers = mask::own().unwrap().into_iter().map(|cpu| thread::spawn(move || works(cpu))).collect::<Vec<_>>();
    let workers = workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>();
    let mut begun: BTreeMap<Tid, Vec<Ns>> = BTreeMap::new();
    let (mut at_once, mut late, mut never) = (0, 0, 0);
    let each = |event: Event| {
        let begun = begun.entry(event.tid).or_default();
        match event.what {
            What::On => begun.push(event.at),
            What::Off(_) if workers.contains(&event.tid) => {
                match begun[..] {
                    [] => never += 1,
                    [first, .., last] if last.since(first) > AT_ONCE => late += 1,
                    _ => at_once += 1,
                }
                begun.clear();
            }
            _ => {}
        }
    };
    watch.events(each).unwrap();
    assert_eq!(watch.missed().events, 0);
    assert!(at_once >= 100 && late + never == 0, "{at_once} at once, {late} late, {never} never");
}
