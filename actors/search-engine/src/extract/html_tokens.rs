//! HTML tokens, as far as text needs them: tags with their attributes, and text between them.
//!
//! A full tokenizer (WHATWG HTML, "Tokenization") hands out every character through its state
//! machine, at some 70 MB/s; this one jumps from `<` to `<`. It agrees with the standard on what
//! is text: tags with quoted attributes, comments, declarations, raw text elements. A test compares
//! it with a full one.

use memchr::{memchr, memmem};

/// One piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlToken<'a> {
    /// Text with character references still in it.
    Text(&'a str),
    /// The content of a raw text element (`script`, `style` …), in which nothing is markup.
    RawText(&'a str),
    /// A start tag: the name as written, and its attributes as written.
    Start {
        /// Name of the element.
        name: &'a str,
        /// Everything between the name and `>`.
        attributes: &'a str,
    },
    /// An end tag: the name as written.
    End(&'a str),
}

/// Splits a page into tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    page: &'a str,
    at: usize,
    /// Start of text not handed out yet; before `at` where a `<` turned out to be text.
    text_from: usize,
    /// The raw text element that has just been opened.
    raw: Option<&'a str>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Self {
            page,
            at: 0,
            text_from: 0,
            raw: None,
        }
    }

    /// What was handed out ends here, or before it.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The offset behind a comment or declaration at `open`, if there is one.
    pub(super) fn declaration(&self, open: usize) -> Option<usize> {
        declaration_end(self.bytes(), open)
    }

    fn bytes(&self) -> &'a [u8] {
        self.page.as_bytes()
    }

    /// The content of a raw text element up to its end tag.
    fn raw_text(&mut self, name: &str) -> Option<HtmlToken<'a>> {
        let from = self.at;
        let end = end_tag_of(&self.bytes()[from..], name).map_or(self.page.len(), |at| from + at);
        (self.at, self.text_from) = (end, end);
        (end > from).then(|| {
            let content = &self.page[from..end];
            if is_escapable(name) {
                HtmlToken::Text(content)
            } else {
                HtmlToken::RawText(content)
            }
        })
    }

    /// Text up to `end`, if there is any.
    fn pending_text(&mut self, end: usize) -> Option<HtmlToken<'a>> {
        let text = &self.page[self.text_from..end];
        self.text_from = end;
        (!text.is_empty()).then_some(HtmlToken::Text(text))
    }

    /// The tag at `at`, and the offset behind it. `None` if the `<` begins no tag.
    pub(super) fn tag(&self, at: usize) -> Option<(HtmlToken<'a>, usize)> {
        let bytes = self.bytes();
        let is_end = bytes.get(at + 1) == Some(&b'/');
        let name_at = at + 1 + usize::from(is_end);
        if !bytes.get(name_at)?.is_ascii_alphabetic() {
            return None;
        }
        let length = bytes[name_at..]
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
        let name_end = length.map_or(bytes.len(), |length| name_at + length);
        let close = tag_end(bytes, name_end);
        let name = &self.page[name_at..name_end];
        let end = (close + 1).min(bytes.len());
        // A tag that the page ends in is not a tag, and no text either.
        if close == bytes.len() {
            return Some((HtmlToken::End(""), end));
        }
        let attributes = &self.page[name_end..close];
        Some((
            if is_end {
                HtmlToken::End(name)
            } else {
                HtmlToken::Start { name, attributes }
            },
            end,
        ))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        if let Some(token) = self.raw.take().and_then(|name| self.raw_text(name)) {
            return Some(token);
        }
        loop {
            let Some(open) = memchr(b'<', &self.bytes()[self.at..]).map(|found| self.at + found)
            else {
                self.at = self.page.len();
                return self.pending_text(self.page.len());
            };
            if let Some((token, end)) = self.tag(open) {
                if let Some(text) = self.pending_text(open) {
                    self.at = open;
                    return Some(text);
                }
                (self.at, self.text_from) = (end, end);
                if let HtmlToken::Start { name, .. } = token
                    && is_raw(name)
                {
                    self.raw = Some(name);
                }
                return Some(token);
            }
            match declaration_end(self.bytes(), open) {
                Some(end) => {
                    if let Some(text) = self.pending_text(open) {
                        self.at = open;
                        return Some(text);
                    }
                    (self.at, self.text_from) = (end, end);
                }
                // A lone `<`: text.
                None => self.at = open + 1,
            }
        }
    }
}

/// Offset of the `>` that closes a tag, quoted attribute values skipped; the length without one.
fn tag_end(bytes: &[u8], from: usize) -> usize {
    // Only a quoted value can hide a `>`: most tags need no look at their attributes.
    match memchr::memchr3(b'>', b'"', b'\'', &bytes[from..]) {
        Some(found) if bytes[from + found] == b'>' => from + found,
        Some(_) => end_of_attributes(bytes, from),
        None => bytes.len(),
    }
}

/// Where a byte between a tag's name and its `>` stands: the states of the HTML standard, section
/// 13.2.5, as far as they tell a quote that opens a value from one that is part of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attributes {
    /// A name may begin here, even with `=`.
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    Unquoted,
}

impl Attributes {
    fn starting_after(self, byte: u8) -> Self {
        let is_space = byte.is_ascii_whitespace();
        match self {
            Self::Unquoted if is_space => Self::BeforeName,
            Self::Unquoted => Self::Unquoted,
            Self::BeforeValue if is_space => Self::BeforeValue,
            Self::BeforeValue => Self::Unquoted,
            _ if byte == b'/' => Self::BeforeName,
            Self::Name | Self::AfterName if byte == b'=' => Self::BeforeValue,
            Self::Name | Self::AfterName if is_space => Self::AfterName,
            Self::BeforeName if is_space => Self::BeforeName,
            _ => Self::Name,
        }
    }
}

fn end_of_attributes(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        let Some(found) = memchr::memchr3(b'>', b'"', b'\'', &bytes[at..]) else {
            return bytes.len();
        };
        let found = at + found;
        if bytes[found] == b'>' {
            return found;
        }
        if !is_plain_name(&bytes[at..found]) {
            return end_by_states(bytes, at);
        }
        let Some(length) = memchr(bytes[found], &bytes[found + 1..]) else {
            return bytes.len();
        };
        at = found + length + 2;
    }
}

/// Whether what stands before a quote, from the name or value before it on, is names without values
/// and one with `=`: nearly all attributes are written so.
fn is_plain_name(before: &[u8]) -> bool {
    matches!(before, [.., name, b'='] if name.is_ascii_alphanumeric() || *name == b'-')
        && memchr(b'=', before) == Some(before.len() - 1)
}

/// The end of attributes that are written in whatever way; a name may begin at `from`.
fn end_by_states(bytes: &[u8], from: usize) -> usize {
    let mut state = Attributes::BeforeName;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => return at,
            b'"' | b'\'' if state == Attributes::BeforeValue => {
                let Some(length) = memchr(byte, &bytes[at + 1..]) else {
                    return bytes.len();
                };
                at += length + 1;
                state = Attributes::BeforeName;
            }
            _ => state = state.starting_after(byte),
        }
        at += 1;
    }
    bytes.len()
}

/// The offset behind a comment, doctype, CDATA section or bogus comment at `open`.
fn declaration_end(bytes: &[u8], open: usize) -> Option<usize> {
    let rest = &bytes[open..];
    if let Some(comment) = rest.strip_prefix(b"<!--") {
        if comment.starts_with(b">") {
            return Some(open + 5);
        }
        if comment.starts_with(b"->") {
            return Some(open + 6);
        }
        let end = memmem::find_iter(comment, b"--").find_map(|at| match &comment[at + 2..] {
            [b'>', ..] => Some(at + 3),
            [b'!', b'>', ..] => Some(at + 4),
            _ => None,
        });
        return Some(end.map_or(bytes.len(), |end| open + 4 + end));
    }
    // A page that ends in `</` ends in text.
    if matches!(rest, [_, b'!' | b'?', ..] | [_, b'/', _, ..]) {
        return Some(memchr(b'>', rest).map_or(bytes.len(), |end| open + end + 1));
    }
    None
}

/// Elements whose content is no markup; the last two may hold character references.
pub(super) fn is_raw(name: &str) -> bool {
    // Most names are told by their length and first letter.
    match name.len() {
        3 => name.eq_ignore_ascii_case("xmp"),
        5 => name.eq_ignore_ascii_case("style") || name.eq_ignore_ascii_case("title"),
        6 => name.eq_ignore_ascii_case("script") || name.eq_ignore_ascii_case("iframe"),
        7 => name.eq_ignore_ascii_case("noembed"),
        8 => name.eq_ignore_ascii_case("textarea") || name.eq_ignore_ascii_case("noframes"),
        _ => false,
    }
}

fn is_escapable(name: &str) -> bool {
    name.eq_ignore_ascii_case("title") || name.eq_ignore_ascii_case("textarea")
}

/// Offset of `</name` followed by white space, `/` or `>`.
fn end_tag_of(bytes: &[u8], name: &str) -> Option<usize> {
    memmem::find_iter(bytes, b"</").find(|at| {
        let rest = &bytes[at + 2..];
        rest.len() > name.len()
            && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes())
            && (rest[name.len()].is_ascii_whitespace() || matches!(rest[name.len()], b'/' | b'>'))
    })
}

/// The value of an attribute, with character references still in it; empty for one without value.
pub(super) fn attribute<'a>(attributes: &'a str, wanted: &str) -> Option<&'a str> {
    let mut all = attributes_of(attributes);
    let found = all.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.map(|(_, value)| value)
}

/// The names and values of attributes, in order.
pub(super) fn attributes_of(attributes: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = attributes;
    std::iter::from_fn(move || {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'/';
        let start = rest.bytes().position(|byte| !is_between(&byte))?;
        rest = &rest[start..];
        // A name may begin with `=`.
        let ends_name = |byte: u8| byte == b'=' || is_between(&byte);
        let length = rest.bytes().skip(1).position(ends_name);
        let (name, behind) = rest.split_at(length.map_or(rest.len(), |length| length + 1));
        rest = behind;
        let value = match rest.trim_start().strip_prefix('=') {
            Some(after) => {
                let (value, behind) = attribute_value(after.trim_start());
                rest = behind;
                value
            }
            None => "",
        };
        Some((name, value))
    })
}

fn attribute_value(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    if let Some(&quote @ (b'"' | b'\'')) = bytes.first() {
        let inner = &text[1..];
        let end = memchr(quote, inner.as_bytes());
        return end.map_or((inner, ""), |end| (&inner[..end], &inner[end + 1..]));
    }
    let end = bytes.iter().position(u8::is_ascii_whitespace);
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(page: &str) -> Vec<&str> {
        let text = |token| match token {
            HtmlToken::Text(text) | HtmlToken::RawText(text) => Some(text),
            _ => None,
        };
        Tokens::new(page).filter_map(text).collect()
    }

    #[test]
    fn what_is_text_is_what_the_standard_calls_text() {
        for (page, expected) in [
            ("a<b>c</b>d", &["a", "c", "d"][..]),
            ("1 < 2 <3 & <", &["1 < 2 <3 & <"]),
            ("<a title='x > y' href=\"q>r\">t", &["t"]),
            ("<!-- <b>no</b> -- > --><!DOCTYPE html><?x y?>t", &["t"]),
            ("<!-->t<!--->u", &["t", "u"]),
            (
                "<script>if (a<b) '</x>'</SCRIPT >t",
                &["if (a<b) '</x>'", "t"],
            ),
            ("<title>A &lt; <b></title>t", &["A &lt; <b>", "t"]),
            ("<style>never closed <b>", &["never closed <b>"]),
            ("t<unclosed tag=\"", &["t"]),
            // Behind a closed value `=` begins a name, behind `=` an unquoted value.
            ("<a b=\"\"=\"<i>t<", &["t<"]),
            ("<a b==\">t", &["t"]),
            ("<a b=c\"='>t", &["t"]),
            ("<a b/='>t", &["t"]),
            ("", &[]),
        ] {
            assert_eq!(texts(page), expected, "{page}");
        }
    }

    #[test]
    fn attributes_are_found_by_name() {
        let attributes = " class=\"a b\" hidden DATA-x = 'y' id=z/ ";
        assert_eq!(attribute(attributes, "class"), Some("a b"));
        assert_eq!(attribute(attributes, "hidden"), Some(""));
        assert_eq!(attribute(attributes, "data-x"), Some("y"));
        assert_eq!(attribute(attributes, "id"), Some("z/"));
        assert_eq!(attribute(attributes, "none"), None);
        assert_eq!(attribute(" ü=1 x", "x"), Some(""));
    }

    /// The text of a page by the tokenizer of a browser engine.
    #[derive(Default)]
    struct Reference(std::cell::RefCell<String>);

    impl html5ever::tokenizer::TokenSink for Reference {
        type Handle = ();

        fn process_token(
            &self,
            token: html5ever::tokenizer::Token,
            _line: u64,
        ) -> html5ever::tokenizer::TokenSinkResult<()> {
            use html5ever::tokenizer::states::RawKind::{Rawtext, Rcdata, ScriptData};
            use html5ever::tokenizer::{TagKind, Token, TokenSinkResult};
            match token {
                Token::CharacterTokens(text) => self.0.borrow_mut().push_str(&text),
                Token::TagToken(tag) if tag.kind == TagKind::StartTag => match &*tag.name {
                    "script" => return TokenSinkResult::RawData(ScriptData),
                    "style" => return TokenSinkResult::RawData(Rawtext),
                    "title" => return TokenSinkResult::RawData(Rcdata),
                    _ => {}
                },
                _ => {}
            }
            TokenSinkResult::Continue
        }
    }

    fn reference_text(page: &str) -> String {
        use html5ever::tendril::StrTendril;
        use html5ever::tokenizer::{BufferQueue, Tokenizer};
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(page));
        let tokenizer = Tokenizer::new(Reference::default(), Default::default());
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink.0.into_inner()
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_a_full_tokenizer(parts in proptest::collection::vec(proptest::sample::select(vec![
            "<", ">", "</", "a", "p ", "=", "\"", "'", "<!--", "-->", "--!>", "--", "<!", "<?", "!", "<script>", "</script>", "<Title x>",
            "</tiTle >", "<style", "</style", "<a b=\"", "<p c='>'>", "ü", "/", " ", "\n", "text", "<![CDATA["]), 0..24)) {
            let mut page = parts.concat();
            // Comments inside scripts have rules of their own, which only matter to scripts.
            if page.contains("<script") {
                page = page.replace("<!--", "<?");
            }
            prop_assert_eq!(texts(&page).concat(), reference_text(&page), "{}", page);
        }

        #[test]
        fn i16_attributes_end_where_their_states_say(parts in proptest::collection::vec(proptest::sample::select(vec![
            "class=", "\"a b\"", "'x'", " ", "=", "\"", "'", ">", "/", "b", "data-x=\"1>2\"", "id=z", "é", "hidden", "x= ", "\n", "-=", "_="]), 0..16)) {
            let attributes = parts.concat();
            let bytes = attributes.as_bytes();
            prop_assert_eq!(end_of_attributes(bytes, 0), end_by_states(bytes, 0), "{}", attributes);
        }

        #[test]
        fn no_page_is_too_broken(parts in proptest::collection::vec(proptest::sample::select(vec![
            "<", ">", "</", "a", "p ", "=", "\"", "'", "<!--", "-->", "--!>", "<!", "<script>", "</script>", "ü", "&amp;", "/", " "]), 0..40)) {
            let page = parts.concat();
            for token in Tokens::new(&page) {
                if let HtmlToken::Start { attributes, .. } = token {
                    let _ = attribute(attributes, "x");
                }
            }
        }
    }
}
