//! How fast cores should be, where the kernel's governor of frequencies asks: it is told how much each core is used, and chooses
//! for the cores of a cluster together. What the scheduler core would choose is only what `eas` reckons with.

use evenkeel_model::CoreId;

use super::{Driver, Orders};

impl<O: Orders> Driver<O> {
    /// Tells it of each core whose use has changed.
    pub(super) fn tell_governor(&mut self) {
        let s = self.sched.state();
        for (place, whole) in self.speeds.whole().iter().enumerate() {
            let core = CoreId(place as u16);
            let used = s.usage(core, None) * whole / s.capacity(core).max(1);
            if self.cores[place].told.replace(used) != Some(used) {
                self.orders.perform(self.cpus[place], used);
                self.figures.frequencies = self.figures.frequencies.map(|times| times + 1);
            }
        }
    }
}
