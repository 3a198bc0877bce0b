//! Every page of what is simulated on a desk and on a phone, by day and by night. `EVENKEEL_SCREENSHOTS=FOLDER` keeps pictures of them.

use crate::pages;
use evenkeel_testing::browser::fits;

#[test(chromium)]
fn a_run() {
    fits("run", &pages::run());
}

#[test(chromium)]
fn a_sweep() {
    fits("sweep", &pages::sweep());
}

#[test(chromium)]
fn a_comparison() {
    fits("comparison", &pages::comparison());
}

#[test(chromium)]
fn a_reproduction() {
    fits("reproduction", &pages::reproduction());
}
