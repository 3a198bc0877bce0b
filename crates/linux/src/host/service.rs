//! Threads that serve a language's runtime system, recognised by their names (WASH treats them apart: CGO 2016, section 6).

use evenkeel_model::ThreadKind;

/// Beginnings of the names that HotSpot gives to its own threads, cut to the kernel's 15 characters.
const HOTSPOT: &[&str] = &[
    "GC Thread",
    "ParGC Thread",
    "G1 ",
    "Shenandoah",
    "ZWorker",
    "ZDriver",
    "ZDirector",
    "ZStat",
    "ZUnmapper",
    "ZUncommitter",
    "RuntimeWorker",
    "XWorker",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "VM Thread",
    "VM Periodic Tas",
    "Common-Cleaner",
    "Finalizer",
    "Reference Handl",
    "Signal Dispatch",
    "Service Thread",
    "Monitor Deflati",
    "Notification Th",
    "Sweeper thread",
    "Attach Listener",
    "JFR ",
];

/// What a thread of this name does for its program.
pub fn kind(name: &str) -> ThreadKind {
    if of_jvm(name) { ThreadKind::Service } else { ThreadKind::Application }
}

/// Whether it serves a Java virtual machine.
fn of_jvm(name: &str) -> bool {
    HOTSPOT.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jvms_own_threads_are_told_from_the_programs() {
        for name in ["GC Thread#0", "G1 Main Marker", "C2 CompilerThre", "VM Periodic Tas", "G1 Conc#0"] {
            assert!(of_jvm(name), "{name}");
        }
        for name in ["main", "java", "pool-1-thread-1", "Lucene Merge Th", "ForkJoinPool.co", "GCC"] {
            assert!(!of_jvm(name), "{name}");
        }
    }
}
