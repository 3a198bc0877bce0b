//! The figures of papers: published beside simulated.

use evenkeel_testing::browser::{DESK, PHONE, Page};

use crate::pages;

/// The pairs of bars: of the published and the simulated one the box and the number above it, and where in the table the pair leads.
const PAIRS: &str = "[...document.querySelectorAll('.papers svg a')].map((pair) => {
    const box = (bar) => { const { left, width, height } = bar.getBoundingClientRect(); return { left, width, height }; };
    const numbers = [...pair.querySelectorAll('text')].map(text => text.textContent);
    const bars = [...pair.querySelectorAll('rect')];
    const row = document.querySelector(`tr[id='${pair.getAttribute('href').slice(1)}']`);
    return { light: bars.map(bar => bar.classList.contains('light')), bars: bars.map(box), numbers, row: row?.textContent ?? null,
        said: pair.querySelector('title').textContent };
})";

/// By how much a number is off at most that is written so.
fn rounding(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let percent = text.starts_with(['+', '-']);
    if decimals == 2 && !percent { 0.0051 } else { 0.051 }
}

#[test(chromium)]
fn what_is_published_stands_beside_what_is_simulated_as_high_as_its_number_says() {
    let page = Page::open(&pages::reproduction(), DESK);
    let pairs = page.ask(PAIRS);
    let pairs = pairs.as_array().unwrap();
    assert!(pairs.len() > 40, "{} pairs", pairs.len());
    let mut compared = 0;
    for pair in pairs {
        assert_eq!(pair["light"], serde_json::json!([true, false]), "{pair}");
        let side = |bar: usize, of: &str| pair["bars"][bar][of].as_f64().unwrap();
        let gap = side(1, "left") - side(0, "left") - side(0, "width");
        assert!((0.0..3.0).contains(&gap), "side by side: {pair}");
        assert!(pair["row"].is_string(), "it leads to its row: {pair}");
        assert!(pair["said"].as_str().unwrap().contains("published"), "{pair}");
        // Bars begin at zero, so heights are as numbers.
        let numbers = pair["numbers"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let numbers: Vec<(f64, f64)> = numbers.filter_map(|text| Some((text.parse().ok()?, rounding(text)))).collect();
        if let [(published, rounded), (simulated, rounded_too)] = numbers[..]
            && published.abs() > 2.0 * rounded
        {
            let least = (simulated.abs() - rounded_too) / (published.abs() + rounded);
            let most = (simulated.abs() + rounded_too) / (published.abs() - rounded);
            let [expected_least, expected_most] = [least, most].map(|ratio| side(0, "height") * ratio);
            let height = side(1, "height");
            assert!(
                expected_least - 1.0 < height && height < expected_most + 1.0,
                "{expected_least} to {expected_most}: {pair}"
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} have two numbers");
    page.is_content();
}

#[test(chromium)]
fn figures_stand_beside_each_other_on_a_desk_and_below_each_other_on_a_phone() {
    let page = Page::open(&pages::reproduction(), DESK);
    let lefts = "new Set([...document.querySelectorAll('.papers .drawn')].map(f => Math.round(f.getBoundingClientRect().left))).size";
    assert!(page.number(lefts) > 1.0);
    page.look(PHONE);
    page.drawn();
    assert_eq!(page.number(lefts), 1.0);
}
