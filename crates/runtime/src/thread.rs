//! Threads of pools: those of the standard library, and in a forked process those of the C library.
//!
//! Each thread of the standard library takes a lock of the process when it starts and when it ends. Should a thread of the parent have done so at the moment of the fork, the child can
//! never start one. The C library makes its own locks usable again in the child, so its threads start there.
#![allow(unsafe_code)]

use std::io;
use std::thread::{Builder, JoinHandle};

use crate::fork::Process;

/// What a thread does. It does not unwind.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// A thread of a pool. It ends by itself if this is dropped.
pub(crate) enum PoolThread {
    Std(JoinHandle<()>),
    #[cfg(unix)]
    Raw(raw::RawThread),
}

impl PoolThread {
    /// Starts one.
    ///
    /// # Errors
    /// The system refuses it.
    pub(crate) fn start(name: String, body: Body) -> io::Result<PoolThread> {
        #[cfg(unix)]
        if Process::is_child() {
            return raw::RawThread::start(&name, body).map(PoolThread::Raw);
        }
        Builder::new().name(name).spawn(body).map(PoolThread::Std)
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            PoolThread::Std(thread) => thread.is_finished(),
            #[cfg(unix)]
            PoolThread::Raw(thread) => thread.is_finished(),
        }
    }

    /// Waits until it has ended.
    pub(crate) fn join(self) {
        match self {
            PoolThread::Std(thread) => drop(thread.join()),
            #[cfg(unix)]
            PoolThread::Raw(thread) => thread.join(),
        }
    }
}

#[cfg(unix)]
mod raw {
    use std::ffi::{CString, c_void};
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::{Acquire, Release};

    use super::Body;

    /// As much stack as threads of the standard library have.
    const STACK: usize = 2 << 20;

    /// A thread of the C library.
    pub(crate) struct RawThread {
        /// `None` once it is joined.
        id: Option<libc::pthread_t>,
        finished: Arc<AtomicBool>,
    }

    // SAFETY: the C library's name of a thread, a pointer on some systems, may be used by any thread.
    unsafe impl Send for RawThread {}
    // SAFETY: as above; sharing it only reads `finished`.
    unsafe impl Sync for RawThread {}

    struct Start {
        name: CString,
        body: Body,
        finished: Arc<AtomicBool>,
    }

    extern "C" fn main(start: *mut c_void) -> *mut c_void {
        // SAFETY: `RawThread::start` has leaked it for this thread.
        let Start { name, body, finished } = *unsafe { Box::from_raw(start.cast::<Start>()) };
        // SAFETY: the name is a string. One that the system refuses is no reason not to start.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        }
        drop(name);
        body();
        finished.store(true, Release);
        ptr::null_mut()
    }

    impl RawThread {
        pub(super) fn start(name: &str, body: Body) -> io::Result<RawThread> {
            let finished = Arc::new(AtomicBool::new(false));
            let name = CString::new(name).unwrap_or_default();
            let start = Box::into_raw(Box::new(Start { name, body, finished: Arc::clone(&finished) }));
            let mut id = MaybeUninit::uninit();
            let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
            // SAFETY: the attributes are initialised before they are used; `main` gets what it expects.
            let error = unsafe {
                libc::pthread_attr_init(attributes.as_mut_ptr());
                libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
                let error = libc::pthread_create(id.as_mut_ptr(), attributes.as_ptr(), main, start.cast());
                libc::pthread_attr_destroy(attributes.as_mut_ptr());
                error
            };
            if error != 0 {
                // SAFETY: no thread has it.
                drop(unsafe { Box::from_raw(start) });
                return Err(io::Error::from_raw_os_error(error));
            }
            // SAFETY: set by `pthread_create`.
            Ok(RawThread { id: Some(unsafe { id.assume_init() }), finished })
        }

        pub(super) fn is_finished(&self) -> bool {
            self.finished.load(Acquire)
        }

        pub(super) fn join(mut self) {
            if let Some(id) = self.id.take() {
                // SAFETY: neither joined nor detached before; dropping it does neither now.
                unsafe { libc::pthread_join(id, ptr::null_mut()) };
            }
        }
    }

    impl Drop for RawThread {
        fn drop(&mut self) {
            if let Some(id) = self.id {
                // SAFETY: neither joined nor detached before.
                unsafe { libc::pthread_detach(id) };
            }
        }
    }

    #[cfg(all(test, not(miri)))]
    mod tests {
        use std::sync::mpsc;

        use super::*;

        #[test]
        fn a_raw_thread_runs_ends_and_is_joined_or_not() {
            let (send, receive) = mpsc::channel();
            let sends = send.clone();
            let thread = RawThread::start("raw", Box::new(move || sends.send(1).unwrap())).unwrap();
            thread.join();
            assert_eq!(receive.try_recv(), Ok(1));
            drop(RawThread::start("raw", Box::new(move || send.send(2).unwrap())).unwrap());
            assert_eq!(receive.recv(), Ok(2));
        }
    }
}
