//! What makes the timeline's drawing fast leaves it as it is: made rows drawn as the page draws them, and plainly.

use crate::pages;
use evenkeel_testing::browser::{DESK, Page};

/// The plain drawing.
const PLAIN: &str = include_str!("plain.js");

/// Of so many spans, for some views of 512 pixels on 2^20 ns, how far the page's drawing is from the plain one: the largest difference, of 255, and the mean.
fn apart(exact: bool, counts: &[usize], views: &str) -> Vec<(String, f64, f64)> {
    compared(&format!("compared({exact}, {counts:?}, {views})"))
}

/// The same of what an expression compares.
fn compared(expression: &str) -> Vec<(String, f64, f64)> {
    // Not a module: what it declares can be used here.
    let html = pages::many(400).replace("<script type=\"module\">", "<script>");
    let page = Page::open(&html, DESK);
    let found = page.ask(&format!("(() => {{ {PLAIN} return {expression}; }})()"));
    let of = |case: &serde_json::Value| {
        let number = |name: &str| case[name].as_f64().unwrap();
        (format!("{} spans in {}", case["count"], case["view"]), number("most"), number("mean"))
    };
    let cases: Vec<_> = found.as_array().unwrap().iter().map(of).collect();
    assert!(!cases.is_empty());
    page.is_content();
    cases
}

#[test(chromium)]
fn columns_in_one_image_are_what_rectangles_would_be() {
    let views = "[1, 0.4, 0.11, 0.03, 0.004].flatMap(part => ['cores', 'threads'].flatMap(mode => [null, 'a'].map(wanted => \
        ({ from: 0.3 * END * (1 - part), to: (0.3 + 0.7 * part) * END, mode, wanted }))))";
    for (case, most, _) in apart(true, &[4096, 300, 1], views) {
        // As far as numbers are rounded.
        assert!(most <= 3.0, "{case}: {most}");
    }
}

#[test(chromium)]
fn from_afar_a_lane_is_what_it_is_where_parts_of_the_time_are_pixels() {
    // Of four times as many spans there are 1024 parts, so that a pixel is two of them, or one.
    let views = "['cores', 'threads'].flatMap(mode => [null, 'a'].flatMap(wanted => \
        [[0, END], [END / 2, END], [END / 4, 3 * END / 4]].map(([from, to]) => ({ from, to, mode, wanted }))))";
    for (case, most, _) in apart(false, &[4096], views) {
        assert!(most <= 3.0, "{case}: {most}");
    }
}

#[test(chromium)]
fn from_afar_pixels_end_within_half_a_pixel_of_where_they_do() {
    let views = "[1, 0.93, 0.71, 0.52].flatMap(part => ['cores', 'threads'].map(mode => \
        ({ from: 0.29 * END * (1 - part), to: (0.29 + 0.71 * part) * END, mode })))";
    for (case, _, mean) in apart(false, &[4096, 3000], views) {
        // An end that is off by a whole pixel makes it more than 8.
        assert!(mean <= 7.0, "{case}: {mean} on the average");
    }
}

#[test(chromium)]
fn from_afar_a_span_that_begins_in_the_first_half_pixel_is_drawn() {
    for (case, most, _) in compared("comparedOf(false, late(), [LATE])") {
        assert!(most <= 3.0, "{case}: {most}");
    }
}
