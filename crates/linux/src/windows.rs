//! How to measure on CPUs that a hypervisor may limit to a share of the time, and that other programs use, too.

use evenkeel_model::Ns;
use rustix::process::setpriority_process;
use rustix::thread::sched_setaffinity;

use crate::clock::clock;
use crate::mask;

/// A hypervisor enforces such shares within periods of some 10 ms. A window is one of those.
pub const WINDOW: Ns = Ns::from_ms(10);
/// The middle one counts, so that what disturbs one window or two is of no account.
pub const WINDOWS: usize = 5;
/// On a busy machine it takes longer until threads have had their time, but not longer than this.
pub const MOST: Ns = Ns::from_ms(250);
/// Before ordinary work, where this user may, so that it is over soon.
const NICE: i32 = -20;

/// The median of the values of some windows; `None` if a window has no value.
pub fn middle(mut window: impl FnMut() -> Option<f64>) -> Option<f64> {
    let mut found = [0.0; WINDOWS];
    for one in &mut found {
        *one = window()?;
    }
    found.sort_unstable_by(f64::total_cmp);
    Some(found[WINDOWS / 2])
}

/// The mean cost of one `once`, in ns, measured over some windows; `None` if it fails, or not in time.
pub fn per_time(until: Ns, mut once: impl FnMut() -> Option<f64>) -> Option<Ns> {
    let window = || {
        let (began, mut sum, mut times) = (clock(), 0.0, 0.0);
        while clock().since(began) < WINDOW {
            if clock() > until {
                return None;
            }
            sum += once()?;
            times += 1.0;
        }
        // None at all, if this thread did not get to run for the whole window.
        (times > 0.0).then(|| sum / times)
    };
    middle(window).map(|cost| Ns(cost.max(0.0) as u64))
}

/// Makes this thread one that measures, on a CPU. Returns whether it may be there.
pub fn begin_on(cpu: u16) -> bool {
    let _ = setpriority_process(None, NICE);
    sched_setaffinity(None, &mask::of([cpu])).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_window_counts() {
        let mut costs = [9.0, 900.0, 11.0, 10.0, 8.0].into_iter();
        assert_eq!(middle(|| costs.next()), Some(10.0));
        let mut too_few = [9.0; 4].into_iter();
        assert_eq!(middle(|| too_few.next()), None);
    }

    #[test]
    fn what_is_done_in_time_costs_what_each_time_costs() {
        let once = || {
            std::thread::sleep(std::time::Duration::from_millis(4));
            Some(7.0)
        };
        assert_eq!(per_time(clock() + Ns::from_secs(60), once), Some(Ns(7)));
        assert_eq!(per_time(clock() + Ns::from_secs(60), || Some(-1.0)), Some(Ns::ZERO));
        assert_eq!(per_time(Ns::ZERO, || Some(1.0)), None);
        assert_eq!(per_time(clock() + Ns::from_secs(60), || None), None);
    }
}
