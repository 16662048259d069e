//! Whether the text of a page may hold a piece of a word, told from its markup.
//!
//! Freeing a page from its markup takes far longer than going over it. What stands in one word of
//! the text stands in the markup as it is, or in pieces that tags, images and character references
//! part (`Double<wbr>Ended`). Only the words around these are put together.

use std::cell::Cell;

use memchr::{memchr, memchr2};

use super::html::{glued_word, parts_words};
use super::html_tokens::{HtmlToken, Tokens};
use crate::reading::WordPiece;

/// Longest character reference that is looked at, in bytes.
const MAX_REFERENCE: usize = 40;

/// Words of a page that are put together, in bytes, beyond those that the page has itself.
const MORE_GLUED: usize = 16 << 10;

/// Whether the text of `page` may hold a piece of a word: never wrong where it says no.
pub(super) fn may_hold(page: &str, piece: WordPiece<'_>) -> bool {
    if piece.is_in(page) {
        return true;
    }
    let bytes = page.as_bytes();
    let left = Cell::new(page.len() + MORE_GLUED);
    let mut at = 0;
    while let Some(found) = memchr2(b'<', b'&', &bytes[at..]) {
        let place = at + found;
        at = place + 1;
        let joins = if bytes[place] == b'<' {
            joins_words(page, place)
        } else {
            is_letter(&page[place..])
        };
        if !joins {
            continue;
        }
        let start = word_start(bytes, place);
        match glued_word(page, start..place, &left) {
            Some(word) if !piece.is_in(&word) => {}
            _ => return true,
        }
    }
    false
}

/// Letters beyond ASCII whose capitals or small forms are of ASCII.
const WIDE: [&[u8]; 2] = ["\u{17f}".as_bytes(), "\u{212a}".as_bytes()];

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn ends_in_word(before: &[u8]) -> bool {
    let is_wide = || WIDE.iter().any(|wide| before.ends_with(wide));
    before.last().is_some_and(|&byte| is_word(byte)) || is_wide()
}

fn starts_with_word(behind: &[u8]) -> bool {
    let is_wide = || WIDE.iter().any(|wide| behind.starts_with(wide));
    behind.first().is_some_and(|&byte| is_word(byte)) || is_wide()
}

/// Where the word begins that ends at `end`, or before it.
fn word_start(bytes: &[u8], end: usize) -> usize {
    let is_gap = |byte: &u8| byte.is_ascii() && !is_word(*byte);
    let gap = bytes[..end].iter().rposition(is_gap);
    gap.map_or(0, |gap| gap + 1)
}

/// Whether a word may go on behind the markup that begins here.
fn joins_words(page: &str, open: usize) -> bool {
    let bytes = page.as_bytes();
    // What stands for an image is text.
    let is_image = matches!(
        bytes[open..],
        [b'<', b'i' | b'I', b'm' | b'M', b'g' | b'G', ..]
    );
    if !is_image && !ends_in_word(&bytes[..open]) {
        return false;
    }
    let tokens = Tokens::new(page);
    let mut at = open;
    while bytes.get(at) == Some(&b'<') {
        // Most tags behind words are end tags, and most of these have no word behind them.
        if let Some(behind) = after_plain_end(bytes, at)
            && !may_go_on(page, behind)
        {
            return false;
        }
        let behind = match tokens.tag(at) {
            Some((HtmlToken::Start { name, attributes }, behind)) => {
                match parts_words(name, attributes) {
                    // It is left out, or is text itself.
                    None => return true,
                    Some(true) => return false,
                    Some(false) => Some(behind),
                }
            }
            Some((HtmlToken::End(name), _)) if parts_words(name, "") == Some(true) => return false,
            Some((_, behind)) => Some(behind),
            None => tokens.declaration(at),
        };
        match behind {
            Some(behind) => at = behind,
            None => return false,
        }
    }
    may_go_on(page, at)
}

/// Whether a word may go on with the text or markup that begins here.
fn may_go_on(page: &str, at: usize) -> bool {
    match page.as_bytes().get(at) {
        None => false,
        Some(b'<') => true,
        Some(b'&') => is_letter(&page[at..]),
        Some(_) => starts_with_word(&page.as_bytes()[at..]),
    }
}

/// The offset behind an end tag without anything but its name.
fn after_plain_end(bytes: &[u8], open: usize) -> Option<usize> {
    let name = bytes[open..].strip_prefix(b"</")?;
    let length = name.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    let is_name = length > 0 && name[0].is_ascii_alphabetic() && name[length] == b'>';
    is_name.then_some(open + 2 + length + 1)
}

/// Whether a reference to a character of a word begins here.
fn is_letter(rest: &str) -> bool {
    const FREQUENT: [&str; 8] = [
        "&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&#x27;", "&nbsp;", "&#34;",
    ];
    if FREQUENT.iter().any(|one| rest.starts_with(one)) {
        return false;
    }
    let near = &rest.as_bytes()[..rest.len().min(MAX_REFERENCE)];
    let Some(end) = memchr(b';', near) else {
        // Any number of zeros may stand before a number.
        return near.starts_with(b"&#") && near[2..].iter().all(u8::is_ascii_alphanumeric);
    };
    let reference = &rest[..=end];
    let decoded = html_escape::decode_html_entities(reference);
    let is_resolved = decoded.len() < reference.len();
    is_resolved && (decoded.bytes().any(is_word) || starts_with_word(decoded.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search_core::query::{SearchRequest, parse};

    use super::may_hold;
    use crate::extract::html;
    use crate::reading::{TextReadResult, WordPiece};

    fn holds(page: &str, word: &str) -> bool {
        let find = |text: &str| text.find(word).map(|at| at + word.len());
        let piece = WordPiece {
            find: &find,
            is_all: true,
        };
        if let TextReadResult::Holds(_) = html::body_with(page, piece) {
            assert!(html::body(page).contains(word), "{page}");
        }
        may_hold(page, piece)
    }

    #[test]
    fn i16_pages_without_a_word_are_told_by_their_markup() {
        for page in [
            "<p>a readwrite</p> <b>read</b>-write",
            "<p>read</p><p>write</p>",
            "read<br>write read<wbr> write",
            "<h1>read<a class=\"headerlink\">¶</a></h1>write",
            "read&lt;write read&amp;write &eacute;write",
            "<td>read</td> <td>write</td>",
        ] {
            assert!(!holds(page, "readwrites"), "{page}");
            assert!(!holds(page, "read_write"), "{page}");
        }
        assert!(!holds("<p>read</p><p>write</p>read<br>write", "readwrite"));
    }

    #[test]
    fn i16_words_in_pieces_are_put_together() {
        for page in [
            "a readwrite",
            "read<wbr>write",
            "<b>read</b><i class=x>write</i>",
            "re<b>a<i>d</i></b><!-- x -->w<u>rite",
            "read&#119;rite",
            "&#114;ead<b></b>write",
            "re<img alt=\"adwr\">ite",
            "<img alt=readw>rite",
            "read<nav>menu</nav>write",
            "read<script>x</script>write",
            "read<a class=\"headerlink\" href=x>¶</a>write",
        ] {
            assert!(html::body(page).contains("readwrite"), "{page}");
            assert!(holds(page, "readwrite"), "{page}");
        }
    }

    /// A page of pieces without gaps does not cost their square.
    #[test]
    fn i16_a_page_of_pieces_is_given_up() {
        assert!(holds(&"a<b>".repeat(100_000), "ab"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn i16_no_word_of_a_page_is_missed(
            parts in prop::collection::vec(prop::sample::select(vec![
                "re", "ad", "read", "a", "_", " ", "\n", "<b>", "</b>", "<wbr>", "<p>", "</p>", "<nav>", "</nav>", "<span hidden>",
                "</span>", "<span class=\"anchor\">", "<span role=main>", "<main>", "</main>", "<img alt=\"ad", "\">", "<img alt=re>",
                "&#97;", "&#x64;", "&lt;", "&lowbar;", "&eacute;", "&#00097;", "&", ";", "<!-- x -->", "<!", ">", "<", "<title>", "</title>",
                "<script>", "</script>", "<pre>", "</pre>", "<td>", "<h1>", "</h1>", "<div>", "</div>", "é", "\u{17f}", "<rustdoc-x>", "</rustdoc-x>", "<A HREF='x>y'>",
            ]), 0..24),
            word in prop::sample::select(vec!["read", "readre", "ad_", "aread", "ada", "(?i)adS", "r[a-z]+d"]),
        ) {
            let page = parts.concat();
            let query = SearchRequest::for_text(format!("re:/{word}/"));
            let query = parse(&query).expect("an expression");
            let finder = query.patterns()[0].word_finder().expect("a word");
            let find = |text: &str| finder.places(text).next().map(|place| place.end);
            let piece = WordPiece { find: &find, is_all: true };
            let body = html::parse_parts(&page).body;
            let is_in = piece.is_in(&body);
            prop_assert!(!is_in || may_hold(&page, piece), "{}", page);
            match html::body_with(&page, piece) {
                TextReadResult::Holds(_) => prop_assert!(is_in, "{}", page),
                TextReadResult::Text(text) => prop_assert_eq!(text, body),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
