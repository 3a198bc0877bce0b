//! Threads of another process are pinned, and have their own masks back.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::{Child, Command};

use evenkeel_linux::mask;
use evenkeel_linux::pins::Pins;
use rustix::process::Pid;
use rustix::thread::sched_getaffinity;

/// A process that does nothing, and is killed at the end.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test(two_cpus)]
fn pins_are_changed_refused_and_undone() {
    let sleeper = Sleeper(Command::new("sleep").arg("600").spawn().unwrap());
    let tid = sleeper.0.id();
    let cpus = || mask::cpus(&sched_getaffinity(Pid::from_raw(tid as i32)).unwrap()).collect::<Vec<_>>();
    let own = cpus();
    let [first, second] = [own[0], own[1]];
    let mut pins = Pins::default();
    pins.pin(tid, &[first]).unwrap();
    assert_eq!((cpus(), pins.pinned()), (vec![first], [(tid, vec![first])].into()));
    pins.pin(tid, &[second, 1023]).unwrap();
    assert_eq!((cpus(), pins.pinned()), (vec![second], [(tid, vec![second])].into()), "those that it may use");
    let refusal = pins.pin(tid, &[1023]).unwrap_err();
    assert!(refusal.ends_with("only, not 1023") && refusal.contains("its program allows thread"), "{refusal}");
    assert_eq!(cpus(), [second], "all is as it was");
    pins.pin(tid, &[]).unwrap();
    assert_eq!((cpus(), pins.pinned()), (own.clone(), [].into()));
    pins.pin(tid, &[second]).unwrap();
    drop(pins);
    assert_eq!(cpus(), own);
    drop(sleeper);
    assert_eq!(Pins::default().pin(tid, &[first]).unwrap_err(), format!("there is no thread {tid}"));
}
