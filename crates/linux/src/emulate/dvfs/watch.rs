//! The thread that sees what is written to `scaling_setspeed`, and makes the core as slow as that.

use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::energy::{self, ClockAccount, Meter, Reading};
use super::{CoreClock, tree};
use crate::clock::clock;
use crate::emulate::control::Control;
use crate::realtime;
use crate::scratch::Scratch;

/// A core that follows a file.
pub(in crate::emulate) struct Clocked {
    pub cpu: u16,
    pub clock: CoreClock,
    pub control: Arc<Control>,
}

/// The files of emulated cores, and what follows them. The folder is removed when this is dropped; that of a process which was killed is
/// removed by the next.
pub(in crate::emulate) struct Watcher {
    folder: Scratch,
    thread: JoinHandle<Vec<ClockAccount>>,
    /// The thread ends when this is closed.
    end: PipeWriter,
}

/// What a text that was written means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// The file is being written.
    Nothing,
    /// No frequency.
    Ignored,
    /// An operating point; `clamped` if the frequency is beyond the lowest or the highest.
    Point { point: usize, clamped: bool },
}

impl Written {
    fn of(text: &str, clock: &CoreClock) -> Self {
        match text.split_whitespace().next().map(str::parse) {
            None => Self::Nothing,
            Some(Err(_)) => Self::Ignored,
            Some(Ok(khz)) => {
                let (point, within) = clock.point(khz);
                Self::Point { point, clamped: !within }
            }
        }
    }
}

impl Watcher {
    /// Begins.
    ///
    /// # Errors
    /// `/tmp` cannot be written to, or no file can be watched.
    pub fn start(machine: &str, cores: Vec<Clocked>) -> io::Result<Self> {
        let folder = Scratch::new("dvfs")?;
        let files: Vec<(u16, &CoreClock)> = cores.iter().map(|core| (core.cpu, &core.clock)).collect();
        tree::write(folder.path(), machine, &files)?;
        let watched = Watched::new(folder.path(), cores)?;
        let (ended, end) = io::pipe()?;
        let thread = thread::Builder::new().name("cpufreq".into()).spawn(move || watched.follow(&ended))?;
        Ok(Self { folder, thread, end })
    }

    /// Where the files are: a folder like `/`.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what became of each core.
    pub fn finish(self) -> Vec<ClockAccount> {
        drop(self.end);
        self.thread.join().unwrap_or_default()
    }
}

/// What the thread has.
struct Watched {
    root: PathBuf,
    cores: Vec<WatchedCore>,
    inotify: OwnedFd,
}

struct WatchedCore {
    core: Clocked,
    /// What inotify calls its file.
    watch: i32,
    /// What was read last: several events may come of one write.
    text: String,
    /// Something was written to the file since it was closed last.
    modified: bool,
    /// What is being written has been counted: a writer may keep the file open.
    counted: bool,
    /// How many writes are over that have not been counted.
    over: u64,
    meter: Meter,
    point: usize,
    ignored: u64,
    clamped: u64,
}

impl Watched {
    fn new(root: &Path, cores: Vec<Clocked>) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let cpus: Vec<u16> = cores.iter().map(|core| core.cpu).collect();
        let watched = |(core, idle): (Clocked, evenkeel_model::Ns)| {
            let file = tree::setspeed(root, core.cpu);
            // A writer that keeps the file open is seen, too.
            let watch = inotify::add_watch(&inotify, &file, WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE)?;
            let meter = Meter::new(&core.clock, Reading { at: clock(), taken: core.control.taken(), idle });
            let text = fs::read_to_string(file)?;
            Ok(WatchedCore::new(core, watch, text, meter))
        };
        let cores = cores.into_iter().zip(energy::idle(&cpus)).map(watched).collect::<io::Result<_>>()?;
        Ok(Self { root: root.to_owned(), cores, inotify })
    }

    /// Follows the files until the other end of the pipe is closed.
    fn follow(mut self, ended: &PipeReader) -> Vec<ClockAccount> {
        // Before the threads that occupy the CPUs, so that a change takes effect at once. Where only one priority may be used, it waits for
        // them; where none, for others, too, but then no CPU can be occupied either.
        let _ = realtime::before_fifo(0).or_else(|_| realtime::fifo(0));
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(self.inotify.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            ];
            match rustix::event::poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                Err(_) => break,
                Ok(_) if !fds[1].revents().is_empty() => break,
                Ok(_) => self.take(),
            }
        }
        // What was written last counts.
        self.take();
        let idle = energy::idle(&self.cpus());
        let end = |(watched, idle): (WatchedCore, _)| {
            let WatchedCore { core, meter, ignored, clamped, .. } = watched;
            let now = Reading { at: clock(), taken: core.control.taken(), idle };
            ClockAccount { ignored, clamped, ..meter.end(core.cpu, &core.clock, now) }
        };
        self.cores.into_iter().zip(idle).map(end).collect()
    }

    fn cpus(&self) -> Vec<u16> {
        self.cores.iter().map(|watched| watched.core.cpu).collect()
    }

    /// Makes cores as slow as their files say, of those that have been written.
    fn take(&mut self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(self.inotify.as_fd(), &mut buffer);
        let mut written = Vec::new();
        while let Ok(event) = events.next() {
            written.push(event.wd());
            for watched in self.cores.iter_mut().filter(|core| core.watch == event.wd()) {
                watched.hear(event.events());
            }
        }
        let mut changed = Vec::new();
        for (number, watched) in self.cores.iter_mut().enumerate().filter(|(_, core)| written.contains(&core.watch)) {
            // A file that is gone says nothing.
            let text = fs::read_to_string(tree::setspeed(&self.root, watched.core.cpu)).unwrap_or_default();
            let point = watched.read(text).filter(|point| *point != watched.point);
            if let Some(point) = point {
                watched.core.control.set(watched.core.clock.points[point].ratio);
                watched.point = point;
                changed.push(number);
            }
        }
        if changed.is_empty() {
            return;
        }
        let idle = energy::idle(&self.cpus());
        for number in changed {
            let watched = &mut self.cores[number];
            let (core, point) = (&watched.core, watched.point);
            let now = Reading { at: clock(), taken: core.control.taken(), idle: idle[number] };
            watched.meter.change(point, now);
            // The core has its frequency, whether or not this can be said.
            let _ = tree::say(&self.root, core.cpu, core.clock.points[point].khz());
        }
    }
}

impl WatchedCore {
    fn new(core: Clocked, watch: i32, text: String, meter: Meter) -> Self {
        let point = core.clock.nominal;
        Self { core, watch, text, modified: false, counted: false, over: 0, meter, point, ignored: 0, clamped: 0 }
    }

    /// What was done to the file, in order.
    fn hear(&mut self, done: ReadFlags) {
        self.modified |= done.contains(ReadFlags::MODIFY);
        if done.contains(ReadFlags::CLOSE_WRITE) && mem::take(&mut self.modified) {
            self.over += u64::from(!mem::take(&mut self.counted));
        }
    }

    /// The point that a text sets, if it is a new one, or the same that was written again.
    fn read(&mut self, text: String) -> Option<usize> {
        let over = mem::take(&mut self.over);
        if text == self.text && over == 0 {
            return None;
        }
        self.text = text;
        let written = Written::of(&self.text, &self.core.clock);
        self.counted |= over == 0 && written != Written::Nothing;
        match written {
            Written::Nothing => None,
            Written::Ignored => {
                self.ignored += over.max(1);
                None
            }
            Written::Point { point, clamped } => {
                self.clamped += u64::from(clamped) * over.max(1);
                Some(point)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;
    use evenkeel_topology::Topology;
    use proptest::prelude::*;

    use super::super::Clocks;
    use super::*;

    fn clocks() -> Clocks {
        Clocks::of(&machines::by_name("aaws-4B4L").unwrap(), 19.0).unwrap()
    }

    #[test]
    fn a_text_is_a_frequency_or_is_ignored() {
        let clock = clocks().big;
        let of = |text| Written::of(text, &clock);
        let point = |point, clamped| Written::Point { point, clamped };
        assert_eq!((of(""), of("\n")), (Written::Nothing, Written::Nothing), "truncated, before it is written");
        assert_eq!((of("333000"), of(" 333000\n")), (point(6, false), point(6, false)));
        assert_eq!((of("1"), of("99999999999")), (point(0, true), point(12, true)));
        for text in ["fast", "-1", "333000.5", "333MHz", "99999999999999999999999"] {
            assert_eq!(of(text), Written::Ignored, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_number_is_an_operating_point(khz in any::<u64>()) {
            let clock = clocks().little;
            let Written::Point { point, clamped } = Written::of(&khz.to_string(), &clock) else { panic!("{khz}") };
            let at = clock.points[point].khz();
            prop_assert!(clamped || (at >= khz && (point == 0 || clock.points[point - 1].khz() < khz)));
            prop_assert_eq!(clamped, !(111_600..=554_400).contains(&khz));
        }
    }

    /// A write empties the file, fills and closes it; what of that is seen before the file is read is chance.
    #[test]
    fn the_same_text_counts_as_often_as_it_is_written() {
        let clock = clocks().big;
        let meter = Meter::new(&clock, Reading::default());
        let core = Clocked { cpu: 0, clock, control: Arc::new(Control::new(1.0)) };
        let mut watched = WatchedCore::new(core, 1, "333000\n".into(), meter);
        let (modified, closed) = (ReadFlags::MODIFY, ReadFlags::CLOSE_WRITE);
        let writes: [&[(&[ReadFlags], &str)]; 7] = [
            &[(&[modified], ""), (&[modified], "fast"), (&[closed], "fast")],
            &[(&[modified], "fast"), (&[modified, closed], "fast")],
            &[(&[modified, closed], "fast")],
            // Read before the events of the next one, which has been written by then.
            &[(&[modified], "fast"), (&[closed, modified], "slow"), (&[modified, closed], "slow")],
            &[(&[modified, closed, modified, closed], "1"), (&[], "1")],
            // By one that keeps the file open, and by one that writes nothing.
            &[(&[modified], "fast"), (&[modified], "slow"), (&[closed], "slow")],
            &[(&[closed], "slow")],
        ];
        let mut seen = Vec::new();
        for write in writes {
            let before = (watched.ignored, watched.clamped);
            for (done, text) in write {
                done.iter().for_each(|done| watched.hear(*done));
                watched.read((*text).into());
            }
            seen.push((watched.ignored - before.0, watched.clamped - before.1));
        }
        assert_eq!(seen, [(1, 0), (1, 0), (1, 0), (2, 0), (0, 2), (2, 0), (0, 0)]);
    }

    /// Nothing is occupied here: only what the files do to what the threads are told.
    #[test]
    fn what_is_written_is_what_the_core_is_told() {
        let clocks = clocks();
        let core = |cpu, clock: &CoreClock| Clocked {
            cpu,
            clock: clock.clone(),
            control: Arc::new(Control::new(clock.points[clock.nominal].ratio)),
        };
        let cores = vec![core(0, &clocks.big), core(1, &clocks.little)];
        let (big, little) = (cores[0].control.clone(), cores[1].control.clone());
        let watcher = Watcher::start("aaws-4B4L", cores).unwrap();
        let root = watcher.root().to_owned();
        assert_eq!(Topology::read(&root).unwrap().ids(), [0, 1]);
        let write = |cpu, text: &str| {
            let told = [&big, &little][usize::from(cpu)];
            let before = told.told();
            fs::write(tree::setspeed(&root, cpu), text).unwrap();
            while told.told() == before {
                thread::yield_now();
            }
            told.ratio()
        };
        assert_eq!(write(0, "554400\n"), 1.0);
        assert!((write(1, "9999999") - 2.0).abs() < 1e-9);
        assert!((write(1, "111600") - 2.0 * 554.4 / 111.6).abs() < 1e-9);
        // The end sees it at the latest.
        fs::write(tree::setspeed(&root, 0), "fast").unwrap();
        let accounts = watcher.finish();
        assert_eq!(big.ratio(), 1.0);
        let of = |account: &ClockAccount| (account.cpu, account.changes, account.ignored, account.clamped);
        assert_eq!(accounts.iter().map(of).collect::<Vec<_>>(), [(0, 1, 1, 0), (1, 2, 0, 1)]);
        assert!(!root.exists(), "nothing is left");
    }
}
