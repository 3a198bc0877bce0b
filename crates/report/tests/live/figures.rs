//! What is in a figure does not hide what else is there.

use std::collections::BTreeSet;

use crate::pages;
use evenkeel_testing::browser::{DESK, PHONE, Page};

#[test(chromium)]
fn the_zero_line_of_bars_does_not_cross_headings() {
    let page = Page::open(&pages::comparisons(), DESK);
    let crossed = "(() => {
        const svg = document.querySelector('#turnaround svg');
        const line = svg.querySelector('path.base').getAttribute('d').match(/[MV][^MV]*/g);
        const pairs = line.filter((_, at) => at % 2 === 0).map((move, at) => [Number(move.split(' ')[1]), Number(line[2 * at + 1].slice(1))]);
        const headings = [...svg.querySelectorAll('text.over')].map(text => text.getBBox());
        const crossed = headings.filter(box => pairs.some(([from, to]) => from < box.y + box.height - 3 && to > box.y + 3));
        return [headings.length, crossed.length];
    })()";
    assert_eq!(page.ask(crossed), serde_json::json!([2, 0]));
    page.is_content();
}

#[test(chromium)]
fn tables_of_latencies_fit_a_phone_and_have_names_beside_swatches() {
    let page = Page::open(&pages::comparison(), PHONE);
    let wide = "[...document.querySelectorAll('.times')].map(table => [table.scrollWidth - table.parentElement.clientWidth, \
        Math.max(...[...table.querySelectorAll('.name')].map(cell => cell.clientHeight))])";
    let tables: Vec<(i64, i64)> = serde_json::from_value(page.ask(wide)).unwrap();
    assert!(!tables.is_empty());
    for (over, high) in tables {
        assert!(over <= 0 && high < 40, "{over} px too wide, a name is {high} px high");
    }
    page.is_content();
}

#[test(chromium)]
fn published_and_simulated_have_a_colour_that_no_bar_has() {
    let page = Page::open(&pages::reproduction(), DESK);
    let shared = "[...document.querySelectorAll('.papers svg, .drawn svg')].filter(svg => svg.querySelector('.kind')).map(svg => {
        const of = (part) => getComputedStyle(part).fill;
        const bars = new Set([...svg.querySelectorAll('rect')].map(of));
        return [...svg.querySelectorAll('.kind')].filter(kind => bars.has(of(kind))).length;
    })";
    let shared: Vec<u64> = serde_json::from_value(page.ask(shared)).unwrap();
    assert!(!shared.is_empty() && shared.iter().all(|shared| *shared == 0), "{shared:?}");
    page.is_content();
}

#[test(chromium)]
fn policies_and_programs_have_no_colour_in_common() {
    let page = Page::open(&pages::comparison(), DESK);
    page.drawn();
    let named = "[...document.querySelectorAll('.legend span')].map(name => getComputedStyle(name).color)";
    let colours: BTreeSet<String> = serde_json::from_value(page.ask(named)).unwrap();
    // Three policies and two programs.
    assert_eq!((colours.len(), page.number(&format!("{named}.length"))), (5, 5.0));
    page.is_content();
}

#[test(chromium)]
fn both_axes_of_energy_against_turnaround_say_what_they_are() {
    let page = Page::open(&pages::sweep(), DESK);
    let said = page.text("[...document.querySelectorAll('#trade text')].map(text => text.textContent).join('; ')");
    assert!(said.contains("energy, % of the baseline") && said.contains("H_ANTT, % of the baseline"), "{said}");
    page.is_content();
}
