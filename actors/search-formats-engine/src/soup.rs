//! HTML as mail has it: tags that nobody closes, attributes without quotes, tables for layout. What
//! stands in cells and blocks of their own are words of their own.

use crate::markup::TextFlow;
use crate::text::TextCollector;

/// Elements whose content is no text.
const HIDDEN: [&str; 6] = ["script", "style", "title", "template", "svg", "noscript"];

/// Elements that begin and end a line.
const BLOCKS: [&str; 36] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
];

/// Elements that end a word.
const CELLS: [&str; 5] = ["td", "th", "img", "option", "button"];

/// The text of a page.
pub(crate) fn read(page: &str, into: &mut TextCollector) {
    let mut flow = TextFlow::default();
    let mut rest = page;
    while !into.is_full() {
        let Some(at) = rest.find('<') else {
            push(&mut flow, rest);
            break;
        };
        push(&mut flow, &rest[..at]);
        rest = after_markup(&rest[at..], &mut flow, into);
    }
    flow.end_block(into);
}

/// What follows the tag or comment that `rest` begins with.
fn after_markup<'p>(rest: &'p str, flow: &mut TextFlow, into: &mut TextCollector) -> &'p str {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.split_once("-->").map_or("", |(_, behind)| behind);
    }
    let inside = &rest[1..];
    if inside.starts_with(['!', '?']) {
        return inside.split_once('>').map_or("", |(_, behind)| behind);
    }
    let (is_end, named) = match inside.strip_prefix('/') {
        Some(named) => (true, named),
        None => (false, inside),
    };
    let length = named.len()
        - named
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric())
            .len();
    if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
        flow.push("<");
        return inside;
    }
    let name = named[..length].to_ascii_lowercase();
    let behind = after_tag(&named[length..]);
    if BLOCKS.contains(&&*name) {
        flow.end_block(into);
        flow.heading = !is_end && is_heading(&name);
    } else if CELLS.contains(&&*name) {
        push(flow, " ");
    } else if HIDDEN.contains(&&*name) && !is_end {
        return after_element(behind, &name);
    }
    behind
}

fn is_heading(name: &str) -> bool {
    matches!(name.as_bytes(), [b'h', b'1'..=b'6'])
}

/// What follows the tag whose attributes `rest` begins with. A `>` in quotes does not end it.
fn after_tag(rest: &str) -> &str {
    let mut quote = None;
    let mut is_value = false;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return &rest[at + 1..],
            (None, b'"' | b'\'') if is_value => quote = Some(byte),
            _ => {}
        }
        is_value = byte == b'=' || is_value && byte.is_ascii_whitespace();
    }
    // A quote that nobody closes.
    rest.split_once('>').map_or("", |(_, behind)| behind)
}

/// What follows the end tag of an element; nothing where it has none.
fn after_element<'p>(rest: &'p str, name: &str) -> &'p str {
    let mut left = rest;
    while let Some(at) = left.find("</") {
        let tag = &left[at + 2..];
        let is_it = tag
            .get(..name.len())
            .is_some_and(|one| one.eq_ignore_ascii_case(name));
        if is_it {
            return after_tag(&tag[name.len()..]);
        }
        left = tag;
    }
    ""
}

/// Adds text; white space, line ends and what is not to be broken become one blank.
fn push(flow: &mut TextFlow, raw: &str) {
    let text = html_escape::decode_html_entities(raw);
    for (at, word) in text.split(char::is_whitespace).enumerate() {
        if at > 0 {
            flow.push_blank();
        }
        flow.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::DocumentLimits;

    fn text(page: &str) -> String {
        let mut into = TextCollector::new(&DocumentLimits::default());
        read(page, &mut into);
        into.finish().map(|text| text.body).unwrap_or_default()
    }

    #[test]
    fn i16_cells_blocks_and_lines_are_words_of_their_own() {
        for (page, expected) in [
            (
                "<html><head><title>x</title><style>td > b {}</style></head><body><table><tr><td>Stapler\
                 <td>Quantity<tr><th>Seven</th><th>Hammer</th></tr></table>Kind<br>regards</body>",
                "Stapler Quantity\nSeven Hammer\nKind\nregards\n",
            ),
            ("<ul><LI>eins</LI><li>zwei</ul>", "eins\nzwei\n"),
            ("a&nbsp;b &amp; c&#8203;d\r\n  e", "a b & c\u{200b}d e\n"),
            ("<h2>Head</h2>body <b>bo</b>ld", "Head\nbody bold\n"),
            (
                "<a title=\"x > y\" href='>'>link</a> 1 < 2 <3",
                "link 1 < 2 <3\n",
            ),
            ("<p title=\"open>one</p><p>two</p>", "one\ntwo\n"),
            (
                "a <!-- <b>no</b> --><![if !mso]>b<![endif]><script>if (a < b)</SCRIPT >c",
                "a bc\n",
            ),
            ("a<style>never closed", "a\n"),
        ] {
            assert_eq!(text(page), expected, "{page}");
        }
        assert_eq!(text(&"<br>".repeat(1_000)), "");
    }
}
