use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use evenkeel_model::Ns;

use super::*;

/// A monitor of a name of its own, and one that watches it.
fn pair(test: &str) -> (Monitor, Watcher) {
    let name = format!("{NAME}test-{test}-{}", std::process::id());
    let monitor = Monitor::named(&name).unwrap();
    let watcher = Watcher::named(&name, std::process::id()).unwrap();
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

/// Asks for snapshots, and waits until the monitor knows.
fn every(monitor: &Monitor, watcher: &Watcher, every: Ns) {
    watcher.requests().unwrap().send(&Request::Every(every));
    until(|| monitor.due(Ns::ZERO));
}

#[test]
fn a_watcher_gets_what_is_published_and_nothing_is_due_without_one() {
    let (monitor, mut watcher) = pair("published");
    assert!(!monitor.due(Ns::NEVER), "it has not said how often");
    every(&monitor, &watcher, Ns::from_secs(1));
    monitor.publish(Ns::ZERO, snapshot("colab"));
    assert_eq!(watcher.snapshot().unwrap(), Some(snapshot("colab")));
    assert!(!monitor.due(Ns::from_ms(999)) && monitor.due(Ns::from_secs(1)), "once a second");
    every(&monitor, &watcher, Ns::from_ms(100));
    monitor.publish(Ns::ZERO, snapshot("pfs"));
    assert!(!monitor.due(Ns::from_ms(99)) && monitor.due(Ns::from_ms(100)), "as often as it wants");
    drop(watcher);
    until(|| !monitor.due(Ns::from_secs(9)));
}

#[test]
fn each_of_several_watchers_has_snapshots_as_often_as_it_wants() {
    let (monitor, mut seldom) = pair("several");
    every(&monitor, &seldom, Ns::from_secs(10));
    monitor.publish(Ns::ZERO, snapshot("at 0"));
    let name = format!("{NAME}test-several-{}", std::process::id());
    let mut often = Watcher::named(&name, std::process::id()).unwrap();
    every(&monitor, &often, Ns::from_secs(1));
    for second in 1..=10 {
        assert!(monitor.due(Ns::from_secs(second)));
        monitor.publish(Ns::from_secs(second), snapshot(&format!("at {second}")));
        assert_eq!(often.snapshot().unwrap().unwrap().policy, format!("at {second}"));
    }
    let policies: Vec<String> = (0..2).map(|_| seldom.snapshot().unwrap().unwrap().policy).collect();
    assert_eq!(policies, ["at 0", "at 10"]);
}

#[test]
fn one_more_than_are_served_is_told_so() {
    let (monitor, first) = pair("crowd");
    let name = format!("{NAME}test-crowd-{}", std::process::id());
    let another = || Watcher::named(&name, std::process::id()).unwrap();
    let others: Vec<Watcher> = (1..8).map(|_| another()).collect();
    let refusal = another().begin(Ns::from_secs(1)).unwrap_err().to_string();
    assert_eq!(refusal, "it is watched 8 times already: end one of those");
    drop((first, others));
    // Those that have gone make room, as soon as that is seen.
    until(|| {
        let watcher = another();
        watcher.requests().unwrap().send(&Request::Every(Ns::from_secs(1)));
        for _ in 0..100 {
            if monitor.due(Ns::ZERO) {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        false
    });
}

/// More changes than a host makes at a time wait for it, and the host does not wait for those.
#[test]
fn changes_that_come_too_fast_wait() {
    let (monitor, mut watcher) = pair("flood");
    let mut requests = watcher.requests().unwrap();
    let flood = std::thread::spawn(move || {
        for tid in 0..200 {
            requests.send(&Request::Change(Change::Pin { tid, cpus: vec![0] }));
        }
    });
    let mut seen = 0;
    until(|| {
        let asked = monitor.asked();
        assert!(asked.len() <= 8, "{}", asked.len());
        for asked in asked {
            asked.answer(Ok(()));
            let Some(Reply::Done(Change::Pin { tid, .. })) = watcher.hear().unwrap() else { panic!("{seen}") };
            assert_eq!(tid, seen);
            seen += 1;
        }
        seen == 200
    });
    flood.join().unwrap();
}

#[test]
fn a_host_that_says_nothing_is_not_waited_for_for_ever() {
    let (monitor, mut watcher) = pair("silent");
    watcher.wait_at_most(Some(std::time::Duration::from_millis(1))).unwrap();
    let error = watcher.hear().unwrap_err();
    assert!(matches!(error, Error::Silent { .. }) && error.to_string().contains("has said nothing for 0 s"), "{error}");
    drop(monitor);
}

/// Root may watch another user's program, which may say anything.
#[test]
fn what_a_terminal_obeys_is_not_passed_on() {
    let (monitor, mut watcher) = pair("escapes");
    every(&monitor, &watcher, Ns::from_secs(1));
    let bad = "\x1b]0;owned\x07";
    let missing = vec![bad.to_owned()];
    monitor.publish(Ns::ZERO, Snapshot { host: bad.into(), missing, ..snapshot(bad) });
    let Snapshot { host, policy, missing, .. } = watcher.snapshot().unwrap().unwrap();
    assert_eq!((host.as_str(), policy.as_str(), missing[0].as_str()), ("?]0;owned?", "?]0;owned?", "?]0;owned?"));
    watcher.requests().unwrap().send(&Request::Change(Change::Policy("pfs".into())));
    until(|| monitor.asked().into_iter().map(|asked| asked.answer(Err(bad.into()))).count() > 0);
    assert_eq!(watcher.hear().unwrap(), Some(Reply::Refused("?]0;owned?".into())));
}

#[test]
fn a_host_that_is_killed_while_it_speaks_has_ended() {
    let name = format!("{NAME}test-killed-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let mut watcher = Watcher::named(&name, std::process::id()).unwrap();
    listener.accept().unwrap().0.write_all(b"{\"done\":{\"policy\":\"pfs\"}}\n{\"snapshot\":{\"ho").unwrap();
    assert_eq!(watcher.hear().unwrap(), Some(Reply::Done(Change::Policy("pfs".into()))));
    assert_eq!(watcher.hear().unwrap(), None);
}

#[test]
fn a_name_that_another_process_has_taken_is_no_host() {
    let name = format!("{NAME}test-taken-{}", std::process::id());
    let monitor = Monitor::named(&name).unwrap();
    assert!(matches!(Watcher::named(&name, 1), Err(Error::None(1))), "this process has it");
    drop(monitor);
}

#[test]
fn changes_are_answered_and_nonsense_is_refused() {
    let (monitor, mut watcher) = pair("changes");
    let mut requests = watcher.requests().unwrap();
    let change = Change::Pin { tid: 7, cpus: vec![0, 1] };
    for _ in 0..2 {
        requests.send(&Request::Change(change.clone()));
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
    requests.send(&Request::Every(Ns(1)));
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
    let mut watcher = Watcher::named(&name, std::process::id()).unwrap();
    drop(monitor);
    assert_eq!(watcher.hear().unwrap(), None);
}

/// A watcher that reads nothing costs the host nothing but a few lines.
#[test]
fn a_watcher_that_does_not_read_misses_snapshots() {
    let (monitor, mut watcher) = pair("slow");
    every(&monitor, &watcher, Ns::from_secs(1));
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
