use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use evenkeel_model::Ns;

use super::*;

/// A monitor of a name of its own, and one that watches it.
fn pair(test: &str) -> (Monitor, Watcher) {
    let name = format!("{NAME}test-{test}-{}", std::process::id());
    let monitor = Monitor::named(&name).unwrap();
    let watcher = Watcher::named(&name, 1).unwrap();
    (monitor, watcher)
}

fn snapshot(policy: &str) -> Snapshot {
    let thread = ThreadNow { tid: 7, speedup: Some(1.5), run: vec![Ns(3), Ns(4)], ..ThreadNow::default() };
    Snapshot { policy: policy.into(), threads: vec![thread], ..Snapshot::default() }
}

/// Waits until the threads of the monitor have got so far.
fn until(mut there: impl FnMut() -> bool) {
    while !there() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn a_watcher_gets_what_is_published_and_nothing_is_due_without_one() {
    let (mut monitor, mut watcher) = pair("published");
    until(|| monitor.due(Ns::ZERO));
    monitor.publish(Ns::ZERO, snapshot("colab"));
    assert_eq!(watcher.hear().unwrap(), Some(Reply::Snapshot(snapshot("colab"))));
    assert!(!monitor.due(Ns::from_ms(999)) && monitor.due(Ns::from_secs(1)), "once a second");
    watcher.every(Ns::from_ms(100)).unwrap();
    until(|| monitor.due(Ns::ZERO));
    monitor.publish(Ns::ZERO, snapshot("pfs"));
    assert!(!monitor.due(Ns::from_ms(99)) && monitor.due(Ns::from_ms(100)), "as often as it wants");
    drop(watcher);
    until(|| !monitor.due(Ns::from_secs(9)));
}

#[test]
fn changes_are_answered_and_nonsense_is_refused() {
    let (monitor, mut watcher) = pair("changes");
    let mut requests = watcher.requests().unwrap();
    let change = Change::Pin { tid: 7, cpus: vec![0, 1] };
    for _ in 0..2 {
        requests.send(&Request::Change(change.clone())).unwrap();
    }
    let mut asked = Vec::new();
    until(|| {
        asked.extend(monitor.asked());
        asked.len() == 2
    });
    asked.remove(0).answer(Ok(()));
    assert_eq!(watcher.hear().unwrap(), Some(Reply::Done(change)));
    asked.remove(0).answer(Err("no such thread".into()));
    assert_eq!(watcher.hear().unwrap(), Some(Reply::Refused("no such thread".into())));
    requests.send(&Request::Every(Ns(1))).unwrap();
    let Some(Reply::Refused(why)) = watcher.hear().unwrap() else { panic!("it is too often") };
    assert_eq!(why, "a snapshot every 1 ns: expected 100.000 ms to 60.000 s");
    drop(monitor);
    assert_eq!(watcher.hear().unwrap(), None, "the host has ended");
}

#[test]
fn what_is_no_request_is_refused_and_ends_nothing() {
    let name = format!("{NAME}test-nonsense-{}", std::process::id());
    let monitor = Monitor::named(&name).unwrap();
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    stream.write_all(b"{\"every\"\n\xff\n").unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"refused\":\"cannot read the request: "), "{line}");
    let mut watcher = Watcher::named(&name, 1).unwrap();
    drop(monitor);
    assert_eq!(watcher.hear().unwrap(), None);
}

/// A watcher that reads nothing costs the host nothing but a few lines.
#[test]
fn a_watcher_that_does_not_read_misses_snapshots() {
    let (mut monitor, mut watcher) = pair("slow");
    until(|| monitor.due(Ns::ZERO));
    let long = snapshot(&"x".repeat(100_000));
    for second in 0..100 {
        monitor.publish(Ns::from_secs(second), long.clone());
    }
    drop(monitor);
    let mut count = 0;
    while let Some(Reply::Snapshot(_)) = watcher.hear().unwrap() {
        count += 1;
    }
    assert!((1..100).contains(&count), "{count}");
}

#[test]
fn hosts_are_found_by_their_names() {
    let monitor = Monitor::open().unwrap();
    let own = std::process::id();
    let _watcher = Watcher::open(own).unwrap();
    let found = found();
    let found: Vec<&Found> = found.iter().filter(|found| found.pid == own).collect();
    assert_eq!(found.len(), 1, "its connections do not count: {found:?}");
    assert!(found[0].command.contains("evenkeel"), "{found:?}");
    drop(monitor);
    assert!(matches!(Watcher::open(1), Err(Error::None(1))));
}
