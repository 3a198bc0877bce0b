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

/// A colour of the page by day or by night: red, green and blue, each as linear light from 0 to 1.
fn light(name: &str, night: bool) -> [f64; 3] {
    let (day, dark) = STYLE.split_once("@media screen and (prefers-color-scheme: dark)").unwrap();
    let colour = if night { dark } else { day }.split_once(&format!("--{name}: #")).unwrap().1;
    [0, 2, 4].map(|at| {
        let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

type Matrix = [[f64; 3]; 3];

fn times(matrix: &Matrix, vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(vector).map(|(factor, part)| factor * part).sum())
}

/// The relative luminance of a colour (WCAG).
fn lightness(name: &str, night: bool) -> f64 {
    times(&[[0.2126, 0.7152, 0.0722]; 3], light(name, night))[0]
}

/// What eyes see that lack one kind of cone, in linear light: table 1, severity 1, of Machado, Oliveira and Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG 15(6), 2009. The first have all.
const EYES: [(&str, Matrix); 4] = [
    ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("tritanopia", [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
];

/// A colour in a space where distances are as people see them: Ottosson, "A perceptual color space for image processing" (Oklab), 2020.
fn perceived(light: [f64; 3]) -> [f64; 3] {
    const CONES: Matrix = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    const OPPONENTS: Matrix = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];
    times(&OPPONENTS, times(&CONES, light).map(f64::cbrt))
}

#[test]
fn colour_blind_people_tell_all_colours_apart() {
    for night in [false, true] {
        for (lack, eyes) in &EYES {
            let seen = |colour: usize| {
                let light = light(&format!("c{colour}"), night);
                perceived(times(eyes, light).map(|part| part.clamp(0.0, 1.0)))
            };
            for (one, other) in (0..COLOURS).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let distance = seen(one).iter().zip(seen(other)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                // Some four times what is just noticed side by side. Core types have the first colours.
                let least = if one < 3 { 0.14 } else { 0.085 };
                assert!(distance >= least, "c{other} and c{one}, {lack}, night: {night}: {distance:.3}");
            }
        }
    }
}

/// Prints without colour leave how light each is (CIE 1976 L*). These are the colours of pages by day, and of plots. No eight of the colours
/// of Okabe and Ito and of Paul Tol's schemes that stand out on a page (as the next test wants) are more than 1.3 apart: these are from
/// a search that kept the six first near what they were.
#[test]
fn colours_differ_in_print_without_colour() {
    let light = |colour: usize| 116.0 * lightness(&format!("c{colour}"), false).cbrt() - 16.0;
    for (one, other) in (0..COLOURS).flat_map(|one| (0..one).map(move |other| (one, other))) {
        // One or two are just noticed side by side. Those that are drawn together most differ most.
        let least = if one < 3 || one == other + 1 { 6.0 } else { 4.0 };
        let distance = (light(one) - light(other)).abs();
        assert!(distance >= least, "c{other} and c{one}: {distance:.1}");
    }
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
        // Power and clocks.
        assert!(contrast("soft", "idle") >= 3.0, "night: {night}");
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
