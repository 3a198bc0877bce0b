//! Threads of another process are pinned, and have their own masks back.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use evenkeel_linux::mask;
use evenkeel_linux::pins::Pins;
use rustix::process::{Pid, Signal};

/// A process that does nothing, and is killed at the end.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cpus_of(tid: u32) -> Vec<u16> {
    mask::cpus(&mask::of_thread(tid).unwrap()).collect()
}

/// What a pinned thread has started has inherited its mask.
#[test(two_cpus)]
fn what_a_pinned_thread_starts_is_pinned_no_longer_than_it() {
    let own = mask::own().unwrap();
    let mut pins = Pins::default();
    for ends in [false, true] {
        let line = "read go; sleep 600 <&- >&- & echo $!; read go";
        let mut command = Command::new("sh");
        let mut shell =
            Sleeper(command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let tid = shell.0.id();
        pins.pin(tid, &[own[1]]).unwrap();
        let mut input = shell.0.stdin.take().unwrap();
        input.write_all(b"\n").unwrap();
        let mut said = String::new();
        BufReader::new(shell.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let child: u32 = said.trim().parse().unwrap();
        assert_eq!(cpus_of(child), [own[1]]);
        if ends {
            drop((input, shell));
            assert_eq!(pins.pinned(), [].into());
            pins = Pins::default();
        } else {
            pins.pin(tid, &[]).unwrap();
        }
        assert_eq!(cpus_of(child), own, "the one that was pinned has ended: {ends}");
        rustix::process::kill_process(Pid::from_raw(child as i32).unwrap(), Signal::KILL).unwrap();
    }
}

#[test(two_cpus)]
fn pins_are_changed_refused_and_undone() {
    let sleeper = Sleeper(Command::new("sleep").arg("600").spawn().unwrap());
    let tid = sleeper.0.id();
    let cpus = || cpus_of(tid);
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
    let mut pins = Pins::default();
    for none in [0, u32::MAX] {
        assert_eq!(pins.pin(none, &[first]).unwrap_err(), format!("there is no thread {none}"));
    }
    assert!(pins.pin(tid, &[u16::MAX]).unwrap_err().ends_with("not 65535"), "more than a mask has room for");
    drop(sleeper);
    assert_eq!(Pins::default().pin(tid, &[first]).unwrap_err(), format!("there is no thread {tid}"));
}
