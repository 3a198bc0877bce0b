//! `run --trace`: what ran where, as a Perfetto trace.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write};

use anyhow::Result;
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::Timeline;
use evenkeel_model::Ns;
use evenkeel_perfetto::{Track, Tracks};

use crate::files::Target;
use crate::live::Account;

/// Writes the trace of a real run.
pub fn live(account: &Account<'_>, timeline: &Timeline, mut target: Target) -> Result<()> {
    let unwritten = target.unwritten();
    let mut tracks = Tracks::new(BufWriter::new(target.writer()));
    describe(account, timeline, &mut tracks);
    play(account, timeline, &mut tracks);
    tracks.finish().map_err(unwritten)?;
    Ok(target.keep()?)
}

/// The machine is a process of its own, and its CPUs are that process's threads. No real one has such numbers.
const MACHINE: Track = 1;
const MACHINE_PID: i32 = i32::MAX;
const CPU_TID: i32 = i32::MAX - 0x1_0000;
/// Threads that were seen only after they had exited.
const UNSEEN_PID: i32 = i32::MAX - 1;

fn track_of_cpu(cpu: u16) -> Track {
    1_000 + Track::from(cpu)
}

fn track_of_process(pid: i32) -> Track {
    1 << 32 | Track::from(pid as u32)
}

fn track_of(tid: Tid) -> Track {
    2 << 32 | Track::from(tid)
}

fn describe<W: Write>(account: &Account<'_>, timeline: &Timeline, tracks: &mut Tracks<W>) {
    tracks.process(MACHINE, MACHINE_PID, &account.plan.machine.name);
    let cpus: BTreeSet<u16> = account.plan.cpus.iter().copied().chain(timeline.lanes().map(|(cpu, _)| cpu)).collect();
    for cpu in cpus {
        tracks.thread(track_of_cpu(cpu), MACHINE, MACHINE_PID, CPU_TID + i32::from(cpu), &account.cpu_name(cpu));
    }
    let processes: BTreeMap<Tid, Tid> =
        account.summary.threads.iter().map(|thread| (thread.tid, thread.process)).collect();
    let ran = timeline.lanes().flat_map(|(_, slices)| slices).map(|slice| slice.who);
    let tids: BTreeSet<Tid> = ran.chain(timeline.moves().iter().map(|moved| moved.tid)).collect();
    let mut described = BTreeSet::new();
    for tid in tids {
        let (pid, name) = match processes.get(&tid) {
            Some(process) => (*process as i32, account.process_name(*process)),
            None => (UNSEEN_PID, "short-lived threads".into()),
        };
        if described.insert(pid) {
            tracks.process(track_of_process(pid), pid, &name);
        }
        tracks.thread(track_of(tid), track_of_process(pid), pid, tid as i32, &account.thread_name(tid));
    }
}

/// What happens at one time happens in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Stops,
    Moves,
    Runs,
}

fn play<W: Write>(account: &Account<'_>, timeline: &Timeline, tracks: &mut Tracks<W>) {
    let mut events: Vec<(Ns, What, u16, Tid)> = Vec::new();
    for (cpu, slices) in timeline.lanes() {
        for slice in slices {
            events.extend([(slice.from, What::Runs, cpu, slice.who), (slice.to, What::Stops, cpu, slice.who)]);
        }
    }
    events.extend(timeline.moves().iter().map(|moved| (moved.at, What::Moves, moved.cpu, moved.tid)));
    events.sort_unstable();
    // A thread that two CPUs seem to have had at once is where it came last.
    let mut on: BTreeMap<Tid, u16> = BTreeMap::new();
    for (at, what, cpu, tid) in events {
        tracks.at(at);
        match what {
            What::Runs => {
                on.insert(tid, cpu);
                tracks.slice(track_of_cpu(cpu), &account.thread_name(tid), &[]);
                tracks.slice(track_of(tid), &format!("runs on {}", account.cpu_name(cpu)), &[]);
            }
            What::Stops => {
                tracks.end(track_of_cpu(cpu), &[]);
                if on.get(&tid) == Some(&cpu) {
                    tracks.end(track_of(tid), &[]);
                }
            }
            What::Moves => {
                let (thread, to) = (account.thread_name(tid), account.cpu_name(cpu));
                tracks.instant(track_of_cpu(cpu), &format!("{thread} is moved here"), &[]);
                tracks.instant(track_of(tid), "moved", &[("to", &to), ("by", account.plan.policy.name())]);
            }
        }
    }
}
