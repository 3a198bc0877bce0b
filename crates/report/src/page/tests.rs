use super::{COLOURS, Made, STYLE, class, colours_of, frame};
use maud::html;

#[test]
fn a_page_needs_nothing_from_outside_and_trusts_no_name() {
    let page =
        frame("<title>", &html! { p { "<script>alert(1)</script>" } }, Made { command: "sim <i>", remark: "<b>" });
    assert!(page.contains("&lt;script&gt;") && page.matches("<script").count() == 1 && !page.contains("<i>"), "{page}");
    // The namespace of SVG is a name and no address.
    let page = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
    for outside in ["http://", "https://", " src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// A colour of the page by day or by night, as relative luminance (WCAG).
fn lightness(name: &str, night: bool) -> f64 {
    let (day, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let colour = if night { dark } else { day }.split_once(&format!("--{name}: #")).unwrap().1;
    let part = |at: usize| {
        let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

#[test]
fn colours_stand_out_and_so_does_text_on_them() {
    for night in [false, true] {
        let contrast = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|name| lightness(name, night) + 0.05);
            f64::max(one, other) / f64::min(one, other)
        };
        for colour in (0..COLOURS).map(|colour| format!("c{colour}")) {
            for behind in ["paper", "idle"] {
                assert!(contrast(&colour, behind) >= 3.0, "{colour} on {behind}, night: {night}");
            }
            let text = f64::max(contrast("paper", &colour), contrast("ink", &colour));
            assert!(text >= 4.5, "text on {colour}, night: {night}: {text}");
        }
        for text in ["ink", "soft", "good", "bad"] {
            assert!(contrast(text, "paper").min(contrast(text, "shade")) >= 4.5, "{text}, night: {night}");
        }
    }
}

#[test]
fn more_policies_than_colours_differ_in_more_than_colour() {
    let names: Vec<String> = (0..2 * COLOURS).map(|index| format!("policy-{index}")).collect();
    let colours = colours_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut classes: Vec<String> = colours.into_iter().map(|colour| class('s', colour)).collect();
    classes.sort();
    classes.dedup();
    assert_eq!(classes.len(), 2 * COLOURS);
    assert_eq!([class('s', 3), class('s', COLOURS + 3)], ["s3", "s3 second"]);
}
