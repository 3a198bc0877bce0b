use super::{Made, frame};
use maud::html;

#[test]
fn a_page_needs_nothing_from_outside_and_trusts_no_name() {
    let page =
        frame("<title>", &html! { p { "<script>alert(1)</script>" } }, Made { command: "sim <i>", remark: "<b>" });
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("<i>"), "{page}");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}
