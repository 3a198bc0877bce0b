//! What holds of every page, whatever it shows.

use super::{DESK, Deficiency, Look, PHONE, Page};

/// Looks at a page on a desk and on a phone, by day and by night, as colour-blind people see it, and as it is printed. `name` is that of
/// its pictures.
///
/// # Panics
/// If it does not fit its window or a text its drawing, if text does not stand out, or if anything went wrong.
pub fn fits(name: &str, html: &str) {
    let page = Page::open(html, DESK);
    for (size, look) in [
        ("desk", DESK),
        ("phone", PHONE),
        ("night", Look { dark: true, ..DESK }),
        ("day", Look { dark: false, ..PHONE }),
    ] {
        page.look(look);
        page.drawn();
        let wide = page.number("document.documentElement.scrollWidth");
        assert!(wide <= f64::from(look.width), "{name} is {wide} wide in a window of {}", look.width);
        // Text stands out from what is behind it (WCAG: 4.5 to 1).
        let contrast = page.number(CONTRAST);
        assert!(contrast >= 4.5, "{name}, {size}: {contrast}");
        // A text that is not all in its drawing lacks letters.
        assert_eq!(page.ask(CUT), serde_json::json!([]), "{name}, {size}");
        page.picture(&format!("{name}-{size}"), look);
    }
    for look in [DESK, Look { dark: true, ..DESK }] {
        let kinds = [Deficiency::Protanopia, Deficiency::Deuteranopia, Deficiency::Tritanopia];
        for (kind, of) in kinds.into_iter().zip(["protanopia", "deuteranopia", "tritanopia"]) {
            page.look(look);
            page.seen_with(kind);
            page.picture(&format!("{name}-{of}{}", if look.dark { "-night" } else { "" }), look);
        }
    }
    page.look(DESK);
    let paper = || page.text("getComputedStyle(document.body).backgroundColor");
    let day = paper();
    page.look(Look { dark: true, ..DESK });
    assert_ne!(paper(), day);
    page.printed_at_night();
    assert_eq!(paper(), day, "paper is white at night, too");
    page.look(DESK);
    let twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); \
        return ids.filter((id, at) => ids.indexOf(id) !== at); })()";
    assert_eq!(page.ask(twice), serde_json::json!([]), "each id is one element's");
    let nameless = "[...document.querySelectorAll('button, input, canvas, svg')].filter(e => !e.textContent.trim() && \
        !e.getAttribute('aria-label')).length";
    assert_eq!(page.number(nameless), 0.0, "what is not text has a name");
    page.is_content();
}

/// The lowest contrast of text with the page, of headings, remarks and buttons.
const CONTRAST: &str = "(() => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => {
            const part = c / 255;
            return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    const of = (element) => {
        const own = light(getComputedStyle(element).color);
        return (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05);
    };
    return Math.min(...[...document.querySelectorAll('h1, h2, p, th, td, button, figcaption')].map(of));
})()";

/// Texts that do not fit into their drawings.
const CUT: &str = "[...document.querySelectorAll('.drawn svg text')].filter((text) => {
    const [own, all] = [text, text.ownerSVGElement].map(e => e.getBoundingClientRect());
    return own.width && (own.left < all.left - 1 || own.right > all.right + 1 || own.top < all.top - 2 || own.bottom > all.bottom + 2);
}).map(text => text.textContent)";
