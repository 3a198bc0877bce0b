//! Children of a test, and what pools have to do in them.

use std::io::{Read, pipe};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use evenkeel_runtime::{Pool, join, par_map_reduce};

/// How a child ended, and what it wrote to its standard error.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    pub exited: Option<i32>,
    pub signal: Option<i32>,
    pub says: String,
}

impl End {
    /// Without an error.
    pub fn well() -> End {
        End { exited: Some(0), signal: None, says: String::new() }
    }
}

/// Runs `f` in a child, which a signal ends if it hangs.
pub fn forked(f: impl FnOnce()) -> End {
    let (mut says, writes) = pipe().unwrap();
    // SAFETY: the child uses what glibc has made usable again, and what the runtime promises.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: descriptors that exist; the default of the signal is to end the process.
        unsafe {
            libc::alarm(60);
            libc::dup2(writes.as_raw_fd(), 2);
        }
        let done = catch_unwind(AssertUnwindSafe(f));
        // SAFETY: ends the process without what the parent has to do at its end.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    drop(writes);
    let mut text = String::new();
    says.read_to_string(&mut text).unwrap();
    let mut status = 0;
    // SAFETY: the status is there.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    End {
        exited: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        says: text,
    }
}

/// Everything that a pool does.
pub fn works(pool: &Pool) {
    let (send, receive) = mpsc::channel();
    pool.spawn(move || send.send(7).unwrap());
    assert_eq!(receive.recv(), Ok(7));
    assert_eq!(pool.install(|| join(|| 1, || par_map_reduce(0..1000, || 0, |i| i, |a, b| a + b))), (1, 499_500));
    let begun = AtomicUsize::new(0);
    // Both sides run at the same time: there is another worker.
    let meet = || {
        begun.fetch_add(1, Ordering::SeqCst);
        while begun.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
    };
    pool.join(meet, meet);
}
