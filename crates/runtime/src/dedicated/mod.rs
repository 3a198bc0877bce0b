//! Pools all of whose workers are threads of their own. A thread from outside that calls such a pool waits, or, if it is a worker of another pool, works there meanwhile.
//!
//! This is what `rayon-core`'s interface promises; `docs/rayon.md` of the repository says how programs that use Rayon get these pools. A program that has the choice takes [`Pool`](crate::Pool): there the calling thread takes part.
//!
//! ```
//! use evenkeel_runtime::dedicated::{DedicatedOptions, DedicatedPool};
//!
//! # fn main() -> Result<(), std::io::Error> {
//! let options = DedicatedOptions { threads: 2, ..DedicatedOptions::default() };
//! let pool = DedicatedPool::start(options, |worker| std::thread::Builder::new().spawn(|| worker.run()).map(drop))?;
//! assert!(pool.index().is_none(), "this thread waits outside");
//! assert!(pool.install(|| pool.index()).is_some_and(|index| index < 2));
//! pool.release();
//! # Ok(())
//! # }
//! ```

mod broadcast;
mod dedication;
mod group;
mod here;
mod pool;
mod queues;
mod scope;
mod start;

pub use broadcast::BroadcastContext;
pub(crate) use dedication::Dedication;
pub use dedication::{Handlers, PanicHandler, ThreadHandler};
pub use here::{Here, here};
pub use pool::DedicatedPool;
pub(crate) use queues::OwnQueues;
pub use scope::{Scope, ScopeFifo};
pub use start::{DedicatedOptions, Settled, WorkerStart};
