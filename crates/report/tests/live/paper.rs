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
fn paper_has_more_lanes_than_any_screen() {
    let page = Page::open(&pages::high(), DESK);
    // A drawing that is saved has all of them.
    page.click_on("figure.timeline button[aria-label='Save as SVG']");
    let saved = String::from_utf8(page.saved("high.svg")).unwrap();
    let all: u64 = saved.split(" height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!(all > 3000, "{all} px");
    page.ask("document.querySelector('canvas').focus()");
    page.press(&["PageDown"]);
    page.ask("dispatchEvent(new Event('beforeprint'))");
    let heights = page.ask("(canvas => [canvas.style.height, canvas.height])(document.querySelector('canvas'))");
    assert_eq!(heights, serde_json::json!([format!("{all}px"), 2 * all]), "all of them, at twice as many dots");
    // In the middle of the first lane, which is below the axis and a title, and of the last one, both of which are busy all the time.
    for y in [59, all - 15] {
        let dot = format!(
            "(canvas => [...canvas.getContext('2d').getImageData(canvas.width / 2, {}, 1, 1).data.slice(0, 3)])\
             (document.querySelector('canvas'))",
            2 * y
        );
        let colour = page.ask(&dot);
        assert!(
            [[255, 255, 255], [233, 235, 239]].iter().all(|idle| colour != serde_json::json!(idle)),
            "{y}: {colour}"
        );
    }
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
