//! QEMU's command line, and the process that serves it the host's files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::guest;
use super::kernel;
use super::options::Accelerator;
use super::protocol::PORT;
use crate::spec::Spec;

/// What QEMU is to run.
pub(super) struct Machine<'a> {
    pub spec: &'a Spec,
    pub memory_mb: u32,
    pub kernel: &'a Path,
    pub accelerator: Accelerator,
    /// Whether the cores differ in speed. That takes a thread for each; with one for all, which is slower, TCG has no race.
    pub shares: bool,
    /// Where the sockets are.
    pub sockets: &'a Path,
    /// What emulates it.
    pub emulator: &'a Emulator,
    /// This program, which is the guest's first process.
    pub program: &'a Path,
    /// Where the guest's console goes.
    pub console: &'a Path,
}

pub(super) const QEMU: &str = "qemu-system-x86_64";

/// QEMU, and where the firmware is that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Emulator {
    pub program: PathBuf,
    firmware: Vec<PathBuf>,
}

impl Emulator {
    /// What `scripts/qemu` has fetched, else what is installed.
    pub fn find() -> Option<Self> {
        let fetched = kernel::cache().and_then(|cache| {
            let usr = cache.join("qemu/usr");
            let program = usr.join("bin").join(QEMU);
            let firmware = vec![usr.join("share/seabios"), usr.join("share/qemu")];
            program.is_file().then_some(Self { program, firmware })
        });
        let installed = || Some(Self { program: which::which(QEMU).ok()?, firmware: Vec::new() });
        fetched.or_else(installed)
    }
}

/// For how long the guest believes what it knows of the host's files: for a second, whatever serves them. By `auto` it also forgets at each
/// opening of a file what it has read of it, so that a program which starts is read anew each time: that took four fifths of the time which
/// programs take to start in an emulated guest. Only the server that came with QEMU up to 7.2 can be told both; the later one refuses it.
fn caching(virtiofsd: &Path) -> &'static str {
    if virtiofsd.ends_with("lib/qemu/virtiofsd") { "cache=always,timeout=1" } else { "cache=auto" }
}

impl Machine<'_> {
    pub fn command(&self) -> Command {
        let (accelerator, cpu, isolation) = match self.accelerator {
            Accelerator::Kvm => ("kvm".to_owned(), "host", ""),
            // A CPU that QEMU emulates without gaps; `max` crashes version 7.2. A kernel that takes it for one which Meltdown works on changes
            // page tables at each system call. QEMU then forgets all addresses it had translated, for which little cores were 5 times slower
            // at a ratio of 3.
            Accelerator::Tcg => {
                (format!("tcg,thread={}", if self.shares { "multi" } else { "single" }), "Nehalem", " nopti")
            }
        };
        let memory = format!("memory-backend-memfd,id=mem,size={}M,share=on", self.memory_mb);
        let files = format!("socket,id=files,path={}", escaped(&self.files()));
        let port = format!("socket,id=port,path={}", escaped(&self.port()));
        let monitor = format!("socket,id=monitor,path={}", escaped(&self.monitor()));
        let console = format!("file,id=console,path={}", escaped(self.console));
        // A kernel that is translated while other programs run counts too few timer interrupts at boot, and gives up.
        let mut append = format!(
            "console=ttyS0 quiet no_timer_check{isolation} panic=-1 root=files rootfstype=virtiofs rw init=\"{}\" -- {}",
            self.program.display(),
            guest::COMMAND
        );
        if self.shares {
            append += &format!(" {}", self.spec);
        }
        let (cores, mb) = (self.spec.cores().to_string(), self.memory_mb.to_string());
        // Dies with its parent, whatever happens to that.
        let mut command = crate::launch::tied(&self.emulator.program, Signal::KILL);
        command.args(self.emulator.firmware.iter().flat_map(|folder| [Path::new("-L"), folder]));
        command.args(["-accel", &accelerator, "-cpu", cpu, "-smp", &cores, "-m", &mb]);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        command.args(["-name", "evenkeel,debug-threads=on"]);
        command.args(["-object", &memory, "-numa", "node,memdev=mem"]);
        command.args(["-chardev", &files, "-device", "vhost-user-fs-pci,chardev=files,tag=files"]);
        command.args(["-device", "virtio-serial", "-chardev", &port]);
        command.args(["-device", &format!("virtserialport,chardev=port,name={PORT}")]);
        command.args(["-chardev", &monitor, "-mon", "chardev=monitor,mode=control"]);
        command.args(["-chardev", &console, "-serial", "chardev:console"]);
        command.arg("-kernel").arg(self.kernel).args(["-append", &append]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The process that shares the host's files with the guest.
    pub fn file_server(&self, virtiofsd: &Path) -> Command {
        let mut command = crate::launch::tied(virtiofsd, Signal::KILL);
        command.arg(format!("--socket-path={}", self.files().display()));
        command.args(["-o", "source=/", "-o", caching(virtiofsd), "-o", "sandbox=chroot"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub fn files(&self) -> PathBuf {
        self.sockets.join("files")
    }

    pub fn port(&self) -> PathBuf {
        self.sockets.join("port")
    }

    pub fn monitor(&self) -> PathBuf {
        self.sockets.join("monitor")
    }
}

/// QEMU separates options by commas; a comma in a value is doubled.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}
