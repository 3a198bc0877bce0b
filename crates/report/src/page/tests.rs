use super::{Made, frame};
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
