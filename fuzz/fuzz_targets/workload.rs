//! No text makes the parser panic, hang or overflow.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = evenkeel_workload::format::load("fuzz", text, "fuzz.toml", None);
});
