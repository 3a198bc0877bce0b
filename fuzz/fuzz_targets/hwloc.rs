//! No text makes the parser panic, hang or overflow, and what it takes for a machine is one.
#![no_main]

use evenkeel_topology::Topology;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(topology) = Topology::from_hwloc(text)
        && let Ok(file) = topology.to_toml("fuzz")
    {
        assert!(evenkeel_model::Machine::from_toml(&file, "fuzz.toml").is_ok());
    }
});
