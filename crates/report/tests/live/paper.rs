//! What comes out of a printer.

use crate::pages;
use evenkeel_testing::browser::{DESK, Look, Page};

/// Of each timeline: how high it is drawn, and how many colours are in its picture.
const TIMELINES: &str = "[...document.querySelectorAll('figure.timeline')].map(figure => {
    const canvas = figure.querySelector('canvas');
    if (!canvas) return [0, 0];
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [Math.round(canvas.height / canvas.width * canvas.clientWidth), new Set(new Uint32Array(data.buffer)).size];
})";

fn timelines(page: &Page) -> Vec<(u64, u64)> {
    serde_json::from_value(page.ask(TIMELINES)).unwrap()
}

#[test(chromium)]
fn paper_has_all_lanes_of_all_timelines_also_of_those_that_are_folded_away() {
    let low = Look { height: 500, ..DESK };
    let page = Page::open(&pages::comparisons(), low);
    // Those that are folded away are read meanwhile.
    page.until("document.querySelectorAll('figure.timeline[data-ready]').length === 2");
    let [seen, ..] = timelines(&page)[..] else { panic!("no timeline") };
    page.ask("dispatchEvent(new Event('beforeprint'))");
    let printed = timelines(&page);
    assert_eq!(printed.len(), 2);
    for (height, colours) in printed {
        assert!(height > seen.0 + 100 && colours > 4, "{height} px high after {}, {colours} colours", seen.0);
    }
    page.ask("dispatchEvent(new Event('afterprint'))");
    page.until("document.querySelectorAll('details:not([open]) figure.timeline').length === 1");
    assert_eq!(timelines(&page)[0].0, seen.0);
    page.is_content();
}

#[test(chromium)]
fn paper_is_white_and_has_swatches_and_shades() {
    let page = Page::open(&pages::run(), Look { dark: true, ..DESK });
    let corner = "[...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1).data.slice(0, 3)]";
    assert!(page.number(&format!("{corner}[0]")) < 60.0);
    page.ask("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(page.ask(corner), serde_json::json!([255, 255, 255]));
    let kept = "[...document.querySelectorAll('.swatch, .legend span, td, figure')].every(part => \
        getComputedStyle(part).printColorAdjust === 'exact')";
    assert_eq!(page.ask(kept), serde_json::json!(true));
    page.is_content();
}
