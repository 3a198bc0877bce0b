//! No bytes make the parser panic, hang or overflow, and what it takes for a machine is one.
#![no_main]

use evenkeel_topology::Topology;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(topology) = Topology::from_devicetree(bytes)
        && let Ok(file) = topology.to_toml("fuzz")
    {
        assert!(evenkeel_model::Machine::from_toml(&file, "fuzz.toml").is_ok());
    }
});
