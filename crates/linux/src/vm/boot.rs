//! Boots a guest: on KVM where that runs one, else on QEMU's translator, and again where QEMU itself crashes.

use std::fs::File;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use evenkeel_model::Ns;

use super::enforcement::Enforcement;
use super::error::{Error, tried};
use super::monitor::Monitor;
use super::options::{Accelerator, Options};
use super::port::Port;
use super::processes::{CONSOLE, FILES_LOG, Processes, QEMU_LOG, Wait};
use super::protocol::Reply;
use super::qemu::{self, Emulator};
use super::shares::{self, Shares};
use super::{Vm, kvm};
use crate::clock::clock;
use crate::launch::Signals;
use crate::scratch::Scratch;

/// How often a boot is tried where QEMU crashes.
pub(super) const BOOTS: u32 = 5;
/// A guest that is not up in this time never will be: on a translator, on a machine with other work.
const LIMIT: Ns = Ns::from_secs(120);
/// On KVM a guest takes two seconds. Where it does not, the translator is the next to be tried.
const KVM_LIMIT: Ns = Ns::from_secs(20);

/// Boots a guest and waits until it is up.
pub(super) fn boot(options: &Options, signals: &Signals, notice: &mut dyn FnMut(&str)) -> Result<Vm, Error> {
    let emulator = Emulator::find().ok_or(Error::NotInstalled(qemu::QEMU))?;
    let server = file_server().ok_or(Error::NotInstalled("virtiofsd"))?;
    let program = std::env::current_exe().map_err(tried("cannot find this program's own file"))?;
    if options.shares {
        Shares::of_this_machine(&options.spec).rehearse(&options.spec).map_err(Error::shares)?;
    }
    accelerated(options.accelerator, &mut Real { options, emulator, server, program, signals }, notice)
}

/// Says that QEMU crashed and that another boot follows.
pub(super) fn again(error: &Error, boots: u32) -> String {
    let what = match error {
        Error::Guest { what, crashed: true, .. } => what.as_str(),
        _ => "died of a known race in the emulator",
    };
    format!("the guest {what}; booting it again ({} of {BOOTS})", boots + 1)
}

/// Boots guests; a mock in tests.
trait Booter {
    type Guest;
    /// Why KVM does not run this guest.
    fn kvm(&self) -> Result<(), String>;
    fn start(&mut self, on: Accelerator, limit: Ns, notice: &mut dyn FnMut(&str)) -> Result<Self::Guest, Error>;
    /// Remembers what became of this guest on KVM.
    fn remember(&mut self, became: Result<(), &str>);
}

/// Starts a guest on an accelerator: the wanted one, else KVM where it works, else the translator.
fn accelerated<B: Booter>(
    wanted: Option<Accelerator>,
    booter: &mut B,
    notice: &mut dyn FnMut(&str),
) -> Result<B::Guest, Error> {
    if let Some(wanted) = wanted {
        let guest = repeatedly(wanted, booter, notice)?;
        if wanted == Accelerator::Kvm {
            booter.remember(Ok(()));
        }
        return Ok(guest);
    }
    let mut died = None;
    if booter.kvm().is_ok() {
        match booter.start(Accelerator::Kvm, KVM_LIMIT, notice) {
            Err(Error::Guest { what, .. }) => {
                notice(&format!(
                    "KVM does not run this guest, which {what}: QEMU translates its code instead (TCG), about \
                    ten times slower"
                ));
                died = Some(what);
            }
            started => return started,
        }
    }
    let guest = repeatedly(Accelerator::Tcg, booter, notice)?;
    // Only now: a guest that dies on both is not KVM's fault.
    if let Some(what) = died {
        booter.remember(Err(&what));
    }
    Ok(guest)
}

fn repeatedly<B: Booter>(on: Accelerator, booter: &mut B, notice: &mut dyn FnMut(&str)) -> Result<B::Guest, Error> {
    let mut boots = 1;
    loop {
        match booter.start(on, LIMIT, notice) {
            Err(error) if error.emulators_fault() && boots < BOOTS => {
                notice(&again(&error, boots));
                boots += 1;
            }
            started => return started,
        }
    }
}

/// This machine.
struct Real<'a> {
    options: &'a Options,
    emulator: Emulator,
    server: PathBuf,
    program: PathBuf,
    signals: &'a Signals,
}

impl Booter for Real<'_> {
    type Guest = Vm;

    fn kvm(&self) -> Result<(), String> {
        kvm::works_for(&self.emulator.program, &self.options.kernel)
    }

    fn remember(&mut self, became: Result<(), &str>) {
        kvm::remember(&self.emulator.program, &self.options.kernel, became);
    }

    fn start(&mut self, accelerator: Accelerator, limit: Ns, notice: &mut dyn FnMut(&str)) -> Result<Vm, Error> {
        let (options, signals) = (self.options, self.signals);
        let folder = Scratch::new("vm").map_err(tried("cannot make a folder in /tmp"))?;
        let console = folder.path().join(CONSOLE);
        let machine = qemu::Machine {
            spec: &options.spec,
            memory_mb: options.memory_mb,
            kernel: &options.kernel,
            accelerator,
            shares: options.shares,
            sockets: folder.path(),
            emulator: &self.emulator,
            program: &self.program,
            console: &console,
        };
        let listener = UnixListener::bind(machine.port()).map_err(tried("cannot make a socket in /tmp"))?;
        listener.set_nonblocking(true).map_err(tried("cannot listen on a socket"))?;
        let monitor = Monitor::bind(&machine.monitor()).map_err(tried("cannot make a socket in /tmp"))?;
        let log = |name: &str| File::create(folder.path().join(name)).map_err(tried("cannot write to /tmp"));
        let (qemu_log, files_log) = (log(QEMU_LOG)?, log(FILES_LOG)?);
        let files = machine.file_server(&self.server).stderr(files_log).spawn();
        let (files_socket, mut command) = (machine.files(), machine.command());
        let files = files.map_err(tried("cannot start virtiofsd"))?;
        let mut processes = Processes { qemu: None, files, monitor, folder };
        let mut wait = Wait { began: clock(), limit, signals, notice, noticed: false };
        wait.until(&mut processes, "has no file server", |_| Ok(files_socket.exists().then_some(())))?;
        processes.qemu = Some(command.stderr(qemu_log).spawn().map_err(tried("cannot start QEMU"))?);
        let stream = wait.until(&mut processes, "was not started by QEMU", |_| Ok(listener.accept().ok()))?.0;
        let mut port = Port::new(stream).map_err(tried("cannot use a socket"))?;
        let reply = wait.until(&mut processes, "did not come up", |processes| {
            port.receive().map_err(|lost| processes.lost(lost.0, signals))
        })?;
        if !matches!(reply, Reply::Ready) {
            return Err(processes.lost("does not say that it is ready", signals));
        }
        let shares = options.shares.then(|| reserve(options, &processes)).transpose()?;
        Ok(Vm { processes, port, shares, accelerator, options: options.clone(), commands: 0, boots: 1, began: false })
    }
}

/// Holds the virtual cores to their shares.
fn reserve(options: &Options, processes: &Processes) -> Result<(Shares, Enforcement), Error> {
    let cores = shares::virtual_cores(processes.qemu()).map_err(Error::shares)?;
    shares::serve_first(processes.qemu(), &cores);
    shares::serve_first(processes.files.id(), &[]);
    Shares::of_this_machine(&options.spec).reserve(&options.spec, &cores).map_err(Error::shares)
}

/// QEMU's own file server, which Debian and Fedora keep out of the path.
fn file_server() -> Option<PathBuf> {
    let places = ["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"].map(PathBuf::from);
    which::which("virtiofsd").ok().or_else(|| places.into_iter().find(|place| place.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which each start ends as planned.
    struct Mock {
        kvm: Result<(), String>,
        /// What becomes of each start, in turn.
        starts: Vec<Result<(), Error>>,
        started: Vec<Accelerator>,
        remembered: Vec<Result<(), String>>,
    }

    impl Mock {
        fn new(kvm: Result<(), String>, starts: Vec<Result<(), Error>>) -> Self {
            Self { kvm, starts, started: Vec::new(), remembered: Vec::new() }
        }

        fn boot(&mut self, wanted: Option<Accelerator>) -> (Result<Accelerator, String>, Vec<String>) {
            let mut notices = Vec::new();
            let booted = accelerated(wanted, self, &mut |text| notices.push(text.to_owned()));
            assert!(self.starts.is_empty(), "all planned starts took place");
            (booted.map_err(|error| error.to_string()), notices)
        }
    }

    impl Booter for Mock {
        type Guest = Accelerator;

        fn kvm(&self) -> Result<(), String> {
            self.kvm.clone()
        }

        fn start(&mut self, on: Accelerator, _: Ns, _: &mut dyn FnMut(&str)) -> Result<Accelerator, Error> {
            self.started.push(on);
            self.starts.remove(0).map(|()| on)
        }

        fn remember(&mut self, became: Result<(), &str>) {
            self.remembered.push(became.map_err(str::to_owned));
        }
    }

    fn died(what: &str, crashed: bool) -> Result<(), Error> {
        Err(Error::Guest { what: what.into(), console: String::new(), crashed })
    }

    use Accelerator::{Kvm, Tcg};

    #[test]
    fn where_kvm_works_it_is_taken() {
        let mut booter = Mock::new(Ok(()), vec![Ok(())]);
        assert_eq!(booter.boot(None), (Ok(Kvm), vec![]));
        assert_eq!((booter.started, booter.remembered), (vec![Kvm], vec![]));
    }

    #[test]
    fn a_guest_that_dies_on_kvm_is_translated_and_that_is_remembered() {
        let mut booter = Mock::new(Ok(()), vec![died("was stopped by QEMU: KVM internal error", false), Ok(())]);
        let (booted, notices) = booter.boot(None);
        assert_eq!((booted, notices.len()), (Ok(Tcg), 1));
        assert!(notices[0].contains("KVM internal error") && notices[0].contains("TCG"), "{notices:?}");
        assert_eq!(booter.remembered, [Err("was stopped by QEMU: KVM internal error".to_owned())]);
        // As it is then, the next does not begin with KVM.
        let mut next = Mock::new(Err("a guest died on it".into()), vec![Ok(())]);
        assert_eq!(next.boot(None), (Ok(Tcg), vec![]));
        assert_eq!((next.started, next.remembered), (vec![Tcg], vec![]));
    }

    #[test]
    fn a_guest_that_dies_on_both_is_not_held_against_kvm() {
        let mut booter =
            Mock::new(Ok(()), vec![died("switched itself off", false), died("switched itself off", false)]);
        assert!(booter.boot(None).0.unwrap_err().contains("switched itself off"));
        assert_eq!((booter.started, booter.remembered), (vec![Kvm, Tcg], vec![]));
    }

    #[test]
    fn where_qemu_crashes_another_boot_follows_and_not_for_ever() {
        let crash = || died("ended with a crash of QEMU (signal 6): iotlb_to_section", true);
        let mut booter = Mock::new(Err("none".into()), vec![crash(), crash(), Ok(())]);
        let (booted, notices) = booter.boot(None);
        assert_eq!(booted, Ok(Tcg));
        assert!(notices[0].contains("iotlb_to_section") && notices[0].contains("(2 of 5)"), "{notices:?}");
        let mut booter = Mock::new(Err("none".into()), (0..BOOTS).map(|_| crash()).collect());
        let (booted, notices) = booter.boot(Some(Tcg));
        assert!(booted.unwrap_err().contains("crash of QEMU") && notices.len() as u32 == BOOTS - 1, "{notices:?}");
    }

    #[test]
    fn what_is_no_crash_is_not_tried_again() {
        let mut booter = Mock::new(Err("none".into()), vec![died("ended because QEMU could not continue", false)]);
        assert!(booter.boot(None).0.is_err());
        let mut booter = Mock::new(Ok(()), vec![Err(Error::Interrupted(2))]);
        assert_eq!(booter.boot(None).0, Err("interrupted".to_owned()));
        assert_eq!(booter.started, [Kvm]);
    }

    #[test]
    fn kvm_that_is_wanted_and_works_is_no_longer_held_for_broken() {
        let mut booter = Mock::new(Err("a guest died on it".into()), vec![Ok(())]);
        assert_eq!(booter.boot(Some(Kvm)), (Ok(Kvm), vec![]));
        assert_eq!(booter.remembered, [Ok(())]);
        let mut booter = Mock::new(Ok(()), vec![died("was stopped by QEMU", false)]);
        assert!(booter.boot(Some(Kvm)).0.is_err(), "no other accelerator was wanted");
    }
}
