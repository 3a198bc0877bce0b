//! A timeline under fingers.

use evenkeel_testing::browser::{PHONE, Page};

use crate::pages;

/// What the timeline shows: from when to when, in ns.
fn view(page: &Page) -> (f64, f64) {
    let of = |end: &str| page.number(&format!("Number(document.querySelector('figure.timeline').dataset.{end})"));
    (of("from"), of("to"))
}

#[test(chromium)]
fn two_fingers_zoom_and_one_moves() {
    let page = Page::open(&pages::many(4000), PHONE);
    let [left, top, width, _] = page.place("figure.timeline canvas");
    let (begin, y) = (left + 70.0, top + 60.0);
    let middle = begin + (width - 70.0) / 2.0;
    let (_, end) = view(&page);
    let spread = |from: f64, to: f64| [[(middle - from, y), (middle - to, y)], [(middle + from, y), (middle + to, y)]];
    page.fingers(&spread(20.0, 80.0));
    let (from, to) = view(&page);
    let factor = end / (to - from);
    assert!((factor - 4.0).abs() < 0.4, "four times as close: {factor}");
    assert!(
        ((from + to) / 2.0 - end / 2.0).abs() < end / 20.0,
        "around what is between the fingers: {from} to {to} of {end}"
    );
    // What a finger is on stays below it.
    page.fingers(&[[(middle, y), (middle - 60.0, y)]]);
    let moved = view(&page);
    let expected = from + 60.0 * (to - from) / (width - 70.0);
    assert!((moved.0 - expected).abs() < (to - from) / 50.0, "{moved:?}, expected {expected}");
    assert!(((moved.1 - moved.0) - (to - from)).abs() < 1.0, "and is as large as before");
    page.fingers(&spread(80.0, 20.0));
    let (from, to) = view(&page);
    assert!(to - from > 0.8 * end, "{from} to {to} of {end}");
    // A touch selects.
    page.fingers(&[[(middle, y), (middle, y)]]);
    assert!(page.text("document.querySelector('.details strong').textContent").contains("worker-"));
    page.is_content();
}

#[test(chromium)]
fn a_finger_that_moves_up_scrolls_the_page() {
    let page = Page::open(&pages::run(), PHONE);
    let [left, top, width, height] = page.place("figure.timeline canvas");
    let before = (view(&page), page.number("scrollY"));
    let (x, y) = (left + width / 2.0, top + height / 2.0);
    page.fingers(&[[(x, y), (x, y - 120.0)]]);
    page.until(&format!("scrollY > {} + 50", before.1));
    assert_eq!(view(&page), before.0);
    page.is_content();
}
