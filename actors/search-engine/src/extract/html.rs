//! HTML to plain text: title, headings, keywords and the main content of a page.
//!
//! Made for documentation as generators write it (rustdoc, Sphinx, mdBook, javadoc) and for
//! ordinary pages: navigation, scripts, buttons and permalink signs are left out, and where the
//! page marks its main content (`<main>`, `role="main"`) only that counts.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use memchr::memmem;

use super::html_tokens::{HtmlToken, Tokens, attribute, attributes_of, is_raw};
use super::links::Links;
use super::parts::{TextParts, fold_line};
use crate::reading::{TextReadResult, WordPiece};

/// More keywords than this are search-engine bait.
const MAX_KEYWORDS: usize = 32;

/// How often the text that was read is looked at before all of it is there.
const MAX_LOOKS: usize = 8;

pub(super) fn parse_parts(page: &str) -> TextParts {
    let mut reader = Reader::default();
    reader.body.reserve(page.len() / 3);
    for token in Tokens::new(page) {
        reader.token(token);
    }
    reader.finish()
}

/// The text of a page as [`parse_parts`] gives it, without the rest: what verifies phrases and
/// expressions reads thousands of pages for one search.
pub(super) fn body(page: &str) -> String {
    match body_with(page, WordPiece::ANY) {
        TextReadResult::Text(text) => text,
        _ => String::new(),
    }
}

/// The same for whoever looks for a piece of a word: where that is all, the page is read up to
/// where its text is known to hold it.
pub(super) fn body_with(page: &str, piece: WordPiece<'_>) -> TextReadResult {
    let mut reader = Reader {
        is_text_alone: true,
        ..Reader::default()
    };
    reader.body.reserve(page.len() / 3);
    let mut looks = if piece.is_all { MAX_LOOKS } else { 0 };
    let place_behind = |at: usize| (piece.find)(&page[at..]).map(|end| at + end);
    let mut place = if piece.is_all { place_behind(0) } else { None };
    let mut tokens = Tokens::new(page);
    while let Some(token) = tokens.next() {
        reader.token(token);
        // Behind the main content an end tag may break the last line, but no more.
        if reader.main_over && (reader.body.is_empty() || reader.body.ends_with('\n')) {
            break;
        }
        let behind = tokens.offset();
        if looks > 0 && place.is_some_and(|place| place <= behind) {
            // What stands before the main content is none of the text.
            if reader.main.is_some() || reader.main_over {
                looks -= 1;
                if piece.is_in(&reader.body) {
                    return TextReadResult::Holds(reader.body.len());
                }
            }
            place = place_behind(behind);
        }
    }
    TextReadResult::Text(reader.body)
}

/// The word of the text that begins with `word` of the page and goes on behind it, and what follows
/// it up to the next gap; none where it cannot be told. `left` is how much may yet be put together.
pub(super) fn glued_word(page: &str, word: Range<usize>, left: &Cell<usize>) -> Option<String> {
    let begun = word.len();
    let mut reader = Reader {
        is_text_alone: true,
        // What is read is taken for the main content: nothing that follows begins it.
        main: Some(("main content".to_owned(), 1)),
        body: page[word.clone()].to_owned(),
        ..Reader::default()
    };
    let is_gap = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
    let mut tokens = Tokens::new(&page[word.end..]);
    let mut seen = begun;
    while !reader.body.as_bytes()[seen..].iter().any(is_gap) {
        seen = reader.body.len();
        let from = tokens.offset();
        let Some(token) = tokens.next() else { break };
        left.set(left.get().checked_sub(tokens.offset() - from)?);
        match token {
            // The first title is no text, the second is.
            HtmlToken::Start { name, .. } if name.eq_ignore_ascii_case("title") => return None,
            // Cells part words, but not inside `pre`.
            HtmlToken::Start { name, .. } if is_cell(&lower(name)) => {}
            HtmlToken::Start { name, .. } if &*lower(name) == "img" => {
                reader.token(token);
                // A word may go on from the last one of the image.
                seen = reader.body.len();
            }
            token => reader.token(token),
        }
    }
    Some(reader.body)
}

/// Whether no word goes on from before a tag behind it; none where what is in the element is left
/// out, or the tag stands for text.
pub(super) fn parts_words(name: &str, attributes: &str) -> Option<bool> {
    let name = lower(name);
    let is_text = matches!(&*name, "img" | "title") || is_raw(&name);
    if is_text || is_dropped(&name, attributes) {
        return None;
    }
    Some(is_block(&name) || &*name == "pre" || heading_level(&name).is_some())
}

/// The text of a piece cut out of a page; it may begin and end anywhere but inside a tag.
pub(crate) fn fragment_text(piece: &str) -> String {
    let mut reader = Reader::default();
    for token in Tokens::new(piece) {
        reader.token(token);
    }
    reader.body
}

/// Where the marked main content of a page lies; the whole page without a mark.
pub(crate) fn main_range(page: &[u8]) -> Range<usize> {
    if let Some(start) = memmem::find(page, b"<main") {
        // Searched forwards: only that direction is vectorised.
        let end = memmem::find_iter(&page[start..], b"</main").last();
        return start..end.map_or(page.len(), |end| start + end);
    }
    let start = memmem::find(page, b"role=\"main\"").or_else(|| memmem::find(page, b"<body"));
    start.unwrap_or(0)..page.len()
}

/// Collects what people read from the tokens of a page.
#[derive(Default)]
struct Reader {
    title: String,
    headings: Vec<(u8, String)>,
    keywords: Vec<String>,
    body: String,
    in_title: bool,
    /// The element being left out and how many of its name are open inside it.
    dropped: Option<(String, usize)>,
    /// The element that holds the main content, likewise.
    main: Option<(String, usize)>,
    /// The main content has ended: nothing counts any more.
    main_over: bool,
    /// Open `pre` elements: white space counts inside them.
    pre: usize,
    /// Level of the open heading and where its text starts in `body`.
    heading: Option<(u8, usize)>,
    /// White space is due before the next word.
    space: bool,
    links: Links,
    /// Whether nothing but the text is wanted.
    is_text_alone: bool,
}

impl Reader {
    fn token(&mut self, token: HtmlToken<'_>) {
        match token {
            HtmlToken::Text(text) => self.text(text),
            HtmlToken::RawText(_) => {}
            HtmlToken::Start { name, attributes } => self.start(&lower(name), attributes),
            HtmlToken::End(name) => self.end(&lower(name)),
        }
    }

    fn text(&mut self, raw: &str) {
        if self.in_title {
            self.title.push_str(&html_escape::decode_html_entities(raw));
        } else if self.dropped.is_none() && !self.main_over {
            let text = decode(raw);
            if self.pre > 0 {
                self.body.push_str(&text);
            } else {
                self.folded(&text);
            }
        }
    }

    /// Appends text with its white space folded into single spaces.
    fn folded(&mut self, text: &str) {
        self.space |= text.starts_with(|c: char| c.is_ascii_whitespace());
        for word in text.split_ascii_whitespace() {
            if self.space && !self.body.is_empty() && !self.body.ends_with(['\n', ' ']) {
                self.body.push(' ');
            }
            self.body.push_str(word);
            self.space = true;
        }
        self.space = text.ends_with(|c: char| c.is_ascii_whitespace())
            || (self.space && text.trim_ascii().is_empty());
    }

    fn start(&mut self, name: &str, attributes: &str) {
        if self.main.is_none() && !self.main_over && is_main(name, attributes) {
            self.start_main(name);
            return;
        }
        for open in [&mut self.main, &mut self.dropped] {
            if let Some((_, depth)) = open.as_mut().filter(|(open, _)| open == name) {
                *depth += 1;
            }
        }
        if self.dropped.is_some() || self.main_over {
            return;
        }
        match name {
            "title" => self.in_title = self.title.is_empty(),
            "meta" => self.meta(attributes),
            "img" => self.folded(&decode(attribute(attributes, "alt").unwrap_or_default())),
            "pre" => {
                self.line_break();
                self.pre += 1;
            }
            _ if is_cell(name) => self.space = true,
            _ if is_dropped(name, attributes) => self.dropped = Some((name.to_owned(), 1)),
            "a" if self.is_text_alone => {}
            "a" => {
                let address = decode(attribute(attributes, "href").unwrap_or_default());
                self.links.address(&address);
            }
            _ if heading_level(name).is_some() => {
                self.line_break();
                self.heading = heading_level(name).map(|level| (level, self.body.len()));
            }
            _ if is_block(name) => self.line_break(),
            _ => {}
        }
    }

    /// What was read before the main content is not part of it.
    fn start_main(&mut self, name: &str) {
        self.main = Some((name.to_owned(), 1));
        self.body.clear();
        self.headings.clear();
        (self.heading, self.dropped, self.space, self.pre) = (None, None, false, 0);
    }

    fn end(&mut self, name: &str) {
        if name == "title" {
            self.in_title = false;
            return;
        }
        if close(&mut self.main, name) {
            self.main_over = true;
        }
        if self.dropped.is_some() {
            close(&mut self.dropped, name);
            return;
        }
        match name {
            "pre" => {
                self.pre = self.pre.saturating_sub(1);
                self.line_break();
            }
            _ if heading_level(name).is_some() => self.end_heading(),
            _ if is_block(name) => self.line_break(),
            _ => {}
        }
    }

    fn end_heading(&mut self) {
        if let Some((level, start)) = self.heading.take() {
            let heading = fold_line(self.body.get(start..).unwrap_or_default(), 200);
            if !heading.is_empty() {
                self.headings.push((level, heading));
            }
        }
        self.line_break();
    }

    fn line_break(&mut self) {
        self.space = false;
        if !self.body.is_empty() && !self.body.ends_with('\n') {
            self.body.push('\n');
        }
    }

    fn meta(&mut self, attributes: &str) {
        let named = attribute(attributes, "name").unwrap_or_default();
        if named.eq_ignore_ascii_case("keywords") {
            let content = decode(attribute(attributes, "content").unwrap_or_default());
            let words = content
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty());
            self.keywords
                .extend(words.take(MAX_KEYWORDS).map(str::to_owned));
        }
    }

    fn finish(self) -> TextParts {
        let mut headings = self.headings;
        let mut title = self.title.trim().to_owned();
        let title_is_heading = title.is_empty() && !headings.is_empty();
        if title_is_heading {
            let first = headings
                .iter()
                .position(|(level, _)| *level == 1)
                .unwrap_or(0);
            title = headings.remove(first).1;
        }
        let headings = headings.into_iter().map(|(_, heading)| heading).collect();
        TextParts {
            title,
            title_is_heading,
            headings,
            tags: self.keywords,
            written: None,
            links: self.links.into_names(),
            body: self.body,
        }
    }
}

/// Counts an end tag against an open element; true when the element is closed by it.
fn close(open: &mut Option<(String, usize)>, name: &str) -> bool {
    let Some((_, depth)) = open.as_mut().filter(|(open, _)| open == name) else {
        return false;
    };
    *depth -= 1;
    let closed = *depth == 0;
    if closed {
        *open = None;
    }
    closed
}

fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Text with its character references resolved.
fn decode(raw: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', raw.as_bytes()).is_some() {
        html_escape::decode_html_entities(raw)
    } else {
        Cow::Borrowed(raw)
    }
}

fn is_main(name: &str, attributes: &str) -> bool {
    let may_be = || memmem::find(attributes.as_bytes(), b"main").is_some();
    name == "main" || (may_be() && attribute(attributes, "role") == Some("main"))
}

/// Elements people do not read as text. Only elements that must have an end tag may be left out
/// by their attributes: otherwise a missing one would swallow the rest of the page.
fn is_dropped(name: &str, attributes: &str) -> bool {
    match name {
        "nav" | "template" | "svg" | "button" | "select" | "noscript" | "object" | "canvas"
        | "audio" | "video" | "dialog" => true,
        "div" | "span" | "a" | "section" | "aside" | "header" | "footer" | "form" | "ul" | "ol"
        | "pre" | "details" | "summary" | "table" | "rustdoc-toolbar" | "rustdoc-topbar" => {
            !attributes.is_empty() && is_furniture(attributes)
        }
        _ => name.starts_with("rustdoc-"),
    }
}

/// Navigation by role, hidden parts, and the permalink signs of documentation generators.
fn is_furniture(attributes: &str) -> bool {
    if memmem::find(attributes.as_bytes(), b"data-nosnippet").is_some() {
        return true;
    }
    let (mut role, mut classes) = (None, None);
    for (name, value) in attributes_of(attributes) {
        match name.len() {
            6 if name.eq_ignore_ascii_case("hidden") => return true,
            4 if name.eq_ignore_ascii_case("role") => role = role.or(Some(value)),
            5 if name.eq_ignore_ascii_case("class") => classes = classes.or(Some(value)),
            _ => {}
        }
    }
    if matches!(
        role.unwrap_or_default(),
        "navigation" | "search" | "menu" | "menubar" | "banner" | "contentinfo"
    ) {
        return true;
    }
    let classes = classes.unwrap_or_default();
    classes.split_ascii_whitespace().any(|class| {
        matches!(
            class,
            "headerlink"
                | "anchor"
                | "doc-anchor"
                | "src"
                | "srclink"
                | "hideme"
                | "sphinxsidebar"
                | "src-line-numbers"
                | "line-numbers"
                | "linenos"
                | "sidebar"
                | "tooltip"
                | "out-of-band"
        )
    })
}

fn is_cell(name: &str) -> bool {
    matches!(name, "td" | "th" | "dd")
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "br"
            | "hr"
            | "li"
            | "ul"
            | "ol"
            | "dl"
            | "dt"
            | "tr"
            | "table"
            | "section"
            | "article"
            | "aside"
            | "header"
            | "footer"
            | "blockquote"
            | "figure"
            | "figcaption"
            | "details"
            | "summary"
            | "address"
            | "form"
            | "fieldset"
            | "caption"
            | "body"
            | "main"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "option"
            | "center"
    )
}

#[cfg(test)]
mod tests;
