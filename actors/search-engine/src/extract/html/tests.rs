//! Pages of documentation generators, and odd ones.

use super::*;

#[test]
fn a_page_is_its_title_headings_and_main_text() {
    let found = parse_parts(
        "<!DOCTYPE html><html><head><title>Vec in std &amp; co</title><meta name=\"keywords\" content=\"a, b\">\
         <style>p{}</style></head><body><nav><a>Menu</a></nav><p>outside</p><main><h1>Struct <wbr>Vec<a class=\"anchor\">§</a></h1>\
         <p>A contiguous\n  growable <b>arr</b>ay.</p><h2>Exa<wbr>mples</h2><pre>let v =\n  1;</pre><script>x()</script></main><p>footer</p>",
    );
    assert_eq!(found.title, "Vec in std & co");
    assert_eq!(found.headings, ["Struct Vec", "Examples"]);
    assert_eq!(found.tags, ["a", "b"]);
    assert_eq!(
        found.body,
        "Struct Vec\nA contiguous growable array.\nExamples\nlet v =\n  1;\n"
    );
}

#[test]
fn a_sphinx_page_loses_its_sidebar_and_permalinks() {
    let found = parse_parts(
        "<title>json — Python</title><div class=\"related\" role=\"navigation\"><ul><li>index</li></ul></div>\
         <div class=\"body\" role=\"main\"><div><h1>json<a class=\"headerlink\" href=\"#x\">¶</a></h1><p>Text</p></div></div>\
         <div class=\"sphinxsidebar\">side</div>",
    );
    assert_eq!(found.body, "json\nText\n");
    assert_eq!(found.headings, ["json"]);
}

#[test]
fn a_page_without_marks_counts_as_a_whole() {
    let found =
        parse_parts("<H1>T&eacute;a</H1><P>one<P>two<br>three <table><tr><td>a<td>b</table>");
    assert_eq!(found.title, "Téa");
    assert_eq!(found.body, "Téa\none\ntwo\nthree\na b\n");
}

#[test]
fn nested_elements_of_a_dropped_one_stay_dropped() {
    assert_eq!(parse_parts("<div hidden>a<div>b</div>c</div>d").body, "d");
    assert_eq!(parse_parts("<nav>a<main>b</main>c").body, "b\n");
}

#[test]
fn s05_markup_in_text_stays_text() {
    let found = parse_parts(
        "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title><p>&lt;img src=x onerror=alert(1)&gt;<script>evil()</script>",
    );
    assert_eq!(found.title, "<script>alert(1)</script>");
    assert_eq!(found.body, "<img src=x onerror=alert(1)>");
}

#[test]
fn the_main_range_is_found_in_bytes() {
    let page = b"<body><nav>x</nav><main>text</main>";
    assert_eq!(&page[main_range(page)], b"<main>text");
    assert_eq!(main_range(b"plain"), 0..5);
}

#[test]
fn links_to_other_pages_are_named() {
    let page = "<a href=\"other.html#x\">o</a><nav><a href=\"menu.html\">m</a></nav><a href='https://e.org/a.html'>w</a>\
         <a href=\"../faults/Leak%20test.htm?q=1&amp;b\">l</a><a href>n</a>";
    assert_eq!(parse_parts(page).links, ["other", "Leak test"]);
}

proptest::proptest! {
    /// The text alone is what is found beside all the rest.
    #[test]
    fn i16_the_text_alone_is_the_text(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "<main>", "</main>", "<div role=main>", "<div role=\"main\" class='x'>", "</div>", "<span role=\"main\">", "</span>", "<nav>", "</nav>",
        "<p>", "text ", "a&amp;b", "<pre>", "</pre>", " \n x", "<h2 class=\"y\">", "</h2>", "<title>", "</title>", "<a href=\"x.html\">", "</a>",
        "<script>if (a<b)", "</script>", "<div hidden>", "<a class=\"src main\" href='q'>", "<meta name=keywords content=\"a,b\">", "<img alt=\"sign\">",
        "<td>", "<br>", "é", "<!-- <main> -->", "<section data-nosnippet>", "</section>", "<ul role='menu'>", "</ul>", "<article role=\"main\">", "</article>"]), 0..40)) {
        let page = pieces.concat();
        proptest::prop_assert_eq!(super::body(&page), parse_parts(&page).body, "{}", page);
    }
}
