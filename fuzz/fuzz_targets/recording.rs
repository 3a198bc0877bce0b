//! No text makes the reader panic or hang, and what it takes is written as it was read.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(recording) = evenkeel_workload::recording::Recording::from_text(text, "fuzz.ek") {
        let again = evenkeel_workload::recording::Recording::from_text(&recording.to_text(), "fuzz.ek");
        assert_eq!(again, Ok(recording));
    }
});
