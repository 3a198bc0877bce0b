//! What a reader does in a timeline, and what becomes of it.

use crate::pages;
use evenkeel_testing::browser::{DESK, Look, PHONE, Page};

/// What the first timeline shows: from when to when, in ns.
fn view(page: &Page) -> (f64, f64) {
    let of = |end: &str| page.number(&format!("Number(document.querySelector('figure.timeline').dataset.{end})"));
    (of("from"), of("to"))
}

fn canvas(page: &Page) -> [f64; 4] {
    page.place("figure.timeline canvas")
}

#[test(chromium)]
fn keys_zoom_move_and_select() {
    let page = Page::open(&pages::run(), DESK);
    let (from, end) = view(&page);
    assert_eq!(from, 0.0);
    page.ask("document.querySelector('figure.timeline canvas').focus()");
    page.press(&["+", "+"]);
    let (from, to) = view(&page);
    assert!((to - from - end / 4.0).abs() < 1.0, "a quarter of {end}: {from} to {to}");
    page.press(&["ArrowRight"]);
    assert!((view(&page).0 - (from + (to - from) / 5.0)).abs() < 1.0);
    page.press(&["0"]);
    assert_eq!(view(&page), (0.0, end));
    // A slice, its neighbours, and the view that it fills.
    page.press(&[".", "."]);
    let first = page.text("document.querySelector('.details').textContent");
    assert!(first.contains("core") && first.contains("for "), "{first}");
    page.press(&[".", "f"]);
    let second = page.text("document.querySelector('.details').textContent");
    let (from, to) = view(&page);
    assert!(first != second && to - from < end, "{second}");
    page.press(&["Escape", "t"]);
    assert_eq!(page.text("document.querySelector('figure.timeline').dataset.mode"), "threads");
    page.press(&["ArrowDown", "ArrowDown"]);
    assert!(page.text("document.querySelector('.details').textContent").contains("ran "));
    page.press(&["/"]);
    assert_eq!(page.text("document.activeElement.type"), "search");
    page.is_content();
}

#[test(chromium)]
fn the_pointer_zooms_where_it_is_drags_and_tells_what_is_there() {
    let page = Page::open(&pages::many(4000), DESK);
    let (_, end) = view(&page);
    let [left, top, width, _] = canvas(&page);
    let middle = (left + 116.0 + (width - 116.0) / 2.0, top + 40.0);
    page.wheel(middle, -400.0, true);
    let (from, to) = view(&page);
    assert!(to - from < end / 2.0, "{from} to {to} of {end}");
    assert!(((from + to) / 2.0 - end / 2.0).abs() < end / 100.0, "the pointer stays where it was: {from} to {to}");
    page.drag(middle, (middle.0 + 100.0, middle.1));
    let moved = view(&page);
    let expected = from - 100.0 * (to - from) / (width - 116.0);
    assert!((moved.0 - expected).abs() < (to - from) / 100.0, "{moved:?}, expected {expected}");
    page.wheel(middle, -1200.0, true);
    page.point(middle.0, middle.1);
    page.until("!document.querySelector('.hint').hidden");
    let hint = page.text("document.querySelector('.hint').textContent");
    assert!(hint.contains("app-") && hint.contains("woken: by") && hint.contains("preempted"), "{hint}");
    page.click(middle.0, middle.1);
    assert!(page.text("document.querySelector('.details strong').textContent").contains("worker-"));
    // What is chosen on the axis fills the view.
    page.press(&["0"]);
    let axis = top + 8.0;
    page.drag((left + 216.0, axis), (left + 316.0, axis));
    let (from, to) = view(&page);
    let per_pixel = end / (width - 116.0);
    assert!((from - 100.0 * per_pixel).abs() < 2.0 * per_pixel && (to - 200.0 * per_pixel).abs() < 2.0 * per_pixel);
    // Beyond an edge there is no more to choose, and the other end stays where it was.
    page.press(&["0"]);
    page.drag((left + 716.0, axis), (left + width + 30.0, axis));
    let (from, to) = view(&page);
    assert!((from - 600.0 * per_pixel).abs() < 2.0 * per_pixel && (to - end).abs() < 2.0 * per_pixel, "{from} to {to}");
    page.press(&["0"]);
    page.drag((left + 216.0, axis), (left + 20.0, axis));
    let (from, to) = view(&page);
    assert!(from < 2.0 * per_pixel && (to - 100.0 * per_pixel).abs() < 2.0 * per_pixel, "{from} to {to}");
    page.is_content();
}

#[test(chromium)]
fn a_million_spans_take_no_more_drawing_than_there_are_pixels() {
    let page = Page::open(&pages::many(1 << 20), DESK);
    let [_, _, width, height] = canvas(&page);
    let drawn = || page.number("Number(document.querySelector('figure.timeline').dataset.drawn)");
    let most = 8.0 * width + 1000.0;
    assert!(drawn() > 8.0 * 100.0 && drawn() < most, "{} of at most {most}", drawn());
    page.ask("document.querySelector('figure.timeline canvas').focus()");
    for _ in 0..18 {
        page.press(&["+"]);
        assert!(drawn() < most, "{}", drawn());
    }
    let (from, to) = view(&page);
    assert!(to - from < 1e6, "zoomed to {} ns", to - from);
    // Every core is busy for nine tenths of the time, and that is how strong the picture is.
    page.press(&["0"]);
    page.drawn();
    let pixel = "(() => { const c = document.querySelector('figure.timeline canvas'); \
        return [...c.getContext('2d').getImageData(c.width / 2, 34, 1, 1).data]; })()";
    assert_ne!(page.ask(pixel), serde_json::json!([233, 235, 239, 255]), "no idle grey");
    // 32 threads, which need no more room than a window has.
    page.press(&["t"]);
    assert!(drawn() < 32.0 * width + 2000.0 && canvas(&page)[3] <= f64::max(height, 0.75 * 900.0 + 1.0));
    page.is_content();
}

#[test(chromium)]
fn threads_that_are_looked_for_come_to_the_fore() {
    let page = Page::open(&pages::many(4000), DESK);
    page.click_on("figure.timeline input[type=search]");
    page.press(&["w", "o", "r", "k", "e", "r", "-", "3", "1"]);
    assert_eq!(page.text("document.querySelector('.toolbar input').nextSibling.textContent"), "1 found");
    // One of 32 threads is as strong as before, and all others step back.
    let strong = || {
        page.number(
            "(() => { const c = document.querySelector('figure.timeline canvas'), wide = c.width - 116, \
             row = c.getContext('2d').getImageData(116, 34, wide, 1).data, idle = [233, 235, 239]; \
             const far = (at) => Math.max(...idle.map((part, of) => Math.abs(part - row[4 * at + of]))); \
             return Array.from({ length: wide }, (_, at) => far(at)).filter((by) => by > 100).length / wide; })()",
        )
    };
    let found = strong();
    assert!((0.01..0.06).contains(&found), "{found}");
    page.ask(
        "(() => { const field = document.querySelector('.toolbar input'); field.value = ''; \
         field.dispatchEvent(new Event('input')); })()",
    );
    page.drawn();
    assert!(strong() > 0.7, "{}", strong());
    // A drawing that is saved has all that is looked for, at once.
    page.ask(
        "(() => { const field = document.querySelector('.toolbar input'); field.value = 'worker-31'; \
         field.dispatchEvent(new Event('input')); \
         document.querySelector('figure.timeline button[aria-label=\"Save as SVG\"]').click(); })()",
    );
    let svg = String::from_utf8(page.saved("many.svg")).unwrap();
    let whole = svg.lines().filter(|line| line.starts_with("<rect") && !line.contains("fill-opacity")).count();
    // Lanes and an axis are there, too.
    assert!((4000 / 32..4000 / 32 + 40).contains(&whole), "{whole}");
    page.is_content();
}

/// How long a frame takes depends on how many spans it looks at.
#[test(chromium)]
fn a_key_in_the_field_costs_a_frame_few_spans() {
    const SPANS: u64 = 1 << 18;
    let page = Page::open(&pages::many(SPANS), DESK);
    page.ask(
        "(() => { window.looked = []; const figure = document.querySelector('figure.timeline'); \
         new MutationObserver(() => looked.push(Number(figure.dataset.looked))) \
         .observe(figure, { attributeFilter: ['data-looked'] }); })()",
    );
    // In how many spans each frame looks after a key.
    let looked = |key: &str| -> Vec<u64> {
        page.ask("looked.length = 0");
        page.press(&[key]);
        page.until("looked.length && looked.at(-1) === 0");
        serde_json::from_value(page.ask("looked")).unwrap()
    };
    page.click_on("figure.timeline input[type=search]");
    for key in ["3", "1"] {
        let frames = looked(key);
        assert!(frames.iter().all(|spans| *spans <= 1 << 16), "{frames:?}");
        assert_eq!(frames.iter().sum::<u64>(), SPANS, "each lane once: {frames:?}");
    }
    // What has been found is found again by no frame.
    page.press(&["Enter"]);
    assert_eq!(looked("+").iter().sum::<u64>(), 0);
    // A thread's lane is all its own.
    page.press(&["t", "/"]);
    assert_eq!(looked("Backspace").iter().sum::<u64>(), 0);
    page.press(&["Enter"]);
    assert_eq!(looked("t").iter().sum::<u64>(), SPANS);
    page.press(&["/"]);
    assert_eq!(looked("Backspace").iter().sum::<u64>(), 0, "nothing is looked for");
    page.is_content();
}

#[test(chromium)]
fn lanes_of_threads_stand_under_the_names_of_their_programs() {
    let page = Page::open(&pages::many(4000), DESK);
    page.ask("document.querySelector('figure.timeline canvas').focus()");
    page.press(&["t"]);
    page.click_on("figure.timeline button[aria-label='Save as SVG']");
    let svg = String::from_utf8(page.saved("many.svg")).unwrap();
    let texts = svg.split("<text ").skip(1).filter_map(|text| text.split(['>', '<']).nth(1));
    let lanes: Vec<&str> = texts.filter(|text| text.starts_with("app-") || text.starts_with("worker-")).collect();
    let of = |program: u32| {
        let workers = (0..8).map(move |worker| format!("worker-{}", 4 * worker + program));
        std::iter::once(format!("app-{program}")).chain(workers)
    };
    assert_eq!(lanes, (0..4).flat_map(of).collect::<Vec<String>>());
    page.is_content();
}

#[test(chromium)]
fn drawings_are_saved_as_documents_and_pictures() {
    let page = Page::open(&pages::run(), DESK);
    page.click_on("figure.timeline button[aria-label='Save as SVG']");
    let svg = String::from_utf8(page.saved("timeline.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.contains("</svg>") && svg.matches("<rect").count() > 100);
    assert!(!svg.contains("var(") && !svg.contains("class="), "it stands alone");
    page.click_on("figure.timeline button[aria-label='Save as PNG']");
    assert_eq!(&page.saved("timeline.png")[..8], b"\x89PNG\r\n\x1a\n");
    for figure in ["waits", "wakeups", "responses"] {
        page.click_on(&format!("#{figure} button[aria-label$='as SVG']"));
        let svg = String::from_utf8(page.saved(&format!("{figure}.svg"))).unwrap();
        assert!(svg.contains("fill=\"rgb(") && !svg.contains("var(") && !svg.contains("class="), "{svg}");
        page.click_on(&format!("#{figure} button[aria-label$='as PNG']"));
        assert_eq!(&page.saved(&format!("{figure}.png"))[..8], b"\x89PNG\r\n\x1a\n");
    }
    page.is_content();
}

#[test(chromium)]
fn a_timeline_follows_the_window_and_the_light() {
    let page = Page::open(&pages::many(400), DESK);
    let corner = "(() => { const c = document.querySelector('figure.timeline canvas'); \
        return [...c.getContext('2d').getImageData(1, c.height - 1, 1, 1).data].slice(0, 3); })()";
    assert_eq!(page.ask(corner), serde_json::json!([255, 255, 255]));
    page.look(PHONE);
    page.until("document.querySelector('figure.timeline canvas').clientWidth < 360");
    page.until(&format!("{corner}[0] < 60"));
    page.is_content();
}

/// Where a pixel of the page is not a whole number of the screen's: a browser's zoom, a screen of a laptop.
#[test(chromium)]
fn a_timeline_has_the_pixels_of_the_screen() {
    let page = Page::open(&pages::many(400), DESK);
    for (pixels, width) in [(1.25, 1201), (1.5, 1203), (0.9, 1200), (1.1, 777), (2.0, 1200), (1.0, 1200)] {
        page.look_at(Look { width, ..DESK }, pixels);
        page.until(&format!(
            "(() => {{ const c = document.querySelector('figure.timeline canvas'), b = c.getBoundingClientRect(); \
             const is = (count, length) => Math.abs(count - length * {pixels}) < 1; \
             return Math.abs(devicePixelRatio - {pixels}) < 1e-6 && is(c.width, b.width) && is(c.height, b.height); }})()"
        ));
        page.drawn();
        // Below the axis each lane has one colour right at its left end, and the gaps have another: what is one pixel high, or
        // beside the end, would be an edge that is in no pixel's place.
        let runs = page.ask(
            "(() => { const c = document.querySelector('figure.timeline canvas'), r = devicePixelRatio, \
             x = Math.round(Math.round(116 * r) + 4 * r), top = Math.round(22 * r), all = c.getContext('2d'), \
             column = all.getImageData(x, top, 1, c.height - top).data, lengths = []; \
             let last = null; \
             for (let at = 0; at < column.length; at += 4) { const colour = column.slice(at, at + 3).join(); \
             if (colour === last) lengths[lengths.length - 1]++; else lengths.push(1); last = colour; } \
             return [Math.min(...lengths), lengths.length]; })()",
        );
        assert!(runs[0].as_u64() > Some(1) && runs[1].as_u64() > Some(8), "{pixels}: {runs}");
        page.picture_at(&format!("timeline-{pixels}"), Look { width, ..DESK }, pixels);
    }
    page.is_content();
}

#[test(chromium)]
fn a_long_slice_right_after_a_short_one_is_drawn() {
    let page = Page::open(&pages::short_then_long(), DESK);
    let [_, _, width, _] = canvas(&page);
    let busy = (0..10).filter(|tenth| {
        let x = 116.0 + (width - 116.0) * (f64::from(*tenth) + 0.5) / 10.0;
        let pixel = format!(
            "(() => {{ const c = document.querySelector('figure.timeline canvas'); \
             return [...c.getContext('2d').getImageData({x}, 34, 1, 1).data]; }})()"
        );
        page.ask(&pixel) != serde_json::json!([233, 235, 239, 255])
    });
    assert_eq!(busy.count(), 5, "half of the time");
}

#[test(chromium)]
fn the_pointer_tells_what_the_policy_thinks_of_a_thread() {
    let page = Page::open(&pages::run(), DESK);
    let [left, top, width, _] = canvas(&page);
    // Somewhere on the first core, after the first refreshes.
    let hints = (0..40).map(|step| {
        page.point(left + 116.0 + (width - 116.0) * (0.3 + 0.015 * f64::from(step)), top + 34.0);
        page.text("document.querySelector('.hint').textContent")
    });
    let hints: Vec<String> = hints.collect();
    let tells = |what: &str| hints.iter().any(|hint| hint.contains(what));
    assert!(tells("label: big") || tells("label: critical") || tells("label: little"), "{hints:?}");
    assert!(tells("times as fast on a big core, since") && tells("blame: others waited"), "{hints:?}");
    page.is_content();
}

#[test(chromium)]
fn a_line_across_all_lanes_says_when_another_policy_took_over() {
    let page = Page::open(&pages::taken_over(), DESK);
    let [_, _, width, _] = canvas(&page);
    // Of each pixel in a column of the drawing, whether it has the colour of ink.
    let inked = |time: f64| {
        let x = 116.0 + (width - 116.0) * time;
        let column = format!(
            "(() => {{ const c = document.querySelector('figure.timeline canvas'); \
             const d = c.getContext('2d').getImageData({x} - 1, 24, 3, 80).data; \
             const ink = (x, y) => [0, 1, 2].every(part => d[4 * (3 * y + x) + part] < 90); \
             return Array.from({{ length: 80 }}, (_, y) => [0, 1, 2].some(x => ink(x, y))); }})()"
        );
        let inked = page.ask(&column);
        inked.as_array().unwrap().iter().filter(|pixel| **pixel == serde_json::json!(true)).count()
    };
    let (line, before, after) = (inked(0.25), inked(0.2), inked(0.4));
    assert!(line >= 60 && before == 0 && after == 0, "{before}, {line}, {after} of 80 pixels");
    // It stays at its time.
    page.ask("document.querySelector('figure.timeline canvas').focus()");
    page.press(&["+", "ArrowLeft"]);
    let (from, to) = view(&page);
    assert!(from < 0.25e9 && inked((0.25e9 - from) / (to - from)) >= 60);
    page.click_on("figure.timeline button[aria-label='Save as SVG']");
    let svg = String::from_utf8(page.saved("taken-over.svg")).unwrap();
    assert!(svg.contains(">bias</text>"), "and says which");
    page.is_content();
}

#[test(chromium)]
fn the_pointer_tells_what_an_account_says_of_a_thread_and_of_no_other() {
    let page = Page::open(&pages::taken_over(), DESK);
    let [left, top, ..] = canvas(&page);
    let hint = |lane: f64| {
        page.point(left + 300.0, top + 34.0 + 23.0 * lane);
        page.text("document.querySelector('.hint').textContent")
    };
    let first = hint(0.0);
    assert!(
        first.starts_with("thread-0") && first.contains("label: critical") && first.contains("speedup: 2.10"),
        "{first}"
    );
    let second = hint(1.0);
    assert!(second.starts_with("thread-1") && !second.contains("label"), "{second}");
    page.is_content();
}

#[test(chromium)]
fn the_pointer_tells_no_power_of_a_run_that_is_over() {
    let page = Page::open(&pages::one_is_over(), DESK);
    let [left, top, width, _] = canvas(&page);
    // The power of the first run is below its title and four lanes. It takes half of the time.
    let hint = |time: f64| {
        page.point(left + 116.0 + (width - 116.0) * time, top + 144.0);
        page.text("(hint => hint.hidden ? '' : hint.textContent)(document.querySelector('.hint'))")
    };
    let (before, after) = (hint(0.25), hint(0.75));
    assert!(before.starts_with("power big: 3 W at ") && after.is_empty(), "{before:?}, then {after:?}");
    page.is_content();
}

#[test(chromium)]
fn a_clock_that_changes_is_drawn_and_the_pointer_tells_it() {
    let page = Page::open(&pages::clocked(), DESK);
    let [left, top, width, _] = canvas(&page);
    // The clock of the big cores is below four lanes. That of the little ones never changes, and is left out.
    let at = |time: f64| (116.0 + (width - 116.0) * time).round();
    let hint = |time: f64, y: f64| {
        page.point(left + at(time), top + y);
        page.text("(hint => hint.hidden ? '' : hint.textContent)(document.querySelector('.hint'))")
    };
    let (before, after, below) = (hint(0.25, 119.0), hint(0.75, 119.0), hint(0.75, 160.0));
    assert!(
        before.starts_with("clock big: 1 GHz at ") && after.starts_with("clock big: 2 GHz at "),
        "{before}, {after}"
    );
    assert_eq!(below, "");
    // How far below the track's upper edge the line is: the darkest pixel.
    let line = |time: f64| {
        page.number(&format!(
            "(() => {{ const c = document.querySelector('figure.timeline canvas'); \
             const d = c.getContext('2d').getImageData({}, 100, 1, 38).data; \
             const light = Array.from({{ length: 38 }}, (_, y) => d[4 * y] + d[4 * y + 1] + d[4 * y + 2]); \
             return light.indexOf(Math.min(...light)); }})()",
            at(time)
        ))
    };
    let (slow, fast) = (line(0.25), line(0.75));
    assert!((slow - 20.0).abs() < 3.0 && (fast - 3.0).abs() < 3.0, "half and all of the highest: {slow}, {fast} of 38");
    page.is_content();
}

#[test(chromium)]
fn lanes_that_are_out_of_view_are_said_and_scrolled_to() {
    let page = Page::open(&pages::comparison(), Look { height: 500, ..DESK });
    let line = || page.text("document.querySelector('.timeline .more').textContent");
    let thumb = || page.number("document.querySelector('.timeline .thumb').offsetTop");
    // Three runs of four cores, and power of two clusters each; the first is in view.
    let before = line();
    let count: u32 = before.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert!(before.contains("more lanes") && (4..=16).contains(&count), "{before}");
    page.until("document.querySelector('.timeline .bar').clientHeight > 100");
    assert_eq!(thumb(), 0.0);
    page.ask("document.querySelector('figure.timeline canvas').focus()");
    page.press(&["PageDown"]);
    assert!(line() != before && thumb() > 0.0, "{}", line());
    page.press(&["PageDown", "PageDown", "PageDown"]);
    assert!(line().contains("back to the first"), "{}", line());
    page.click_on(".timeline .more");
    assert_eq!((line(), thumb()), (before.clone(), 0.0));
    // The bar goes where the pointer is, and the wheel goes on.
    let [left, top, wide, high] = page.place(".timeline .bar");
    page.drag((left + wide / 2.0, top + 2.0), (left + wide / 2.0, top + high - 2.0));
    assert!(line().contains("back to the first"), "{}", line());
    page.click_on(".timeline .more");
    let [left, top, ..] = canvas(&page);
    page.wheel((left + 300.0, top + 100.0), 200.0, false);
    assert_ne!(line(), before);
    page.is_content();
    // Where all lanes are in view there is nothing to say.
    let whole = Page::open(&pages::run(), DESK);
    assert_eq!(whole.ask("document.querySelector('.timeline .more').hidden"), serde_json::json!(true));
    whole.is_content();
}
