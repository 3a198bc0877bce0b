//! The cores that a thread may run on. Most threads of a machine may run on the same ones, so each set is kept once, and the
//! allowed cores are computed when they change, not whenever they are read.

use std::sync::Arc;

use evenkeel_model::CoreSet;

/// The sets that threads have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<Arc<CoreSet>>);

impl Sets {
    fn share(&mut self, set: CoreSet) -> Arc<CoreSet> {
        if let Some(known) = self.0.iter().find(|known| ***known == set) {
            return Arc::clone(known);
        }
        if self.0.len() == self.0.capacity() {
            self.0.retain(|known| Arc::strong_count(known) > 1);
        }
        let new = Arc::new(set);
        self.0.push(Arc::clone(&new));
        new
    }
}

/// Where a thread may run.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    requested: Arc<CoreSet>,
    affinity: Arc<CoreSet>,
    allowed: Arc<CoreSet>,
}

impl Masks {
    /// The masks of a thread from what its program and the policy allow.
    pub(crate) fn new(sets: &mut Sets, requested: CoreSet, affinity: CoreSet) -> Self {
        Self {
            // A policy that would leave none is overruled.
            allowed: sets.share(affinity.within(requested)),
            requested: sets.share(requested),
            affinity: sets.share(affinity),
        }
    }

    /// The cores that the program itself allows.
    pub(crate) fn requested(&self) -> &CoreSet {
        &self.requested
    }

    /// The cores that the policy allows.
    pub(crate) fn affinity(&self) -> &CoreSet {
        &self.affinity
    }

    /// The cores that the policy wants. If none of them is allowed, the cores that the program allows.
    pub(crate) fn wanted(&self) -> CoreSet {
        if self.affinity.and(*self.requested).is_empty() { *self.requested } else { *self.affinity }
    }

    /// The cores that the thread may run on.
    pub(crate) fn allowed(&self) -> &CoreSet {
        &self.allowed
    }
}
