//! A whole file and its `global` object.

use evenkeel_model::Ns;
use evenkeel_model::names::printable;

use super::json::{self, Field, MAX_INT, setting};
use super::notes::{Notes, RtAppError, did_you_mean};
use super::sched::Policy;
use super::task::{self, RtAppTask};
use crate::program::Calibration;

/// Keys that only concern rt-app's own logs and its process; nothing that is simulated depends on them. `frag` is a
/// leftover in old files that rt-app itself no longer reads.
const LOGGING: &[&str] =
    &["gnuplot", "logdir", "log_basename", "log_size", "ftrace", "lock_pages", "frag", "cumulative_slack"];
/// Keys of `global` that change the workload.
const GLOBAL: &[&str] = &["duration", "calibration", "default_policy", "pi_enabled", "io_device", "mem_buffer_size"];
const ROOT: &[&str] = &["tasks", "global", "resources"];

/// A file as it was written.
pub(super) struct File {
    pub(super) global: Global,
    pub(super) tasks: Vec<RtAppTask>,
    /// Where `tasks` stands.
    pub(super) tasks_line: u32,
}

/// Settings for the whole use case.
pub(super) struct Global {
    /// When all threads are killed; `None`: never.
    pub(super) duration: Option<Ns>,
    pub(super) calibration: Calibration,
    pub(super) policy: Policy,
    /// Whether `iorun` writes to a device that stores what is written.
    pub(super) real_device: bool,
    /// The size of the buffer that `mem` and `iorun` go through, in bytes.
    pub(super) buffer: u64,
}

impl Default for Global {
    /// What rt-app takes where a file says nothing.
    fn default() -> Self {
        Self {
            duration: None,
            calibration: Calibration::Core(0),
            policy: Policy::Other,
            real_device: false,
            buffer: 4 << 20,
        }
    }
}

/// Reads a file. Settings come first, since rt-app knows them before it reads the tasks, wherever they stand.
pub(super) fn read(notes: &mut Notes, text: &str) -> Result<File, RtAppError> {
    let root = json::root(notes, text)?;
    let fields = json::fields(notes, &root);
    for field in fields.iter().filter(|field| !ROOT.contains(&field.key)) {
        notes.warn(field.line, field.key, unknown(field.key, "in an rt-app file", ROOT));
    }
    let global = match setting(notes, &fields, "global") {
        Some(field) => read_global(notes, &field.object(notes, "an object with the global settings")?)?,
        None => Global::default(),
    };
    // `resources` is a leftover too: rt-app makes a mutex, condition or timer when a task first names it.
    let Some(field) = setting(notes, &fields, "tasks") else {
        return Err(notes.error(1, "no \"tasks\": an rt-app file is an object whose \"tasks\" describe the threads"));
    };
    let tasks = field.object(notes, "an object with one object a task")?;
    for field in &tasks {
        printable(field.key).map_err(|why| notes.error(field.line, why))?;
    }
    let tasks = tasks.iter().map(|field| task::read(notes, field, global.policy)).collect::<Result<_, _>>()?;
    Ok(File { global, tasks, tasks_line: field.line })
}

/// The warning of an unknown key.
pub(super) fn unknown<'a>(key: &str, place: &str, known: impl IntoIterator<Item = &'a &'a str>) -> String {
    let hint = did_you_mean(key, known.into_iter().copied());
    if hint.is_empty() {
        format!("no such key {place}; ignored")
    } else {
        format!("no such key {place}; ignored{hint}")
    }
}

fn read_global(notes: &mut Notes, fields: &[Field<'_>]) -> Result<Global, RtAppError> {
    let mut global = Global::default();
    for field in fields.iter().filter(|field| !GLOBAL.contains(&field.key) && !LOGGING.contains(&field.key)) {
        notes.warn(field.line, field.key, unknown(field.key, "in \"global\"", GLOBAL.iter().chain(LOGGING)));
    }
    if let Some(field) = setting(notes, fields, "duration") {
        let seconds = field.integer(notes, -1..=MAX_INT, "seconds, or -1 for no end")?;
        // rt-app sets its alarm for positive durations only.
        global.duration = (seconds > 0).then(|| Ns::from_secs(seconds as u64));
    }
    if let Some(field) = setting(notes, fields, "calibration") {
        global.calibration = calibration(notes, &field)?;
    }
    if let Some(field) = setting(notes, fields, "default_policy") {
        global.policy = Policy::read(notes, &field)?;
    }
    if let Some(field) = setting(notes, fields, "pi_enabled")
        && field.boolean(notes)?
    {
        notes.warn(field.line, field.key, "mutexes inherit no priority here; played without");
    }
    if let Some(field) = setting(notes, fields, "io_device") {
        let device = field.string(notes)?;
        global.real_device = !matches!(device, "/dev/null" | "/dev/zero" | "/dev/full");
        if global.real_device {
            let message = "not written to: an iorun copies its bytes and then sleeps as an assumed flash device would";
            notes.warn(field.line, field.key, message);
        }
    }
    if let Some(field) = setting(notes, fields, "mem_buffer_size") {
        global.buffer = field.integer(notes, 1..=MAX_INT, "bytes")? as u64;
    }
    Ok(global)
}

/// `"CPU2"`, or the nanoseconds of one loop, which say nothing about the simulated machine.
fn calibration(notes: &mut Notes, field: &Field<'_>) -> Result<Calibration, RtAppError> {
    if field.is_number() {
        let loop_ns = field.integer(notes, 0..=MAX_INT, "nanoseconds a loop")?;
        if loop_ns == 0 {
            return Ok(Calibration::Core(0));
        }
        let message = "nanoseconds a loop were measured on one real core: `run` is taken as time on the biggest core \
                       here; write \"CPU0\" to name a core";
        notes.warn(field.line, field.key, message);
        return Ok(Calibration::Biggest);
    }
    let core = field.string(notes)?;
    let number =
        core.strip_prefix("CPU").and_then(|digits| digits.parse().ok()).filter(|&core| task::CPUS.contains(&core));
    let expected =
        || notes.error(field.line, format!("\"calibration\": expected a core such as \"CPU0\", found \"{core}\""));
    number.map(|core| Calibration::Core(core as u16)).ok_or_else(expected)
}
