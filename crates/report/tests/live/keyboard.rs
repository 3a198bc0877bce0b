//! A page without a pointer: what Tab reaches, in which order, and how one sees where one is.

use evenkeel_testing::browser::{DESK, Page};

use crate::pages;

/// What has the focus: a label or a text.
const FOCUSED: &str = "(e => e.getAttribute('aria-label') ?? e.textContent)(document.activeElement)";

/// How the ring around what has the focus is drawn, and how much it stands out from the page (WCAG: 3 to 1).
const RING: &str = "(() => {
    const style = getComputedStyle(document.activeElement);
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => {
            const part = c / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [ring, paper] = [style.outlineColor, getComputedStyle(document.body).backgroundColor].map(light);
    const contrast = (Math.max(ring, paper) + 0.05) / (Math.min(ring, paper) + 0.05);
    return style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2 ? contrast : 0;
})()";

#[test(chromium)]
fn tab_reaches_the_toolbar_then_the_timeline_then_the_threads_that_wait() {
    let page = Page::open(&pages::run(), DESK);
    let mut reached = Vec::new();
    let seen = |reached: &[String], what: &str| reached.iter().position(|name| name.starts_with(what));
    for _ in 0..60 {
        page.press(&["Tab"]);
        reached.push(page.text(FOCUSED));
        assert!(page.number(RING) >= 3.0, "no ring around {reached:?}: {}", page.number(RING));
        if page.ask("document.activeElement.matches('[data-node]')") == serde_json::json!(true) {
            break;
        }
    }
    let order =
        ["Show threads", "Zoom out", "Zoom in", "Show all", "Find threads", "Save as SVG", "Save as PNG", "Keys"];
    let places: Vec<_> = order.iter().map(|what| seen(&reached, what)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} of {reached:?}");
    let timeline = reached.iter().position(|name| name.contains("Keys: arrows move"));
    assert!(timeline.is_some() && timeline > places[7], "the timeline after its toolbar: {reached:?}");
    // A thread in the graph of waits shows its own alone.
    assert_eq!(page.ask("document.querySelectorAll('.following').length"), serde_json::json!(1), "{reached:?}");
    page.is_content();
}

#[test(chromium)]
fn the_timeline_says_its_keys_when_it_is_reached_and_slices_when_they_are_selected() {
    let page = Page::open(&pages::run(), DESK);
    let hint = || page.text("(h => h.hidden ? '' : h.textContent)(document.querySelector('.hint'))");
    page.ask("[...document.querySelectorAll('figure.timeline .toolbar button')].at(-1).focus()");
    assert_eq!(hint(), "");
    page.press(&["Tab"]);
    assert_eq!(page.text("document.activeElement.tagName"), "CANVAS");
    assert!(hint().contains("slice") && hint().contains("?"), "{}", hint());
    page.press(&["."]);
    let first = hint();
    assert!(first.contains("from:") && first.contains("on: core"), "{first}");
    page.press(&["."]);
    assert!(hint() != first && hint().contains("from:"), "the next one: {}", hint());
    page.press(&["Escape"]);
    assert_eq!(hint(), "");
    page.press(&["Tab"]);
    assert_eq!(hint(), "", "nothing is said of what has lost the focus");
    // By pointer it is not in the way.
    page.click_on("figure.timeline canvas");
    assert!(!hint().contains("?"), "{}", hint());
    page.is_content();
}
