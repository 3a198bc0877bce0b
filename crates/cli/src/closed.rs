//! Whether standard output was closed when this process began (`>&-`). Rust's runtime puts `/dev/null` in its place before
//! `main`, where the caller may have put it as well. So this checks earlier.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there is nowhere to print results to.
pub fn output() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

extern "C" fn check() {
    // SAFETY: a system call that takes two numbers and changes nothing; it fails if there is no such descriptor.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    CLOSED.store(closed, Ordering::Relaxed);
}

// SAFETY: the C runtime calls the functions of this section once, on the first thread, before `main`. What it passes in
// their arguments is ignored, and nothing of Rust's runtime is used in there.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = check;
