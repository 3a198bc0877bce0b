//! No text makes the parser panic, hang or overflow.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = evenkeel_model::Machine::from_toml(text, "fuzz.toml");
});
