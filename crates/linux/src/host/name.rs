//! What a thread is called, which many programs decide only after they have started it, and which exec changes.

use evenkeel_model::Ns;

use crate::event::Tid;
use crate::process;

/// A thread's name is read again at this age, and then each time it has become twice as old (assumed): what it was called for most of
/// its life is not missed, and a thread that lives for a day costs twenty reads.
const READ_AGAIN: Ns = Ns::from_ms(50);

/// The name of a thread, as of when it was read last.
#[derive(Clone, Debug)]
pub struct Name {
    text: String,
    since: Ns,
    /// At which age it is read again.
    again: Ns,
}

impl Name {
    /// Reads the name of a thread that is seen for the first time. A thread that has ended already gets the name of its process,
    /// which is that of its first thread.
    pub fn of(process: Tid, tid: Tid, now: Ns, first: Option<&Self>) -> Self {
        let text = read(process, tid).or_else(|| first.map(|first| first.text.clone()));
        Self { text: text.unwrap_or_default(), since: now, again: READ_AGAIN }
    }

    /// A name that a thread is known to have when it is seen for the first time.
    pub fn known(text: &str, now: Ns) -> Self {
        Self { text: text.to_owned(), since: now, again: READ_AGAIN }
    }

    /// Reads it again, if it is time for that. Returns whether it did.
    pub fn read_again(&mut self, process: Tid, tid: Tid, now: Ns) -> bool {
        let age = now.since(self.since);
        if age < self.again {
            return false;
        }
        self.again = Ns(2 * age.0);
        if let Some(text) = read(process, tid) {
            self.text = text;
        }
        true
    }

    /// The name; empty if none could be read.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// `None` when the thread has ended.
fn read(process: Tid, tid: Tid) -> Option<String> {
    process::text(format!("/proc/{process}/task/{tid}/comm")).ok().map(|name| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No thread has this number: it is above what the kernel gives.
    const NONE: Tid = 1 << 30;

    #[test]
    fn a_name_that_changes_is_read_again_and_one_that_has_gone_stays() {
        let threads = || {
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as Tid;
            let process = std::process::id();
            let mut name = Name::of(process, tid, Ns::ZERO, None);
            let before = name.as_str().to_owned();
            let set = |text: &str| std::fs::write(format!("/proc/self/task/{tid}/comm"), text).unwrap();
            set("later");
            assert!(!name.read_again(process, tid, Ns::from_ms(49)));
            assert_eq!(name.as_str(), before);
            assert!(name.read_again(process, tid, Ns::from_ms(51)));
            assert_eq!(name.as_str(), "later");
            set("last");
            assert!(!name.read_again(process, tid, Ns::from_ms(101)));
            assert!(name.read_again(process, tid, Ns::from_secs(9)));
            assert_eq!(name.as_str(), "last");
            assert!(name.read_again(NONE, NONE, Ns::from_secs(18)), "it has ended");
            assert_eq!(name.as_str(), "last");
            assert_eq!(Name::of(NONE, NONE, Ns::ZERO, Some(&name)).as_str(), "last");
            assert_eq!(Name::of(NONE, NONE, Ns::ZERO, None).as_str(), "");
        };
        std::thread::Builder::new().name("before".into()).spawn(threads).unwrap().join().unwrap();
    }
}
