//! The stretches of a Markdown source that a reader sees as the author's own text.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// HTML elements whose content is not the author's running text.
const OPAQUE: [&str; 7] = [
    "code",
    "pre",
    "script",
    "style",
    "textarea",
    "blockquote",
    "template",
];

/// Stretches of visible text in order, as long as possible each; mark-up lies between them.
pub(super) fn ranges(source: &str) -> Vec<Range<usize>> {
    let mut walk = Walk {
        source,
        hidden: 0,
        html: None,
        found: Vec::new(),
    };
    for (event, range) in Parser::new_ext(source, Options::ENABLE_TABLES).into_offset_iter() {
        walk.step(&event, range);
    }
    walk.found
}

struct Walk<'s> {
    source: &'s str,
    /// How many hiding elements are open.
    hidden: usize,
    /// The opaque inline HTML element that is open in this paragraph.
    html: Option<&'static str>,
    found: Vec<Range<usize>>,
}

impl Walk<'_> {
    fn step(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::HtmlBlock) => self.html_block(range),
            Event::Start(tag) if hides(tag) => self.hidden += 1,
            Event::End(tag) if shows_again(*tag) => self.hidden -= 1,
            Event::End(TagEnd::Paragraph) => self.html = None,
            Event::InlineHtml(tag) => self.inline_html(tag),
            Event::Text(_) if self.hidden == 0 && self.html.is_none() => self.push(range),
            _ => {}
        }
    }

    /// Adds a stretch, joined to the last one if nothing lies between.
    fn push(&mut self, range: Range<usize>) {
        match self.found.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.found.push(range),
        }
    }

    fn inline_html(&mut self, tag: &str) {
        match self.html {
            Some(open) if is_tag(tag, "</", open) => self.html = None,
            Some(_) => {}
            None => self.html = OPAQUE.into_iter().find(|name| is_tag(tag, "<", name)),
        }
    }

    /// Text between the tags of an HTML block, such as `<details>`, is seen by the reader. A block
    /// with any opaque element in it is left out as a whole.
    fn html_block(&mut self, range: Range<usize>) {
        let block = &self.source[range.clone()];
        let opaque = block.match_indices('<').any(|(at, _)| {
            let tag = &block[at..];
            OPAQUE.iter().any(|name| is_tag(tag, "<", name)) || starts_markup_declaration(tag)
        });
        if self.hidden == 0 && !opaque {
            for text in between_tags(block) {
                self.push(range.start + text.start..range.start + text.end);
            }
        }
    }
}

fn hides(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::CodeBlock(_) | Tag::BlockQuote(_) | Tag::Image { .. } | Tag::MetadataBlock(_)
    )
}

fn shows_again(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::CodeBlock | TagEnd::BlockQuote(_) | TagEnd::Image | TagEnd::MetadataBlock(_)
    )
}

/// Whether `text` begins with the tag `open` + `name`, whatever its attributes.
fn is_tag(text: &str, open: &str, name: &str) -> bool {
    let Some(rest) = text.strip_prefix(open) else {
        return false;
    };
    let same = rest
        .get(..name.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(name));
    same && !rest
        .as_bytes()
        .get(name.len())
        .is_some_and(u8::is_ascii_alphanumeric)
}

/// `<!…` (comments, CDATA, declarations) and `<?…`.
fn starts_markup_declaration(text: &str) -> bool {
    text.starts_with("<!") || text.starts_with("<?")
}

/// The stretches outside `<…>`; an unclosed tag swallows the rest.
fn between_tags(block: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < block.len() {
        let text = block[at..].find('<').unwrap_or(block.len() - at);
        found.push(at..at + text);
        at += text + tag_length(&block[at + text..]);
    }
    found.retain(|range| !range.is_empty());
    found
}

/// Length of the tag that `text` begins with; a `>` in a quoted attribute does not end it.
fn tag_length(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    text.len()
}
