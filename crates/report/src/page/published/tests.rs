use std::collections::BTreeSet;

use evenkeel_experiment::paper::{Experiment, Row};

use super::draw;

/// The bundled experiments, with rows whose simulated value is made of the published one.
fn all(simulated: fn(usize, f64) -> Option<f64>) -> impl Iterator<Item = (Experiment, Vec<Row>)> {
    Experiment::by_name("all").unwrap().into_iter().map(move |experiment| {
        let row = |(place, row): (usize, &evenkeel_experiment::paper::Published)| {
            Row::of(row, simulated(place, row.published))
        };
        let rows = experiment.rows.iter().enumerate().map(row).collect();
        (experiment, rows)
    })
}

/// The values of an attribute.
fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn every_row_of_a_figure_is_drawn_once_and_no_other() {
    for (experiment, rows) in all(|_, published| Some(0.9 * published)) {
        let page = draw(&experiment, &rows).into_string();
        let mut drawn: Vec<&str> = values(&page, "href=\"#").collect();
        let mut wanted: Vec<&str> =
            experiment.rows.iter().filter(|row| row.figure().is_some()).map(|row| row.id.as_str()).collect();
        drawn.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(drawn, wanted, "{}", experiment.name);
        for figure in &experiment.figures {
            assert!(page.contains(&format!("<h3>{}: ", figure.name)), "{}", figure.name);
        }
        assert_eq!(page, draw(&experiment, &rows).into_string(), "the same bytes");
    }
}

#[test]
fn ids_are_unique_on_a_page_of_all_papers() {
    let mut ids = BTreeSet::new();
    for (experiment, rows) in all(|_, published| Some(published)) {
        let page = draw(&experiment, &rows).into_string();
        for id in values(&page, " id=\"") {
            assert!(ids.insert(id.to_string()), "{id} is there twice");
            assert!(experiment.rows.iter().all(|row| row.id != id), "{id} is a row");
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{id}");
        }
    }
    assert!(ids.contains("colab-figure-5-h-antt"), "{ids:?}");
}

#[test]
fn what_is_no_number_is_no_value() {
    let odd = |place: usize, published: f64| {
        [Some(f64::NAN), None, Some(f64::INFINITY), Some(f64::NEG_INFINITY), Some(published)][place % 5]
    };
    for (experiment, rows) in all(odd) {
        let page = draw(&experiment, &rows).into_string();
        let drawn = rows.iter().filter(|row| row.published.figure().is_some());
        let missing = drawn.filter(|row| row.simulated.is_none_or(|value| !value.is_finite())).count();
        assert_eq!(page.matches(">no value</text>").count(), missing, "{}", experiment.name);
        for broken in ["NaN", "inf", "\"-0\""] {
            let attributes = page.split('<').filter_map(|tag| tag.split('>').next());
            let geometry =
                attributes.filter(|tag| ["rect", "path", "text", "g "].iter().any(|name| tag.starts_with(name)));
            assert!(geometry.into_iter().all(|tag| !tag.contains(broken)), "{broken} in {}", experiment.name);
        }
    }
}

#[test]
fn a_simulated_value_has_its_interval_as_a_line_and_in_words() {
    let (experiment, mut rows) = all(|_, published| Some(published)).next().unwrap();
    assert!(!draw(&experiment, &rows).into_string().contains("class=\"whisker\""));
    let row = rows.iter_mut().find(|row| row.published.id == "sync-antt-colab-vs-cfs").unwrap();
    row.interval = Some((-0.2, -0.1));
    let page = draw(&experiment, &rows).into_string();
    assert_eq!(page.matches("class=\"whisker\"").count(), 1, "{page}");
    assert!(page.contains("simulated -15.0 % (95 %: -20.0 % to -10.0 %)"), "{page}");
}

#[test]
fn names_are_escaped() {
    let (mut experiment, rows) = all(|_, published| Some(published)).next().unwrap();
    experiment.short = Some("<b>\"short\"".to_string());
    experiment.figures[0].shows = "<i>".to_string();
    let mut rows = rows;
    for row in &mut rows {
        row.published.what = "<script>".to_string();
    }
    let page = draw(&experiment, &rows).into_string();
    assert!(!["<b>\"", "<script", "<i>"].iter().any(|name| page.contains(name)), "{page}");
    assert!(page.contains("&lt;script&gt;"), "{page}");
}
