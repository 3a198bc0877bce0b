//! The queue of one worker: its owner puts tasks in and takes them out at the bottom, thieves take the oldest at the top.
//!
//! D. Chase and Y. Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; the memory orders follow N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct
//! and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013, with the two full fences replaced by the asymmetric pair of [`crate::fence`]. DESIGN.md
//! of this crate has the argument.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crossbeam_utils::CachePadded;

use crate::fence;
use crate::sync::{AtomicIsize, AtomicPtr};

#[cfg(not(loom))]
const CAPACITY: usize = 256;
#[cfg(loom)]
const CAPACITY: usize = 2;

/// Pointers to tasks, which it does not own.
pub(crate) struct Deque<T> {
    bottom: CachePadded<Bottom<T>>,
    /// Index of the oldest task. Only ever grows: the thread that increments it has that task.
    top: CachePadded<AtomicIsize>,
    /// Every buffer that there was. A thief may still read an outgrown one, so they are freed with the deque; each is half as long as the next.
    buffers: UnsafeCell<Vec<NonNull<Buffer<T>>>>,
}

/// The owner's end. Thieves read `bottom` and `buffer`; the rest is for the owner alone.
struct Bottom<T> {
    /// Index after the newest task. Written by the owner only.
    bottom: AtomicIsize,
    buffer: AtomicPtr<Buffer<T>>,
    /// `bottom` may grow up to here before the buffer can be full. `top` may have moved on since.
    limit: Cell<isize>,
    /// What `buffer` points to.
    entries: Cell<*const AtomicPtr<T>>,
    mask: Cell<isize>,
}

struct Buffer<T> {
    /// A power of two of them; the task with index `i` is entry `i` modulo their number.
    entries: Box<[AtomicPtr<T>]>,
}

impl<T> Buffer<T> {
    fn leak(capacity: usize) -> NonNull<Buffer<T>> {
        let entries = (0..capacity).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect();
        NonNull::from(Box::leak(Box::new(Buffer { entries })))
    }

    fn entry(&self, index: isize) -> &AtomicPtr<T> {
        &self.entries[index as usize & (self.entries.len() - 1)]
    }
}

/// What a thief got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StealResult<T> {
    /// There was nothing to take.
    Empty,
    /// Another thread was faster.
    Lost,
    /// The oldest task.
    Task(T),
}

// SAFETY: everything that is not atomic is only touched in the functions that demand to be called by the owner.
unsafe impl<T> Sync for Deque<T> {}
// SAFETY: as above; the raw pointers in it point to its own buffers.
unsafe impl<T> Send for Deque<T> {}

impl<T> Deque<T> {
    pub(crate) fn new() -> Deque<T> {
        let buffer = Buffer::leak(CAPACITY);
        let deque = Deque {
            bottom: CachePadded::new(Bottom {
                bottom: AtomicIsize::new(0),
                buffer: AtomicPtr::new(std::ptr::null_mut()),
                limit: Cell::new(0),
                entries: Cell::new(std::ptr::null()),
                mask: Cell::new(0),
            }),
            top: CachePadded::new(AtomicIsize::new(0)),
            buffers: UnsafeCell::new(Vec::new()),
        };
        // SAFETY: no other thread knows this deque yet.
        unsafe { deque.adopt(buffer, 0) };
        deque
    }

    /// How many tasks are in it, or were a moment ago.
    pub(crate) fn len(&self) -> usize {
        let bottom = self.bottom.bottom.load(Relaxed);
        bottom.wrapping_sub(self.top.load(Relaxed)).max(0) as usize
    }

    /// Index after the newest task. Only the owner knows it to be still true.
    pub(crate) fn bottom(&self) -> isize {
        self.bottom.bottom.load(Relaxed)
    }

    /// Index of the oldest task, or what it was a moment ago.
    pub(crate) fn top(&self) -> isize {
        self.top.load(Relaxed)
    }

    /// Puts a task in and returns the `bottom` above it.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, task: NonNull<T>) -> isize {
        let own = &*self.bottom;
        let index = own.bottom.load(Relaxed);
        if index.wrapping_sub(own.limit.get()) >= 0 {
            // SAFETY: the caller is the owner.
            unsafe { self.make_room(index) };
        }
        // SAFETY: masked by the length of the entries, which `adopt` set together with their address.
        let entry = unsafe { &*own.entries.get().offset(index & own.mask.get()) };
        entry.store(task.as_ptr(), Relaxed);
        // Release: a thief that reads this index (Acquire, in `steal`) sees the entry and the task.
        let bottom = index.wrapping_add(1);
        own.bottom.store(bottom, Release);
        bottom
    }

    /// Takes the newest task out if its index is not below `floor`.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(crate) unsafe fn pop(&self, floor: isize) -> Option<NonNull<T>> {
        let index = self.bottom().wrapping_sub(1);
        if index.wrapping_sub(floor) < 0 {
            return None;
        }
        // SAFETY: as in `push`.
        let entry = unsafe { &*self.bottom.entries.get().offset(index & self.bottom.mask.get()) };
        let task = entry.load(Relaxed);
        self.bottom.bottom.store(index, Release);
        fence::light();
        if self.is_mine(index) { NonNull::new(task) } else { None }
    }

    /// Takes the task below `bottom` out if it is the newest and was not stolen. Where fences are asymmetric only.
    ///
    /// # Safety
    /// The caller is the owner, and [`fence::asymmetric`] is true.
    #[inline(always)]
    pub(crate) unsafe fn pop_at(&self, bottom: isize) -> bool {
        let own = &*self.bottom;
        if own.bottom.load(Relaxed) != bottom {
            return false;
        }
        let index = bottom.wrapping_sub(1);
        own.bottom.store(index, Release);
        fence::free();
        self.is_mine(index)
    }

    /// The second half of taking: `bottom` has been lowered to `index` and the light fence is passed. A thief that does not see that `bottom`, before its
    /// heavy fence, has moved `top` before this load, and so is seen here (DESIGN.md, "The queue").
    #[inline(always)]
    fn is_mine(&self, index: isize) -> bool {
        let top = self.top.load(Relaxed);
        // Differences, because indices may wrap; this way round it is one instruction.
        if top.wrapping_sub(index) < 0 { true } else { self.win_last(index, top) }
    }

    /// Owner and thief may both try to take the last task: the one that increments `top` has it.
    #[cold]
    fn win_last(&self, index: isize, top: isize) -> bool {
        let mine = top == index && self.top.compare_exchange(top, top.wrapping_add(1), SeqCst, Relaxed).is_ok();
        self.bottom.bottom.store(index.wrapping_add(1), Release);
        mine
    }

    /// Takes the oldest task.
    pub(crate) fn steal(&self) -> StealResult<NonNull<T>> {
        let top = self.top.load(Acquire);
        // Without a fence first: a heavy one disturbs every worker.
        if self.bottom.bottom.load(Relaxed).wrapping_sub(top) <= 0 || !fence::heavy_timed() {
            return StealResult::Empty;
        }
        // Acquire: pairs with the Release stores of `bottom`; the buffer and the entry below are at least as new.
        let bottom = self.bottom.bottom.load(Acquire);
        if bottom.wrapping_sub(top) <= 0 {
            return StealResult::Empty;
        }
        // SAFETY: buffers live as long as the deque.
        let buffer = unsafe { &*self.bottom.buffer.load(Acquire) };
        let task = buffer.entry(top).load(Relaxed);
        // Release: the owner, which reads `top` with Acquire before it uses the entry again, does so after the load above.
        match self.top.compare_exchange(top, top.wrapping_add(1), SeqCst, Relaxed) {
            Ok(_) => NonNull::new(task).map_or(StealResult::Empty, StealResult::Task),
            Err(_) => StealResult::Lost,
        }
    }

    /// Takes the oldest task, to give it to a thief. Needs no fence: `bottom` is the caller's own.
    ///
    /// # Safety
    /// The caller is the owner.
    pub(crate) unsafe fn give(&self) -> Option<NonNull<T>> {
        let bottom = self.bottom();
        loop {
            let top = self.top.load(Relaxed);
            if bottom.wrapping_sub(top) <= 0 {
                return None;
            }
            // SAFETY: as in `push`.
            let entry = unsafe { &*self.bottom.entries.get().offset(top & self.bottom.mask.get()) };
            let task = entry.load(Relaxed);
            // Fails only if a thief was faster, and then there is one task less.
            if self.top.compare_exchange(top, top.wrapping_add(1), SeqCst, Relaxed).is_ok() {
                return NonNull::new(task);
            }
        }
    }

    /// # Safety
    /// The caller is the owner.
    #[cold]
    unsafe fn make_room(&self, bottom: isize) {
        // Acquire: pairs with the thief's exchange of `top`; it has read its entry.
        let top = self.top.load(Acquire);
        // SAFETY: the newest buffer; see `adopt`.
        let old = unsafe { &*self.bottom.buffer.load(Relaxed) };
        let capacity = old.entries.len();
        if bottom.wrapping_sub(top) < capacity as isize {
            self.bottom.limit.set(top.wrapping_add(capacity as isize));
            return;
        }
        let new = Buffer::leak(capacity * 2);
        let mut index = top;
        while index != bottom {
            // SAFETY: just allocated.
            unsafe { new.as_ref() }.entry(index).store(old.entry(index).load(Relaxed), Relaxed);
            index = index.wrapping_add(1);
        }
        // SAFETY: the caller is the owner.
        unsafe { self.adopt(new, top) };
    }

    /// Makes `buffer` the one in use. It holds what lies between `top` and `bottom`.
    ///
    /// # Safety
    /// The caller is the owner.
    unsafe fn adopt(&self, buffer: NonNull<Buffer<T>>, top: isize) {
        // SAFETY: the caller is the owner, and only owners touch the list.
        unsafe { &mut *self.buffers.get() }.push(buffer);
        // SAFETY: buffers live as long as the deque.
        let entries = &unsafe { buffer.as_ref() }.entries;
        let own = &*self.bottom;
        own.entries.set(entries.as_ptr());
        own.mask.set(entries.len() as isize - 1);
        own.limit.set(top.wrapping_add(entries.len() as isize));
        // Release: pairs with the load in `steal`.
        own.buffer.store(buffer.as_ptr(), Release);
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        for buffer in self.buffers.get_mut().drain(..) {
            // SAFETY: made by `Buffer::leak`, and with `&mut self` no thief is left.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    /// Tasks that count how often they were taken.
    fn tasks(count: usize) -> Vec<AtomicUsize> {
        (0..count).map(|_| AtomicUsize::new(0)).collect()
    }

    fn take(task: Option<NonNull<AtomicUsize>>) -> bool {
        // SAFETY: the tasks of a test outlive its queue.
        task.map(|task| unsafe { task.as_ref() }.fetch_add(1, Relaxed)).is_some()
    }

    #[test]
    fn newest_first_for_the_owner_oldest_first_for_thieves() {
        let deque = Deque::new();
        let tasks = tasks(4);
        // SAFETY: one thread.
        unsafe {
            for (index, task) in tasks.iter().enumerate() {
                assert_eq!(deque.push(NonNull::from(task)), index as isize + 1);
            }
            assert_eq!(deque.len(), 4);
            assert_eq!(deque.pop(0), Some(NonNull::from(&tasks[3])));
            assert_eq!(deque.steal(), StealResult::Task(NonNull::from(&tasks[0])));
            assert_eq!(deque.pop(2), Some(NonNull::from(&tasks[2])));
            assert_eq!(deque.pop(2), None, "below the floor");
            assert_eq!(deque.pop(0), Some(NonNull::from(&tasks[1])));
            assert_eq!(deque.pop(0), None);
        }
        assert_eq!(deque.steal(), StealResult::Empty);
        assert_eq!(deque.len(), 0);
    }

    #[test]
    fn only_the_newest_is_taken_back_and_only_once() {
        if !fence::asymmetric() {
            return;
        }
        let deque = Deque::new();
        let tasks = tasks(2);
        // SAFETY: one thread.
        unsafe {
            let first = deque.push(NonNull::from(&tasks[0]));
            let second = deque.push(NonNull::from(&tasks[1]));
            assert!(!deque.pop_at(first), "there is a newer one");
            assert!(deque.pop_at(second));
            assert!(!deque.pop_at(second));
            assert_eq!(deque.steal(), StealResult::Task(NonNull::from(&tasks[0])));
            assert!(!deque.pop_at(first), "stolen");
            assert_eq!(deque.push(NonNull::from(&tasks[0])), first + 1);
        }
    }

    #[test]
    fn the_oldest_is_given_away() {
        let deque = Deque::new();
        let tasks = tasks(2);
        // SAFETY: one thread.
        unsafe {
            assert_eq!(deque.give(), None);
            deque.push(NonNull::from(&tasks[0]));
            deque.push(NonNull::from(&tasks[1]));
            assert_eq!(deque.give(), Some(NonNull::from(&tasks[0])));
            assert_eq!(deque.pop(0), Some(NonNull::from(&tasks[1])));
            assert_eq!(deque.give(), None);
        }
    }

    #[test]
    fn it_grows_and_wraps() {
        let deque = Deque::new();
        let tasks = tasks(5 * CAPACITY);
        // Off the beginning, so that what is copied wraps.
        for task in &tasks[..CAPACITY / 2] {
            // SAFETY: one thread.
            unsafe { deque.push(NonNull::from(task)) };
            assert_eq!(deque.steal(), StealResult::Task(NonNull::from(task)));
        }
        for task in &tasks {
            // SAFETY: one thread.
            unsafe { deque.push(NonNull::from(task)) };
        }
        for task in &tasks {
            assert_eq!(deque.steal(), StealResult::Task(NonNull::from(task)));
        }
        assert_eq!(deque.steal(), StealResult::Empty);
    }

    #[test]
    fn each_task_is_taken_once() {
        let deque = Deque::new();
        let count = if cfg!(miri) { 100 } else { 200_000 };
        let tasks = tasks(count);
        let left = AtomicUsize::new(count);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while left.load(Relaxed) > 0 {
                        match deque.steal() {
                            StealResult::Task(task) => {
                                take(Some(task));
                                left.fetch_sub(1, Relaxed);
                            }
                            _ => thread::yield_now(),
                        }
                    }
                });
            }
            for (index, task) in tasks.iter().enumerate() {
                // SAFETY: this thread alone is the owner.
                let pushed = unsafe { deque.push(NonNull::from(task)) };
                let taken = match index % 5 {
                    // SAFETY: as above.
                    0 if fence::asymmetric() => unsafe { deque.pop_at(pushed) }.then(|| NonNull::from(task)),
                    // SAFETY: as above.
                    1 | 2 => unsafe { deque.pop(0) },
                    _ => None,
                };
                if take(taken) {
                    left.fetch_sub(1, Relaxed);
                }
            }
        });
        assert!(tasks.into_iter().all(|taken| taken.into_inner() == 1));
    }
}
