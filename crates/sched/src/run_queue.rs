//! The threads that wait for one core, in the order in which CFS would run them.

use evenkeel_model::ThreadId;

/// A waiting thread with what decides its place.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// 0 for the highest real-time priority, [`FAIR`] for fair threads.
    rank: u8,
    /// Virtual run time; 0 for real-time threads.
    key: i64,
    thread: ThreadId,
    weight: u64,
}

const FAIR: u8 = u8::MAX;

/// A run queue. A sorted vector: queues are short, and a short vector beats a tree.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    entries: Vec<Entry>,
    weight: u64,
    /// The vruntime floor of the queue; never goes back.
    pub min_vruntime: i64,
}

impl RunQueue {
    /// How many threads wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no thread waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The summed weight of the waiting threads.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The thread that is first in line.
    pub fn first(&self) -> Option<ThreadId> {
        self.entries.first().map(|entry| entry.thread)
    }

    /// The first in line if it is a real-time thread.
    pub fn first_real_time(&self) -> Option<ThreadId> {
        self.entries.first().filter(|entry| entry.rank != FAIR).map(|entry| entry.thread)
    }

    /// The smallest vruntime of the waiting fair threads.
    pub fn first_vruntime(&self) -> Option<i64> {
        self.entries.iter().find(|entry| entry.rank == FAIR).map(|entry| entry.key)
    }

    /// The waiting threads in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ThreadId> + '_ {
        self.entries.iter().map(|entry| entry.thread)
    }

    pub(crate) fn reserve(&mut self, threads: usize) {
        self.entries.reserve(threads.saturating_sub(self.entries.len()));
    }

    pub(crate) fn push_fair(&mut self, thread: ThreadId, vruntime: i64, weight: u64) {
        self.insert(FAIR, vruntime, thread, weight);
    }

    pub(crate) fn push_real_time(&mut self, thread: ThreadId, priority: u8, weight: u64) {
        self.insert(FAIR - 1 - priority, 0, thread, weight);
    }

    fn insert(&mut self, rank: u8, key: i64, thread: ThreadId, weight: u64) {
        let entry = Entry { rank, key, thread, weight };
        self.weight += weight;
        // First come, first served among equals. Most that come were just on a core and are last in line.
        let before = |other: &Entry| (other.rank, other.key) <= (rank, key);
        match self.entries.last() {
            Some(last) if !before(last) => {
                let at = self.entries.partition_point(before);
                self.entries.insert(at, entry);
            }
            _ => self.entries.push(entry),
        }
    }

    pub(crate) fn remove(&mut self, thread: ThreadId) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.thread == thread) else { return false };
        self.weight -= self.entries.remove(at).weight;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_goes_first_then_vruntime_then_arrival() {
        let mut queue = RunQueue::default();
        queue.push_fair(ThreadId(1), 10, 1024);
        queue.push_fair(ThreadId(2), -5, 1024);
        queue.push_fair(ThreadId(3), 10, 1024);
        queue.push_real_time(ThreadId(4), 1, 1024);
        queue.push_real_time(ThreadId(5), 99, 1024);
        assert_eq!(queue.iter().map(|thread| thread.0).collect::<Vec<_>>(), [5, 4, 2, 1, 3]);
        assert_eq!(queue.first_vruntime(), Some(-5));
        assert!(queue.remove(ThreadId(5)) && !queue.remove(ThreadId(5)));
        assert_eq!((queue.first_real_time(), queue.weight()), (Some(ThreadId(4)), 4096));
    }
}
