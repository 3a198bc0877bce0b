//! Learns of parallel regions from libomp, as a tool of OpenMP's (OpenMP 5.0, chapter 4).
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cores::{self, Cores};
use crate::dynamic;
use crate::real;
use crate::region::{self, Team};
use crate::switch::{self, Switch};
use crate::user_schedule::{Schedule, UserSchedule};
use crate::why::Why;

/// What libomp keeps for a tool with each region (`ompt_data_t`): here the [`Team`], or null.
#[repr(C)]
pub struct Data(*mut c_void);

/// What OpenMP has for a program to ask, such as the number of its thread.
type Ask = extern "C" fn() -> c_int;
type Function = unsafe extern "C" fn();
type Lookup = unsafe extern "C" fn(*const c_char) -> Option<Function>;
type SetCallback = unsafe extern "C" fn(c_int, *const c_void) -> c_int;
type ParallelInfo = unsafe extern "C" fn(c_int, *mut *mut Data, *mut c_int) -> c_int;
type TaskInfo =
    unsafe extern "C" fn(c_int, *mut c_int, *mut *mut Data, *mut *mut c_void, *mut *mut Data, *mut c_int) -> c_int;

/// `ompt_callback_thread_begin`.
const THREAD_BEGIN: c_int = 1;
/// `ompt_callback_parallel_begin` and `_end`.
const PARALLEL_BEGIN: c_int = 3;
const PARALLEL_END: c_int = 4;
/// `ompt_callback_implicit_task`, and `ompt_scope_begin`.
const IMPLICIT_TASK: c_int = 7;
const SCOPE_BEGIN: c_int = 1;
/// `ompt_task_initial`: of the program's own thread, so that a region which it begins is inside no other.
const INITIAL: c_int = 1;
/// `ompt_parallel_team`: a team of threads, not a league of teams.
const TEAM: c_int = i32::MIN;

/// What libomp has told.
pub struct Tool {
    /// Where it begins, since a process may have another one, too.
    library: usize,
    cores: &'static Cores,
    parallel_info: ParallelInfo,
    task_info: TaskInfo,
    thread_number: Ask,
    team_count: Ask,
    level: Ask,
    schedule: Schedule,
    report: bool,
}

static TOOL: OnceLock<Tool> = OnceLock::new();

/// Whether regions that begin are left as they are: two threads of a program that begin regions would each have the first core for themselves, and
/// so would a process and the one that has forked it.
static ALONE: AtomicBool = AtomicBool::new(false);
/// Whether a thread has begun a region of several threads, and whether it was this one.
static BEGUN: AtomicBool = AtomicBool::new(false);
thread_local! {
    static BEGINS: Cell<bool> = const { Cell::new(false) };
}

/// Whether an OpenMP library has asked for this tool, or it has been noticed that none has.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Where the OpenMP library begins that has started this tool.
pub fn library() -> Option<usize> {
    TOOL.get().map(|tool| tool.library)
}

/// No region that begins from now on is split. Returns whether that is new.
pub fn leave_alone() -> bool {
    !ALONE.swap(true, Ordering::Relaxed)
}

/// Whether regions that begin are left as they are.
pub fn is_left_alone() -> bool {
    ALONE.load(Ordering::Relaxed)
}

/// A region of several threads begins: whether this thread is the only one that begins such. Those of one thread bind none.
pub fn begins_all() -> bool {
    if !BEGINS.get() {
        if BEGUN.swap(true, Ordering::Relaxed) {
            if leave_alone() {
                Why::SecondThread.say();
            }
        } else {
            BEGINS.set(true);
        }
    }
    !is_left_alone()
}

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct Start {
    initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    finalize: unsafe extern "C" fn(*mut Data),
    data: UnsafeCell<Data>,
}

// SAFETY: only libomp touches it, and hands `data` to the two functions, which leave it alone.
unsafe impl Sync for Start {}

static START: Start = Start { initialize, finalize, data: UnsafeCell::new(Data(ptr::null_mut())) };

/// By which libomp asks whether there is a tool, as it starts.
#[unsafe(no_mangle)]
pub extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *const Start {
    ASKED.store(true, Ordering::Relaxed);
    if switch::read() == Switch::Off || cores::find().is_none() {
        return ptr::null();
    }
    &raw const START
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut Data) -> c_int {
    // SAFETY: functions of these names have these types (OpenMP 5.0, 4.6.1 and 4.6.2); those of a program, too (3.2).
    let found = unsafe {
        let function = |name: &CStr| lookup(name.as_ptr());
        let ask = |name: &CStr| Some(real::beside(lookup as *const c_void, name)?.function::<Ask>());
        (|| {
            let set: SetCallback = std::mem::transmute::<Function, SetCallback>(function(c"ompt_set_callback")?);
            let tool = Tool {
                library: real::library(lookup as *const c_void)?.dli_fbase.addr(),
                cores: cores::find()?,
                parallel_info: std::mem::transmute::<Function, ParallelInfo>(function(c"ompt_get_parallel_info")?),
                task_info: std::mem::transmute::<Function, TaskInfo>(function(c"ompt_get_task_info")?),
                thread_number: ask(c"omp_get_thread_num")?,
                team_count: ask(c"omp_get_num_teams")?,
                level: ask(c"omp_get_level")?,
                schedule: real::beside(lookup as *const c_void, c"omp_get_schedule")?.function::<Schedule>(),
                report: switch::read() == Switch::Report,
            };
            Some((set, tool))
        })()
    };
    let Some((set, tool)) = found else { return 0 };
    if !cores::claim(tool.library) || TOOL.set(tool).is_err() {
        return 0;
    }
    // SAFETY: the callbacks have the types that events of these numbers want (OpenMP 5.0, 4.5.2.1, 4.5.2.3, 4.5.2.4 and 4.5.2.11).
    unsafe {
        set(THREAD_BEGIN, thread_begin as *const c_void);
        set(PARALLEL_BEGIN, begin as *const c_void);
        set(PARALLEL_END, end as *const c_void);
        set(IMPLICIT_TASK, implicit_task as *const c_void);
    }
    // It stays.
    1
}

/// At the end of the process, but not of one that it has forked, which knows no more.
unsafe extern "C" fn finalize(_data: *mut Data) {
    if TOOL.get().is_some_and(|tool| tool.report) && !cores::is_forked() {
        switch::say(&(region::report() + &dynamic::report()));
    }
}

/// A thread that is started in a region inherits the core of the one that starts it.
unsafe extern "C" fn thread_begin(_kind: c_int, _data: *mut Data) {
    if let Some(tool) = TOOL.get() {
        tool.cores.disinherit();
    }
}

unsafe extern "C" fn begin(
    _task: *mut Data,
    _frame: *const c_void,
    data: *mut Data,
    threads: c_uint,
    flags: c_int,
    code: *const c_void,
) {
    let Some(tool) = TOOL.get() else { return };
    let mut team = ptr::null_mut();
    if flags & TEAM != 0
        && tool.in_initial_task()
        && (tool.team_count)() == 1
        && threads > 1
        && begins_all()
        && let Some(mut new) = Team::new(code.addr(), tool.cores, threads as usize)
    {
        // Of the thread that begins the region, as libomp has it for the whole team: one that a thread says in it would be of no effect there, and
        // all threads have to begin a loop with the same chunk.
        new.user_schedule = UserSchedule::of(tool.schedule);
        team = Box::into_raw(Box::new(new)).cast();
    }
    // SAFETY: libomp's own place for it, which no other thread knows of yet.
    unsafe { (*data).0 = team };
}

unsafe extern "C" fn end(data: *mut Data, _task: *mut Data, _flags: c_int, _code: *const c_void) {
    // SAFETY: as above; all threads of the team are behind its last barrier, and no loop of it is left.
    let team = unsafe { std::mem::replace(&mut (*data).0, ptr::null_mut()) };
    if !team.is_null() {
        // SAFETY: `begin` has made it of a box, and no thread uses it any more.
        unsafe { Box::from_raw(team.cast::<Team>()) }.end();
        // Threads and processes that this thread starts now inherit where it may run.
        if let Some(tool) = TOOL.get() {
            tool.cores.release();
        }
    }
}

/// A thread begins its part of a region. If that is left as it is, the thread is free, except for the first one: it has begun the region, and may be in
/// the middle of a split loop around it.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    data: *mut Data,
    _task: *mut Data,
    threads: c_uint,
    number: c_uint,
    _flags: c_int,
) {
    if endpoint != SCOPE_BEGIN || threads < 2 || number == 0 || data.is_null() {
        return;
    }
    // SAFETY: libomp keeps it as long as a thread is in the region; `begin` has put a team or null there.
    let is_left_alone = unsafe { (*data).0.is_null() };
    if is_left_alone && let Some(tool) = TOOL.get() {
        tool.cores.release();
    }
}

impl Tool {
    fn in_initial_task(&self) -> bool {
        let (mut flags, mut task, mut frame, mut region, mut number) =
            (0, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: it writes to these places, whatever there is.
        let found = unsafe { (self.task_info)(0, &mut flags, &mut task, &mut frame, &mut region, &mut number) };
        found == 2 && flags & INITIAL != 0
    }

    /// Whether this thread, in a region inside others, stays on its core for the outermost one, whose loops are split: the first thread of a region is
    /// the one that has begun it, in the middle of its part.
    fn stays_for_outermost(&self) -> bool {
        if (self.thread_number)() != 0 {
            return false;
        }
        // SAFETY: the team is used only here, in a region inside the outermost one.
        let outermost = unsafe { region(self, (self.level)() - 1) };
        outermost.is_some_and(|(team, threads)| team.is_some_and(|team| team.plan(threads).is_some()))
    }
}

/// A thread, in the team of the region that it is in.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// The team.
    pub team: &'a Team,
    /// How many threads the team has.
    pub threads: usize,
    /// The thread's number in it.
    pub number: usize,
}

/// The team of the region that this thread is in, or of one so many levels further out, and how many threads it has; no team if its loops are not to be
/// split. `None` outside of all regions, and where a thread is alone.
///
/// # Safety
/// The thread stays in the region for as long as the team is used.
unsafe fn region<'a>(tool: &Tool, further_out: c_int) -> Option<(Option<&'a Team>, usize)> {
    let (mut data, mut threads) = (ptr::null_mut::<Data>(), 0);
    // SAFETY: it writes to these places.
    let found = unsafe { (tool.parallel_info)(further_out, &mut data, &mut threads) };
    if found != 2 || data.is_null() || threads < 2 {
        return None;
    }
    // SAFETY: libomp keeps it as long as a thread is in the region; `begin` has put a team or null there.
    Some((unsafe { (*data).0.cast::<Team>().as_ref() }, threads as usize))
}

/// A loop is met without this tool: that is said if none has asked for it, since libomp asks before its first loop.
fn unasked() {
    if ASKED.load(Ordering::Relaxed) || ASKED.swap(true, Ordering::Relaxed) {
        return;
    }
    if switch::read() != Switch::Off && cores::find().is_some() {
        Why::NoTool.say();
    }
}

/// Does something with this thread's place in its team, if it is in a region whose loops may be split, and in a loop of this OpenMP library. The
/// thread is where it belongs then.
pub fn member<T>(library: usize, then: impl FnOnce(Member<'_>) -> T) -> Option<T> {
    let Some(tool) = TOOL.get() else {
        unasked();
        return None;
    };
    if tool.library != library {
        return None;
    }
    // SAFETY: until `then` returns it is in the region.
    let (team, threads) = unsafe { region(tool, 0) }?;
    let Some(team) = team else {
        if !tool.stays_for_outermost() {
            tool.cores.release();
        }
        return None;
    };
    let number = usize::try_from((tool.thread_number)()).ok()?;
    team.settle(number, threads);
    Some(then(Member { team, threads, number }))
}

/// Does something with the team of the region that this thread is in, and with how many threads that has, if its loops may be split, and in a loop of this
/// OpenMP library. The thread stays where it is.
pub fn in_team<T>(library: usize, then: impl FnOnce(&Team, usize) -> T) -> Option<T> {
    let tool = TOOL.get().filter(|tool| tool.library == library)?;
    // SAFETY: until `then` returns it is in the region.
    let (team, threads) = unsafe { region(tool, 0) }?;
    Some(then(team?, threads))
}

/// Does something with the schedule that its user wants of this thread's team and the speeds of the cores that it may use, if it is in a region whose loops
/// may be split, and in a loop of this OpenMP library.
pub fn of_cores<T>(
    library: usize,
    then: impl FnOnce(Option<UserSchedule>, &mut dyn Iterator<Item = f64>) -> T,
) -> Option<T> {
    in_team(library, |team, threads| Some(then(team.user_schedule, &mut team.speeds(threads)?)))?
}
