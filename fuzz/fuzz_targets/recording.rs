//! No text makes the reader panic or hang, what it takes is written as it was read, and is a program that can be run.
#![no_main]

use evenkeel_workload::recording::Recording;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(recording) = Recording::from_text(text, "fuzz.ek") {
        let again = Recording::from_text(&recording.to_text(), "fuzz.ek");
        assert_eq!(again.as_ref(), Ok(&recording));
        let machine = evenkeel_model::machines::by_name("2B2S").expect("it is bundled");
        let workload = recording.workload("fuzz", Some(&machine));
        assert_eq!(evenkeel_workload::validate::workload(&workload), Ok(()));
    }
});
