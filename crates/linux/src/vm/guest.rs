//! The first process of the guest: this same program, run by the guest's kernel from the host's files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::process::{Pid, WaitOptions};
use rustix::system::{RebootCommand, reboot};

use super::protocol::{Answer, PORT, Request, Run};
use crate::host::clock;
use crate::launch::exit_code;

/// The hidden command that runs [`main`].
pub const COMMAND: &str = "__guest";

/// Runs what the host asks for until it has no more, then switches the machine off.
pub fn main() {
    if rustix::process::getpid() != Pid::INIT {
        eprintln!("this command is the first process of a virtual machine, and does nothing elsewhere");
        return;
    }
    if let Err(error) = serve() {
        // The serial console is where the host looks when the guest says nothing.
        eprintln!("evenkeel: the guest gives up: {error}");
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
}

fn serve() -> io::Result<()> {
    mount_all()?;
    let port = port()?;
    let port = OpenOptions::new().read(true).write(true).open(&port).map_err(|error| cannot_open(&port, &error))?;
    let mut answers = port.try_clone()?;
    let mut say = |answer: &Answer| -> io::Result<()> {
        let mut line = serde_json::to_string(answer)?;
        line.push('\n');
        answers.write_all(line.as_bytes())
    };
    // Waits until the kernel knows that the host is at the other end; it learns that after the port's name, and says until then
    // that nobody is there.
    say(&Answer::Ready)?;
    switch_off_with_the_host(&port)?;
    let mut requests = BufReader::new(&port).lines();
    while let Some(line) = requests.next().transpose()? {
        match serde_json::from_str(&line)? {
            Request::Run(run) => {
                let answer = execute(&run).unwrap_or_else(|error| Answer::Failed { reason: error.to_string() });
                rustix::fs::sync();
                say(&answer)?;
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
    writable("/tmp")?;
    Ok(mount_remount("/", MountFlags::BIND | MountFlags::RDONLY, "")?)
}

fn writable(directory: &str) -> io::Result<()> {
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

/// The host's end closes when the host's process ends, however it ends: then nobody wants this machine any more.
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

fn execute(run: &Run) -> io::Result<Answer> {
    writable(&run.directory)?;
    let (program, arguments) = run.command.split_first().ok_or_else(|| io::Error::other("no command"))?;
    let began = clock();
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(run.environment.iter().cloned())
        .current_dir(&run.directory)
        .stdin(Stdio::null())
        .stdout(File::create(&run.output)?)
        .stderr(File::create(&run.errors)?)
        .spawn()?;
    let status = child.wait()?;
    let nanoseconds = clock().since(began).0;
    // Orphans are the first process's to bury.
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
    Ok(Answer::Ended { code: exit_code(status), nanoseconds })
}
