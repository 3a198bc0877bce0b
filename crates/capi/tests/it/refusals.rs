//! What makes no sense is refused, and nothing is done.
#![expect(unsafe_code, reason = "the interface is C's")]

use std::env;
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use evenkeel::*;
use evenkeel_runtime::{this_machine, this_machine_as_it_is};
use evenkeel_topology::{POWERS, SYSFS, list};

unsafe extern "C-unwind" fn never(_: *mut c_void) {
    unreachable!("nothing is done");
}

unsafe extern "C-unwind" fn never_a_piece(_: usize, _: usize, _: *mut c_void) {
    unreachable!("nothing is done");
}

#[test]
fn null_where_it_must_not_be() {
    // SAFETY: null is what is tested; the rest is as it should be.
    unsafe {
        assert_eq!(ek_pool_new(null(), null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_pool_run(null(), None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_join(Some(never), null_mut(), None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_join(None, null_mut(), Some(never), null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_scope_run(None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_spawn(null(), None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_parallel_for(0, 1, 0, None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_reduce(0, 1, 0, null_mut(), 8, None, None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_graph_run(None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_task(null_mut(), null(), 0, 0, Some(never), null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_task_now(null_mut(), null(), 0, Some(never), null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_graph_wait(null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_graph_window(null_mut(), 1), ek_status::EK_NULL);
        ek_pool_free(null_mut());
    }
}

#[test]
fn pools_that_cannot_be() {
    let mut pool = std::ptr::dangling_mut();
    let options = ek_options { threads: 8193, ..ek_options_default() };
    // SAFETY: both are there.
    assert_eq!(unsafe { ek_pool_new(&options, &mut pool) }, ek_status::EK_TOO_MANY_THREADS);
    assert!(pool.is_null());
    let options = ek_options { name: c"\xff".as_ptr(), ..ek_options_default() };
    // SAFETY: as above.
    assert_eq!(unsafe { ek_pool_new(&options, &mut pool) }, ek_status::EK_NAME);
}

#[test]
fn cores_and_techniques_that_cannot_be() {
    let refused = |options: ek_options| {
        let mut pool = std::ptr::dangling_mut();
        // SAFETY: both are there, strings are strings.
        let status = unsafe { ek_pool_new(&options, &mut pool) };
        assert!(pool.is_null());
        status
    };
    let default = ek_options_default();
    for wrong in [c"", c"0-", c"1023", c"zero", c"\xff"] {
        assert_eq!(refused(ek_options { cores: wrong.as_ptr(), ..default }), ek_status::EK_CORES, "{wrong:?}");
        assert_eq!(refused(ek_options { big: wrong.as_ptr(), ..default }), ek_status::EK_CORES, "{wrong:?}");
    }
    let cpu = CString::new(this_machine().unwrap().cpus[0].id.to_string()).unwrap();
    let both = ek_options { big: cpu.as_ptr(), little: cpu.as_ptr(), ..default };
    assert_eq!(refused(both), ek_status::EK_CORES);
    let none_big = ek_options { cores: cpu.as_ptr(), little: cpu.as_ptr(), ..default };
    assert_eq!(refused(none_big), ek_status::EK_CORES);
    for wrong in [0.5, -1.0, 101.0, f64::NAN] {
        assert_eq!(refused(ek_options { ratio: wrong, ..default }), ek_status::EK_CORES, "{wrong}");
    }
    for wrong in [c"", c"psm", c"base+x", c"\xff"] {
        assert_eq!(
            refused(ek_options { techniques: wrong.as_ptr(), ..default }),
            ek_status::EK_TECHNIQUES,
            "{wrong:?}"
        );
    }
}

#[test]
fn powers_that_cannot_be() {
    let with = |powers: &CStr, big: Option<&CStr>| {
        let big = big.map_or(null(), CStr::as_ptr);
        let options = ek_options { powers: powers.as_ptr(), big, ..ek_options_default() };
        let mut pool = null_mut();
        // SAFETY: both are there, strings are strings.
        let status = unsafe { ek_pool_new(&options, &mut pool) };
        // SAFETY: null, or a pool that is freed once.
        unsafe { ek_pool_free(pool) };
        status
    };
    for wrong in [c"", c"no-such-machine", c"/dev/null", c"\xff"] {
        assert_eq!(with(wrong, None), ek_status::EK_POWERS, "{wrong:?}");
    }
    // Its core types are two, for two kinds of cores, which the machine or the options state.
    let machine = this_machine().unwrap();
    if let [first, _, ..] = machine.ids()[..]
        && machine.kinds.len() == 1
        && machine.cpus.iter().all(|cpu| cpu.frequencies.is_empty())
    {
        assert_eq!(with(c"aaws-4B4L", None), ek_status::EK_POWERS);
        let big = CString::new(first.to_string()).unwrap();
        assert_eq!(with(c"aaws-4B4L", Some(&big)), ek_status::EK_OK);
    }
}

/// On equal cores. One process for each value, because the environment is one for the whole process.
#[test]
fn powers_of_the_environment_are_those_of_the_kinds_that_options_state() {
    const INNER: &str = "EVENKEEL_TEST_INNER";
    if env::var_os(INNER).is_none() {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("equal");
        evenkeel_testing::sysfs::equal_cpus(&root).unwrap();
        for powers in ["aaws-4B4L", "/nowhere.toml"] {
            let mut alone = Command::new(env::current_exe().unwrap());
            let test = "refusals::powers_of_the_environment_are_those_of_the_kinds_that_options_state";
            alone.args([test, "--exact"]).env(INNER, "1").env(SYSFS, &root).env(POWERS, powers);
            let output = alone.output().unwrap();
            assert!(output.status.success(), "{powers}: {output:?}");
        }
        return;
    }
    let cpus = this_machine_as_it_is().map(|machine| machine.ids()).unwrap_or_default();
    // This process may use other CPUs only, or one.
    let [first, second, ..] = cpus[..] else { return };
    let (big, little) = (CString::new(first.to_string()).unwrap(), CString::new(second.to_string()).unwrap());
    let with = |powers: Option<&CStr>| {
        let options = ek_options {
            big: big.as_ptr(),
            little: little.as_ptr(),
            powers: powers.map_or(null(), CStr::as_ptr),
            techniques: c"base+m".as_ptr(),
            ..ek_options_default()
        };
        let mut pool = null_mut();
        // SAFETY: both are there, strings are strings.
        let status = unsafe { ek_pool_new(&options, &mut pool) };
        // SAFETY: null, or a pool that is freed once.
        unsafe { ek_pool_free(pool) };
        status
    };
    let there = env::var(POWERS).unwrap() == "aaws-4B4L";
    let of_environment = if there { ek_status::EK_OK } else { ek_status::EK_POWERS };
    assert_eq!(with(None), of_environment);
    assert_eq!(with(Some(c"aaws-4B4L")), ek_status::EK_OK, "the environment has no say");
}

#[test]
fn there_is_a_worker_for_each_core_that_is_named() {
    let cpus = this_machine().unwrap().ids();
    for count in 1..=cpus.len().min(4) {
        let cores = CString::new(list::text(&cpus[..count])).unwrap();
        let big = CString::new(cpus[0].to_string()).unwrap();
        let wanted = ek_options {
            cores: cores.as_ptr(),
            big: big.as_ptr(),
            ratio: if count > 1 { 3.0 } else { 0.0 },
            techniques: c"base+m".as_ptr(),
            turns: 0,
            ..ek_options_default()
        };
        let mut pool = null_mut();
        // SAFETY: both are there, strings are strings.
        unsafe {
            assert_eq!(ek_pool_new(&wanted, &mut pool), ek_status::EK_OK);
            assert_eq!(ek_pool_threads(pool), count);
            ek_pool_free(pool);
        }
    }
}

#[test]
fn the_global_pool_is_made_once() {
    // SAFETY: null is allowed.
    unsafe {
        assert!(ek_pool_threads(null()) > 0);
        assert_eq!(ek_global_configure(null()), ek_status::EK_GLOBAL_EXISTS);
    }
}

#[test]
fn an_empty_range_leaves_the_identity() {
    unsafe extern "C-unwind" fn add(_: *mut c_void, _: *const c_void, _: *mut c_void) {
        unreachable!("there is nothing to add");
    }
    unsafe extern "C-unwind" fn piece(_: usize, _: usize, _: *mut c_void, _: *mut c_void) {
        unreachable!("there is nothing to add");
    }
    let mut value = 7_u64;
    let to = (&raw mut value).cast();
    // SAFETY: eight bytes are there.
    unsafe {
        assert_eq!(ek_parallel_for(5, 5, 0, Some(never_a_piece), null_mut()), ek_status::EK_OK);
        assert_eq!(ek_parallel_for(5, 4, 0, Some(never_a_piece), null_mut()), ek_status::EK_OK);
        assert_eq!(ek_reduce(3, 3, 0, to, 8, Some(piece), Some(add), null_mut()), ek_status::EK_OK);
    }
    assert_eq!(value, 7);
}

unsafe extern "C-unwind" fn wait_in_task(graph: *mut c_void) {
    // SAFETY: it is the graph whose body runs this.
    unsafe {
        assert_eq!(ek_graph_wait(graph.cast()), ek_status::EK_IN_TASK);
        assert_eq!(ek_task_now(graph.cast(), null(), 0, Some(never), null_mut()), ek_status::EK_IN_TASK);
    }
}

unsafe extern "C-unwind" fn refused_tasks(graph: *mut ek_graph, _: *mut c_void) {
    let wrong = ek_access { mode: 3, region: null() };
    // SAFETY: called by the graph's body.
    unsafe {
        assert_eq!(ek_task(graph, &wrong, 1, 0, Some(never), null_mut()), ek_status::EK_MODE);
        assert_eq!(ek_task(graph, null(), 1, 0, Some(never), null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_task(graph, null(), 0, 0, None, null_mut()), ek_status::EK_NULL);
        assert_eq!(ek_task_now(graph, null(), 0, Some(wait_in_task), graph.cast()), ek_status::EK_OK);
        let elsewhere = graph.expose_provenance();
        let other = std::thread::spawn(move || ek_graph_wait(std::ptr::with_exposed_provenance_mut(elsewhere)));
        assert!(matches!(other.join(), Ok(ek_status::EK_THREAD)));
    }
}

#[test]
fn tasks_that_make_no_sense() {
    // SAFETY: the body returns.
    assert_eq!(unsafe { ek_graph_run(Some(refused_tasks), null_mut()) }, ek_status::EK_OK);
}

unsafe extern "C-unwind" fn use_graph(graph: *mut c_void) {
    // SAFETY: the graph has not ended.
    unsafe {
        assert_eq!(ek_task(graph.cast(), null(), 0, 0, Some(never), null_mut()), ek_status::EK_THREAD);
        assert_eq!(ek_graph_wait(graph.cast()), ek_status::EK_THREAD);
    }
}

unsafe extern "C-unwind" fn tasks_use_graph(graph: *mut ek_graph, _: *mut c_void) {
    // SAFETY: called by the graph's body.
    unsafe {
        for _ in 0..100 {
            assert_eq!(ek_task(graph, null(), 0, 0, Some(use_graph), graph.cast()), ek_status::EK_OK);
        }
        assert_eq!(ek_graph_wait(graph), ek_status::EK_OK);
    }
}

#[test]
fn a_task_makes_no_tasks_whichever_thread_runs_it() {
    // SAFETY: the body returns.
    assert_eq!(unsafe { ek_graph_run(Some(tasks_use_graph), null_mut()) }, ek_status::EK_OK);
}

unsafe extern "C-unwind" fn leaves_tasks(graph: *mut ek_graph, _: *mut c_void) {
    // SAFETY: called by the graph's body.
    unsafe {
        for _ in 0..100 {
            assert_eq!(ek_task(graph, null(), 0, 0, Some(use_graph), graph.cast()), ek_status::EK_OK);
        }
    }
}

#[test]
fn a_task_makes_no_tasks_once_the_body_has_returned() {
    for _ in 0..20 {
        // SAFETY: the body returns.
        assert_eq!(unsafe { ek_graph_run(Some(leaves_tasks), null_mut()) }, ek_status::EK_OK);
    }
}

static BEGUN: AtomicUsize = AtomicUsize::new(0);
static SECOND: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn until_second(_: *mut c_void) {
    BEGUN.fetch_add(1, SeqCst);
    while SECOND.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
}

unsafe extern "C-unwind" fn second(_: *mut c_void) {
    SECOND.fetch_add(1, SeqCst);
}

unsafe extern "C-unwind" fn fork(graph: *mut ek_graph, _: *mut c_void) {
    // SAFETY: called by the graph's body.
    unsafe {
        assert_eq!(ek_task(graph, null(), 0, 0, Some(until_second), null_mut()), ek_status::EK_OK);
        while BEGUN.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        // Were the first half to wait for that task, it would run the second one, and another task would take its place.
        assert_eq!(ek_join(Some(use_graph), graph.cast(), Some(second), null_mut()), ek_status::EK_OK);
    }
    assert_eq!(SECOND.load(SeqCst), 1);
}

unsafe extern "C-unwind" fn fork_in_graph(_: *mut c_void) {
    // SAFETY: the body returns.
    assert_eq!(unsafe { ek_graph_run(Some(fork), null_mut()) }, ek_status::EK_OK);
}

#[test]
fn what_a_body_forks_does_not_use_the_graph() {
    let mut pool = null_mut();
    let options = ek_options { threads: 2, ..ek_options_default() };
    // SAFETY: all are there, and the pool is freed once.
    unsafe {
        assert_eq!(ek_pool_new(&options, &mut pool), ek_status::EK_OK);
        // With a thread of its own the pool can run the task.
        if ek_pool_threads(pool) == 2 {
            assert_eq!(ek_pool_run(pool, Some(fork_in_graph), null_mut()), ek_status::EK_OK);
        }
        ek_pool_free(pool);
    }
}

#[test]
fn every_status_has_a_text() {
    let text = |status| {
        // SAFETY: texts are strings that stay.
        unsafe { CStr::from_ptr(ek_status_text(status)) }.to_str().unwrap_or_default().to_owned()
    };
    for status in 0..=ek_status::EK_POWERS as i32 {
        assert!(!text(status).starts_with("no status"), "{status}");
    }
    assert_eq!(text(ek_status::EK_NAME as i32), "a name is not UTF-8");
    assert_eq!(text(-1), "no status of evenkeel");
    assert_eq!(text(99), "no status of evenkeel");
}
