//! The first process of the guest: this same program, run by the guest's kernel from the host's files.

mod capacities;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::process::{Pid, WaitOptions};
use rustix::system::{RebootCommand, reboot};

use super::protocol::{PORT, Reply, Request, Run};
use crate::clock::clock;
use crate::launch::{self, exit_code};
use crate::spec::Spec;

/// The hidden command that runs [`main`].
pub const COMMAND: &str = "__guest";

/// Runs the host's commands until it has no more, then switches the machine off. `machine` is the [`Spec`] of the cores if
/// they differ in speed.
pub fn main(machine: Option<&str>) {
    if rustix::process::getpid() != Pid::INIT {
        eprintln!("this command is the first process of a virtual machine, and does nothing elsewhere");
        return;
    }
    if let Err(error) = serve(machine) {
        // The host shows the end of the console of a guest that ended.
        eprintln!("evenkeel: the guest cannot continue: {error}");
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
}

fn serve(machine: Option<&str>) -> io::Result<()> {
    mount_all()?;
    if let Some(machine) = machine {
        let spec: Spec = machine.parse().map_err(io::Error::other)?;
        capacities::publish(&spec)
            .map_err(|error| io::Error::other(format!("cannot publish the cores' capacities: {error}")))?;
    }
    let port = port()?;
    let port = OpenOptions::new().read(true).write(true).open(&port).map_err(|error| cannot_open(&port, &error))?;
    let mut replies = port.try_clone()?;
    let mut send = |reply: &Reply| -> io::Result<()> {
        let mut line = serde_json::to_string(reply)?;
        line.push('\n');
        replies.write_all(line.as_bytes())
    };
    // Waits until the kernel knows that the host is at the other end; it learns that after the port's name, and reports the
    // end of the connection until then.
    send(&Reply::Ready)?;
    switch_off_with_the_host(&port)?;
    let mut writable = Writable(vec![TMP.into()]);
    let mut requests = BufReader::new(&port).lines();
    while let Some(line) = requests.next().transpose()? {
        match serde_json::from_str(&line)? {
            Request::Run(run) => {
                send(&Reply::Begins)?;
                let reply = execute(&run, &mut writable);
                rustix::fs::sync();
                send(&reply)?;
            }
            Request::Off => break,
        }
    }
    Ok(())
}

/// File systems as every program expects them. The host's files are the root.
fn mount_all() -> io::Result<()> {
    let new = |kind: &str, place: &str| {
        mount(kind, place, kind, MountFlags::empty(), None::<&std::ffi::CStr>)
            .map_err(|error| io::Error::other(format!("cannot mount {place}: {error}")))
    };
    new("proc", "/proc")?;
    new("sysfs", "/sys")?;
    // The host's devices shine through otherwise.
    new("devtmpfs", "/dev")?;
    for (kind, place) in [("devpts", "/dev/pts"), ("tmpfs", "/dev/shm"), ("tmpfs", "/run")] {
        // What is missing from /dev; /run is there.
        let _ = fs::create_dir(place);
        new(kind, place)?;
    }
    for (kind, place) in [("tracefs", "/sys/kernel/tracing"), ("bpf", "/sys/fs/bpf"), ("cgroup2", "/sys/fs/cgroup")] {
        // Not every kernel has them, and not every command needs them.
        let _ = new(kind, place);
    }
    // The host's files can be read everywhere and written in /tmp and in the working directories of commands.
    make_writable(TMP)?;
    Ok(mount_remount("/", MountFlags::BIND | MountFlags::RDONLY, "")?)
}

/// Where the host's files can be written from the beginning.
const TMP: &str = "/tmp";

/// Folders in which the host's files can be written.
struct Writable(Vec<PathBuf>);

impl Writable {
    /// Adds one, unless it is in another: each mount over another one costs every look-up a step.
    fn add(&mut self, directory: &str) -> io::Result<()> {
        if !self.0.iter().any(|known| Path::new(directory).starts_with(known)) {
            make_writable(directory)?;
            self.0.push(directory.into());
        }
        Ok(())
    }
}

fn make_writable(directory: &str) -> io::Result<()> {
    let bound = mount_bind(directory, directory).and_then(|()| mount_remount(directory, MountFlags::BIND, ""));
    bound.map_err(|error| io::Error::other(format!("cannot make {directory} writable: {error}")))
}

/// The device of the port that the host gave the name [`PORT`].
fn port() -> io::Result<PathBuf> {
    for entry in fs::read_dir("/sys/class/virtio-ports")? {
        let entry = entry?;
        if fs::read_to_string(entry.path().join("name")).is_ok_and(|name| name.trim() == PORT) {
            return Ok(Path::new("/dev").join(entry.file_name()));
        }
    }
    Err(io::Error::other("there is no port to the host"))
}

/// The host's end closes when the host's process ends, however it ends. Then this machine has no use any more.
fn switch_off_with_the_host(port: &File) -> io::Result<()> {
    let port = port.try_clone()?;
    std::thread::Builder::new().name("host".into()).spawn(move || {
        loop {
            let mut ports = [rustix::event::PollFd::new(&port, rustix::event::PollFlags::empty())];
            let polled = rustix::event::poll(&mut ports, None);
            if polled.is_ok() && ports[0].revents().contains(rustix::event::PollFlags::HUP) {
                let _ = reboot(RebootCommand::PowerOff);
            }
        }
    })?;
    Ok(())
}

fn cannot_open(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("cannot open {}: {error}", path.display()))
}

fn execute(run: &Run, writable: &mut Writable) -> Reply {
    let failed = |error: io::Error| Reply::Failed { reason: error.to_string(), code: launch::OWN_FAILURE };
    let mut directories = [&run.directory].into_iter().chain(&run.writable);
    if let Err(error) = directories.try_for_each(|directory| writable.add(directory)) {
        return failed(error);
    }
    let streams = File::create(&run.output).and_then(|output| Ok((output, File::create(&run.errors)?)));
    let ((output, errors), Some((program, arguments))) = (
        match streams {
            Ok(streams) => streams,
            Err(error) => return failed(error),
        },
        run.command.split_first(),
    ) else {
        return failed(io::Error::other("no command"));
    };
    let began = clock();
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(run.environment.iter().cloned())
        .current_dir(&run.directory)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn();
    let status = match child.map(|mut child| child.wait()) {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return failed(error),
        Err(error) => {
            let (reason, code) = launch::refused(program.as_ref(), &error);
            return Reply::Failed { reason, code };
        }
    };
    let nanoseconds = clock().since(began).0;
    // The first process inherits orphans, and waits for those that have ended.
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
    Reply::Ended { code: exit_code(status), nanoseconds }
}
