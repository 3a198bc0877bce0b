//! Which worker ran where and when.

#[cfg(feature = "perfetto")]
use std::io;

use evenkeel_model::Ns;
#[cfg(feature = "perfetto")]
use evenkeel_perfetto::{Track, Tracks};

/// A worker begins something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, since the first pool with a trace or with uneven cores was made.
    pub at: Ns,
    /// Which worker, as in [`Pool::stats`](crate::Pool::stats).
    pub worker: usize,
    /// On which CPU.
    pub cpu: u16,
    /// What it begins.
    pub what: What,
}

/// What a worker begins. Moving to another CPU begins anew what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Tasks.
    Runs,
    /// To wait: it has found no task twice in a row.
    Waits,
    /// To do something outside of the pool.
    Leaves,
}

/// Writes events as a Perfetto trace: a track for each CPU with the worker that was there, and one for each worker with what it did and where.
///
/// # Errors
/// The first error in writing.
#[cfg(feature = "perfetto")]
pub fn write_perfetto<W: io::Write>(events: &[Event], out: W) -> io::Result<W> {
    const CPUS: Track = 1;
    const WORKERS: Track = 2;
    let of_cpu = |cpu: u16| 1_000 + Track::from(cpu);
    let of_worker = |worker: usize| 1_000_000 + worker as Track;
    let mut tracks = Tracks::new(out);
    tracks.process(CPUS, 1, "CPUs");
    tracks.process(WORKERS, 2, "workers");
    let mut cpus: Vec<u16> = events.iter().map(|event| event.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in &cpus {
        tracks.thread(of_cpu(*cpu), CPUS, 1, 1_000 + i32::from(*cpu), &format!("CPU {cpu}"));
    }
    let workers = events.iter().map(|event| event.worker + 1).max().unwrap_or(0);
    for worker in 0..workers {
        tracks.thread(of_worker(worker), WORKERS, 2, 1_000_000 + worker as i32, &format!("worker {worker}"));
    }
    // The CPU on which each worker runs tasks now. A CPU shows one worker: of several the last to begin.
    let mut runs: Vec<Option<u16>> = vec![None; workers];
    for event in events {
        tracks.at(event.at);
        if let Some(cpu) = runs[event.worker].take()
            && !runs.contains(&Some(cpu))
        {
            tracks.end(of_cpu(cpu), &[]);
        }
        let doing = match event.what {
            What::Runs => {
                runs[event.worker] = Some(event.cpu);
                tracks.slice(of_cpu(event.cpu), &format!("worker {}", event.worker), &[]);
                Some("runs")
            }
            What::Waits => Some("waits"),
            What::Leaves => None,
        };
        let cpu = event.cpu.to_string();
        match doing {
            Some(doing) => tracks.slice(of_worker(event.worker), doing, &[("CPU", &cpu)]),
            None => tracks.end(of_worker(event.worker), &[]),
        }
    }
    tracks.finish()
}

#[cfg(all(test, feature = "perfetto"))]
mod tests {
    use evenkeel_perfetto::proto::{Trace, Type};
    use prost::Message;

    use super::*;

    #[test]
    fn what_begins_on_a_track_ends_there() {
        let event = |at, worker, cpu, what| Event { at: Ns(at), worker, cpu, what };
        // Worker 0 mugs worker 1: they exchange CPUs 0 and 1.
        let events = [
            event(1, 0, 0, What::Runs),
            event(2, 1, 1, What::Runs),
            event(5, 0, 0, What::Waits),
            event(6, 1, 0, What::Runs),
            event(6, 0, 1, What::Waits),
            event(9, 1, 0, What::Waits),
            event(9, 0, 1, What::Leaves),
        ];
        let bytes = write_perfetto(&events, Vec::new()).unwrap();
        let trace = Trace::decode(&*bytes).unwrap();
        let of = |track, kind: Type| -> Vec<u64> {
            let packets = trace.packet.iter().filter(|packet| {
                let event = packet.track_event.as_ref();
                event.is_some_and(|event| event.track_uuid == Some(track) && event.r#type == Some(kind as i32))
            });
            packets.map(|packet| packet.timestamp.unwrap_or_default()).collect()
        };
        assert_eq!((of(1_000, Type::SliceBegin), of(1_000, Type::SliceEnd)), (vec![1, 6], vec![5, 9]));
        assert_eq!((of(1_001, Type::SliceBegin), of(1_001, Type::SliceEnd)), (vec![2], vec![6]));
        let ends = of(1_000_001, Type::SliceEnd);
        assert_eq!((of(1_000_001, Type::SliceBegin), ends), (vec![2, 6, 9], vec![6, 9, 9]));
    }
}
