//! Why loops are left as they are, for people who want to know: each reason is said once.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::switch::{self, Switch};

/// A reason.
#[derive(Clone, Copy)]
pub enum Why {
    /// Equal parts are right.
    EqualCores,
    /// Two threads would bind their teams to the same cores.
    SecondThread,
    /// A program of GCC's whose user says how many threads there are.
    NumberGiven,
    /// A program of GCC's whose user allows fewer threads than teams would have.
    ThreadLimit,
    /// A program of GCC's whose user says where threads run.
    Bound,
    /// A region of GCC's for which the program says how many threads there are.
    OwnNumber,
    /// Not each thread has a core.
    MoreThreads,
    /// Nothing is known of libomp's regions.
    NoTool,
}

impl Why {
    /// Says it, if it is new and asked for.
    pub fn say(self) {
        static SAID: AtomicU32 = AtomicU32::new(0);
        let bit = 1_u32 << (self as u32);
        let new = SAID.fetch_or(bit, Ordering::Relaxed) & bit == 0;
        if new && matches!(switch::read(), Switch::Reasons | Switch::Report) {
            switch::say(&format!("evenkeel: {}\n", self.text()));
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::EqualCores => "the cores that this program may use are equally fast: loops stay as they are",
            Self::SecondThread => {
                "a second thread of this program begins OpenMP regions: from now on no thread is put on a core, and loops \
                 stay as they are"
            }
            Self::NumberGiven => "OMP_NUM_THREADS is set: regions of programs built with GCC stay as they are",
            Self::ThreadLimit => {
                "OMP_THREAD_LIMIT allows fewer threads than a team would have: regions of programs built with GCC stay as \
                 they are"
            }
            Self::Bound => {
                "OMP_PROC_BIND, OMP_PLACES or the like is set: regions of programs built with GCC stay as they are"
            }
            Self::OwnNumber => "regions for which this program says how many threads they have stay as they are",
            Self::MoreThreads => "regions with more threads than cores stay as they are",
            Self::NoTool => {
                "the OpenMP library has asked for no tool (OMP_TOOL=disabled), or has another one: loops stay as they are"
            }
        }
    }
}
